//! Durability trials: for each stack and kind of kill, how much of what had been acknowledged was
//! kept, how sure that is, and what no such trial can show. Kills are counted, not blocks: all
//! blocks of one kill share its fate.

use crate::findings::durability::{Durability, DurabilityRow};
use crate::findings::{GuestDisk, Interval, MeasuredFigure, SampleUnit};
use iotax_facts::machine::Device;
use iotax_model::record::PlaceFacts;
use iotax_model::record::trial::{DurabilityTrial, Example, ReadBack};
use iotax_model::scenario::Kill;
use iotax_model::stack::Stack;
use iotax_stats::share;
use iotax_store::RunData;
use iotax_units::grouped;
use std::collections::BTreeSet;

/// Returns the findings of a run of trials; `None` for any other run.
pub fn durability(run: &RunData) -> Option<Durability> {
    run.start.scenario.durability.as_ref()?;
    let of_stack = |stack: &Stack| {
        let of_kill = |kill| durability_row(run, &stack.name, kill);
        Kill::ALL.into_iter().filter_map(of_kill).collect::<Vec<_>>()
    };
    Some(Durability { rows: run.start.scenario.stacks.iter().flat_map(of_stack).collect() })
}

fn durability_row(run: &RunData, stack: &str, kill: Kill) -> Option<DurabilityRow> {
    let trials: Vec<&DurabilityTrial> =
        run.trials.iter().filter(|trial| trial.stack == stack && trial.kill == kill).collect();
    if trials.is_empty() {
        return None;
    }
    let found = trials
        .iter()
        .map(|trial| trial.found.clone())
        .fold(ReadBack::default(), ReadBack::combine_results);
    let seconds = || trials.iter().map(|trial| trial.load_ns as f64 / 1e9);
    let kills = trials.len() as u64;
    let lossy = trials.iter().filter(|trial| trial.found.broken_blocks() > 0).count() as u64;
    let mut row = DurabilityRow {
        stack: stack.to_owned(),
        kill: kill.kill_word(),
        kills,
        lossy,
        share: share_of(lossy, kills),
        acknowledged: trials.iter().map(|trial| trial.acknowledged).sum(),
        found: ReadBack { examples: Vec::new(), ..found },
        idle: trials.iter().filter(|trial| trial.writing == Some(false)).count() as u64,
        load_s: (seconds().fold(f64::INFINITY, f64::min), seconds().fold(0.0, f64::max)),
        caution: None,
        sentence: String::new(),
        examples: examples(&trials),
        emulated: emulated(run, stack),
    };
    row.sentence = row_words(&row, kill) + &idle(&row);
    row.caution = caution(run, &row);
    row.sentence.extend(row.caution.into_iter().flat_map(|caution| ["; ", caution]));
    Some(row)
}

fn share_of(lossy: u64, kills: u64) -> MeasuredFigure {
    let interval = match share::interval(lossy, kills) {
        Some((low, high)) => Interval::from_bounds(low, high),
        None => Interval::Missing { missing: "no kills".into() },
    };
    let value = lossy as f64 / kills.max(1) as f64;
    MeasuredFigure::known_value(value, "1", (kills, SampleUnit::Kills), interval)
}

/// Returns the ends of a share's interval in %, both rounded outwards, so that nothing is printed
/// surer than it is.
pub fn percents(share: &MeasuredFigure) -> Option<(String, String)> {
    let (low, high) = share.bounds()?;
    Some((percent(low, f64::floor), percent(high, f64::ceil)))
}

/// Returns the interval of a row's share: `2.5 to 44.6 %`. If no kill lost something, or each did,
/// it has only the bound that is neither 0 nor 100 %. `None` without kills.
pub fn known_share(row: &DurabilityRow) -> Option<String> {
    let (low, high) = percents(&row.share)?;
    Some(match row.lossy {
        0 => format!("at most {high} %"),
        all if all == row.kills => format!("at least {low} %"),
        _ => format!("{low} to {high} %"),
    })
}

/// Formats a share in percent with one decimal, or with two significant digits if it is small,
/// rounded by `outwards`.
fn percent(share: f64, outwards: fn(f64) -> f64) -> String {
    let value = 100.0 * share;
    let decimals = if value > 0.0 { (1.0 - value.log10().floor()).max(1.0) as usize } else { 1 };
    let scale = 10f64.powi(decimals as i32);
    // The binary error of a float is no reason to round one digit further.
    let digits = (value * scale * 1e6).round() / 1e6;
    format!("{:.decimals$}", outwards(digits) / scale)
}

