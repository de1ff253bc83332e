//! Probes as workloads: `integer,copy(128MiB)` of the command line and of `probe = "..."`, and
//! their names in verdicts.

use super::Workload;
use super::draft::WorkloadDraft;
use super::error::{Fault, InputError, Origin};
use super::values::Dialect;
use super::words::JobWords;
use crate::layer::vm::{NET, TAP};
use crate::stack::LayerRole;
use crate::stack::{LayerSpec, LoadIssuer, Medium, Stack};
use iotax_facts::place::Place;
use iotax_probe::{Argument, ProbeSpec, ProbeUnit};
use iotax_units::{parse_bytes, show_bytes};
use std::collections::BTreeMap;

/// Name of the profile of probes that measures a machine if nobody names a probe.
pub const MACHINE: &str = "machine";
const OF_MACHINE: &str =
    "integer,float,copy,chase(16KiB),chase(256MiB),syscall,pipe,switch,fork,exec,wakeup,stall";

pub const NETWORK: &str = "network";
const OF_NETWORK: &str = "tcp(send),tcp(receive),rr(tcp)";

/// Keys of fio that a probe accepts; the last one is only for `udp`.
const TAKEN: [&str; 3] = ["numjobs", "cpus_allowed", RATE];
const RATE: &str = "rate_iops";

/// Returns a workload for each probe of a list. The words set its threads, their processors and,
/// for udp, the rate. `name` replaces the name of a single probe and precedes the names of several.
///
/// # Errors
/// A name is not a probe, or a probe does not accept a word.
pub(super) fn drafts(
    list: &str,
    name: Option<&str>,
    words: &[(String, String)],
    origin: &Origin,
) -> Result<Vec<WorkloadDraft>, InputError> {
    let mut job = JobWords::default();
    for (key, value) in words {
        if !TAKEN.contains(&key.as_str()) {
            let hint = "remove it, or give the load its own workload in a scenario file";
            let why = format!(
                "a probe has no \"{key}\"; it takes {}, and udp {RATE}",
                TAKEN[..2].join(" and ")
            );
            return Err(origin.error_at_key(key, Fault::hint(why, hint)));
        }
        job.set_word(key, value, origin);
    }
    let job = job.draft(Dialect::Ours)?.job;
    let texts = parted(list);
    let one = |text: &str| {
        let probe = ProbeSpec::parse(text).map_err(|why| {
            origin.error_at_key(
                "probe",
                match [MACHINE, NETWORK].contains(&text) {
                    true => Fault::hint(why, format!("\"{text}\" is a profile: --profile {text}")),
                    false => Fault::new(why),
                },
            )
        })?;
        if job.rate_iops.is_some() && probe.name != "udp" {
            let why =
                format!("the probe \"{probe}\" runs as fast as it can; only udp takes a rate");
            return Err(origin.error_at_key(RATE, Fault::hint(why, format!("leave {RATE} out"))));
        }
        let sent = |rate: u64| {
            rate.saturating_mul(u64::from(job.numjobs)).saturating_mul(probe.datagram_bytes())
        };
        let rate = job.rate_iops.map(sent);
        let probe = ProbeSpec {
            numjobs: job.numjobs,
            cpus_allowed: job.cpus_allowed.clone(),
            rate,
            ..probe
        };
        let own = match probe.numjobs {
            1 => probe.to_string(),
            many => format!("{probe}-x{many}"),
        };
        let name = match (name, texts.len()) {
            (None, _) => own,
            (Some(name), 1) => name.to_owned(),
            (Some(name), _) => format!("{name}-{own}"),
        };
        Ok(WorkloadDraft { name, jobs: Vec::new(), probe: Some(probe), engine: None, sweep: None })
    };
    texts.iter().map(|text| one(text)).collect()
}

/// Returns the probes of iotax's own profile: [`NETWORK`], or [`MACHINE`] for any other name.
pub(super) fn shipped(profile: &str, origin: &Origin) -> Result<Vec<WorkloadDraft>, InputError> {
    drafts(if profile == NETWORK { OF_NETWORK } else { OF_MACHINE }, None, &[], origin)
}

/// Returns every probe as it is written, with what one unit of its work is, for the help.
pub fn probe_help_lines() -> impl Iterator<Item = (String, &'static str)> {
    iotax_probe::all_definitions().map(|one| {
        let word = ProbeSpec::parse(one.name)
            .map_or_else(|_| one.name.to_owned(), |spec| spec.to_string());
        (word, one.about)
    })
}

