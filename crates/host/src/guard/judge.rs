//! Decides from an inspection, the intent and the user's consent whether a target may be used.
//! Reads neither a clock nor a device. Refuses to write what is in use, what could not be checked,
//! and a device that the consent does not name by its serial, WWN or attachment.

use super::found::{Finding, InspectedKind, Inspection, InspectionCheck};
use crate::block::{Identity, bare_wwn};
use iotax_facts::Consent;
use iotax_units::exit::Failed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Intent {
    Read,
    Write,
    /// Only reads the target, but takes it away from this host meanwhile: nobody else may use it.
    Take,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    /// What a reader of the results must know: who else uses a target that is read, or what could
    /// not be checked.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("cannot {verb} {}: {}{}", path.display(), reasons.join("; "), hint_clause(hint))]
pub struct Refusal {
    pub path: PathBuf,
    /// `use`, `write` or `take away`.
    pub verb: String,
    /// All reasons of the refusal, not only the first.
    pub reasons: Vec<String>,
    pub hint: Option<String>,
}

fn hint_clause(hint: &Option<String>) -> String {
    hint.as_ref().map_or_else(String::new, |hint| format!("; hint: {hint}"))
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Failed {
        Failed::input(refusal.to_string())
    }
}

/// Permits an intended use of a target, or refuses it.
///
/// # Errors
/// The refusal, with every reason found and, in most cases, what to do.
pub fn judge(found: &Inspection, intent: Intent, consent: &[Consent]) -> Result<Permit, Refusal> {
    let refuse = |verb: &str, reasons: Vec<String>, hint: Option<String>| {
        Err(Refusal { path: found.path.clone(), verb: verb.into(), reasons, hint })
    };
    if let Some(reason) = unusable(found) {
        return refuse("use", vec![reason], size_hint(found));
    }
    let verdict = match (intent, &found.kind) {
        (Intent::Read, _) => {
            return Ok(Permit { warnings: read_warnings(found) });
        }
        (Intent::Take, _) => {
            return judge_taken(found, consent)
                .or_else(|(reasons, hint)| refuse(TAKE, reasons, hint));
        }
        (Intent::Write, InspectedKind::File) => judge_file(found),
        (Intent::Write, _) => judge_device(found, consent),
    };
    verdict.or_else(|(reasons, hint)| refuse("write", reasons, hint))
}

type GuardVerdict = Result<Permit, (Vec<String>, Option<String>)>;

/// Returns why the target cannot even be read: it is no file or block device, or is empty. `None`
/// if it can be read.
fn unusable(found: &Inspection) -> Option<String> {
    match &found.kind {
        InspectedKind::Other(what) => {
            Some(format!("it is {what}, neither a file on a drive nor a block device"))
        }
        _ if found.bytes == 0 => Some("its size is 0".into()),
        _ => None,
    }
}

fn size_hint(found: &Inspection) -> Option<String> {
    let name = found.identity.name.as_deref()?;
    name.starts_with("zram").then(|| format!("echo 1G > /sys/block/{name}/disksize"))
}

fn read_warnings(found: &Inspection) -> Vec<String> {
    let path = found.path.display();
    found
        .occupied
        .iter()
        .map(|finding| format!("{path}: {}; others' I/O disturbs the figures", finding.text))
        .collect()
}

fn judge_file(found: &Inspection) -> GuardVerdict {
    let mut reasons = Vec::new();
    if found.symlink {
        reasons.push("it is a symbolic link".into());
    }
    let ours =
        found.marker.as_ref().is_some_and(|marker| Some(marker.inode) == found.identity.inode);
    if !ours {
        reasons.push(
            "it is not a file of iotax (no valid marker), and another's file is never written"
                .into(),
        );
    }
    reasons.extend(use_reasons(&found.occupied));
    let hint = match found.marker.as_ref().filter(|_| ours) {
        None => {
            "to only read this file, leave size= out; to have a file created, name a path that does not exist, with size=4GiB".into()
        }
        Some(marker) => format!(
            "run {} made it: if it was killed, iotax clean takes down what it left; else stop what uses it, or name another path",
            marker.run_id
        ),
    };
    conclude(reasons, Some(hint), found)
}

/// Judges a drive that a guest gets as a whole. Nothing is written, so data on it does not matter.
/// Members of an array or a volume group are refused unless the consent gives them up: this host
/// assembles them as soon as the drive is back, also between two visits.
fn judge_taken(found: &Inspection, consent: &[Consent]) -> GuardVerdict {
    let reasons = not_free(found);
    if !reasons.is_empty() {
        return conclude(reasons, Some(STOP_USING.into()), found);
    }
    let given_up = |name: &str| {
        let this = |given: &&Consent| {
            names_device(&found.identity, &given.serial)
                && ambiguous(&found.identity, given).is_none()
        };
        consent.iter().filter(this).any(|given| gives_up(given, name))
    };
    let members = found.signatures.iter().filter(|signature| is_member(&signature.name));
    let mut reasons: Vec<String> = members
        .filter(|signature| !given_up(&signature.name))
        .map(|signature| {
            format!("it is a member of something: {} ({})", signature.name, signature.place)
        })
        .collect();
    reasons.extend(not_seen(found, |check| check == InspectionCheck::Content));
    let hint =
        "name another drive, or take it out of what it belongs to and wipe its signature (wipefs)";
    conclude(reasons, Some(hint.into()), found)
}

const STOP_USING: &str = "name another drive, or stop what uses it";

/// Checks that the target is a whole disk that nobody uses. Its content was judged when the run was
/// planned.
///
/// # Errors
/// The refusal with every reason found.
pub fn judge_free(found: &Inspection) -> Result<(), Refusal> {
    let reasons = not_free(found);
    if reasons.is_empty() {
        return Ok(());
    }
    let hint = Some(STOP_USING.into());
    Err(Refusal { path: found.path.clone(), verb: TAKE.into(), reasons, hint })
}

const TAKE: &str = "take away";

fn not_free(found: &Inspection) -> Vec<String> {
    let mut reasons = use_reasons(&found.occupied);
    reasons.extend(not_seen(found, |check| {
        matches!(check, InspectionCheck::Open | InspectionCheck::Exclusive)
    }));
    match &found.kind {
        InspectedKind::Disk => {}
        InspectedKind::Partition(disk) => {
            reasons.push(format!("it is a partition of {disk}, and a drive goes as a whole"))
        }
        _ => reasons.push("it is no drive".into()),
    }
    reasons
}

/// Returns true for a signature of a disk that is used together with others: RAID, volume groups,
/// pools, caches.
fn is_member(name: &str) -> bool {
    name.ends_with("_member")
        || ["bcache", "bcachefs", "ceph_bluestore", "drbd", "stratis", "vdo"].contains(&name)
}

/// Returns true if the consent permits the loss of that signature.
fn gives_up(given: &Consent, signature: &str) -> bool {
    given.wipe.iter().any(|wipe| wipe.eq_ignore_ascii_case(signature))
}

fn not_seen(
    found: &Inspection,
    matters: impl Fn(InspectionCheck) -> bool,
) -> impl Iterator<Item = String> {
    let blind = found.unchecked.iter().filter(move |blind| matters(blind.check));
    blind.map(|blind| format!("iotax could not check all of it: {}", blind.why))
}

fn judge_device(found: &Inspection, consent: &[Consent]) -> GuardVerdict {
    let mut reasons = use_reasons(&found.occupied);
    let accepted = |check: InspectionCheck| {
        found.afar && matching_consents(found, consent).any(|given| accepts(given, check))
    };
    let mut unseen: Vec<String> =
        not_seen(found, |check| is_vital(check) && !accepted(check)).collect();
    if found.sample.is_none() && !accepted(InspectionCheck::Content) {
        unseen.push("its content was not sampled".into());
    }
    if found.read_only {
        reasons.push("the kernel has it read-only".into());
    }
    if found.afar && reasons.is_empty() && !unseen.is_empty() {
        // No word could name it, whatever were seen.
        if consent_word(&found.identity).is_none() {
            unseen.push(nameless(&found.identity));
        }
        return conclude(unseen, unseen_hint(found), found);
    }
    // No hint how to consent: consent does not open what is in use.
    let hint = match reasons.is_empty() {
        true => {
            "iotax writes to a device only if it can see who uses it; measure a file (file:PATH,size=4GiB) or a drive of a lab \
             (nvme0 @lab) instead"
        }
        false => "name another device, or stop what uses it",
    };
    reasons.extend(unseen);
    if !reasons.is_empty() {
        return conclude(reasons, Some(hint.into()), found);
    }
    judge_consent(found, consent)
}

fn matching_consents<'a>(
    found: &'a Inspection,
    consent: &'a [Consent],
) -> impl Iterator<Item = &'a Consent> {
    consent.iter().filter(|given| names_device(&found.identity, &given.serial))
}