fn examples(trials: &[&DurabilityTrial]) -> Vec<String> {
    let of_trial = |trial: &&DurabilityTrial| {
        let number = trial.trial + 1;
        let line = move |example: &Example| {
            let expected = match example.expected {
                Some(write) => format!("write {write} was acknowledged, and there is"),
                None => "a write was under way, and there is".to_owned(),
            };
            format!(
                "trial {number}, block {} of 4 KiB: {expected} {}",
                example.block, example.found
            )
        };
        trial.found.examples.iter().map(line).collect::<Vec<_>>()
    };
    trials.iter().flat_map(of_trial).take(MOST_EXAMPLES).collect()
}

const MOST_EXAMPLES: usize = 3;

fn emulated(run: &RunData, stack: &str) -> Option<String> {
    let its = |place: &&PlaceFacts| place.disks.iter().any(|disk| disk.stack == stack);
    run.places.iter().find(its).and_then(|place| place.emulated.clone())
}

fn row_words(row: &DurabilityRow, kill: Kill) -> String {
    let (stack, whom) = (&row.stack, kill.phrase());
    let times = if row.kills == 1 {
        "1 kill".to_owned()
    } else {
        format!("{} kills", grouped(row.kills as f64))
    };
    let count = |blocks: u64| grouped(blocks as f64);
    let (Some((_, high)), Some(known)) = (percents(&row.share), known_share(row)) else {
        return format!("{stack}: nothing was tried");
    };
    if !row.is_broken() {
        return format!(
            "{stack}: kept all {} acknowledged blocks in {times} of {whom}; with 95 % confidence fewer than {high} % of such \
             kills lose anything",
            count(row.found.blocks)
        );
    }
    let bad = [
        (row.found.lost, "LOST"),
        (row.found.torn, "TORN"),
        (row.found.unreadable, "NOT READABLE"),
        (row.found.under_way_torn, "torn or not readable of those only under way"),
    ];
    let bad: Vec<String> = bad
        .into_iter()
        .filter(|(blocks, _)| *blocks > 0)
        .map(|(blocks, word)| format!("{} {word}", count(blocks)))
        .collect();
    format!(
        "{stack}: of {} acknowledged blocks {}; {} of {times} of {whom} broke the promise ({known})",
        count(row.found.blocks),
        bad.join(", "),
        count(row.lossy)
    )
}

/// Returns a clause on the kills that found nothing in flight, which tried only what had been
/// flushed; empty if there are none.
fn idle(row: &DurabilityRow) -> String {
    match row.idle {
        0 => String::new(),
        kills => format!(
            "; in {} of these kills nothing was under way any more (max_written)",
            grouped(kills as f64)
        ),
    }
}

/// Returns the reason why writes that survived the kills may still be lost; `None` if none is
/// known.
fn caution(run: &RunData, row: &DurabilityRow) -> Option<&'static str> {
    let disk =
        run.places.iter().flat_map(|place| &place.disks).find(|disk| disk.stack == row.stack);
    let is_on =
        |option| disk.and_then(|disk| disk.qemu.get(option)).is_some_and(|word| word == "on");
    match is_on("cache.no-flush") && !row.is_broken() {
        true if is_on("snapshot") => Some("the overlay is gone with QEMU (snapshot=on)"),
        true => {
            Some("a power cut may lose some of it, as no flush is passed on (cache.no-flush=on)")
        }
        false => None,
    }
}

/// Returns the headline of the run: the row with the most kills that lost something, or a summary
/// if none did.
///
/// # Errors
/// Fails if no trial was made.
pub fn headline(found: &Durability) -> Result<String, String> {
    let broken = found.rows.iter().filter(|row| row.is_broken());
    let worst = broken.max_by_key(|row| (row.lossy, row.found.broken_blocks()));
    match (worst, found.rows.as_slice()) {
        (Some(worst), _) => Ok(worst.sentence.clone()),
        (None, []) => Err("no trial was made".to_owned()),
        (None, [row]) => Ok(row.sentence.clone()),
        (None, rows) => Ok(all_kept(rows)),
    }
}

