//! `iotax host-vs-guest`: one command for the whole table of a guest against its host, or of two
//! hosts: disk, processors, memory, kernel, wake-ups, network, each with a verdict. It is a `run`
//! with chosen stacks, loads and times.

use super::name::NewName;
use super::output::say_aside;
use super::progress::ProgressPrinter;
use super::{plan, report, run};
use anyhow::Result;
use iotax_layers::guest::{FINDINGS, NETWORK_NEEDS};
use iotax_layers::needs;
use iotax_model::scenario::check::{ScenarioRequest, from_arguments};
use iotax_units::exit::Failed;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name and size of the file under test, as a stack has them.
const FILE: &str = "iotax-host-vs-guest.img,size=1GiB";
/// Seconds that are set aside for the guest's boot and for filling the file.
const SET_UP_S: f64 = 30.0;
/// Least time for a row of the table, in seconds: a shorter one gives no answer.
const LEAST_S: f64 = 3.0;
/// Least seconds that a row is measured if there is time, even if it is precise earlier.
const LEAST_LOAD_S: f64 = 2.0;
/// Seconds that are enough for a row: a verdict needs 16 rounds, of 0.1 s and more on a quiet
/// machine.
const ENOUGH_S: f64 = 8.0;

/// Arguments of `host-vs-guest`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    output: report::OutputArgs,
    #[command(flatten)]
    name: NewName,
    /// A file or device that the guest gets as its disk [default: a new file in --dir], or two
    /// stacks to compare: "cpu @ssh:a" "cpu @ssh:b"
    #[arg(value_name = "MEDIUM|STACK", num_args = 0..=2)]
    what: Vec<String>,
    /// Options of the guest, as in vm(...) [default: as many vcpus as this host has]
    #[arg(long, value_name = "KEY=VALUE,...")]
    vm: Option<String>,
    /// Folder for the file under test
    #[arg(long, default_value = "/var/tmp")]
    dir: PathBuf,
    /// Approximate time of the whole command
    #[arg(long, default_value = "5min", value_parser = time)]
    time: Duration,
    /// Time of all measuring, shared by the rows, in place of --time
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "time")]
    budget: Option<Duration>,
    /// Show the plan of the run, and do nothing
    #[arg(long)]
    plan: bool,
}

fn time(text: &str) -> Result<Duration, String> {
    iotax_units::parse_duration(text)
}

pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    args.output.check_destination()?;
    let lacking = needs::missing_needs(&NETWORK_NEEDS, FINDINGS);
    let (stacks, profile) = args.stacks_and_loads(lacking.is_empty())?;
    for missing in lacking.iter().filter(|_| args.what.len() < 2) {
        say_aside(&format!(
            "no network rows: {} ({}); hint: {}",
            missing.what, missing.why, missing.command
        ));
    }
    let request = |measure| ScenarioRequest {
        profile: Some(profile.clone()),
        measure,
        ..ScenarioRequest::default()
    };
    let rows = from_arguments(&stacks, &request(Vec::new())).map_err(Failed::from)?.workloads.len();
    let many = rows.max(1) as f64;
    let all_s =
        args.budget.map_or(args.time.as_secs_f64() - SET_UP_S, |budget| budget.as_secs_f64());
    let each_s = match args.budget {
        Some(_) => all_s / many,
        None => (all_s / many).max(LEAST_S),
    };
    if each_s < ENOUGH_S {
        let enough_s = ENOUGH_S * many;
        say_aside(&format!(
            "{rows} rows of {each_s:.0} s each: many will have no verdict; hint: --budget {enough_s:.0}s"
        ));
    }
    let seconds = |key: &str, seconds: f64| (key.to_owned(), format!("{seconds:.3}s"));
    let measure = vec![
        seconds("budget", each_s * many),
        seconds("min_time", (each_s / 2.0).min(LEAST_LOAD_S)),
    ];
    let mut scenario = from_arguments(&stacks, &request(measure)).map_err(Failed::from)?;
    if args.what.len() < 2 {
        scenario
            .stacks
            .iter_mut()
            .zip(["host", "guest"])
            .for_each(|(stack, name)| stack.name = name.to_owned());
    }
    args.name.put_into(&mut scenario);
    if args.plan {
        return plan::print(&scenario, plan::PlanForm::Brief);
    }
    let (dir, result) = run::measure(&scenario, Vec::new(), runs, ProgressPrinter::new())?;
    run::finish(&dir, result, &args.output)
}

