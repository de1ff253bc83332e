//! Plans of preconditioning: what it writes before anything is measured and how long that takes, as
//! far as it is known.

use super::View;
use super::effort::long_time;
use anyhow::Result;
use iotax_model::scenario::precondition::LEAST_ROUNDS;
use iotax_model::scenario::{DriveRatings, Scenario, SteadyLimit, Workload};
use iotax_plan::passes::{BLOCK, Batch, batches};
use iotax_plan::set_plan::PlanGround;
use iotax_units::{count_noun, show_bytes, show_ns};

/// Describes the passes over drives and the rounds of loads before measuring; empty if neither is
/// requested.
///
/// # Errors
/// Fails if a list of media has a list in it.
pub fn describe_preconditioning(view: &View, ground: &PlanGround) -> Result<String> {
    let spec = ground.scenario.measure.precondition;
    let mut text = String::new();
    if spec.passes > 0 {
        let line = |batch: &Batch| passes(view, ground.scenario, batch);
        text += &batches(ground, |_, _| 0)?.iter().map(line).collect::<String>();
    }
    if let Some(rounds) = rounds(ground) {
        text += &view.paragraph("  ", &rounds);
    }
    Ok(if text.is_empty() {
        text
    } else {
        format!("precondition = {}\n{text}", spec.precondition_word())
    })
}

fn passes(view: &View, scenario: &Scenario, batch: &Batch) -> String {
    let passes = scenario.measure.precondition.passes;
    let often = count_noun(passes.into(), "time", "times");
    let each = if batch.paths.len() > 1 { "all of each of " } else { "all of " };
    let place = if batch.place.is_host() { String::new() } else { format!("@{}: ", batch.place) };
    let bytes = match batch.batch_bytes(passes) {
        Some(bytes) => show_bytes(bytes),
        None => "how much run finds out".to_owned(),
    };
    let what = format!(
        "{place}write {each}{} {often} in order, in blocks of {}, before anything is measured: {bytes}, {}",
        batch.drive_names(),
        show_bytes(BLOCK),
        pass_time_words(scenario, batch)
    );
    match batch.is_ours() {
        true => view.paragraph("  ", &what),
        false => {
            let text = format!("irreversible: {what} (what is on it now is lost)");
            view.red(&view.paragraph("  ", &text))
        }
    }
}

fn pass_time_words(scenario: &Scenario, batch: &Batch) -> String {
    let rate = scenario.rating.as_ref().and_then(|rating| rating.rated_value(DriveRatings::Write));
    let bytes = batch
        .batch_bytes(scenario.measure.precondition.passes)
        .map(|all| all / batch.paths.len() as u64);
    match (rate, bytes) {
        (Some(rate), None) => format!("at the rated {:.0} MB/s at the most", rate / 1e6),
        (Some(rate), Some(bytes)) => {
            format!(
                "at least {} at the rated {:.0} MB/s",
                long_time((bytes as f64 / rate).ceil()),
                rate / 1e6
            )
        }
        (None, _) => {
            "how long that takes is not known before it begins (to estimate it, set write in [rating])"
                .to_owned()
        }
    }
}