/// Summarizes several rows without a loss. Each has an interval of its own; the widest is shown.
fn all_kept(rows: &[DurabilityRow]) -> String {
    let sum = |of: fn(&DurabilityRow) -> u64| grouped(rows.iter().map(of).sum::<u64>() as f64);
    let (kills, blocks) = (sum(|row| row.kills), sum(|row| row.found.blocks));
    let named = |rows: Vec<&DurabilityRow>| {
        let names: BTreeSet<&str> = rows.into_iter().map(|row| row.stack.as_str()).collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    };
    let fewest = rows.iter().min_by_key(|row| row.kills).and_then(|row| percents(&row.share));
    let sure = fewest.map(|(_, most)| {
        format!("; of each stack and kind of kill, with 95 % confidence fewer than {most} % of such kills lose anything")
    });
    let cautions: BTreeSet<&str> = rows.iter().filter_map(|row| row.caution).collect();
    let with =
        |caution: &str| rows.iter().filter(|row| row.caution == Some(caution)).collect::<Vec<_>>();
    let but = cautions.iter().map(|caution| format!("; {}: {caution}", named(with(caution))));
    format!(
        "{}: kept all {blocks} acknowledged blocks in {kills} kills, none of which is a power cut{}{}",
        named(rows.iter().collect()),
        sure.unwrap_or_default(),
        but.collect::<String>()
    )
}

/// Returns lines on what the trials do not show, by what QEMU, the guests and the drives report of
/// their caches. Empty without trials.
pub fn not_shown(run: &RunData, found: &Durability) -> Vec<String> {
    if found.rows.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![POWER_CUT.to_owned()];
    let tried: BTreeSet<&str> = found.rows.iter().map(|row| row.stack.as_str()).collect();
    let mut seen = BTreeSet::new();
    for disk in run.places.iter().flat_map(|place| &place.disks) {
        if tried.contains(disk.stack.as_str()) && seen.insert(disk.stack.as_str()) {
            lines.extend(of_disk(disk));
        }
    }
    lines.extend(of_drives(run));
    lines.extend(found.rows.iter().filter(|row| row.idle > 0).map(unloaded));
    lines.push(
        "in-flight atomicity: a block that was under way may be old or new sector by sector (512 bytes); only a torn sector counts"
            .into(),
    );
    lines
}

fn unloaded(row: &DurabilityRow) -> String {
    format!(
        "{} ({} killed): what was under way in {} of {} kills: the writer had written its share of max_written before",
        row.stack,
        row.kill,
        grouped(row.idle as f64),
        grouped(row.kills as f64)
    )
}

const POWER_CUT: &str = "a power cut or a crash of this host: a kill leaves this host's kernel, its page cache and the drives as they \
    are; that everything was kept here is no proof against either";

fn of_disk(disk: &GuestDisk) -> Vec<String> {
    let is = |option: &str, word: &str| disk.qemu.get(option).is_some_and(|value| value == word);
    let stack = &disk.stack;
    if is("snapshot", "on") {
        return vec![format!(
            "{stack}: snapshot=on, so that writes go to a temporary overlay of QEMU's that is never flushed (cache.no-flush=on): what a \
             kill of the guest left is gone with QEMU, however that ends"
        )];
    }
    let cache = match (
        is("cache.no-flush", "on"),
        is("cache.direct", "on"),
        is("cache.direct", "off"),
    ) {
        (true, ..) => format!(
            "{stack}: cache.no-flush=on, so that no flush of the guest reaches this host's disk: a power cut loses acknowledged \
             writes that are still in the host's page cache, and these kills cannot see it"
        ),
        (_, _, true) => format!(
            "{stack}: cache.direct=off, so that writes are in this host's page cache, which outlives every kill; that \
             flushes (cache.no-flush=off) empty it is not shown"
        ),
        (_, true, _) => format!(
            "{stack}: cache.direct=on and cache.no-flush=off: writes go past this host's page cache; that a flush empties the \
             drive's own cache is not shown"
        ),
        _ if disk.attach == "vfio" => format!(
            "{stack}: attach=vfio, so that the guest has the drive itself: a kill resets the drive and leaves it its power; that a \
             flush empties its own cache is not shown"
        ),
        _ => format!("{stack}: its cache settings in QEMU were not reported"),
    };
    let writes_through = disk.guest.get("write-cache").is_some_and(|seen| seen == "write through");
    let no_flush = writes_through.then(|| {
        format!("{stack}: the guest sees a write-through disk and sends no flushes: each write was promised by itself")
    });
    std::iter::once(cache).chain(no_flush).collect()
}

