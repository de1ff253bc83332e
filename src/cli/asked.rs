//! Turns the arguments of `run` and `plan` into a checked scenario.

use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use iotax_model::scenario::check::{ScenarioRequest, from_arguments};
use iotax_model::scenario::words::WORDS;
use iotax_model::scenario::{Scenario, measure, probes, profile, slo};
use iotax_units::exit::Failed;
use std::path::PathBuf;

fn help_of_engine() -> String {
    let words: Vec<&str> = iotax_load::engine::ALL.iter().map(|kind| kind.word).collect();
    format!("{} or fio [default: chosen for the kernel and target]", words.join(", "))
}

/// Headings of the options in the help.
const MEASURED: &str = "What is measured";
const PRECISION: &str = "Precision and time";
const WORKLOAD: &str = "Workload, in fio's words";
const WRITTEN: &str = "What may be written";

/// Keys and words that the short help shows; `--help` shows all.
const COMMON: &[&str] = &[
    "precision",
    "budget",
    "rw",
    "rwmixread",
    "bs",
    "iodepth",
    "numjobs",
    "size",
    "fsync",
    "rate_iops",
];

/// Arguments of `run` and `plan` that say what to measure.
#[derive(clap::Args, Debug, Default)]
pub struct MeasureArgs {
    /// A scenario (.toml), a job file of fio (.fio), or stacks such as "file:/srv/x.img,size=4GiB |
    /// loop"
    #[arg(required = true, value_name = "SCENARIO|JOBFILE|STACK", help_heading = None::<&'static str>)]
    pub what: Vec<String>,
    /// Measure one stack layer by layer, one line per layer
    #[arg(long, help_heading = MEASURED)]
    pub bill: bool,
    /// Test whether acknowledged writes survive a kill of the guest and of QEMU, instead of
    /// measuring
    #[arg(
        long,
        value_name = "trials=N,kill=WHAT,...",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "", help_heading = MEASURED, hide_short_help = true)]
    pub durability: Option<String>,
    /// States to measure arrays in, one after the other: healthy,failed(1),rebuilding,healthy
    #[arg(long, value_name = "STATE,...", help_heading = MEASURED, hide_short_help = true)]
    pub states: Option<String>,
    /// The guest of @lab: drives=6,drive_size=1GiB,vcpus=2,memory=2GiB [default: as many drives
    /// as are named]
    #[arg(long, value_name = "KEY=VALUE,...", help_heading = MEASURED, hide_short_help = true)]
    pub lab: Option<String>,
    /// Options of the guests vm, vm1, vm2, ..., as in vm(...): vcpus=2,memory=1GiB
    #[arg(long, value_name = "KEY=VALUE,...", help_heading = MEASURED)]
    pub vm: Option<String>,
    /// Override a scenario's [device.NAME], such as drive=/dev/nvme1n1
    #[arg(long, value_name = "NAME=MEDIUM", help_heading = MEASURED, hide_short_help = true)]
    pub device: Vec<String>,
    /// A file that describes engines as layers: [tool.NAME]
    #[arg(long, value_name = "FILE", help_heading = MEASURED, hide_short_help = true)]
    pub tool: Vec<PathBuf>,
    /// Published loads, and iotax's own: NAME or NAME/LOAD
    #[arg(long, value_name = "NAME", help_heading = WORKLOAD, long_help = profile_help())]
    pub profile: Option<String>,
    /// Run probes instead of a load: integer,copy(128MiB)
    #[arg(long, value_name = "PROBE,...", help_heading = WORKLOAD, long_help = probe_help(), hide_short_help = true)]
    pub probe: Option<String>,
    /// Measure only this stack of a scenario. Repeat for more stacks
    #[arg(long, value_name = "STACK", help_heading = MEASURED)]
    pub only: Vec<String>,
    /// Name of the stack that the others are compared with [default: the first]
    #[arg(long, value_name = "STACK", help_heading = MEASURED)]
    pub baseline: Option<String>,
    #[arg(long, value_name = "NAME", help = help_of_engine(), help_heading = MEASURED, hide_short_help = true)]
    pub engine: Option<String>,
    #[command(flatten)]
    measure: MeasureKeys,
    /// Allow writing to one device, by serial or WWN: serial=S[,wipe=SIGNATURE]. Repeat for more
    /// devices; a path is not accepted. All data on it may be lost
    #[arg(long, value_name = "serial=S,wipe=W", help_heading = WRITTEN)]
    pub destroy: Vec<String>,
    /// Allow shutting down a virtual machine and changing its settings for the run:
    /// libvirt:NAME[,force]
    #[arg(long, value_name = "MANAGER:NAME", help_heading = WRITTEN, hide_short_help = true)]
    pub change: Vec<String>,
    /// Write at most this much to each drive
    #[arg(long, value_name = "SIZE", help_heading = WRITTEN)]
    pub max_written: Option<String>,
    #[command(flatten)]
    words: FioWords,
}

impl MeasureArgs {
    /// Returns the scenario that the arguments describe, checked.
    ///
    /// # Errors
    /// Bad input: says where, why, and usually how to correct it.
    pub fn scenario(&self) -> Result<Scenario> {
        from_arguments(&self.what, &self.request()).map_err(|error| Failed::from(error).into())
    }

