//! Commands for Windows: PowerShell scripts, each encoded as one word that neither cmd.exe nor
//! PowerShell changes, and fio with its job on standard input. Their answers are a marked line of
//! JSON. Nothing there notices that the connection is gone, so fio must end by itself. Windows does
//! not report who has a drive open, or what is on it besides a partition table.

use super::{Created, SeenHost, Shell, ShellRequest};
use crate::ssh::MARK;
use anyhow::{Context, Result};
use iotax_engines::fio::{self, Ioengines};
use iotax_host::block::Identity;
use iotax_host::facts::{Device, Facts, Processor, TargetFacts};
use iotax_host::guard::found::{
    Finding, InspectedKind, Inspection, InspectionCheck, Signature, TargetUse, UncheckedPoint,
};
use iotax_host::guard::marker;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// System with Windows PowerShell 2.0 or newer: Windows 7 and Server 2008 R2 are the oldest.
/// Features of 3.0 (ConvertTo-Json) or of Windows 8 (Get-Disk) are used only where they exist.
pub(super) struct Windows;

/// Start of every script. Only its answer is printed: `S VALUE` prints it as JSON. `J` makes that
/// JSON, in ASCII, where there is no ConvertTo-Json.
const PRELUDE: &str = concat!(
    "$ErrorActionPreference='Stop';$ProgressPreference='SilentlyContinue';",
    "try{[Console]::OutputEncoding=New-Object Text.UTF8Encoding $false}catch{};",
    "function J($v){if($null -eq $v){'null'}elseif($v -is [bool]){([string]$v).ToLower()}",
    "elseif($v -is [string]){'\"'+[regex]::Replace($v,'[^ !#-\\[\\]-~]',{param($m)'\\u{0:x4}' -f [int][char]$m.Value})+'\"'}",
    "elseif($v -is [Collections.IDictionary]){'{'+(@($v.Keys|%{(J ([string]$_))+':'+(J $v[$_])}) -join ',')+'}'}",
    "elseif($v -is [Array]){'['+(@($v|%{J $_}) -join ',')+']'}",
    "else{[Convert]::ToString($v,[Globalization.CultureInfo]::InvariantCulture)}};",
    "function S($v){$j=if(Get-Command ConvertTo-Json -ea 0){ConvertTo-Json -Compress -Depth 4 $v}else{J $v};",
    "[Console]::Out.WriteLine('IOTAX-SSH '+$j)};",
);

/// Defines `D`, which returns from WMI what Get-Disk reports about a drive, where there is no
/// Get-Disk. WMI does not report which table an empty drive has, or whether the drive is read-only
/// or part of a cluster. Its unique id depends on where the drive is attached.
const OLD_DISK: &str = concat!(
    "function Q($p){@(Get-WmiObject -Query (\"ASSOCIATORS OF {Win32_DiskPartition.DeviceID='\"+$p.DeviceID+\"'} WHERE AssocClass=",
    "Win32_LogicalDiskToPartition\")|%{$_.DeviceID})};",
    "function D($w){$p=@(Get-WmiObject Win32_DiskPartition|?{$_.DiskIndex -eq $w.Index});$l=@($p|%{Q $_});",
    "$y=$null;if($p.Count){$y='MBR';if(@($p|?{$_.Type -like 'GPT*'}).Count){$y='GPT'}};",
    "@{Number=$w.Index;FriendlyName=$w.Model;SerialNumber=$w.SerialNumber;UniqueId=$w.PNPDeviceID;Size=$w.Size;PartitionStyle=$y;",
    "NumberOfPartitions=$p.Count;IsBoot=($l -contains $env:SystemDrive);IsSystem=(@($p|?{$_.BootPartition}).Count -gt 0)}};",
);