fn of_drives(run: &RunData) -> Vec<String> {
    let host = run.places.iter().filter(|place| place.place.is_host());
    let devices = host.flat_map(|place| &place.facts.targets).flat_map(|target| &target.devices);
    let mut lines = BTreeSet::new();
    for device in devices {
        lines.insert(drive(device));
    }
    lines.into_iter().collect()
}

fn drive(device: &Device) -> String {
    let name = &device.name;
    match device.write_cache.as_deref() {
        Some("write back") => format!(
            "{name}: it says that it has a volatile write cache (write back), which no kill empties and a power cut does"
        ),
        Some("write through") => {
            format!("{name}: it says that it has no volatile write cache, and that was not tried")
        }
        _ => format!("{name}: whether it has a volatile write cache is not known"),
    }
}

#[cfg(test)]
mod tests {
    use super::{known_share, percent, percents, share_of};
    use crate::{findings, twin};
    use iotax_store::RunData;

    #[test]
    fn what_was_kept_and_what_was_lost_is_said_with_how_sure_it_is() {
        let found = findings(&twin::durability());
        let rows = &found.durability.as_ref().unwrap().rows;
        let told: Vec<(&str, &str, bool)> =
            rows.iter().map(|row| (row.stack.as_str(), row.kill, row.is_broken())).collect();
        let expected = [
            ("vm", "guest", false),
            ("vm", "qemu", false),
            ("vm snapshot=on", "guest", false),
            ("vm snapshot=on", "qemu", true),
        ];
        assert_eq!(told, expected);
        assert!(rows[1].sentence.ends_with("kept all 20,000 acknowledged blocks in 20 kills of QEMU; with 95 % confidence fewer than 14.0 % of such kills lose anything"), "{}", rows[1].sentence);
        assert!(rows[3].sentence.contains("of 20,000 acknowledged blocks 19,998 LOST, 2 TORN; 20 of 20 kills of QEMU broke the promise (at least 86.0 %)"), "{}", rows[3].sentence);
        assert!(
            rows[2]
                .sentence
                .ends_with("lose anything; the overlay is gone with QEMU (snapshot=on)")
        );
        assert_eq!(rows[3].examples.len(), 3);
        assert_eq!(found.headline.as_deref(), Some(rows[3].sentence.as_str()));
        assert!(!format!("{found:?}").contains("safe"));
    }

    #[test]
    fn a_bound_of_one_side_is_not_printed_as_an_interval() {
        let found = findings(&twin::durability());
        let rows = &found.durability.as_ref().unwrap().rows;
        let some =
            super::DurabilityRow { lossy: 1, kills: 10, share: share_of(1, 10), ..rows[3].clone() };
        let told = [&rows[0], &rows[3], &some].map(|row| known_share(row).unwrap());
        assert_eq!(told, ["at most 14.0 %", "at least 86.0 %", "0.25 to 44.6 %"]);
    }

    #[test]
    fn no_bound_is_printed_surer_than_it_is() {
        let of = |hits, kills| percents(&share_of(hits, kills)).unwrap();
        let told = |low: &str, high: &str| (low.to_owned(), high.to_owned());
        assert_eq!(of(0, 20), told("0.0", "14.0"), "13.91 %");
        assert_eq!(of(0, 10_000), told("0.0", "0.030"), "0.02995 %");
        assert_eq!(of(0, 1_000_000), told("0.0", "0.00030"));
        assert_eq!(of(1, 10), told("0.25", "44.6"), "0.2529 and 44.502 %");
        assert_eq!(of(20, 20), told("86.0", "100.0"), "86.09 %");
        assert_eq!(
            [percent(0.5, f64::ceil), percent(0.07, f64::floor)],
            ["50.0", "7.0"],
            "floats beside it"
        );
        for kills in 1..3000 {
            let (low, high) = share_of(kills / 7, kills).bounds().unwrap();
            let (said_low, said_high) = of(kills / 7, kills);
            let number = |text: &str| text.parse::<f64>().unwrap() / 100.0;
            assert!(
                number(&said_low) <= low + 1e-9 && number(&said_high) >= high - 1e-9,
                "{kills}"
            );
        }
    }

