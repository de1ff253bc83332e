//! Drives of stacks that differ only in their drive: what is recorded of each, what an outlier
//! differs in from the others, and the sentences about outliers.

use crate::ceilings::efficiency::drive_below;
use crate::compare::drives::{drive_groups, peers};
use crate::findings::WorkloadFindings;
use crate::findings::drives::{DriveFacts, DriveFigure, DriveGroup, DriveOutlier};
use crate::fleet::{device_pairs, differing_facts};
use iotax_facts::machine::Device;
use iotax_model::stack::{LayerSpec, Stack};
use iotax_stats::Digits;
use iotax_store::RunData;
use iotax_units::count_noun;

/// Returns the groups of stacks that differ only in their drive, with what differs and which drives
/// are outliers under which load.
pub fn groups(run: &RunData, workloads: &[WorkloadFindings]) -> Vec<DriveGroup> {
    drive_groups(run).iter().map(|group| drive_group(run, workloads, group)).collect()
}

fn drive_group(run: &RunData, workloads: &[WorkloadFindings], group: &[usize]) -> DriveGroup {
    let stacks = &run.start.scenario.stacks;
    let devices: Vec<Option<&Device>> =
        group.iter().map(|at| drive_below(run, &stacks[*at])).collect();
    let models: Vec<Option<&str>> =
        devices.iter().map(|device| device.and_then(|device| device.model.as_deref())).collect();
    let known: Vec<Vec<(String, String)>> =
        devices.iter().map(|device| device.map(device_pairs).unwrap_or_default()).collect();
    let facts = |at: &usize| {
        let its = |one: usize| group.iter().position(|known| *known == one);
        let own = its(*at).unwrap_or_default();
        let peers = peers(group, &models, *at).into_iter().filter_map(its);
        let of_peers: Vec<_> = peers.map(|peer| known[peer].as_slice()).collect();
        DriveFacts {
            stack: stacks[*at].name.clone(),
            drive: drive_name(&stacks[*at], models[own]),
            differs: differing_facts(&known[own], &of_peers),
        }
    };
    let drives: Vec<DriveFacts> = group.iter().map(facts).collect();
    let layers = &stacks[group[0]].layers;
    DriveGroup {
        layers: layers.iter().map(layer_words).collect::<Vec<_>>().join(" | "),
        sentences: sentences(&drives, workloads),
        drives,
    }
}

fn layer_words(layer: &LayerSpec) -> String {
    let options: Vec<String> =
        layer.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
    match options.is_empty() {
        true => layer.name.clone(),
        false => format!("{}({})", layer.name, options.join(",")),
    }
}

fn drive_name(stack: &Stack, model: Option<&str>) -> String {
    let place = stack.text.split('|').next().unwrap_or_default().trim();
    match model {
        Some(model) => format!("{place} ({})", model.trim()),
        None => place.to_owned(),
    }
}

fn sentences(drives: &[DriveFacts], workloads: &[WorkloadFindings]) -> Vec<String> {
    let mut said = Vec::new();
    let mut figures = 0;
    for drive in drives {
        let its = |workload: &WorkloadFindings| {
            workload.drives.iter().find(|one| one.stack == drive.stack).cloned()
        };
        let loads: Vec<(&WorkloadFindings, DriveFigure)> =
            workloads.iter().filter_map(|load| Some((load, its(load)?))).collect();
        figures += loads.iter().filter(|(_, one)| one.of_median.bounds().is_some()).count();
        let words: Vec<String> =
            loads.iter().filter_map(|(load, one)| outlier_words(&load.subject, one)).collect();
        if words.is_empty() {
            continue;
        }
        let differs = match drive.differs.is_empty() {
            true => "nothing that is recorded of it differs from the others".to_owned(),
            false => format!("it differs in {}", drive.differs.join(", ")),
        };
        said.push(format!("{}: {}; {differs}", drive.stack, words.join("; ")));
    }
    let outliers = said.len();
    said.push(match figures {
        0 => "no drive can be compared with the others".to_owned(),
        _ => format!(
            "{} of {}, by intervals that hold for all drives and loads at once",
            count_noun(outliers as u64, "outlier", "outliers"),
            count_noun(drives.len() as u64, "drive", "drives"),
        ),
    });
    said
}

