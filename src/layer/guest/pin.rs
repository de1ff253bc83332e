//! On which processors a guest runs: given, or planned from the host's L3 groups, so that a guest and the threads that serve
//! its disks share one. Values in, values out, but for [`apply`].

use super::qmp::{Qmp, QmpError};
use crate::host::facts::Cpu;
use anyhow::{Context, Result, ensure};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a stack asks of its guest's processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// An L3 group's, shared out among the guests that get the same.
    Auto,
    /// These.
    These(Vec<u32>),
}

/// Processors of the threads of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Of each virtual CPU; one each where there are enough.
    pub vcpus: Vec<Vec<u32>>,
    /// Of QEMU's other threads: iothreads, main loop, and what serves disks beside it.
    pub others: Vec<u32>,
}

impl Pin {
    /// All processors that it names.
    pub fn cpus(&self) -> impl Iterator<Item = u32> {
        self.vcpus.iter().flatten().chain(&self.others).copied()
    }
}

/// Processors of a machine that share a cache, with the NUMA node that they are on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Their numbers.
    pub cpus: Vec<u32>,
    /// Their node; `None` on a machine of one.
    pub node: Option<u32>,
}

/// `0-3,8` as numbers, in order; the kernel's own spelling of lists.
///
/// # Errors
/// Why it is no such list.
pub fn list(text: &str) -> Result<Vec<u32>, String> {
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| format!("\"{text}\" is no processor"));
    let mut all = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            None => all.push(number(part)?),
            Some((from, to)) => {
                let (from, to) = (number(from)?, number(to)?);
                if from > to || to >= CpuSet::MAX_CPU as u32 {
                    return Err(format!("\"{part}\" is no range of processors"));
                }
                all.extend(from..=to);
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    match all.last() {
        Some(last) if *last >= CpuSet::MAX_CPU as u32 => Err(format!("there is no processor {last}")),
        _ => Ok(all),
    }
}

/// The L3 groups of a machine; all of its processors where none are told.
pub fn groups(cpu: &Cpu) -> Vec<Group> {
    let nodes: BTreeMap<u32, Vec<u32>> = cpu
        .numa_nodes
        .iter()
        .filter_map(|(name, cpus)| Some((name.trim_start_matches("node").parse().ok()?, list(cpus).ok()?)))
        .collect();
    let node = |cpus: &[u32]| {
        let first = cpus.first()?;
        let of = nodes.iter().find(|(_, all)| all.contains(first)).map(|(node, _)| *node);
        of.filter(|_| nodes.len() > 1)
    };
    let mut all: Vec<Vec<u32>> = cpu.l3_groups.iter().filter_map(|cpus| list(cpus).ok()).collect();
    if all.is_empty() {
        all = vec![(0..cpu.threads.unwrap_or(1) as u32).collect()];
    }
    all.sort();
    all.into_iter().map(|cpus| Group { node: node(&cpus), cpus }).collect()
}

/// A guest in need of processors.
#[derive(Clone, Copy, Debug)]
pub struct Guest<'a> {
    /// What was asked for.
    pub wanted: &'a Wanted,
    /// Its virtual CPUs.
    pub vcpus: u32,
    /// The NUMA node that it should be on: that of the drive that it is given.
    pub near: Option<u32>,
}

/// Processors for each guest, with the node of those that were planned. Guests that leave it to us go round the groups (of
/// their drive's node, where it has some); those that share one get equal parts of it, as long as there is a
/// processor for each.
pub fn plan(guests: &[Guest], groups: &[Group]) -> Vec<(Pin, Option<u32>)> {
    let dealt = deal(guests, groups);
    let planned = |(at, guest): (usize, &Guest)| match (guest.wanted, dealt[at]) {
        (Wanted::These(cpus), _) => (of_its_own(cpus, guest.vcpus), None),
        (Wanted::Auto, None) => (common(&[], guest.vcpus), None),
        (Wanted::Auto, Some(own)) => {
            let sharing = dealt.iter().filter(|group| **group == Some(own)).count();
            let which = dealt[..at].iter().filter(|group| **group == Some(own)).count();
            let cpus = &groups[own].cpus;
            let pin = match cpus.len() / sharing {
                0 => common(cpus, guest.vcpus),
                size => of_its_own(&cpus[which * size..(which + 1) * size], guest.vcpus),
            };
            (pin, groups[own].node)
        }
    };
    guests.iter().enumerate().map(planned).collect()
}