/// Calls FlushFileBuffers on all paths in `$p` and measures the time there, by way of the Windows
/// API: .NET cannot open drives.
const FLUSH: &str = concat!(
    "Add-Type -Namespace Iotax -Name Kernel -MemberDefinition '",
    "[DllImport(\"kernel32.dll\",SetLastError=true,CharSet=CharSet.Unicode)]public static extern ",
    "Microsoft.Win32.SafeHandles.SafeFileHandle CreateFile(string n,uint a,uint s,IntPtr q,uint d,uint f,IntPtr t);",
    "[DllImport(\"kernel32.dll\",SetLastError=true)]public static extern ",
    "bool FlushFileBuffers(Microsoft.Win32.SafeHandles.SafeFileHandle h);';",
    "$h=@($p|ForEach-Object{$o=[Iotax.Kernel]::CreateFile($_,0x40000000,3,[IntPtr]::Zero,3,0,[IntPtr]::Zero);",
    "if($o.IsInvalid){throw (New-Object ComponentModel.Win32Exception)};$o});",
    "$w=[Diagnostics.Stopwatch]::StartNew();",
    "foreach($o in $h){if(-not [Iotax.Kernel]::FlushFileBuffers($o)){throw (New-Object ComponentModel.Win32Exception)}};",
    "S @{ns=[long]($w.Elapsed.TotalMilliseconds*1000000)}",
);

/// Opens `$p` as `$f` for writes that are on the disk when they return: .NET before 4 cannot flush
/// to the disk.
const WRITE_THROUGH: &str =
    "$f=New-Object IO.FileStream $p,'Open','Write','Read',65536,'WriteThrough';";

/// Prints the answer of a script that has nothing to report. Without an answer, the script was not
/// run.
const DONE: &str = "S @{done=1}";

const DISK: &str = concat!(
    "Number,FriendlyName,SerialNumber,UniqueId,Size,PartitionStyle,NumberOfPartitions,",
    "IsBoot,IsSystem,IsReadOnly,IsOffline,IsClustered",
);

impl Shell for Windows {
    fn look_request(&self, paths: &[PathBuf]) -> ShellRequest {
        let numbers: Vec<String> = paths
            .iter()
            .filter_map(|path| drive_number(path))
            .map(|number| number.to_string())
            .collect();
        ask(&format!(
            "{OLD_DISK}$o=Get-WmiObject Win32_OperatingSystem;$c=@(Get-WmiObject Win32_Processor);$f='';\
             try{{$f=[string](& fio --version|Select-Object -First 1)}}catch{{}};$n=@({});$d=@();\
             if($n.Count){{if(Get-Command Get-Disk -ea 0){{$d=@(Get-Disk|?{{$n -contains $_.Number}}|Select-Object {DISK})}}else\
             {{$d=@(Get-WmiObject Win32_DiskDrive|?{{$n -contains $_.Index}}|%{{D $_}})}}}};\
             S @{{host=$env:COMPUTERNAME;os=$o.Caption;version=$o.Version;memory=$o.TotalVisibleMemorySize;\
             cpu=[string]$c[0].Name;sockets=$c.Count;cores=($c|Measure-Object NumberOfCores -Sum).Sum;\
             threads=($c|Measure-Object NumberOfLogicalProcessors -Sum).Sum;fio=$f;disks=$d}}",
            numbers.join(",")
        ))
    }

    fn parse_look(&self, said: &[u8], paths: &[PathBuf]) -> Result<SeenHost> {
        let seen: WindowsMachine = answer(said)?;
        let fio = fio::version_name(seen.fio.as_bytes());
        let tools = fio.iter().map(|_| ("fio".to_owned(), seen.fio.trim().to_owned())).collect();
        let target = |path: &PathBuf| TargetFacts {
            path: path.clone(),
            devices: seen.device(path),
            ..TargetFacts::default()
        };
        let cpu = Processor {
            model: non_blank(seen.cpu.as_deref()),
            sockets: seen.sockets,
            cores: seen.cores.map(|cores| cores as u64),
            threads: seen.threads.map(|threads| threads as u64),
            ..Processor::default()
        };
        let facts = Facts {
            hostname: non_blank(seen.host.as_deref()),
            os: non_blank(seen.os.as_deref()),
            kernel: non_blank(seen.version.as_deref()),
            cpu: Box::new(cpu),
            memory_bytes: seen.memory.map(|kib| kib << 10),
            targets: paths.iter().map(target).collect(),
            tools,
            ..Facts::default()
        };
        Ok(SeenHost { facts, fio })
    }