fn accepts(given: &Consent, check: InspectionCheck) -> bool {
    given.unseen.iter().any(|word| word.eq_ignore_ascii_case(check.unseen_word()))
}

/// Returns the `--destroy` option that waives the checks which could not be made: over SSH some
/// never can be, and the user may know the device. `None` if no word identifies the device.
fn unseen_hint(found: &Inspection) -> Option<String> {
    let names = found.signatures.iter().map(|signature| signature.name.as_str()).collect();
    let blind = found.unchecked.iter().map(|blind| blind.check).filter(|check| is_vital(*check));
    let content = found.sample.is_none().then_some(InspectionCheck::Content);
    let checks: BTreeSet<&str> = blind.chain(content).map(InspectionCheck::unseen_word).collect();
    let words: String = checks.iter().map(|word| format!(",unseen={word}")).collect();
    let word = consent_word(&found.identity)?;
    let option = destroy_option(&format!("{word}{words}"), &names);
    Some(format!("if you know that nobody uses it and nobody misses what is on it: {option}"))
}

fn judge_consent(found: &Inspection, consent: &[Consent]) -> GuardVerdict {
    let names: BTreeSet<&str> =
        found.signatures.iter().map(|signature| signature.name.as_str()).collect();
    let Some(word) = consent_word(&found.identity) else {
        return conclude(vec![nameless(&found.identity)], None, found);
    };
    let hint = Some(destroy_option(word, &names));
    if let Some(reason) = consent.iter().find_map(|given| ambiguous(&found.identity, given)) {
        return conclude(vec![reason], hint, found);
    }
    let Some(given) = consent.iter().find(|given| names_device(&found.identity, &given.serial))
    else {
        let mut reasons = vec!["its destruction is not consented to".to_owned()];
        reasons.extend(content_reason(found, &names));
        return conclude(reasons, hint, found);
    };
    let unnamed: BTreeSet<&str> =
        names.iter().copied().filter(|name| !gives_up(given, name)).collect();
    let reasons = content_reason(found, &unnamed).into_iter().collect();
    conclude(reasons, hint, found)
}

