//! `iotax network`: measures the network between every two places. It is a `run` with a stack for
//! every ordered pair, so that both directions of a pair are next to each other.

use super::name::NewName;
use super::progress::ProgressPrinter;
use super::{plan, report, run};
use anyhow::Result;
use iotax_model::scenario::check::{ScenarioRequest, from_arguments};
use iotax_units::exit::Failed;
use std::path::Path;

/// Largest number of places: more pairs take longer than anybody waits.
const MOST_PLACES: usize = 12;

/// Arguments of `network`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    output: report::OutputArgs,
    #[command(flatten)]
    name: NewName,
    /// host (this one), ssh:HOST, or vm, vm1, vm2, ... (guests made for the run); add the address
    /// to reach it at if needed: ssh:b,address=10.0.0.2
    #[arg(value_name = "PLACE", num_args = 2.., required = true)]
    places: Vec<String>,
    /// Probes of each pair
    #[arg(long, value_name = "PROBE,...", default_value = "tcp(send),rr(tcp)")]
    probe: String,
    /// Streams of each throughput probe
    #[arg(long, value_name = "N", default_value = "1")]
    numjobs: u32,
    /// Options of the guests, as in vm(...): vcpus=2,vhost=on
    #[arg(long, value_name = "KEY=VALUE,...")]
    vm: Option<String>,
    /// Time of all measuring, shared by the probes [default: 4 s per pair and probe]
    #[arg(long, value_name = "TIME")]
    budget: Option<String>,
    /// Show the plan of the run, and do nothing
    #[arg(long)]
    plan: bool,
}

pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    args.output.check_destination()?;
    let stacks = pairs(&args.places)?;
    let budget = args.budget.iter().map(|budget| ("budget".to_owned(), budget.clone()));
    let request = ScenarioRequest {
        probe: Some(args.probe.clone()),
        vm: args.vm.clone(),
        words: vec![("numjobs".to_owned(), args.numjobs.to_string())],
        measure: budget.collect(),
        ..ScenarioRequest::default()
    };
    let mut scenario = from_arguments(&stacks, &request).map_err(Failed::from)?;
    scenario.name = Some(format!("network of {}", args.places.join(", ")));
    args.name.put_into(&mut scenario);
    if args.budget.is_none() {
        let measure = &mut scenario.measure;
        measure.budget_ns = 4_000_000_000 * stacks.len() as u64;
        measure.min_time_ns = measure.min_time_ns.min(measure.budget_ns);
    }
    if args.plan {
        return plan::print(&scenario, plan::PlanForm::Brief);
    }
    let (dir, result) = run::measure(&scenario, Vec::new(), runs, ProgressPrinter::new())?;
    run::finish(&dir, result, &args.output)
}

/// Returns a stack for every ordered pair of places. Refuses more than [`MOST_PLACES`], and a place
/// that is named twice.
fn pairs(places: &[String]) -> Result<Vec<String>> {
    if places.len() > MOST_PLACES {
        let why =
            format!("{} places are {} pairs", places.len(), places.len() * (places.len() - 1));
        return Err(Failed::input(format!("{why}; hint: name at most {MOST_PLACES}")).into());
    }
    let bare = |place: &String| place.split(',').next().unwrap_or_default().to_owned();
    if let Some((at, twin)) = places
        .iter()
        .enumerate()
        .find(|(at, place)| places[..*at].iter().any(|other| bare(other) == bare(place)))
    {
        let why = format!("\"{}\" is named twice (place {})", bare(twin), at + 1);
        return Err(Failed::input(format!("{why}; hint: name each place once")).into());
    }
    let to = |from: &String| {
        let others = places.iter().filter(move |to| bare(to) != bare(from));
        let at = format!(" @{}", bare(from));
        others.map(move |to| format!("net:{to}{at}")).collect::<Vec<_>>()
    };
    Ok(places.iter().flat_map(to).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ordered_pair_is_a_stack() {
        let places = ["host", "ssh:a,address=10.0.0.2", "ssh:b"].map(str::to_owned);
        let stacks = pairs(&places).unwrap();
        assert_eq!(stacks.len(), 6);
        assert_eq!(stacks[0], "net:ssh:a,address=10.0.0.2 @host");
        assert_eq!(stacks[5], "net:ssh:a,address=10.0.0.2 @ssh:b");
        let request = ScenarioRequest { probe: Some("rr".into()), ..ScenarioRequest::default() };
        let scenario = from_arguments(&stacks, &request).unwrap();
        assert_eq!(scenario.stacks[3].name, "ssh:a to ssh:b");
        let guests = pairs(&["host", "vm1", "vm2"].map(str::to_owned)).unwrap();
        let options = ScenarioRequest { vm: Some("vcpus=1".into()), ..request };
        let scenario = from_arguments(&guests, &options).unwrap();
        assert_eq!((scenario.stacks[3].name.as_str(), scenario.guests.len()), ("vm1 to vm2", 2));
        assert!(scenario.guests.values().all(|guest| guest.option("vcpus") == Some("1")));
        let twice =
            pairs(&["host", "ssh:a", "ssh:a,address=10.0.0.2"].map(str::to_owned)).unwrap_err();
        assert!(twice.to_string().contains("named twice"));
    }
}
