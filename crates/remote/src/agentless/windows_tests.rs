//! Tests the commands for Windows, and how its answers are read. The answers were written by hand
//! after Microsoft's own descriptions of these commands: none was recorded on a real Windows.

use super::*;
use iotax_facts::Consent;
use iotax_host::guard::judge::{Intent, judge};
use iotax_host::guard::rig::consent;

fn script(ask: &ShellRequest) -> String {
    let (start, word) = ask.command.rsplit_once(' ').unwrap();
    assert_eq!(start, "powershell -NoProfile -NonInteractive -EncodedCommand");
    assert!(ask.input.is_empty() && !ask.held);
    let decoded = decode(word);
    let units: Vec<u16> =
        decoded.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).unwrap().strip_prefix(PRELUDE).unwrap().to_owned()
}

/// Decodes with the machine's own base64, so that ours is not its own witness.
fn decode(word: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    std::fs::write(&path, word).unwrap();
    let output = std::process::Command::new("base64").arg("-d").arg(&path).output().unwrap();
    assert!(output.status.success(), "{word}");
    output.stdout
}

fn drive(number: u16) -> PathBuf {
    format!(r"\\.\PhysicalDrive{number}").into()
}

fn file() -> PathBuf {
    r"C:\it's\x.img".into()
}

fn answered(json: &str) -> Vec<u8> {
    format!("a banner\r\nIOTAX-SSH {json}\r\n").into_bytes()
}

/// Returns every request about a drive and a file.
fn all_asked() -> [ShellRequest; 8] {
    let marker = marker::trailer(&a_marker(true));
    [
        Windows.look_request(&[drive(1), file()]),
        Windows.inspect_request(&drive(1)),
        Windows.inspect_request(&file()),
        Windows.flush_request(&[&drive(1), &file()]),
        Windows.create_request(&file()),
        Windows.mark_request(&file(), 64 << 20, &marker),
        Windows.fill_request(&file(), 64 << 20),
        Windows.remove_request(&file(), 638_000_000_000_000_000),
    ]
}

#[test]
fn the_scripts() {
    let all = all_asked();
    insta::assert_snapshot!(all.iter().map(script).collect::<Vec<_>>().join("\n\n"));
    // cmd.exe takes no longer line.
    assert!(
        all.iter().all(|ask| ask.command.len() < 8191),
        "{:?}",
        all.map(|ask| ask.command.len())
    );
    let safe = |c: char| c.is_ascii_alphanumeric() || "+/= -".contains(c);
    assert!(Windows.inspect_request(&file()).command.chars().all(safe), "no shell changes it");
}

/// The grammar is that of PowerShell 5.1, which includes that of 2.0. Neither has the newer
/// commands by name.
#[test]
fn the_scripts_are_those_of_powershell_5_and_older() {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_powershell::LANGUAGE.into()).unwrap();
    let mut is_right = |text: &str| !parser.parse(text, None).unwrap().root_node().has_error();
    for newer in ["$a ?? $b", "$a ? $b : $c", "$a?.b", "S @{", "if($a){S 1}}"] {
        assert!(!is_right(newer), "the grammar takes {newer}");
    }
    let all = all_asked();
    // Commands, operators and methods of 3.0 and .NET 4, except where a script checks whether they
    // exist.
    let newer = [
        "Get-CimInstance",
        "[ordered]",
        "PSCustomObject",
        "Flush($true)",
        " -in ",
        "$PSItem",
        ".Where(",
    ];
    for text in all.iter().map(script) {
        let whole = format!("{PRELUDE}{text}");
        assert!(is_right(&whole), "{whole}");
        for word in newer {
            assert!(!whole.contains(word), "{word} in {whole}");
        }
        for (word, asked) in [
            ("Get-Disk|", "if(Get-Command Get-Disk -ea 0)"),
            ("ConvertTo-Json -C", "if(Get-Command ConvertTo-Json -ea 0)"),
        ] {
            assert!(!whole.contains(word) || whole.contains(asked), "{whole}");
        }
    }
}

fn a_marker(filled: bool) -> marker::Marker {
    marker::Marker {
        run_id: "20260102-030405-a1b2".into(),
        inode: 638_000_000_000_000_000,
        device: 0,
        born_ns: None,
        bytes: 64 << 20,
        filled,
    }
}