fn conclude(reasons: Vec<String>, hint: Option<String>, found: &Inspection) -> GuardVerdict {
    if !reasons.is_empty() {
        return Err((reasons, hint));
    }
    let warnings = found
        .unchecked
        .iter()
        .map(|blind| format!("{}: not checked: {}", found.path.display(), blind.why));
    Ok(Permit { warnings: warnings.collect() })
}

fn use_reasons(occupied: &[Finding]) -> Vec<String> {
    occupied.iter().map(|finding| finding.text.clone()).collect()
}

/// Returns true if a device could be in use, or hold data, unnoticed without this check. Mounts are
/// not such a check, since a mount in a namespace that we cannot see also fails the exclusive open;
/// nor are reservations, which the drive itself enforces.
fn is_vital(check: InspectionCheck) -> bool {
    match check {
        InspectionCheck::Open | InspectionCheck::Exclusive | InspectionCheck::Content => true,
        InspectionCheck::Mounts | InspectionCheck::Reservation => false,
    }
}

/// Describes the signatures with these names, which the consent does not cover: `it carries gpt (at
/// byte 512), ext4 (in partition sdb1 at byte 1080), which ...`. `None` if there are none.
fn content_reason(found: &Inspection, names: &BTreeSet<&str>) -> Option<String> {
    let listed: Vec<String> = names
        .iter()
        .filter_map(|name| found.signatures.iter().find(|signature| signature.name == **name))
        .map(|signature| format!("{} ({})", signature.name, signature.place))
        .collect();
    (!listed.is_empty())
        .then(|| format!("it carries {}, which the consent does not name", listed.join(", ")))
}