    fn inspect_request(&self, path: &Path) -> ShellRequest {
        match drive_number(path) {
            Some(number) => ask(&format!(
                "$n={number};if(Get-Command Get-Disk -ea 0){{$a=@(Get-Disk);$t=@($a|?{{$_.Number -eq $n}});\
                 if(-not $t.Count){{S @{{kind='nothing'}}}}else{{S @{{kind='disk';disk=($t[0]|Select-Object {DISK});\
                 others=@($a|?{{$_.Number -ne $n}}|Select-Object Number,SerialNumber,UniqueId,Size);\
                 partitions=@(Get-Partition -DiskNumber $n -ea 0|Select-Object PartitionNumber,DriveLetter,Type)}}}}}}else{{{OLD_DISK}\
                 $a=@(Get-WmiObject Win32_DiskDrive);$t=@($a|?{{$_.Index -eq $n}});\
                 if(-not $t.Count){{S @{{kind='nothing'}}}}else{{S @{{kind='disk';disk=(D $t[0]);\
                 others=@($a|?{{$_.Index -ne $n}}|%{{@{{Number=$_.Index;SerialNumber=$_.SerialNumber;UniqueId=$_.PNPDeviceID;Size=$_.Size}}}});\
                 partitions=@(Get-WmiObject Win32_DiskPartition|?{{$_.DiskIndex -eq $n}}|\
                 %{{@{{PartitionNumber=$_.Index;DriveLetter=((Q $_) -join ',');Type=$_.Type}}}})}}}}}}"
            )),
            None => ask(&format!(
                "$p={};$i=Get-Item -LiteralPath $p -Force -ErrorAction SilentlyContinue;\
                 if(-not $i){{S @{{kind='nothing'}}}}elseif($i.PSIsContainer){{S @{{kind='folder'}}}}else{{\
                 $t='';if($i.Length -gt 4096){{$f=[IO.File]::Open($p,'Open','Read','ReadWrite');[void]$f.Seek(-4096,'End');\
                 $b=New-Object byte[] 4096;[void]$f.Read($b,0,4096);$f.Close();$t=[BitConverter]::ToString($b)}};\
                 S @{{kind='file';bytes=$i.Length;born=$i.CreationTimeUtc.Ticks;trailer=$t;\
                 link=[bool]($i.Attributes -band [IO.FileAttributes]::ReparsePoint);read_only=$i.IsReadOnly}}}}",
                quoted(path)
            )),
        }
    }

    fn parse_inspection(&self, path: &Path, said: &[u8]) -> Result<Option<Inspection>> {
        let mut found = Inspection { afar: true, ..Inspection::blank_at(path) };
        match answer(said)? {
            There::Nothing => return Ok(None),
            There::Folder => found.kind = InspectedKind::Other("a folder".into()),
            There::File(there) => there.add_to(&mut found),
            There::Disk(there) => there.add_disk_to(&mut found),
        }
        let why = "Windows does not report over ssh who has it open".to_owned();
        if found.kind == InspectedKind::Disk {
            found.unchecked.push(UncheckedPoint { check: InspectionCheck::Open, why });
        }
        Ok(Some(found))
    }

    /// Returns `None`: no command for this reads a drive on Windows.
    fn blocks_request(&self, _: &Path, _: &[(u64, u64)]) -> Option<ShellRequest> {
        None
    }

    fn fio_request(&self, options: &[String], job_file: &str) -> ShellRequest {
        ShellRequest {
            command: format!("fio {}", options.join(" ")),
            input: job_file.as_bytes().to_owned(),
            held: false,
        }
    }

    fn ioengines(&self) -> Ioengines {
        Ioengines { at_depth_one: "windowsaio", deeper: &["windowsaio"], has_disk_util: false }
    }

    fn flush_request(&self, paths: &[&Path]) -> ShellRequest {
        let names: Vec<String> = paths.iter().map(|path| quoted(path)).collect();
        ask(&format!("$p=@({});{FLUSH}", names.join(",")))
    }