#[test]
fn a_machine_is_told_as_far_as_it_tells() {
    let json = r#"{"host":"WIN7","os":"Microsoft Windows Server 2022 Standard","version":"10.0.20348","memory":16776172,
        "cpu":"AMD EPYC 7443 24-Core Processor               ","sockets":2,"cores":8.0,"threads":16.0,"fio":"fio-3.36",
        "disks":[{"Number":1,"FriendlyName":"QEMU HARDDISK","SerialNumber":"S1  ","UniqueId":"QEMU    QEMU HARDDISK   S1","Size":107374182400,
        "PartitionStyle":"RAW","NumberOfPartitions":0,"IsBoot":false,"IsSystem":false,"IsReadOnly":false,"IsOffline":false,"IsClustered":false}]}"#;
    let seen = Windows.parse_look(&answered(&json.replace('\n', "")), &[drive(1), file()]).unwrap();
    assert_eq!(seen.fio.as_deref(), Some("fio 3.36"));
    insta::assert_json_snapshot!(seen.facts);
    let none = Windows.parse_look(&answered(r#"{"host":null,"fio":"","disks":[]}"#), &[]).unwrap();
    assert_eq!((none.fio, none.facts), (None, Facts::default()));
}

/// The answer is as Server 2008 R2 gives it, without Get-Disk and ConvertTo-Json: all numbers, and
/// no table where there is no partition.
#[test]
fn a_drive_by_wmi() {
    let json = r#"{"kind":"disk","disk":{"Number":1,"FriendlyName":"Red Hat VirtIO SCSI Disk Device","SerialNumber":null,"UniqueId":"SCSI\u005cDISK&VEN_RED_HAT&PROD_VIRTIO\u005c4&35424867&0&000000","Size":107372805120,"PartitionStyle":PSTYLE,"NumberOfPartitions":NPART,"IsBoot":false,"IsSystem":false},"others":[{"Number":0,"SerialNumber":null,"UniqueId":"SCSI\u005cDISK&VEN_RED_HAT&PROD_VIRTIO\u005c4&1B2C3D4E&0&000000","Size":42946721280}],"partitions":[PARTS]}"#
        .replace("\\u005c", "\\\\");
    let told = |style: &str, count: &str, parts: &str| {
        let json = json.replace("PSTYLE", style).replace("NPART", count).replace("PARTS", parts);
        Windows.parse_inspection(&drive(1), &answered(&json)).unwrap().unwrap()
    };
    let empty = told("null", "0", "");
    let word = "SCSI-DISK-VEN-RED-HAT-PROD-VIRTIO-4-35424867-0-000000-107372805120";
    assert_eq!(
        (empty.identity.serial.as_ref(), empty.identity.transient.as_deref()),
        (None, Some(word))
    );
    // The answer shows no table and promises nothing: the drive may have one without partitions.
    let whole = format!("serial={word},unseen=content,unseen=exclusive,unseen=open");
    assert!(write(&empty, &[&whole]).unwrap_err().contains("gpt"));
    assert!(write(&empty, &[&format!("{whole},wipe=gpt")]).is_ok());
    let letter = told(
        "\"MBR\"",
        "1",
        r#"{"PartitionNumber":0,"DriveLetter":"D:","Type":"Installable File System"}"#,
    );
    assert!(
        write(&letter, &[&format!("{whole},wipe=dos")])
            .unwrap_err()
            .contains("its partition 0 is D:")
    );
    let dynamic = told(
        "\"MBR\"",
        "1",
        r#"{"PartitionNumber":0,"DriveLetter":"","Type":"Logical Disk Manager"}"#,
    );
    assert!(
        write(&dynamic, &[&format!("{whole},wipe=dos")]).unwrap_err().contains("dynamic disks")
    );
}

#[test]
fn a_drive_without_a_serial_is_named_by_its_id_and_size_or_refused() {
    let unseen = "unseen=content,unseen=exclusive,unseen=open";
    // The id of this driver is the same for all of its drives.
    let beside = |unique: &str, size: u64| {
        let other =
            format!(r#"{{"Number":0,"SerialNumber":null,"UniqueId":"{unique}","Size":{size}}}"#);
        let mut json = r#"{"kind":"disk","disk":{"Number":1,"FriendlyName":"Red Hat VirtIO","SerialNumber":"","UniqueId":"VirtIO  :WIN7","Size":1073741824,"PartitionStyle":"RAW","NumberOfPartitions":0},"others":["#.to_owned();
        json += &format!("{other}],\"partitions\":[]}}");
        Windows.parse_inspection(&drive(1), &answered(&json)).unwrap().unwrap()
    };
    let word = format!("serial=VirtIO-WIN7-1073741824,{unseen}");
    for alone in [beside("VirtIO  :WIN7", 2 << 30), beside("another", 1 << 30)] {
        assert!(write(&alone, &[]).unwrap_err().contains(&word), "{:?}", write(&alone, &[]));
        assert!(write(&alone, &[&word]).is_ok());
    }
    let alike = beside("VirtIO  :WIN7", 1 << 30);
    let refused = write(&alike, &[&word]).unwrap_err();
    assert!(
        refused.contains("it has no serial") && refused.contains("give it a serial"),
        "{refused}"
    );
    // If the drive has a serial, an id that others have too is not a second name of it.
    let shared = disk(
        "{\"Number\":0,\"SerialNumber\":\"S0\"}",
        "{\"Number\":0,\"SerialNumber\":\"S0\",\"UniqueId\":\"U1\"}",
    );
    assert_eq!(
        (shared.identity.wwn.as_ref(), shared.identity.serial.as_deref()),
        (None, Some("S1"))
    );
    assert!(write(&shared, &[&format!("serial=U1,{unseen}")]).is_err());
}

/// Wine's powershell.exe prints nothing and exits with 0.
#[test]
fn silence_is_no_success() {
    for said in [&b""[..], b"Microsoft Windows\r\n"] {
        let why = format!("{:#}", Windows.check_done(said).unwrap_err());
        assert!(why.contains("no PowerShell answered (2.0 or newer"), "{why}");
        assert!(
            Windows.parse_look(said, &[]).is_err()
                && Windows.parse_created(said).is_err()
                && Windows.flushed_ns(said).is_err()
        );
        assert!(Windows.parse_inspection(&drive(1), said).is_err());
    }
    assert!(Windows.check_done(&answered(r#"{"done":1}"#)).is_ok());
    assert!(Windows.check_done(&answered(r#"{"done":0}"#)).is_err());
}

/// Returns a drive with nothing on it, changed in one thing.
fn disk(from: &str, to: &str) -> Inspection {
    let json = r#"{"kind":"disk","disk":{"Number":1,"FriendlyName":"QEMU HARDDISK","SerialNumber":"S1","UniqueId":"U1","Size":1073741824,"PartitionStyle":"RAW","NumberOfPartitions":0,"IsBoot":false,"IsSystem":false,"IsReadOnly":false,"IsOffline":false,"IsClustered":false},"others":[{"Number":0,"SerialNumber":"S0"}],"partitions":[]}"#;
    assert!(json.contains(from), "{from}");
    Windows.parse_inspection(&drive(1), &answered(&json.replacen(from, to, 1))).unwrap().unwrap()
}

fn write(found: &Inspection, destroy: &[&str]) -> Result<(), String> {
    let consent: Vec<Consent> = destroy.iter().map(|text| consent(text)).collect();
    judge(found, Intent::Write, &consent).map(drop).map_err(|refusal| refusal.to_string())
}

#[test]
fn a_drive_is_written_only_by_a_word_for_all_that_is_not_seen() {
    let raw = disk("RAW", "RAW");
    assert_eq!(
        (raw.bytes, raw.identity.serial.as_deref(), raw.signatures.len()),
        (1 << 30, Some("S1"), 0)
    );
    let whole = "serial=S1,unseen=content,unseen=exclusive,unseen=open";
    let refused = write(&raw, &[]).unwrap_err();
    assert!(
        refused.contains("who has it open")
            && refused.contains(&format!("--destroy {whole} (all data")),
        "{refused}"
    );
    assert!(write(&raw, &[whole]).is_ok());
    for part in [
        "serial=S1",
        "serial=S1,unseen=open,unseen=exclusive",
        "serial=S0,unseen=content,unseen=exclusive,unseen=open",
    ] {
        assert!(write(&raw, &[part]).is_err(), "{part}");
    }
    let gpt = disk("\"RAW\",\"NumberOfPartitions\":0", "\"GPT\",\"NumberOfPartitions\":2");
    assert!(write(&gpt, &[whole]).unwrap_err().contains("it carries gpt"));
    assert!(write(&gpt, &[&format!("{whole},wipe=gpt")]).is_ok());
}

#[test]
fn what_windows_uses_is_never_written() {
    let whole =
        "serial=S1,unseen=content,unseen=exclusive,unseen=open,wipe=gpt,wipe=dos,wipe=partitions";
    let letter = r#""partitions":[{"PartitionNumber":2,"DriveLetter":"D","Type":"Basic"}]"#;
    for (from, to, part) in [
        ("\"IsBoot\":false", "\"IsBoot\":true", "Windows runs from it"),
        ("\"IsSystem\":false", "\"IsSystem\":true", "Windows boots from it"),
        ("\"IsClustered\":false", "\"IsClustered\":true", "cluster"),
        ("\"IsReadOnly\":false", "\"IsReadOnly\":true", "read-only"),
        ("\"partitions\":[]", letter, "its partition 2 is D:"),
        ("\"SerialNumber\":\"S0\"", "\"SerialNumber\":\" S1 \"", "PhysicalDrive0 has it, too"),
    ] {
        let refused = write(&disk(from, to), &[whole]).unwrap_err();
        assert!(refused.contains(part), "{refused}");
    }
    // A letter of zeros is no letter. A style that is not a word, or that is unknown, is a table.
    let none = disk(
        "\"partitions\":[]",
        r#""partitions":[{"PartitionNumber":1,"DriveLetter":"\u0000","Type":"Reserved"}]"#,
    );
    assert!(none.occupied.is_empty() && none.signatures[0].name == "partitions", "{none:?}");
    for (style, name) in [("2", "gpt"), ("1", "dos"), ("null", "gpt"), ("\"MBR\"", "dos")] {
        assert_eq!(disk("\"RAW\"", style).signatures[0].name, name);
    }
    assert!(disk("\"RAW\"", "0").signatures.is_empty());
}

#[test]
fn a_file_is_ours_by_its_marker_and_its_birth() {
    let hex: Vec<String> =
        marker::trailer(&a_marker(true)).iter().map(|byte| format!("{byte:02X}")).collect();
    let told = |bytes: u64, born: u64| {
        let trailer = hex.join("-");
        let json = format!(
            r#"{{"kind":"file","bytes":{bytes},"born":{born},"trailer":"{trailer}","link":false,"read_only":false}}"#
        );
        Windows.parse_inspection(&file(), &answered(&json)).unwrap().unwrap()
    };
    let (bytes, born) = ((64 << 20) + 4096, 638_000_000_000_000_000);
    let ours = told(bytes, born);
    assert!(ours.bytes == 64 << 20 && write(&ours, &[]).is_ok(), "{ours:?}");
    assert!(write(&told(bytes, born + 1), &[]).unwrap_err().contains("not a file of iotax"));
    assert!(write(&told(bytes + 1, born), &[]).unwrap_err().contains("not a file of iotax"));
    assert_eq!(
        Windows.parse_inspection(&file(), &answered(r#"{"kind":"nothing"}"#)).unwrap(),
        None
    );
}

#[test]
fn answers_that_are_none_are_told() {
    let text = |said: &[u8]| format!("{:#}", Windows.parse_inspection(&file(), said).unwrap_err());
    assert!(text(b"bash: powershell: command not found").contains("begins with a slash"));
    assert!(text(b"IOTAX-SSH {\"kind\":\"new\"}").contains("it says {\"kind\":\"new\"}"));
}

#[test]
fn base64_is_that_of_the_system() {
    for text in ["", "a", "ab", "abc", "abcd", "\u{0}\u{7f}~?>"] {
        assert_eq!(decode(&base64(text.as_bytes())), text.as_bytes(), "{text:?}");
    }
}