/// Returns the word by which a consent names this device and no other: its serial if no other disk
/// has it, else its WWN, else its attachment. `None` if it has none of these.
pub fn consent_word(identity: &Identity) -> Option<&str> {
    let serial = identity.serial.as_deref().filter(|_| identity.serial_shared_with.is_empty());
    serial.or(identity.wwn.as_deref()).or(identity.transient.as_deref())
}

fn nameless(identity: &Identity) -> String {
    match &identity.serial {
        Some(serial) => format!(
            "its serial {serial} is also that of {}, and it has no WWN, so nothing names it alone",
            identity.serial_shared_with.join(", ")
        ),
        None => {
            "it has no serial, no WWN and no attachment number, so that nothing but its path names it (give it a serial, where it is a \
             virtual machine's)"
                .into()
        }
    }
}

fn ambiguous(identity: &Identity, given: &Consent) -> Option<String> {
    let shared = !identity.serial_shared_with.is_empty()
        && identity.serial.as_deref() == Some(given.serial.as_str());
    shared.then(|| {
        format!(
            "serial {} does not identify one drive: {} has it, too",
            given.serial,
            identity.serial_shared_with.join(", ")
        )
    })
}

/// Returns true if `word` is this device's serial, WWN or attachment.
pub fn names_device(identity: &Identity, word: &str) -> bool {
    let wwn = |text: &str| bare_wwn(text).to_ascii_lowercase();
    identity.serial.as_deref() == Some(word)
        || identity.transient.as_deref() == Some(word)
        || identity.wwn.as_deref().is_some_and(|own| wwn(own) == wwn(word))
}