/// Describes the rounds in which each writing load runs after a set-up until its rate is steady.
/// `None` if that is not requested or no load writes.
fn rounds(ground: &PlanGround) -> Option<String> {
    let (scenario, layout) = (ground.scenario, ground.layout);
    let spec = scenario.measure.precondition;
    let loads = scenario.workloads.iter().filter(|workload| workload.writes()).count() as u64;
    if !spec.steady || loads == 0 {
        return None;
    }
    let sets = layout.sets.iter().filter(|set| set.after.is_none());
    let visits = u64::from(layout.visits_of_a_set(&scenario.measure));
    let (sets, stacks) =
        sets.fold((0, 0), |(sets, stacks), set| (sets + 1, stacks + set.stacks.len() as u64));
    let round_s = spec.round_ns as f64 / 1e9;
    let least_s = f64::from(LEAST_ROUNDS) * round_s * (stacks * loads * visits) as f64;
    let (limit, most_s) = match spec.limit {
        SteadyLimit::Rounds(most) => {
            let most_s = f64::from(most) * round_s * (stacks * loads * visits) as f64;
            (format!("at most {most} rounds"), most_s)
        }
        SteadyLimit::TimeNs(ns) => (
            format!("at most {}", show_ns(ns as f64)),
            ns as f64 / 1e9 * (sets * loads * visits) as f64,
        ),
    };
    let name = |workload: &Workload| workload.name.clone();
    let which = match (loads, scenario.workloads.iter().find(|workload| workload.writes())) {
        (1, Some(one)) => name(one),
        (many, _) => format!("each of the {many} loads that write"),
    };
    let bytes = match scenario.max_written {
        Some(bytes) => format!("at most {} is written to each drive in total", show_bytes(bytes)),
        None => "the amount written is not limited; hint: set max_written".to_owned(),
    };
    Some(format!(
        "run {which} on every stack that is up, after every set-up, in rounds of {} until the last {LEAST_ROUNDS} are \
         steady, {limit}: {} to {} in all; {bytes}",
        show_ns(spec.round_ns as f64),
        long_time(least_s.min(most_s)),
        long_time(most_s.max(least_s))
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_drivers::run_tag::RunTag;
    use iotax_layers::medium::FoundMedium;
    use iotax_model::scenario::Rating;
    use iotax_model::scenario::check::{ScenarioRequest, from_arguments};
    use iotax_model::stack::Medium;
    use iotax_plan::sets::layout;

    fn plan(stacks: &[&str], rw: &str, measure: &[(&str, &str)], rating: Option<Rating>) -> String {
        let texts = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let request = ScenarioRequest {
            words: texts(&[("rw", rw)]),
            measure: texts(measure),
            ..ScenarioRequest::default()
        };
        let stacks: Vec<String> = stacks.iter().map(|text| (*text).to_owned()).collect();
        let mut scenario = from_arguments(&stacks, &request).unwrap();
        scenario.rating = rating.map(Box::new);
        let found_of = |medium: &Medium| match medium {
            Medium::File { size, .. } => {
                FoundMedium::without_signature(size.unwrap(), false, false)
            }
            Medium::Remote { .. } => {
                FoundMedium::without_signature(iotax_units::UNKNOWN_BYTES, true, true)
            }
            _ => FoundMedium::without_signature(1 << 40, true, true),
        };
        let of_stack = |stack: &iotax_model::stack::Stack| {
            stack.medium.members().iter().map(found_of).collect()
        };
        let found: Vec<Vec<FoundMedium>> = scenario.stacks.iter().map(of_stack).collect();
        let layout = layout(&scenario);
        let tag = RunTag { run_id: "RUN".into(), run_dir: "/run-dir".into() };
        let ground = PlanGround {
            scenario: &scenario,
            layout: &layout,
            found: &found,
            guest_parts: None,
            tag,
        };
        describe_preconditioning(&View { width: 100, ..View::default() }, &ground).unwrap()
    }

    #[test]
    fn a_plan_says_what_is_written_over_and_how_long() {
        let array = "[/dev/vda,/dev/vdb] | mdraid(level=0)";
        let stacks =
            ["each([/dev/vda,/dev/vdb])", array, "file:/srv/x.img,size=1GiB", "ssh:h:/dev/sdc"];
        let mut rating = Rating { source: "a data sheet".into(), ..Rating::default() };
        iotax_model::scenario::rating::set_rating_key(&mut rating, "write", "4000 MB/s").unwrap();
        let steady = &[("precondition", "2x,steady")];
        let text = [
            plan(&stacks, "randwrite", steady, None),
            plan(&stacks[..2], "randread", &[("precondition", "1x")], Some(rating)),
            plan(
                &stacks[2..3],
                "randwrite",
                &[("precondition", "steady"), ("steady_limit", "30min")],
                None,
            ),
        ];
        insta::assert_snapshot!(text.join("\n"));
    }

    #[test]
    fn a_plan_without_it_says_nothing() {
        for (rw, measure) in
            [("randwrite", &[][..]), ("randread", &[("precondition", "steady")][..])]
        {
            assert_eq!(plan(&["/dev/vda"], rw, measure, None), "", "{rw}");
        }
    }
}
