//! What is said to Windows, and what is understood of it. The answers were written by hand after Microsoft's own
//! descriptions of these commands: none was recorded on a real Windows.

use super::*;
use iotax_facts::Consent;
use iotax_host::guard::judge::{Intent, judge};
use iotax_host::guard::rig::consent;

fn script(ask: &Ask) -> String {
    let (start, word) = ask.command.rsplit_once(' ').unwrap();
    assert_eq!(start, "powershell -NoProfile -NonInteractive -EncodedCommand");
    assert!(ask.input.is_empty() && !ask.held);
    let decoded = decode(word);
    let units: Vec<u16> = decoded.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).unwrap().strip_prefix(PRELUDE).unwrap().to_owned()
}

/// By the machine's own base64, so that ours is not its own witness.
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

#[test]
fn the_scripts() {
    let marker = marker::trailer(&a_marker(true));
    let all = [
        Windows.look(&[drive(1), file()]),
        Windows.inspect(&drive(1)),
        Windows.inspect(&file()),
        Windows.flush(&[&drive(1), &file()]),
        Windows.create(&file()),
        Windows.mark(&file(), 64 << 20, &marker),
        Windows.fill(&file(), 64 << 20),
        Windows.remove(&file(), 638_000_000_000_000_000),
    ];
    insta::assert_snapshot!(all.iter().map(script).collect::<Vec<_>>().join("\n\n"));
    // cmd.exe takes no longer line.
    assert!(all.iter().all(|ask| ask.command.len() < 8191), "{:?}", all.map(|ask| ask.command.len()));
    let safe = |c: char| c.is_ascii_alphanumeric() || "+/= -".contains(c);
    assert!(Windows.inspect(&file()).command.chars().all(safe), "no shell changes it");
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
    let seen = Windows.seen(&answered(&json.replace('\n', "")), &[drive(1), file()]).unwrap();
    assert_eq!(seen.fio.as_deref(), Some("fio 3.36"));
    insta::assert_json_snapshot!(seen.facts);
    let none = Windows.seen(&answered(r#"{"host":null,"fio":"","disks":[]}"#), &[]).unwrap();
    assert_eq!((none.fio, none.facts), (None, Facts::default()));
}

/// A drive with nothing on it, changed in one thing.
fn disk(from: &str, to: &str) -> Inspection {
    let json = r#"{"kind":"disk","disk":{"Number":1,"FriendlyName":"QEMU HARDDISK","SerialNumber":"S1","UniqueId":"U1","Size":1073741824,"PartitionStyle":"RAW","NumberOfPartitions":0,"IsBoot":false,"IsSystem":false,"IsReadOnly":false,"IsOffline":false,"IsClustered":false},"others":[{"Number":0,"SerialNumber":"S0"}],"partitions":[]}"#;
    assert!(json.contains(from), "{from}");
    Windows.inspected(&drive(1), &answered(&json.replacen(from, to, 1))).unwrap().unwrap()
}

fn write(found: &Inspection, destroy: &[&str]) -> Result<(), String> {
    let consent: Vec<Consent> = destroy.iter().map(|text| consent(text)).collect();
    judge(found, Intent::Write, &consent).map(drop).map_err(|refusal| refusal.to_string())
}

#[test]
fn a_drive_is_written_only_by_a_word_for_all_that_is_not_seen() {
    let raw = disk("RAW", "RAW");
    assert_eq!((raw.bytes, raw.identity.serial.as_deref(), raw.signatures.len()), (1 << 30, Some("S1"), 0));
    let whole = "serial=S1,unseen=content,unseen=exclusive,unseen=open";
    let refused = write(&raw, &[]).unwrap_err();
    assert!(
        refused.contains("who has it open") && refused.contains(&format!("--destroy {whole} (all data")),
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
    let whole = "serial=S1,unseen=content,unseen=exclusive,unseen=open,wipe=gpt,wipe=dos,wipe=partitions";
    let letter = r#""partitions":[{"PartitionNumber":2,"DriveLetter":"D","Type":"Basic"}]"#;
    for (from, to, part) in [
        ("\"IsBoot\":false", "\"IsBoot\":true", "Windows runs from it"),
        ("\"IsSystem\":false", "\"IsSystem\":true", "Windows boots from it"),
        ("\"IsClustered\":false", "\"IsClustered\":true", "cluster"),
        ("\"IsReadOnly\":false", "\"IsReadOnly\":true", "read-only"),
        ("\"partitions\":[]", letter, "its partition 2 is D:"),
        ("\"SerialNumber\":\"S0\"", "\"SerialNumber\":\" S1 \"", "PhysicalDrive0 tells it too"),
    ] {
        let refused = write(&disk(from, to), &[whole]).unwrap_err();
        assert!(refused.contains(part), "{refused}");
    }
    // A letter of zeros is none; a style that is not a word, or that is unknown, is a table.
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
        Windows.inspected(&file(), &answered(&json)).unwrap().unwrap()
    };
    let (bytes, born) = ((64 << 20) + 4096, 638_000_000_000_000_000);
    let ours = told(bytes, born);
    assert!(ours.bytes == 64 << 20 && write(&ours, &[]).is_ok(), "{ours:?}");
    assert!(write(&told(bytes, born + 1), &[]).unwrap_err().contains("not a file of iotax"));
    assert!(write(&told(bytes + 1, born), &[]).unwrap_err().contains("not a file of iotax"));
    assert_eq!(Windows.inspected(&file(), &answered(r#"{"kind":"nothing"}"#)).unwrap(), None);
}

#[test]
fn answers_that_are_none_are_told() {
    let text = |said: &[u8]| format!("{:#}", Windows.inspected(&file(), said).unwrap_err());
    assert!(text(b"bash: powershell: command not found").contains("begins with a slash"));
    assert!(text(b"IOTAX-SSH {\"kind\":\"new\"}").contains("it says {\"kind\":\"new\"}"));
}

#[test]
fn base64_is_that_of_the_system() {
    for text in ["", "a", "ab", "abc", "abcd", "\u{0}\u{7f}~?>"] {
        assert_eq!(decode(&base64(text.as_bytes())), text.as_bytes(), "{text:?}");
    }
}