/// A group for each guest that leaves it to us: the first of those with the fewest guests so far.
fn deal(guests: &[Guest], groups: &[Group]) -> Vec<Option<usize>> {
    let mut taken = vec![0; groups.len()];
    let mut choose = |guest: &Guest| {
        let near = |at: &usize| guest.near.is_some() && groups[*at].node == guest.near;
        let any_near = (0..groups.len()).any(|at| near(&at));
        let own = (0..groups.len()).filter(|at| near(at) || !any_near).min_by_key(|at| taken[*at])?;
        taken[own] += 1;
        Some(own)
    };
    guests.iter().map(|guest| (*guest.wanted == Wanted::Auto).then(|| choose(guest)).flatten()).collect()
}

/// A processor for each virtual CPU, the rest for the others; all for all where there is no rest.
fn of_its_own(cpus: &[u32], vcpus: u32) -> Pin {
    let many = vcpus as usize;
    if cpus.len() <= many {
        return common(cpus, vcpus);
    }
    Pin { vcpus: cpus[..many].iter().map(|cpu| vec![*cpu]).collect(), others: cpus[many..].to_vec() }
}

/// All threads on all of these.
fn common(cpus: &[u32], vcpus: u32) -> Pin {
    Pin { vcpus: vec![cpus.to_vec(); vcpus as usize], others: cpus.to_vec() }
}

/// Puts the threads of a running QEMU, and of the processes that serve its disks, where the plan says.
///
/// # Errors
/// When QEMU does not tell its threads, or the kernel refuses a processor.
pub fn apply(pin: &Pin, qemu: &mut Qmp, process: u32, daemons: &[u32]) -> Result<()> {
    let vcpus = threads_of_vcpus(&query(qemu, "query-cpus-fast")?);
    ensure!(
        vcpus.len() == pin.vcpus.len(),
        "QEMU tells {} vCPUs, {} are planned",
        vcpus.len(),
        pin.vcpus.len()
    );
    for process in daemons.iter().chain([&process]) {
        for thread in threads_of(*process)? {
            if !vcpus.contains(&thread) {
                put(thread, &pin.others)?;
            }
        }
    }
    vcpus.iter().zip(&pin.vcpus).try_for_each(|(thread, cpus)| put(*thread, cpus))
}

fn query(qemu: &mut Qmp, command: &str) -> Result<Value> {
    let answer: Result<Value, QmpError> = qemu.execute(command, json!({}));
    answer.with_context(|| format!("QEMU does not answer {command}"))
}

fn threads_of_vcpus(answer: &Value) -> Vec<u32> {
    let mut found: Vec<(u64, u32)> = answer
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|cpu| Some((cpu["cpu-index"].as_u64()?, cpu["thread-id"].as_u64()? as u32)))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, thread)| thread).collect()
}