    fn flushed_ns(&self, said: &[u8]) -> Result<Option<u64>> {
        #[derive(Deserialize)]
        struct Flushed {
            ns: u64,
        }
        Ok(Some(answer::<Flushed>(said)?.ns))
    }

    fn create_request(&self, path: &Path) -> ShellRequest {
        ask(&format!(
            "$p={};[IO.File]::Open($p,'CreateNew','Write').Close();$r=New-Object IO.DriveInfo ([IO.Path]::GetPathRoot($p));\
             S @{{inode=(Get-Item -LiteralPath $p -Force).CreationTimeUtc.Ticks;total=$r.TotalSize;free=$r.AvailableFreeSpace}}",
            quoted(path)
        ))
    }

    fn parse_created(&self, said: &[u8]) -> Result<Created> {
        #[derive(Deserialize)]
        struct Made {
            inode: u64,
            total: u64,
            free: u64,
        }
        let made: Made = answer(said)?;
        Ok(Created { inode: made.inode, total: made.total, free: made.free })
    }

    /// Writes the marker, of which only the used bytes at both ends are in the script: the whole
    /// would be too long for a command of Windows.
    fn mark_request(&self, path: &Path, bytes: u64, marker: &[u8]) -> ShellRequest {
        let (ends, crc) = marker.split_at(marker.len().saturating_sub(4));
        let used = ends.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let list = |bytes: &[u8]| bytes.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
        let (head, tail) = (list(&ends[..used]), list(crc));
        ask(&format!(
            "$p={};{WRITE_THROUGH}$f.SetLength({bytes});[void]$f.Seek({bytes},'Begin');\
             $m=New-Object byte[] 4096;[byte[]]$x=@({head});[byte[]]$y=@({tail});$x.CopyTo($m,0);$y.CopyTo($m,4092);\
             $f.Write($m,0,4096);$f.Close();{DONE}",
            quoted(path)
        ))
    }

    fn fill_request(&self, path: &Path, bytes: u64) -> ShellRequest {
        ask(&format!(
            "$p={};{WRITE_THROUGH}\
             $g=[Security.Cryptography.RandomNumberGenerator]::Create();$b=New-Object byte[] 1048576;\
             for($i=0;$i -lt {};$i++){{$g.GetBytes($b);$f.Write($b,0,$b.Length)}};$f.Close();{DONE}",
            quoted(path),
            bytes >> 20
        ))
    }

    fn remove_request(&self, path: &Path, inode: u64) -> ShellRequest {
        ask(&format!(
            "$p={};$i=Get-Item -LiteralPath $p -Force;\
             if($i.CreationTimeUtc.Ticks -ne {inode}){{throw 'it is another file now'}};Remove-Item -LiteralPath $p -Force;{DONE}",
            quoted(path)
        ))
    }

    fn check_done(&self, said: &[u8]) -> Result<()> {
        #[derive(Deserialize)]
        struct WindowsDone {
            done: u8,
        }
        anyhow::ensure!(answer::<WindowsDone>(said)?.done == 1, "it says that it is not done");
        Ok(())
    }

    fn how_to_get_fio(&self, _: Option<&str>) -> String {
        "install fio for Windows, and put its folder in the PATH of that user".into()
    }
}

/// Returns the request for a script, which is encoded as UTF-16 in base64: no shell of Windows
/// changes that.
fn ask(script: &str) -> ShellRequest {
    let bytes: Vec<u8> =
        format!("{PRELUDE}{script}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let command =
        format!("powershell -NoProfile -NonInteractive -EncodedCommand {}", base64(&bytes));
    ShellRequest { command, input: Vec::new(), held: false }
}

/// Encodes as in RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |chunk: &[u8]| {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        let sign = |index: usize| match index <= chunk.len() {
            true => char::from(SIGNS[(bits >> (18 - 6 * index) & 63) as usize]),
            false => '=',
        };
        (0..4).map(sign).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

/// Returns a path as a word of PowerShell in which nothing is expanded.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "''"))
}

fn drive_number(path: &Path) -> Option<u16> {
    path.to_str()?.strip_prefix(r"\\.\PhysicalDrive")?.parse().ok()
}