    #[test]
    fn a_kill_that_found_nothing_under_way_is_told() {
        let mut run = twin::durability();
        assert!(!format!("{:?}", findings(&run)).contains("under way any more"));
        run.trials
            .iter_mut()
            .filter(|trial| trial.trial < 6)
            .for_each(|trial| trial.writing = Some(false));
        // Records from before it do not say.
        run.trials
            .iter_mut()
            .filter(|trial| trial.trial > 30)
            .for_each(|trial| trial.writing = None);
        let found = findings(&run);
        let row = &found.durability.as_ref().unwrap().rows[0];
        assert_eq!(row.idle, 3);
        assert!(
            row.sentence
                .contains("; in 3 of these kills nothing was under way any more (max_written)"),
            "{}",
            row.sentence
        );
        let said = found.not_excluded.join("\n");
        assert!(
            said.contains("vm (guest killed): what was under way in 3 of 20 kills: "),
            "{said}"
        );
    }

    #[test]
    fn what_no_kill_shows_follows_what_was_read_back() {
        let found = findings(&twin::durability());
        let said = found.not_excluded.join("\n");
        for words in [
            "a power cut or a crash of this host",
            "vm: cache.direct=on and cache.no-flush=off",
            "vm snapshot=on: snapshot=on, so that writes go to a temporary overlay",
            "never flushed (cache.no-flush=on)",
            "nvme0n1: it says that it has a volatile write cache",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }

    #[test]
    fn what_is_kept_without_flushes_is_not_said_without_that() {
        let mut run = twin::durability();
        run.trials.retain(|trial| trial.stack == "vm");
        let disk = run.places[1].disks.first_mut().unwrap();
        disk.qemu.insert("cache.no-flush".into(), "on".into());
        let found = findings(&run);
        // Nor where one line is all that is quoted.
        assert_eq!(
            found.headline.unwrap(),
            "vm: kept all 40,000 acknowledged blocks in 40 kills, none of which is a power cut; of each stack and kind of kill, \
             with 95 % confidence fewer than 14.0 % of such kills lose anything; vm: a power cut may lose some of it, as no flush \
             is passed on (cache.no-flush=on)"
        );
        let rows = found.durability.unwrap().rows;
        assert!(
            rows.iter()
                .all(|row| row.sentence.ends_with("as no flush is passed on (cache.no-flush=on)"))
        );
    }

    #[test]
    fn the_kind_of_kill_that_lost_most_often_is_the_headline() {
        let mut run = twin::durability();
        run.trials.retain(|trial| trial.stack == "vm");
        for trial in &mut run.trials {
            let is_guest = trial.kill.kill_word() == "guest";
            trial.found.unreadable = if is_guest { 50 } else { 0 };
            trial.found.lost = if !is_guest && trial.trial < 10 { 900 } else { 0 };
        }
        let headline = |run: &RunData| findings(run).headline.unwrap();
        assert!(
            headline(&run).contains("1,000 NOT READABLE; 20 of 20 kills of the guest"),
            "{}",
            headline(&run)
        );
        // With equal numbers of such kills, everything that is not as promised decides.
        for trial in run.trials.iter_mut().filter(|trial| trial.kill.kill_word() != "guest") {
            trial.found.lost = 1;
        }
        assert!(headline(&run).contains("1,000 NOT READABLE"), "{}", headline(&run));
    }

    #[test]
    fn all_kept_is_one_sentence_and_no_trial_is_none() {
        let mut run = twin::durability();
        run.trials.retain(|trial| trial.stack == "vm");
        let headline = findings(&run).headline.unwrap();
        assert_eq!(
            headline,
            "vm: kept all 40,000 acknowledged blocks in 40 kills, none of which is a power cut; of each stack and kind of kill, \
             with 95 % confidence fewer than 14.0 % of such kills lose anything"
        );
        run.trials.clear();
        let found = findings(&run);
        assert_eq!(
            (found.headline, found.no_headline.as_deref()),
            (None, Some("no trial was made"))
        );
        assert!(found.not_excluded.is_empty());
    }
}