/// Splits at commas outside of brackets, and drops empty parts.
fn parted(list: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let parts = list.split(|sign: char| {
        depth += i32::from(sign == '(') - i32::from(sign == ')');
        sign == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Refuses a load or probe that fits no stack, a stack that no load or probe fits, a probe that
/// needs more memory than a guest has, and a probe in a place that cannot run it.
///
/// # Errors
/// Names the stack and the workload.
pub(super) fn check_probes(
    stacks: &[Stack],
    workloads: &[Workload],
    guests: &BTreeMap<Place, LayerSpec>,
) -> Result<(), Fault> {
    let unmeasured = workloads
        .iter()
        .find(|workload| !stacks.iter().any(|stack| workload.is_for(stack, stacks)));
    let unloaded = stacks
        .iter()
        .find(|stack| !workloads.iter().any(|workload| workload.is_for(stack, stacks)));
    let unfit = unmeasured.zip(stacks.first()).or(workloads.first().zip(unloaded));
    if let Some((probe, stack)) = unfit.filter(|(workload, _)| workload.needs_peer()) {
        return Err(nameless(stack, &probe.name));
    }
    if let Some((load, stack)) = unfit {
        return Err(Fault::hint(
            format!("\"{}\" has no device, and the load \"{}\" needs one", stack.text, load.name),
            "name probes (--probe integer,copy), or a file or device in place of cpu",
        ));
    }
    for probe in workloads.iter().filter(|workload| workload.needs_peer()) {
        let measured = stacks.iter().filter(|stack| probe.is_for(stack, stacks));
        measured.into_iter().try_for_each(|stack| check_network(stack, &probe.name))?;
    }
    let tool =
        workloads.iter().find(|workload| workload.probe.as_ref().is_some_and(ProbeSpec::is_tool));
    let guests_of = |stack: &Stack| -> Vec<LayerSpec> {
        let named = stack.places().into_iter().filter_map(|place| guests.get(&place));
        stack
            .layers
            .iter()
            .filter(|layer| layer.has_role(LayerRole::Guest))
            .chain(named)
            .cloned()
            .collect()
    };
    let own_guest =
        |stack: &&Stack| guests_of(stack).iter().any(|guest| guest.option("image").is_none());
    for stack in stacks {
        let probes = workloads.iter().filter(|workload| workload.is_for(stack, stacks));
        probes.filter_map(|workload| workload.probe.as_ref()).try_for_each(|probe| {
            guests_of(stack).iter().try_for_each(|guest| check_memory(stack, probe, guest))
        })?;
    }
    if let Some((tool, stack)) = tool.zip(stacks.iter().find(own_guest)) {
        return Err(Fault::hint(
            format!(
                "\"{}\" is a program, and the guest of \"{}\" has none but iotax",
                tool.name, stack.text
            ),
            "name one of iotax's own probes, write vm(image=...), or name a guest that is up as ssh:HOST",
        ));
    }
    let probe = workloads.iter().find(|workload| workload.probe.is_some());
    let by_fio = stacks.iter().find(|stack| stack.medium.agent() == LoadIssuer::Fio);
    match by_fio.zip(probe) {
        Some((stack, probe)) => Err(Fault::hint(
            format!(
                "the probe \"{}\" needs iotax on the host of \"{}\", but agent=fio does not run it there",
                probe.name, stack.text
            ),
            "remove agent=fio or the probe",
        )),
        None => Ok(()),
    }
}

/// Memory that the kernel and the agent of a guest use.
const SYSTEM_BYTES: u64 = 64 << 20;

fn check_memory(stack: &Stack, probe: &ProbeSpec, guest: &LayerSpec) -> Result<(), Fault> {
    let memory = guest.option("memory").and_then(|word| parse_bytes(word).ok());
    let needed = probe.memory();
    match memory.filter(|memory| needed > 0 && needed.saturating_add(SYSTEM_BYTES) > *memory) {
        Some(memory) => Err(Fault::hint(
            format!(
                "the probe \"{probe}\" takes {} of memory, and the guest of \"{}\" has {}",
                show_bytes(needed),
                stack.text,
                show_bytes(memory)
            ),
            "give the guest more (memory=), or name a smaller size",
        )),
        None => Ok(()),
    }
}

/// Refuses a network probe if no other end answers it. This host answers its own processes and its
/// guests; any other place must be named by `net:`.
fn check_network(stack: &Stack, probe: &str) -> Result<(), Fault> {
    let guest = stack.layers.iter().find(|layer| layer.has_role(LayerRole::Guest));
    if guest.is_some_and(|guest| guest.option(NET) != Some(TAP)) {
        return Err(Fault::hint(
            format!(
                "the probe \"{probe}\" needs a network, and the guest of \"{}\" has none",
                stack.text
            ),
            "write vm(net=tap)",
        ));
    }
    let is_net = stack.medium.far_end().is_some();
    let is_lab = || stack.medium.members().iter().any(|one| matches!(one, Medium::Drive { .. }));
    match is_net || !(stack.places().iter().any(Place::is_ssh) || is_lab()) {
        true => Ok(()),
        false => Err(nameless(stack, probe)),
    }
}

fn nameless(stack: &Stack, probe: &str) -> Fault {
    let why = format!(
        "the probe \"{probe}\" needs another place that answers, and \"{}\" names none",
        stack.text
    );
    Fault::hint(why, "write net:ssh:B @ssh:A for the network from A to B")
}

/// Returns a note on which network is probed, if no stack names another end; `None` without network
/// probes.
pub(super) fn note_network(stacks: &[Stack], workloads: &[Workload]) -> Option<String> {
    let nameless = |stack: &Stack| stack.medium.far_end().is_none();
    let is_noted = workloads.iter().any(Workload::needs_peer) && stacks.iter().all(nameless);
    is_noted.then(|| {
        "network probes are answered by this host: its own processes reach it over the loopback, without a card, and guests over \
         their virtio-net card, a tap device and a bridge"
            .to_owned()
    })
}

/// Returns the subject of a verdict: `memory copy of 128MiB`, `integer work x 4`.
pub(super) fn subject(probe: &ProbeSpec) -> String {
    let Ok(found) = probe.definition() else { return probe.to_string() };
    let of = match (found.argument, &probe.argument) {
        (Argument::Bytes { .. }, Some(size)) => format!(" of {size}"),
        (Argument::Time { .. }, Some(time)) => format!(" after {time}"),
        (Argument::Word(_) | Argument::Test(_), Some(word)) => format!(" ({word})"),
        _ => String::new(),
    };
    let threads = if probe.numjobs > 1 { format!(" x {}", probe.numjobs) } else { String::new() };
    format!("{}{of}{threads}", found.subject)
}

/// Returns the compared quantity for the sentence of a verdict. More of it is always better.
pub fn quantity(probe: &ProbeSpec) -> String {
    match probe.unit() {
        Ok(ProbeUnit::Time(_)) => format!("speed (1 / mean time) of {}", subject(probe)),
        _ => subject(probe),
    }
}

impl Workload {
    /// Returns true for a probe that another place answers.
    pub fn needs_peer(&self) -> bool {
        self.probe
            .as_ref()
            .and_then(|probe| probe.definition().ok())
            .is_some_and(|found| found.needs_peer)
    }

    /// Returns true if `stack`, one of the scenario's `stacks`, is measured under this workload. A
    /// load needs a device. A network probe is for stacks that name the other end; if no stack
    /// does, this host answers for all of them.
    pub fn is_for(&self, stack: &Stack, stacks: &[Stack]) -> bool {
        let is_net = |stack: &Stack| stack.medium.far_end().is_some();
        let is_cpu = || stack.medium.members().iter().any(|one| matches!(one, Medium::Cpu { .. }));
        match self.probe {
            Some(_) => !self.needs_peer() || is_net(stack) || !stacks.iter().any(is_net),
            None => !is_net(stack) && !is_cpu(),
        }
    }

    pub fn probe_unit(&self) -> Option<ProbeUnit> {
        self.probe.as_ref()?.unit().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::check::{ScenarioRequest, from_stacks};

    #[test]
    fn a_probe_that_a_guest_has_no_memory_for_is_refused() {
        let planned = |stack: &str, probe: &str, numjobs: &str| {
            let words = vec![("numjobs".to_owned(), numjobs.to_owned())];
            let request =
                ScenarioRequest { probe: Some(probe.into()), words, ..ScenarioRequest::default() };
            from_stacks(&["cpu".to_owned(), stack.to_owned()], &request)
                .map(|_| ())
                .map_err(|error| error.to_string())
        };
        let refused = planned("cpu | vm(memory=1GiB)", "copy(512MiB)", "1").unwrap_err();
        let why = "the probe \"copy(512MiB)\" takes 1 GiB of memory, and the guest of \"cpu | vm(memory=1GiB)\" has 1 GiB";
        assert!(refused.contains(why) && refused.contains("; hint: "), "{refused}");
        assert_eq!(planned("cpu | vm(memory=2GiB)", "copy(512MiB)", "1"), Ok(()));
        assert!(
            planned("cpu | vm(memory=2GiB)", "copy(512MiB)", "2").is_err(),
            "each thread has its own"
        );
        assert_eq!(planned("cpu | vm(memory=1GiB)", "chase(512MiB)", "1"), Ok(()));
        assert!(planned("cpu @vm", "copy(512MiB)", "1").is_err());
    }

    #[test]
    fn datagrams_have_a_rate_and_nothing_else_has() {
        let of = |list: &str| {
            let words = [("numjobs", "2"), ("rate_iops", "100")]
                .map(|(key, value)| (key.into(), value.into()));
            drafts(list, None, &words, &Origin::command_line())
        };
        let rate = |list: &str| of(list).unwrap()[0].probe.as_ref().unwrap().rate;
        assert_eq!(rate("udp"), Some(2 * 100 * 1400));
        assert_eq!(rate("udp(small-receive)"), Some(2 * 100 * 64));
        assert!(of("tcp").unwrap_err().to_string().contains("only udp takes a rate"));
    }
}