fn threads_of(process: u32) -> Result<Vec<u32>> {
    let folder = format!("/proc/{process}/task");
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot list {folder}"))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

fn put(thread: u32, cpus: &[u32]) -> Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu as usize));
    match sched_setaffinity(Pid::from_raw(thread as i32), &set) {
        // A thread of a pool may have ended meanwhile.
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => {
            Err(error).with_context(|| format!("cannot run a thread of the guest on processors {cpus:?}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_the_kernels() {
        assert_eq!(list("0-3,8"), Ok(vec![0, 1, 2, 3, 8]));
        assert_eq!(list("5"), Ok(vec![5]));
        assert_eq!(list("3,1,2-3"), Ok(vec![1, 2, 3]));
        for wrong in ["", "a", "3-1", "1-", "0-99999", "99999"] {
            assert!(list(wrong).is_err(), "{wrong}");
        }
    }

    fn group(cpus: std::ops::Range<u32>, node: u32) -> Group {
        Group { cpus: cpus.collect(), node: Some(node) }
    }

    #[test]
    fn guests_go_round_the_groups_and_share_them_evenly() {
        let groups = [group(0..8, 0), group(8..16, 1)];
        let auto = Guest { wanted: &Wanted::Auto, vcpus: 3, near: None };
        let planned = plan(&[auto; 3], &groups);
        // Two in the first group with four processors each, one in the second with all eight.
        assert_eq!(planned[0], (Pin { vcpus: vec![vec![0], vec![1], vec![2]], others: vec![3] }, Some(0)));
        assert_eq!(planned[1].0, Pin { vcpus: vec![vec![8], vec![9], vec![10]], others: (11..16).collect() });
        assert_eq!(planned[2].0.others, [7]);
        assert_eq!(planned.iter().map(|(_, node)| *node).collect::<Vec<_>>(), [Some(0), Some(1), Some(0)]);
        let crowded = plan(&[auto; 40], &groups);
        assert_eq!(crowded[39].0.vcpus, vec![(8..16).collect::<Vec<_>>(); 3], "no part each: all for all");
    }

    #[test]
    fn a_guest_with_a_drive_is_on_its_node() {
        let groups = [group(0..4, 0), group(4..8, 1), group(8..12, 1)];
        let near = |node| Guest { wanted: &Wanted::Auto, vcpus: 1, near: node };
        let firsts = |guests: &[Guest]| -> Vec<u32> {
            plan(guests, &groups).iter().map(|(pin, _)| pin.vcpus[0][0]).collect()
        };
        assert_eq!(firsts(&[near(Some(1)), near(Some(1)), near(Some(1))]), [4, 8, 6]);
        assert_eq!(firsts(&[near(Some(1)), near(None)]), [4, 0]);
        assert_eq!(firsts(&[near(Some(7))]), [0], "a node without processors");
    }

    #[test]
    fn given_processors_are_taken_as_they_are() {
        let wanted = Wanted::These(vec![4, 5]);
        let planned = plan(&[Guest { wanted: &wanted, vcpus: 2, near: None }], &[group(0..8, 0)]);
        assert_eq!(planned, [(Pin { vcpus: vec![vec![4, 5]; 2], others: vec![4, 5] }, None)]);
    }

    #[test]
    fn a_machine_tells_its_groups() {
        let cpu = Cpu {
            threads: Some(16),
            l3_groups: vec!["0-3,8-11".into(), "4-7,12-15".into()],
            numa_nodes: [("node0", "0-3,8-11"), ("node1", "4-7,12-15")]
                .map(|(name, cpus)| (name.to_owned(), cpus.to_owned()))
                .into(),
            ..Cpu::default()
        };
        let found = groups(&cpu);
        assert_eq!(found[1], Group { cpus: vec![4, 5, 6, 7, 12, 13, 14, 15], node: Some(1) });
        let plain = groups(&Cpu { threads: Some(2), ..Cpu::default() });
        assert_eq!(plain, [Group { cpus: vec![0, 1], node: None }]);
    }

    #[test]
    fn a_thread_is_put_where_it_should_be() {
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let before = rustix::thread::sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU).find(|cpu| before.is_set(*cpu)).unwrap() as u32;
        put(own, &[first]).unwrap();
        let now = rustix::thread::sched_getaffinity(None).unwrap();
        assert_eq!(now.count(), 1);
        rustix::thread::sched_setaffinity(None, &before).unwrap();
        assert!(put(own, &[1023]).is_err(), "there is no such processor here");
    }
}