impl Args {
    /// Returns the two stacks, and their loads as `--profile` names them. A place without a device
    /// (`cpu`) gets no disk loads, and only files that iotax creates are written. Network loads are
    /// included if the guest has a network. By default it has one if this host can give it one
    /// (`network`), unless it boots an image or both stacks are given.
    fn stacks_and_loads(&self, network: bool) -> Result<(Vec<String>, String)> {
        let vcpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut options = self.vm.clone().unwrap_or_else(|| format!("vcpus={vcpus}"));
        let word = |key: &str| {
            let words = options.split(',').filter_map(|word| word.split_once('='));
            words
                .map(|(key, value)| (key.trim(), value.trim()))
                .find(|(own, _)| *own == key)
                .map(|word| word.1)
        };
        let network = match (word("net"), word("image")) {
            (Some(net), _) => net == "tap",
            (None, image) => network && self.what.len() < 2 && image.is_none(),
        };
        if network && word("net").is_none() {
            options.push_str(",net=tap");
        }
        let guest = |medium: &str| format!("{medium} | vm({options})");
        let stacks = match self.what.as_slice() {
            [] => {
                let dir = self.dir.canonicalize();
                let dir = dir.map_err(|error| {
                    let hint = "hint: name a folder that exists: --dir FOLDER";
                    Failed::input(format!(
                        "cannot use the folder {}: {error}; {hint}",
                        self.dir.display()
                    ))
                })?;
                let medium = format!("file:{}", dir.join(FILE).display());
                vec![medium.clone(), guest(&medium)]
            }
            [medium] => vec![medium.clone(), guest(medium)],
            both => both.to_vec(),
        };
        let bare = |stack: &String| stack.split('|').next().unwrap_or_default().trim().to_owned();
        let is_cpu = |stack: &String| bare(stack).split([' ', '@']).next() == Some("cpu");
        let is_ours = |stack: &String| bare(stack).contains(",size=");
        let profile = match () {
            () if stacks.iter().any(is_cpu) => "machine",
            () if stacks.iter().all(is_ours) => "disk-reads,disk-writes,machine",
            () => "disk-reads,machine",
        };
        Ok((stacks, format!("{profile}{}", if network { ",network" } else { "" })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(what: &[&str], vm: Option<&str>, network: bool) -> (Vec<String>, String) {
        let args = Args {
            output: report::OutputArgs::default(),
            name: NewName::default(),
            what: what.iter().map(|word| (*word).to_owned()).collect(),
            vm: vm.map(str::to_owned),
            dir: "/".into(),
            time: Duration::from_secs(300),
            budget: None,
            plan: false,
        };
        args.stacks_and_loads(network).unwrap()
    }

    #[test]
    fn stacks_and_loads_follow_what_was_named() {
        let (stacks, loads) = asked(&[], Some("vcpus=2"), false);
        assert_eq!(stacks[1], "file:/iotax-host-vs-guest.img,size=1GiB | vm(vcpus=2)");
        assert_eq!(loads, "disk-reads,disk-writes,machine");
        let (stacks, loads) = asked(&["/dev/nvme1n1"], Some("vcpus=4,cache=none"), true);
        assert_eq!(stacks, ["/dev/nvme1n1", "/dev/nvme1n1 | vm(vcpus=4,cache=none,net=tap)"]);
        assert_eq!(loads, "disk-reads,machine,network", "a device is not written");
        let (stacks, loads) = asked(&["cpu @ssh:a", "cpu @ssh:b"], None, true);
        assert_eq!((stacks.len(), loads.as_str()), (2, "machine"));
        for what in
            [&[][..], &["cpu"], &["ssh:a:/srv/x.img,size=1GiB", "ssh:b:/srv/x.img,size=1GiB"]]
        {
            for network in [false, true] {
                let (stacks, profile) = asked(what, None, network);
                let request =
                    ScenarioRequest { profile: Some(profile), ..ScenarioRequest::default() };
                let scenario = from_arguments(&stacks, &request).unwrap();
                assert!(scenario.workloads.len() >= 12, "{}", scenario.workloads.len());
            }
        }
    }

    #[test]
    fn whoever_names_a_network_has_it_or_not_whatever_this_host_could() {
        let loads = |vm| asked(&["cpu"], Some(vm), true).1;
        assert_eq!(loads("net=none"), "machine");
        assert_eq!(loads("image=/srv/x.qcow2"), "machine");
        assert_eq!(asked(&["cpu"], Some("net=tap,vhost=on"), false).1, "machine,network");
        assert_eq!(asked(&["cpu"], Some("net=tap"), true).0[1], "cpu | vm(net=tap)");
    }
}
