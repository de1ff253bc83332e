//! Finds out why a guest does not answer: QEMU stops a guest whose disk has no room left, and
//! waiting for it would be in vain. QEMU's reason is put before the failure; QEMU is asked only
//! after a failure.

use super::places::Places;
use iotax_facts::place::Place;
use iotax_qemu::qmp::{Qmp, QmpError};
use serde_json::Value;

/// Adds QEMU's reason to a failure in one of these places, if QEMU stopped the guest that it is.
pub fn add_qemu_reason(
    places: &mut Places,
    guests: &[&Place],
    error: anyhow::Error,
) -> anyhow::Error {
    let why = guests.iter().find_map(|guest| {
        let qemu = places.get(guest).ok()?.control().ok()?;
        // A QEMU that does not answer adds nothing.
        let why = why_stopped(qemu).ok()??;
        Some(format!("QEMU stopped guest {guest}: {why}"))
    });
    match why {
        Some(why) => error.context(why),
        None => error,
    }
}

/// Returns QEMU's reason for a guest that it stopped for a failed I/O; `None`: the guest runs, or
/// somebody else stopped it.
fn why_stopped(qemu: &mut Qmp) -> Result<Option<String>, QmpError> {
    let status = qemu.execute("query-status", Value::Null)?;
    if status["status"] != "io-error" {
        return Ok(None);
    }
    let answer = qemu.execute("query-block", Value::Null)?;
    let disks = answer.as_array().map(Vec::as_slice).unwrap_or_default();
    let with = |status: &str| {
        let those = disks.iter().filter(|disk| disk["io-status"] == status).map(name_of);
        those.collect::<Vec<_>>().join(", ")
    };
    Ok(Some(match (with("nospace"), with("failed")) {
        (full, _) if !full.is_empty() => format!(
            "no space is left on this host for what it writes to {full}; hint: temporary overlays (snapshot=on, image=) lie in \
             $TMPDIR, else in /var/tmp"
        ),
        (_, failed) if !failed.is_empty() => format!("an I/O of {failed} failed on this host"),
        _ => "an I/O failed on this host".to_owned(),
    }))
}

/// Returns the name of a disk in QEMU: that of its drive or, if it has none, of its device.
fn name_of(disk: &Value) -> &str {
    let names = [&disk["device"], &disk["qdev"]];
    names.into_iter().filter_map(Value::as_str).find(|name| !name.is_empty()).unwrap_or("a disk")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    /// Returns the reason from a QEMU that gives these answers, one per command after the greeting.
    fn says(answers: &[&str]) -> Option<String> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let answers: Vec<String> =
            std::iter::once("{}").chain(answers.iter().copied()).map(str::to_owned).collect();
        let qemu = std::thread::spawn(move || {
            writeln!(theirs, "{{\"QMP\": {{}}}}").unwrap();
            let mut heard = BufReader::new(theirs.try_clone().unwrap()).lines();
            for (id, answer) in answers.iter().enumerate() {
                heard.next().unwrap().unwrap();
                writeln!(theirs, "{{\"return\": {answer}, \"id\": {}}}", id + 1).unwrap();
            }
        });
        let why = why_stopped(&mut Qmp::greet(ours, Duration::from_secs(20)).unwrap()).unwrap();
        qemu.join().unwrap();
        why
    }

    #[test]
    fn a_guest_that_was_stopped_for_want_of_room_is_told_of() {
        let stopped = r#"{"status": "io-error", "running": false}"#;
        let block = |status: &str| {
            format!(
                r#"[{{"device": "system", "io-status": "ok"}}, {{"device": "", "qdev": "disk0-device", "io-status": "{status}"}},
                 {{"device": "disk1", "io-status": "{status}"}}, {{"device": "cd0"}}]"#
            )
            .replace('\n', "")
        };
        let full = says(&[stopped, &block("nospace")]).unwrap();
        assert!(
            full.starts_with(
                "no space is left on this host for what it writes to disk0-device, disk1; hint: "
            ),
            "{full}"
        );
        assert_eq!(
            says(&[stopped, &block("failed")]).unwrap(),
            "an I/O of disk0-device, disk1 failed on this host"
        );
        assert_eq!(says(&[stopped, "[]"]).unwrap(), "an I/O failed on this host");
        assert_eq!(says(&[r#"{"status": "running", "running": true}"#]), None);
        assert_eq!(says(&[r#"{"status": "paused", "running": false}"#]), None);
    }
}