/// Returns the words of an outlier: `4k random reads: 49.3 % +- 0.4 % slower than the median of the
/// 5 others, where up to 2 % is ordinary`.
fn outlier_words(subject: &str, one: &DriveFigure) -> Option<String> {
    let outlier = one.outlier?;
    let (value, bounds) = (one.of_median.value()?, one.of_median.bounds()?);
    let (low, high) = (bounds.0 - 1.0, bounds.1 - 1.0);
    let (size, word, bound) = match outlier {
        DriveOutlier::Slower => {
            let bound = 1.0 - 1.0 / (1.0 + one.ordinary);
            (Digits::size(1.0 - value, (-high, -low), true), "slower", bound)
        }
        DriveOutlier::Faster => {
            (Digits::size(value - 1.0, (low, high), false), "faster", one.ordinary)
        }
    };
    Some(format!(
        "{subject}: {} {word} than the median of {} others, where up to {:.1} % is ordinary",
        size.to_words(),
        one.others,
        100.0 * bound
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{findings, twin};
    use iotax_model::scenario::check::{ScenarioRequest, from_path};

    fn outliers(found: &crate::Findings) -> Vec<(String, String, DriveOutlier)> {
        let of = |load: &WorkloadFindings| {
            let named =
                |one: &DriveFigure| Some((one.stack.clone(), load.name.clone(), one.outlier?));
            load.drives.iter().filter_map(named).collect::<Vec<_>>()
        };
        found.workloads.iter().flat_map(of).collect()
    }

    #[test]
    fn slow_drives_are_named_with_what_they_differ_in_and_do_not_hide_each_other() {
        let found = findings(&twin::drive_by_drive());
        let mut names: Vec<(String, DriveOutlier)> =
            outliers(&found).into_iter().map(|(stack, _, side)| (stack, side)).collect();
        names.dedup();
        names.sort_by(|one, other| one.0.cmp(&other.0));
        names.dedup();
        let [slow, fast] = [DriveOutlier::Slower, DriveOutlier::Faster];
        let expected = [("d3", slow), ("d5", slow), ("d6", fast)];
        assert_eq!(names, expected.map(|(name, side)| (name.to_owned(), side)));
        let [group] = found.drives.as_slice() else { panic!("{:?}", found.drives) };
        let differs = |at: usize| group.drives[at].differs.join(", ");
        let link = "PCIe link 16.0 GT/s x2 (most others: 16.0 GT/s x4)";
        assert_eq!(differs(3), format!("{link}, firmware GDC5702Q (most others: GDC5902Q)"));
        assert_eq!([differs(0), differs(5)], [String::new(), link.to_owned()]);
        assert!(
            group.sentences[0].starts_with("d3: ") && group.sentences[0].ends_with("GDC5902Q)")
        );
        assert!(group.sentences[3].starts_with("3 outliers of 7 drives"), "{:?}", group.sentences);
        // Six are of one model, and the seventh is compared with all of them.
        assert_eq!(found.workloads[0].drives.iter().map(|one| one.others).min(), Some(5));
        assert_eq!(found.workloads[0].drives[6].others, 6);
    }

    #[test]
    fn a_drive_that_is_much_hotter_than_the_others_is_told_apart() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let others = ["34 °C", "41 °C", "38 °C"].map(|heat| vec![pair("temperature", heat)]);
        let others: Vec<&[_]> = others.iter().map(Vec::as_slice).collect();
        let own = [pair("serial", "S9"), pair("temperature", "78 °C"), pair("wear", "3 %")];
        let expected = ["temperature 78 °C (the others: 34 to 41)"];
        assert_eq!(differing_facts(&own, &others), expected);
        assert!(differing_facts(&[pair("temperature", "47 °C")], &others).is_empty());
    }

    #[test]
    fn three_drives_and_emulated_ones_have_no_outlier() {
        let mut run = twin::drive_by_drive();
        run.places[0].emulated = Some("no KVM".into());
        assert_eq!(outliers(&findings(&run)), []);
        let mut run = twin::drive_by_drive();
        run.start.scenario.stacks.truncate(3);
        let found = findings(&run);
        assert!(found.drives.is_empty() && found.workloads[0].drives.is_empty());
    }

    #[test]
    fn the_published_drive_that_fell_to_a_half_is_an_outlier() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/e4-drives.toml");
        let scenario = from_path(std::path::Path::new(file), &ScenarioRequest::default()).unwrap();
        let mut run = twin::of_published(scenario);
        let measured = run.slices.clone();
        for copy in 1..4_u32 {
            run.slices.extend(measured.iter().cloned().map(|mut slice| {
                slice.round += 12 * copy;
                // A tenth of a percent more or less from slice to slice.
                let odd = (slice.round * 7 + slice.slice * 3) % 5;
                slice.window_ns = (slice.window_ns as f64 * (1.0 + 5e-4 * f64::from(odd))) as u64;
                slice
            }));
        }
        let all = outliers(&findings(&run));
        let at = |stack: &str| -> Vec<&(String, String, DriveOutlier)> {
            all.iter().filter(|one| one.0 == stack && one.1 == "randread-4k-x16").collect()
        };
        let [(_, _, side)] = at("pm9a3-3349-passed")[..] else { panic!("{all:?}") };
        assert_eq!(*side, DriveOutlier::Slower);
        assert!(at("pm9a3-3349").is_empty(), "on the host it is as fast as the others");
        assert!(at("pm9a3-0369-passed").is_empty());
    }
}