fn destroy_option(word: &str, signatures: &BTreeSet<&str>) -> String {
    let wipes: String = signatures.iter().map(|name| format!(",wipe={name}")).collect();
    let text = format!("serial={word}{wipes}");
    match text.chars().all(|c| c.is_ascii_alphanumeric() || "=,.-_:".contains(c)) {
        true => format!("--destroy {text} (all data on it will be lost)"),
        false => format!("--destroy '{text}' (all data on it will be lost)"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::found::{Signature, TargetUse, UncheckedPoint};
    use super::super::marker::Marker;
    use super::super::rig::consent;
    use super::super::sample::BlockSample;
    use super::*;
    use std::path::Path;

    /// A disk that nobody uses, empty, with this serial and WWN.
    fn disk(serial: Option<&str>, wwn: Option<&str>) -> Inspection {
        Inspection {
            kind: InspectedKind::Disk,
            bytes: 1 << 30,
            identity: Identity {
                name: Some("sdb".into()),
                serial: serial.map(Into::into),
                wwn: wwn.map(Into::into),
                ..Identity::default()
            },
            sample: Some(BlockSample { blocks: 1000, ..BlockSample::default() }),
            ..Inspection::blank_at(Path::new("/dev/sdb"))
        }
    }

    fn carrying(names: &[&str]) -> Inspection {
        let mut found = disk(Some("S1"), None);
        found.signatures = names
            .iter()
            .map(|name| Signature { name: (*name).into(), place: "at byte 0".into() })
            .collect();
        found
    }

    fn using(kind: TargetUse, text: &str) -> Finding {
        Finding { kind, text: text.into() }
    }

    fn file_of_ours() -> Inspection {
        let marker = Marker {
            run_id: "r".into(),
            inode: 7,
            device: 1,
            born_ns: None,
            bytes: 1 << 20,
            filled: true,
        };
        let identity = Identity { inode: Some(7), ..Identity::default() };
        Inspection {
            path: "/srv/x".into(),
            kind: InspectedKind::File,
            identity,
            marker: Some(marker),
            sample: None,
            ..disk(None, None)
        }
    }

    fn write(found: &Inspection, destroy: &[&str]) -> Result<Permit, String> {
        let consent: Vec<Consent> = destroy.iter().map(|text| consent(text)).collect();
        judge(found, Intent::Write, &consent).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn writing_a_device_case_by_case() {
        let mut used_one = disk(Some("S1"), None);
        used_one.occupied.push(using(TargetUse::Mounted, "sdb1 is mounted at /srv (ext4)"));
        let mut blind = disk(Some("S1"), None);
        blind.unchecked.push(UncheckedPoint {
            check: InspectionCheck::Open,
            why: "other users' processes".into(),
        });
        let mut reserved = disk(Some("S1"), None);
        reserved
            .unchecked
            .push(UncheckedPoint { check: InspectionCheck::Reservation, why: "not read".into() });
        let mut shared = disk(Some("S1"), None);
        shared.identity.serial_shared_with = vec!["sdc".into()];
        let mut shared_wwn = disk(Some("S1"), Some("naa.500A"));
        shared_wwn.identity.serial_shared_with = vec!["sdc".into()];
        let mut transient = disk(None, None);
        transient.identity.transient = Some("boot-12345678-diskseq-9".into());
        let read_only = Inspection { read_only: true, ..disk(Some("S1"), None) };
        let unsampled = Inspection { sample: None, ..disk(Some("S1"), None) };
        let empty = Inspection { bytes: 0, ..disk(Some("S1"), None) };
        let plain = disk(Some("S1"), Some("naa.500A"));
        type Case<'a> = (&'a str, &'a Inspection, &'a [&'a str], Result<(), &'a str>);
        let cases: &[Case] = &[
            ("consented", &plain, &["serial=S1"], Ok(())),
            ("by WWN", &plain, &["wwn=naa.500a"], Ok(())),
            ("by WWN as udev writes it", &plain, &["serial=0x500a"], Ok(())),
            ("one of two consents", &plain, &["serial=S9", "serial=S1"], Ok(())),
            ("reservation not read", &reserved, &["serial=S1"], Ok(())),
            ("no consent", &plain, &[], Err("hint: --destroy serial=S1 (all data")),
            ("another's serial", &plain, &["serial=S2"], Err("not consented to")),
            ("part of the serial", &plain, &["serial=S"], Err("not consented to")),
            ("in use, consented", &used_one, &["serial=S1"], Err("sdb1 is mounted at /srv")),
            (
                "others' processes unseen",
                &blind,
                &["serial=S1"],
                Err("iotax could not check all of it: other users' processes"),
            ),
            ("read-only", &read_only, &["serial=S1"], Err("read-only")),
            ("not sampled", &unsampled, &["serial=S1"], Err("not sampled")),
            ("no size", &empty, &["serial=S1"], Err("size is 0")),
            ("shared serial", &shared, &["serial=S1"], Err("nothing names it alone")),
            (
                "shared serial with WWN",
                &shared_wwn,
                &["serial=S1"],
                Err("hint: --destroy serial=naa.500A"),
            ),
            ("shared serial, by WWN", &shared_wwn, &["wwn=naa.500A"], Ok(())),
            (
                "no name at all",
                &disk(None, None),
                &["serial=S1"],
                Err("nothing but its path names it"),
            ),
            ("transient name", &transient, &["serial=boot-12345678-diskseq-9"], Ok(())),
            (
                "transient name of before",
                &transient,
                &["serial=boot-12345678-diskseq-8"],
                Err("diskseq-9"),
            ),
            (
                "gpt not named",
                &carrying(&["gpt"]),
                &["serial=S1"],
                Err("it carries gpt (at byte 0)"),
            ),
            ("gpt named", &carrying(&["gpt"]), &["serial=S1,wipe=gpt"], Ok(())),
            (
                "one of two named",
                &carrying(&["gpt", "ext4"]),
                &["serial=S1,wipe=gpt"],
                Err("it carries ext4"),
            ),
            ("both named", &carrying(&["gpt", "ext4"]), &["serial=S1,wipe=gpt,wipe=EXT4"], Ok(())),
            ("data not named", &carrying(&["data"]), &["serial=S1"], Err("wipe=data")),
            (
                "named for another disk",
                &carrying(&["gpt"]),
                &["serial=S1", "serial=S2,wipe=gpt"],
                Err("carries gpt"),
            ),
        ];
        for (name, found, destroy, expected) in cases {
            match (write(found, destroy), expected) {
                (Ok(_), Ok(())) => {}
                (Err(text), Err(part)) => assert!(text.contains(part), "{name}: {text}"),
                (got, wanted) => panic!("{name}: {got:?}, not {wanted:?}"),
            }
        }
    }

    #[test]
    fn a_drive_that_belongs_to_something_is_not_taken_even_while_nothing_has_it() {
        let take = |found: &Inspection, destroy: &[&str]| {
            let consent: Vec<Consent> = destroy.iter().map(|text| consent(text)).collect();
            judge(found, Intent::Take, &consent).map(drop).map_err(|refusal| refusal.to_string())
        };
        for free in [&[][..], &["ext4"], &["gpt", "crypto_LUKS"]] {
            assert_eq!(take(&carrying(free), &[]), Ok(()), "{free:?}");
        }
        for member in
            ["linux_raid_member", "LVM2_member", "zfs_member", "isw_raid_member", "bcache"]
        {
            let found = carrying(&["gpt", member]);
            let refused = take(&found, &[]).unwrap_err();
            assert!(
                refused.contains(&format!("a member of something: {member} (at byte 0)")),
                "{refused}"
            );
            assert!(take(&found, &["serial=S2,wipe=gpt", "serial=S1"]).is_err(), "{member}");
            assert_eq!(take(&found, &[&format!("serial=S1,wipe={member}")]), Ok(()));
            assert!(judge_free(&found).is_ok(), "judged already");
        }
        let mut blind = disk(Some("S1"), None);
        blind
            .unchecked
            .push(UncheckedPoint { check: InspectionCheck::Content, why: "unreadable".into() });
        assert!(
            take(&blind, &[]).unwrap_err().contains("iotax could not check all of it: unreadable")
        );
        let mut mounted = carrying(&["ext4"]);
        mounted.occupied.push(using(TargetUse::Mounted, "sdb1 is mounted at /srv"));
        for refused in
            [take(&mounted, &[]).unwrap_err(), judge_free(&mounted).unwrap_err().to_string()]
        {
            assert!(refused.contains("take away /dev/sdb: sdb1 is mounted at /srv"), "{refused}");
        }
        let part = Inspection { kind: InspectedKind::Partition("sdb".into()), ..disk(None, None) };
        assert!(take(&part, &[]).unwrap_err().contains("a drive goes as a whole"));
    }

    #[test]
    fn writing_a_file_case_by_case() {
        let ours = file_of_ours();
        assert!(write(&ours, &[]).is_ok());
        let mut other_inode = ours.clone();
        other_inode.identity.inode = Some(8);
        let mut held = ours.clone();
        held.occupied.push(using(TargetUse::Loop, "held by loop device loop0"));
        let theirs = Inspection { marker: None, ..ours.clone() };
        let link = Inspection { symlink: true, ..ours.clone() };
        let folder = Inspection { kind: InspectedKind::Other("a folder".into()), ..ours };
        for (found, part) in [
            (&other_inode, "not a file of iotax"),
            (&held, "held by loop device loop0"),
            (&theirs, "not a file of iotax"),
            (&link, "symbolic link"),
            (&folder, "a folder"),
        ] {
            // Consent to a device says nothing about files.
            let text = write(found, &["serial=S1,wipe=data"]).expect_err(part);
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn every_kind_of_use_forbids_writing_and_only_disturbs_reading() {
        for kind in [
            TargetUse::Mounted,
            TargetUse::Swap,
            TargetUse::Loop,
            TargetUse::Holder,
            TargetUse::Multipath,
            TargetUse::Exported,
            TargetUse::Open,
            TargetUse::Exclusive,
        ] {
            let mut found = disk(Some("S1"), None);
            found.occupied.push(using(kind, "somebody uses it"));
            let refused = write(&found, &["serial=S1"]).expect_err("in use");
            assert!(
                refused.contains("somebody uses it") && !refused.contains("--destroy"),
                "{refused}"
            );
            let permit = judge(&found, Intent::Read, &[]).expect("reading is allowed");
            assert!(permit.warnings[0].contains("somebody uses it"));
        }
    }

    #[test]
    fn the_hint_consents_when_it_is_typed() {
        let found = carrying(&["gpt", "LVM2_member"]);
        let refused = judge(&found, Intent::Write, &[]).expect_err("no consent");
        let hint = refused.hint.expect("hint");
        let option = hint
            .strip_prefix("--destroy ")
            .and_then(|rest| rest.split(' ').next())
            .expect("option");
        assert!(write(&found, &[option]).is_ok(), "{option}");
    }
}