    /// Returns the scenario for one host of a fleet: with these devices and consents beside those of
    /// the arguments.
    ///
    /// # Errors
    /// As [`MeasureArgs::scenario`].
    pub fn scenario_of_host(&self, devices: &[String], destroy: &[String]) -> Result<Scenario> {
        let mut request = self.request();
        request.devices.extend(devices.iter().cloned());
        request.destroy.extend(destroy.iter().cloned());
        from_arguments(&self.what, &request).map_err(|error| Failed::from(error).into())
    }

    fn request(&self) -> ScenarioRequest {
        ScenarioRequest {
            bill: self.bill,
            baseline: self.baseline.clone(),
            only: self.only.clone(),
            words: self.words.0.clone(),
            job_file: None,
            profile: self.profile.clone(),
            probe: self.probe.clone(),
            measure: self.measure.0.clone(),
            engine: self.engine.clone(),
            destroy: self.destroy.clone(),
            change: self.change.clone(),
            max_written: self.max_written.clone(),
            durability: self.durability.clone(),
            states: self.states.clone(),
            lab: self.lab.clone(),
            vm: self.vm.clone(),
            devices: self.device.clone(),
            tools: self.tool.clone(),
        }
    }
}

fn probe_help() -> String {
    let each = probes::probe_help_lines().map(|(word, about)| format!("{word}: {about}"));
    format!(
        "Run probes instead of a load, with --numjobs threads. {}",
        each.collect::<Vec<_>>().join(" ")
    )
}

fn profile_help() -> String {
    format!("Published loads, and iotax's own: NAME or NAME/LOAD. {}", profile::profile_help_text())
}

/// Keys of a scenario's `[measure]` that were given as options, with their values.
#[derive(Debug, Default)]
struct MeasureKeys(Vec<(String, String)>);

impl Args for MeasureKeys {
    fn augment_args(command: Command) -> Command {
        measure::KEYS.iter().fold(command, |command, key| {
            let arg = option(key.name, dashed(key.name)).value_name(key.value).help(key.help);
            let arg = arg.help_heading(PRECISION);
            command.arg(if key.name == slo::KEY { arg.action(ArgAction::Append) } else { arg })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for MeasureKeys {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(MeasureKeys(given_options(matches, measure::KEYS.iter().map(|key| key.name))))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|new| *self = new)
    }
}

/// Words of fio for the workload that were given as options, with their values.
#[derive(Debug, Default)]
struct FioWords(Vec<(String, String)>);

impl Args for FioWords {
    fn augment_args(command: Command) -> Command {
        WORDS.iter().fold(command, |command, word| {
            let arg =
                option(word.name, word.name.to_owned()).aliases(word.aliases).value_name("VALUE");
            command.arg(arg.help(word.help).help_heading(WORKLOAD))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FioWords {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(FioWords(given_options(matches, WORDS.iter().map(|word| word.name))))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|new| *self = new)
    }
}

/// Returns an option whose name may be spelled with `_` or `-`. The help shows it as `shown`.
fn option(name: &'static str, shown: String) -> Arg {
    let arg = Arg::new(name).long(shown).hide_short_help(!COMMON.contains(&name));
    [name.to_owned(), dashed(name)].into_iter().fold(arg, |arg, other| match arg.get_long() {
        Some(long) if long == other => arg,
        _ => arg.alias(other),
    })
}

fn dashed(name: &str) -> String {
    name.replace('_', "-")
}

/// Returns the options that were given, of these names, with their values joined by commas. They
/// are in the order of the command line: if two contradict each other, the later one counts.
fn given_options(
    matches: &ArgMatches,
    names: impl Iterator<Item = &'static str>,
) -> Vec<(String, String)> {
    let one = |name| {
        let values: Vec<&str> = matches.get_many::<String>(name)?.map(String::as_str).collect();
        Some((matches.index_of(name)?, name.to_owned(), values.join(",")))
    };
    let mut all: Vec<_> = names.filter_map(one).collect();
    all.sort();
    all.into_iter().map(|(_, name, value)| (name, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        asked: MeasureArgs,
    }

    fn request(args: &[&str]) -> ScenarioRequest {
        let words = ["iotax", "/dev/null"].iter().chain(args);
        Cli::try_parse_from(words).unwrap().asked.request()
    }

    fn texts(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn every_key_and_word_is_an_option_in_both_spellings() {
        let names = measure::measure_keys().into_iter().chain(WORDS.iter().map(|word| word.name));
        for name in names {
            for spelling in [name.to_owned(), dashed(name)] {
                let asked = request(&[&format!("--{spelling}=7")]);
                assert_eq!(
                    [asked.measure, asked.words].concat(),
                    texts(&[(name, "7")]),
                    "{spelling}"
                );
            }
        }
    }

    #[test]
    fn words_come_as_they_were_written() {
        let asked =
            request(&["--buffered", "1", "--readwrite=read", "--direct", "1", "--min-time", "5s"]);
        assert_eq!(asked.words, texts(&[("buffered", "1"), ("rw", "read"), ("direct", "1")]));
        assert_eq!(asked.measure, texts(&[("min_time", "5s")]));
        let twice = request(&["--slo", "p99 < 1ms", "--slo=read p50 < 9us"]);
        assert_eq!(twice.measure, texts(&[("slo", "p99 < 1ms,read p50 < 9us")]));
    }
}