fn answer<T: DeserializeOwned>(said: &[u8]) -> Result<T> {
    let text = String::from_utf8_lossy(said);
    let line = text.lines().find_map(|line| line.split_once(MARK)).map(|(_, json)| json.trim());
    let line = line.context(
        "no PowerShell answered (2.0 or newer is needed, which Windows 7 and Server 2008 R2 have); a path of other systems begins \
         with a slash",
    )?;
    serde_json::from_str(line).with_context(|| format!("it says {line}"))
}

/// Returns a unique id and a size as one word that a user can name to consent to a drive.
fn id_and_size(unique: &str, bytes: u64) -> String {
    let parts = unique.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    format!("{}-{bytes}", parts.collect::<Vec<_>>().join("-"))
}

fn non_blank(text: Option<&str>) -> Option<String> {
    let text = text?.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

#[derive(Deserialize)]
struct WindowsMachine {
    host: Option<String>,
    os: Option<String>,
    version: Option<String>,
    memory: Option<u64>,
    cpu: Option<String>,
    sockets: Option<u64>,
    /// Number of cores of all sockets, which PowerShell sums up as floating point.
    cores: Option<f64>,
    threads: Option<f64>,
    #[serde(default)]
    fio: String,
    #[serde(default)]
    disks: Vec<WindowsDisk>,
}

impl WindowsMachine {
    fn device(&self, path: &Path) -> Vec<Device> {
        let Some(number) = drive_number(path) else { return Vec::new() };
        let of = |disk: &WindowsDisk| Device {
            name: format!("PhysicalDrive{number}"),
            model: non_blank(disk.friendly_name.as_deref()),
            serial: non_blank(disk.serial_number.as_deref()),
            wwn: non_blank(disk.unique_id.as_deref()),
            bytes: Some(disk.size),
            ..Device::default()
        };
        self.disks.iter().filter(|disk| disk.number == number).map(of).collect()
    }
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum There {
    Nothing,
    Folder,
    File(FileThere),
    Disk(Box<DiskThere>),
}

#[derive(Deserialize)]
struct FileThere {
    bytes: u64,
    /// Time of creation in ticks of 100 ns. It distinguishes a file from another that replaced it.
    born: u64,
    trailer: String,
    link: bool,
    read_only: bool,
}

impl FileThere {
    fn add_to(&self, found: &mut Inspection) {
        let trailer: Vec<u8> =
            self.trailer.split('-').filter_map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
        found.kind = InspectedKind::File;
        found.symlink = self.link;
        found.read_only = self.read_only;
        found.identity.inode = Some(self.born);
        found.marker =
            marker::of_trailer(&trailer, self.bytes).filter(|marker| marker.inode == self.born);
        found.bytes = found.marker.as_ref().map_or(self.bytes, |marker| marker.bytes);
    }
}

#[derive(Deserialize)]
struct DiskThere {
    disk: WindowsDisk,
    #[serde(default)]
    others: Vec<OtherDisk>,
    #[serde(default)]
    partitions: Vec<Partition>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct WindowsDisk {
    number: u16,
    friendly_name: Option<String>,
    serial_number: Option<String>,
    unique_id: Option<String>,
    size: u64,
    /// Kind of partition table: a word (`GPT`) or, from Get-Disk of some versions, its number.
    partition_style: Value,
    number_of_partitions: Option<u64>,
    is_boot: Option<bool>,
    is_system: Option<bool>,
    is_read_only: Option<bool>,
    is_clustered: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OtherDisk {
    number: u16,
    serial_number: Option<String>,
    unique_id: Option<String>,
    size: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Partition {
    partition_number: u64,
    drive_letter: Option<String>,
    #[serde(rename = "Type")]
    kind: Option<String>,
}

impl DiskThere {
    fn add_disk_to(&self, found: &mut Inspection) {
        let disk = &self.disk;
        let serial = non_blank(disk.serial_number.as_deref());
        let same = |other: &&OtherDisk| {
            serial.is_some() && non_blank(other.serial_number.as_deref()) == serial
        };
        let shared = self
            .others
            .iter()
            .filter(same)
            .map(|other| format!("PhysicalDrive{}", other.number))
            .collect();
        // Drivers without an id of their own give all of their drives the same one, which
        // identifies none of them. Together with the size it may.
        let unique = non_blank(disk.unique_id.as_deref());
        let alike: Vec<&OtherDisk> = self
            .others
            .iter()
            .filter(|other| non_blank(other.unique_id.as_deref()) == unique)
            .collect();
        let (wwn, by_size) = match unique {
            Some(unique) if serial.is_some() && alike.is_empty() => (Some(unique), None),
            Some(unique)
                if alike.iter().all(|other| other.size.is_some_and(|size| size != disk.size)) =>
            {
                (None, Some(id_and_size(&unique, disk.size)))
            }
            _ => (None, None),
        };
        found.kind = InspectedKind::Disk;
        found.bytes = disk.size;
        found.read_only = disk.is_read_only == Some(true);
        found.identity = Identity {
            name: Some(format!("PhysicalDrive{}", disk.number)),
            model: non_blank(disk.friendly_name.as_deref()),
            wwn,
            serial,
            transient: by_size,
            serial_shared_with: shared,
            ..Identity::default()
        };
        found.occupied = self.users();
        found.signatures = self.signatures();
        found.unchecked = [
            (InspectionCheck::Exclusive, "Windows lends no drive out exclusively over ssh"),
            (InspectionCheck::Content, "the content of a drive of Windows is not read over ssh"),
        ]
        .map(|(check, why)| UncheckedPoint { check, why: why.into() })
        .into();
    }

    fn users(&self) -> Vec<Finding> {
        let used = |is: Option<bool>, kind: TargetUse, text: &str| {
            (is == Some(true)).then(|| Finding { kind, text: text.to_owned() })
        };
        let flags = [
            used(self.disk.is_boot, TargetUse::Mounted, "Windows runs from it"),
            used(self.disk.is_system, TargetUse::Mounted, "Windows boots from it"),
            used(self.disk.is_clustered, TargetUse::Exported, "it is a disk of a cluster"),
        ];
        let letters = self.partitions.iter().filter_map(|partition| {
            let number = partition.partition_number;
            let letter = non_blank(partition.drive_letter.as_deref());
            // Volumes of dynamic disks belong to no partition.
            let dynamic =
                partition.kind.as_deref().is_some_and(|kind| kind.contains("Logical Disk Manager"));
            let text = match letter {
                Some(letter) => {
                    format!("its partition {number} is {}:", letter.trim_end_matches(':'))
                }
                None if dynamic => {
                    format!(
                        "its partition {number} is part of dynamic disks (Logical Disk Manager)"
                    )
                }
                None => return None,
            };
            Some(Finding { kind: TargetUse::Mounted, text })
        });
        flags.into_iter().flatten().chain(letters).collect()
    }

    fn signatures(&self) -> Vec<Signature> {
        let style = match &self.disk.partition_style {
            Value::String(style) if style.eq_ignore_ascii_case("RAW") => None,
            Value::String(style) if style.eq_ignore_ascii_case("MBR") => Some("dos".to_owned()),
            Value::String(style) => Some(style.to_ascii_lowercase()),
            Value::Number(number) if number.as_u64() == Some(0) => None,
            Value::Number(number) if number.as_u64() == Some(1) => Some("dos".into()),
            _ => Some("gpt".into()),
        };
        let partitions =
            self.disk.number_of_partitions.unwrap_or(0).max(self.partitions.len() as u64);
        // An unknown style with partitions in it is a table all the same.
        let style = style.or_else(|| (partitions > 0).then(|| "partitions".to_owned()));
        let kinds: Vec<&str> =
            self.partitions.iter().filter_map(|partition| partition.kind.as_deref()).collect();
        let place = format!("by Windows, with {partitions} partitions {}", kinds.join(", "));
        style
            .map(|name| Signature { name, place: place.trim_end().to_owned() })
            .into_iter()
            .collect()
    }
}

#[cfg(test)]
#[path = "windows_tests.rs"]
mod tests;
