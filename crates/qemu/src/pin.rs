//! Processors on which a guest runs: listed by the stack, or planned from the host's L3 groups so
//! that a guest and the threads that serve its disks share a cache. Only [`apply`] acts on a
//! running guest.

use super::qmp::{Qmp, QmpError};
use anyhow::{Context, Result, ensure};
use iotax_host::facts::Processor;
use iotax_load::seat::cpu_list;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Processors that a stack requests for its guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Those of an L3 group, in equal parts if several guests are assigned to it.
    Auto,
    These(Vec<u32>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Processors of each virtual CPU: one each if there are more than virtual CPUs, else all of
    /// the guest's.
    pub vcpus: Vec<Vec<u32>>,
    /// Processors of QEMU's other threads (iothreads, main loop) and of the processes that serve
    /// its disks.
    pub others: Vec<u32>,
}

impl Pin {
    pub fn cpus(&self) -> impl Iterator<Item = u32> {
        self.vcpus.iter().flatten().chain(&self.others).copied()
    }
}

/// Processors that share a cache, and their NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheGroup {
    /// Numbers of the processors, grouped by core: those of one core are its hardware threads.
    pub cores: Vec<Vec<u32>>,
    /// NUMA node; `None` on a machine with only one.
    pub node: Option<u32>,
}

impl CacheGroup {
    #[cfg(any(test, feature = "testing"))]
    pub fn single(cpus: impl IntoIterator<Item = u32>, node: Option<u32>) -> CacheGroup {
        CacheGroup { cores: cpus.into_iter().map(|cpu| vec![cpu]).collect(), node }
    }

    pub fn cpus(&self) -> impl Iterator<Item = u32> {
        self.cores.iter().flatten().copied()
    }

    fn without(&self, taken: impl Fn(u32) -> bool) -> CacheGroup {
        let left =
            |core: &Vec<u32>| core.iter().copied().filter(|cpu| !taken(*cpu)).collect::<Vec<_>>();
        let cores = self.cores.iter().map(left).filter(|core| !core.is_empty()).collect();
        CacheGroup { cores, node: self.node }
    }
}

/// Returns the L3 groups of a machine. If none are known, returns one group with all processors.
pub fn groups(cpu: &Processor) -> Vec<CacheGroup> {
    let nodes: BTreeMap<u32, Vec<u32>> = cpu
        .numa_nodes
        .iter()
        .filter_map(|(name, cpus)| {
            Some((name.trim_start_matches("node").parse().ok()?, cpu_list(cpus).ok()?))
        })
        .collect();
    let node = |cpus: &[u32]| {
        let first = cpus.first()?;
        let of = nodes.iter().find(|(_, all)| all.contains(first)).map(|(node, _)| *node);
        of.filter(|_| nodes.len() > 1)
    };
    let mut all: Vec<Vec<u32>> =
        cpu.l3_groups.iter().filter_map(|cpus| cpu_list(cpus).ok()).collect();
    if all.is_empty() {
        all = vec![(0..cpu.threads.unwrap_or(1) as u32).collect()];
    }
    all.sort();
    let of_cores: Vec<Vec<u32>> =
        cpu.smt_groups.iter().filter_map(|cpus| cpu_list(cpus).ok()).collect();
    all.into_iter()
        .map(|cpus| CacheGroup { node: node(&cpus), cores: cores(&cpus, &of_cores) })
        .collect()
}

/// Groups processors by core. A processor whose core is not known becomes a core of its own.
fn cores(cpus: &[u32], of_cores: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let core = |cpu: &u32| {
        let known = of_cores.iter().find(|core| core.contains(cpu));
        known.map_or_else(
            || vec![*cpu],
            |core| core.iter().copied().filter(|cpu| cpus.contains(cpu)).collect(),
        )
    };
    let mut cores: Vec<Vec<u32>> = cpus.iter().map(core).collect();
    cores.sort();
    cores.dedup();
    cores
}

#[derive(Clone, Copy, Debug)]
pub struct Guest<'a> {
    pub wanted: &'a Wanted,
    pub vcpus: u32,
    /// NUMA node that the guest should be on, that of its memory or of a drive that it is given;
    /// `None` for any.
    pub near: Option<u32>,
}

/// Plans the processors of each guest, and returns with them the NUMA node that all of them are on,
/// if it is a single one. Processors that a guest lists are not given to guests with
/// [`Wanted::Auto`]. Each of these is assigned to a group, of its `near` node if that has any, with
/// the fewest guests so far. Guests of one group get equal parts of it: whole cores if there is a
/// core for each guest, else processors if there is one for each, else all of the group.
///
/// # Errors
/// A guest has [`Wanted::Auto`], but the lists of others take all processors.
pub fn plan_pins(
    guests: &[Guest],
    groups: &[CacheGroup],
) -> Result<Vec<(Pin, Option<u32>)>, String> {
    let free = left_by_lists(guests, groups)?;
    let dealt = deal(guests, &free);
    let planned = |(at, guest): (usize, &Guest)| match (guest.wanted, dealt[at]) {
        (Wanted::These(cpus), _) => (of_its_own(cpus, guest.vcpus), node_of(cpus, groups)),
        (Wanted::Auto, None) => (common(&[], guest.vcpus), None),
        (Wanted::Auto, Some(own)) => {
            let sharing = dealt.iter().filter(|group| **group == Some(own)).count();
            let which = dealt[..at].iter().filter(|group| **group == Some(own)).count();
            let pin = match part(&free[own].cores, which, sharing) {
                Some(cpus) => of_its_own(&cpus, guest.vcpus),
                None => common(&free[own].cpus().collect::<Vec<_>>(), guest.vcpus),
            };
            (pin, free[own].node)
        }
    };
    Ok(guests.iter().enumerate().map(planned).collect())
}

/// Returns the groups without the processors that guests list. A core of which one thread is listed
/// is left out as a whole, unless nothing else is left.
fn left_by_lists(guests: &[Guest], groups: &[CacheGroup]) -> Result<Vec<CacheGroup>, String> {
    let lists = guests.iter().filter_map(|guest| match guest.wanted {
        Wanted::These(cpus) => Some(cpus),
        Wanted::Auto => None,
    });
    let given: Vec<u32> = lists.flatten().copied().collect();
    let shares_core = |cpu: u32| {
        let core = groups.iter().flat_map(|group| &group.cores).find(|core| core.contains(&cpu));
        core.is_some_and(|core| core.iter().any(|other| given.contains(other)))
    };
    let without = |taken: &dyn Fn(u32) -> bool| -> Vec<CacheGroup> {
        let left = groups.iter().map(|group| group.without(taken));
        left.filter(|group| !group.cores.is_empty()).collect()
    };
    let auto = guests.iter().any(|guest| *guest.wanted == Wanted::Auto);
    let left = [without(&shares_core), without(&|cpu| given.contains(&cpu))];
    match left.into_iter().find(|left| !left.is_empty()) {
        Some(left) => Ok(left),
        None if auto && !groups.is_empty() => {
            Err("the lists of other guests take every processor of this host; hint: shorter lists"
                .into())
        }
        None => Ok(Vec::new()),
    }
}

fn node_of(cpus: &[u32], groups: &[CacheGroup]) -> Option<u32> {
    let node = |cpu: &u32| groups.iter().find(|group| group.cpus().any(|own| own == *cpu))?.node;
    let first = node(cpus.first()?)?;
    cpus.iter().all(|cpu| node(cpu) == Some(first)).then_some(first)
}

/// Returns the processors of part number `which` of `parts` equal ones, with the first threads of
/// cores before their siblings. `None` if there is not a processor for each part.
fn part(cores: &[Vec<u32>], which: usize, parts: usize) -> Option<Vec<u32>> {
    let (own, rest): (Vec<u32>, Vec<u32>) = match cores.len() / parts {
        0 => {
            let cpus: Vec<u32> = cores.iter().flatten().copied().collect();
            let size = cpus.len() / parts;
            (cpus[which * size..(which + 1) * size].to_vec(), Vec::new())
        }
        size => {
            let own = &cores[which * size..(which + 1) * size];
            let siblings = own.iter().flat_map(|core| &core[1..]).copied().collect();
            (own.iter().map(|core| core[0]).collect(), siblings)
        }
    };
    let cpus = [own, rest].concat();
    (!cpus.is_empty()).then_some(cpus)
}

/// Returns the index of the group that is chosen for each guest with [`Wanted::Auto`]: the first of
/// those with the fewest guests so far, on its `near` node if that has groups. `None` for other
/// guests.
fn deal(guests: &[Guest], groups: &[CacheGroup]) -> Vec<Option<usize>> {
    let mut taken = vec![0; groups.len()];
    let mut choose = |guest: &Guest| {
        let near = |at: &usize| guest.near.is_some() && groups[*at].node == guest.near;
        let any_near = (0..groups.len()).any(|at| near(&at));
        let own =
            (0..groups.len()).filter(|at| near(at) || !any_near).min_by_key(|at| taken[*at])?;
        taken[own] += 1;
        Some(own)
    };
    guests
        .iter()
        .map(|guest| (*guest.wanted == Wanted::Auto).then(|| choose(guest)).flatten())
        .collect()
}

/// Gives each virtual CPU one processor and QEMU's other threads the rest. If there is no rest, all
/// share all processors.
fn of_its_own(cpus: &[u32], vcpus: u32) -> Pin {
    let many = vcpus as usize;
    if cpus.len() <= many {
        return common(cpus, vcpus);
    }
    Pin {
        vcpus: cpus[..many].iter().map(|cpu| vec![*cpu]).collect(),
        others: cpus[many..].to_vec(),
    }
}

fn common(cpus: &[u32], vcpus: u32) -> Pin {
    Pin { vcpus: vec![cpus.to_vec(); vcpus as usize], others: cpus.to_vec() }
}

/// Restricts the threads of a running QEMU, and of the processes that serve its disks (`daemons`),
/// to the planned processors.
///
/// # Errors
/// QEMU does not answer or has another number of virtual CPUs than planned, the threads of a
/// process cannot be listed, or the kernel refuses the processors.
pub fn apply(pin: &Pin, qemu: &mut Qmp, process: u32, daemons: &[u32]) -> Result<()> {
    let vcpus = threads_of_vcpus(&query(qemu, "query-cpus-fast")?);
    ensure!(
        vcpus.len() == pin.vcpus.len(),
        "QEMU reports {} vCPUs, {} are planned",
        vcpus.len(),
        pin.vcpus.len()
    );
    for process in daemons.iter().chain([&process]) {
        for thread in
            threads_of(*process)?.into_iter().chain(kernel_threads_of(Path::new("/proc"), *process))
        {
            if !vcpus.contains(&thread) {
                set_thread_affinity(thread, &pin.others)?;
            }
        }
    }
    vcpus.iter().zip(&pin.vcpus).try_for_each(|(thread, cpus)| set_thread_affinity(*thread, cpus))
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

/// Returns the kernel threads that do a process's I/O. Before Linux 6.4, vhost's workers are no
/// threads of the process, but have its id in their name. LIO's workers serve all processes and are
/// not moved.
fn kernel_threads_of(proc: &Path, process: u32) -> Vec<u32> {
    let name = format!("vhost-{process}\n");
    let is_it = |thread: &u32| {
        let read = |file: &str| std::fs::read_to_string(proc.join(thread.to_string()).join(file));
        // Any process can call itself so, but kthreadd's children are the kernel's.
        read("comm").is_ok_and(|comm| comm == name)
            && read("status").is_ok_and(|status| status.lines().any(|line| line == "PPid:\t2"))
    };
    let entries = std::fs::read_dir(proc).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_it).collect()
}

fn set_thread_affinity(thread: u32, cpus: &[u32]) -> Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu as usize));
    match sched_setaffinity(Pid::from_raw(thread as i32), &set) {
        // A thread of a pool may have ended meanwhile.
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error)
            .with_context(|| format!("cannot run a thread of the guest on processors {cpus:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(cpus: std::ops::Range<u32>, node: u32) -> CacheGroup {
        CacheGroup::single(cpus, Some(node))
    }

    #[test]
    fn guests_go_round_the_groups_and_share_them_evenly() {
        let groups = [group(0..8, 0), group(8..16, 1)];
        let auto = Guest { wanted: &Wanted::Auto, vcpus: 3, near: None };
        let planned = plan_pins(&[auto; 3], &groups).unwrap();
        // Two in the first group with four processors each, one in the second with all eight.
        assert_eq!(
            planned[0],
            (Pin { vcpus: vec![vec![0], vec![1], vec![2]], others: vec![3] }, Some(0))
        );
        assert_eq!(
            planned[1].0,
            Pin { vcpus: vec![vec![8], vec![9], vec![10]], others: (11..16).collect() }
        );
        assert_eq!(planned[2].0.others, [7]);
        assert_eq!(
            planned.iter().map(|(_, node)| *node).collect::<Vec<_>>(),
            [Some(0), Some(1), Some(0)]
        );
        let crowded = plan_pins(&[auto; 40], &groups).unwrap();
        assert_eq!(
            crowded[39].0.vcpus,
            vec![(8..16).collect::<Vec<_>>(); 3],
            "no part each: all for all"
        );
    }

    #[test]
    fn a_guest_with_a_drive_is_on_its_node() {
        let groups = [group(0..4, 0), group(4..8, 1), group(8..12, 1)];
        let near = |node| Guest { wanted: &Wanted::Auto, vcpus: 1, near: node };
        let firsts = |guests: &[Guest]| -> Vec<u32> {
            plan_pins(guests, &groups).unwrap().iter().map(|(pin, _)| pin.vcpus[0][0]).collect()
        };
        assert_eq!(firsts(&[near(Some(1)), near(Some(1)), near(Some(1))]), [4, 8, 6]);
        assert_eq!(firsts(&[near(Some(1)), near(None)]), [4, 0]);
        assert_eq!(firsts(&[near(Some(7))]), [0], "a node without processors");
    }

    #[test]
    fn given_processors_are_taken_as_they_are_and_their_node_is_known() {
        let planned = |cpus: &[u32]| {
            let wanted = Wanted::These(cpus.to_vec());
            let guests = [Guest { wanted: &wanted, vcpus: 2, near: None }];
            plan_pins(&guests, &[group(0..8, 0), group(8..16, 1), group(16..24, 1)])
                .unwrap()
                .remove(0)
        };
        let both = Pin { vcpus: vec![vec![4, 5]; 2], others: vec![4, 5] };
        assert_eq!(planned(&[4, 5]), (both, Some(0)));
        assert_eq!(planned(&[8, 9, 16]).1, Some(1), "two groups of one node");
        assert_eq!(planned(&[7, 8]).1, None, "of two nodes");
        assert_eq!(planned(&[8, 99]).1, None, "not of this machine");
    }

    /// Four cores of two threads each, the siblings numbered after all first threads, as Linux
    /// does.
    fn threaded(node: Option<u32>) -> CacheGroup {
        CacheGroup { cores: (0..4).map(|core| vec![core, core + 4]).collect(), node }
    }

    #[test]
    fn no_two_guests_share_a_core_as_long_as_there_is_one_for_each() {
        let auto = Guest { wanted: &Wanted::Auto, vcpus: 2, near: None };
        let pins = |many: usize| -> Vec<Pin> {
            plan_pins(&vec![auto; many], &[threaded(None)])
                .unwrap()
                .into_iter()
                .map(|(pin, _)| pin)
                .collect()
        };
        // A processor for each vCPU is one of a core of its own, where there are enough.
        assert_eq!(
            pins(1)[0],
            Pin { vcpus: vec![vec![0], vec![1]], others: vec![2, 3, 4, 5, 6, 7] }
        );
        assert_eq!(pins(2)[0], Pin { vcpus: vec![vec![0], vec![1]], others: vec![4, 5] });
        assert_eq!(pins(2)[1], Pin { vcpus: vec![vec![2], vec![3]], others: vec![6, 7] });
        for many in 1..=4 {
            let cores: Vec<std::collections::BTreeSet<u32>> =
                pins(many).iter().map(|pin| pin.cpus().map(|cpu| cpu % 4).collect()).collect();
            let shared = cores.iter().map(|own| own.len()).sum::<usize>();
            assert_eq!(
                cores.iter().flatten().collect::<std::collections::BTreeSet<_>>().len(),
                shared,
                "{many}"
            );
        }
        assert_eq!(pins(8)[1], common(&[4], 2), "a processor each");
        assert_eq!(pins(9)[8].others.len(), 8, "all for all");
    }

    #[test]
    fn what_a_list_gives_to_one_guest_no_other_gets() {
        let list = Wanted::These(vec![1]);
        let guests = |wanted: &'static Wanted| Guest { wanted, vcpus: 1, near: None };
        let given = Guest { wanted: &list, vcpus: 1, near: None };
        let planned = plan_pins(&[guests(&Wanted::Auto), given], &[threaded(None)]).unwrap();
        let cpus: Vec<u32> = planned[0].0.cpus().collect();
        assert_eq!(cpus, [0, 2, 3, 4, 6, 7], "neither it nor the other thread of its core");
        // Where no core is left, its other thread at least.
        let one_core = [CacheGroup { cores: vec![vec![1, 5]], node: None }];
        assert_eq!(plan_pins(&[guests(&Wanted::Auto), given], &one_core).unwrap()[0].0.others, [5]);
        let refused = plan_pins(&[guests(&Wanted::Auto), given], &[group(1..2, 0)]).unwrap_err();
        assert!(refused.contains("take every processor"), "{refused}");
        assert!(plan_pins(&[given], &[group(1..2, 0)]).is_ok(), "nobody is left without");
    }

    #[test]
    fn a_machine_tells_its_groups() {
        let cpu = Processor {
            threads: Some(16),
            l3_groups: vec!["0-3,8-11".into(), "4-7,12-15".into()],
            smt_groups: (0..8).map(|core| format!("{core},{}", core + 8)).collect(),
            numa_nodes: [("node0", "0-3,8-11"), ("node1", "4-7,12-15")]
                .map(|(name, cpus)| (name.to_owned(), cpus.to_owned()))
                .into(),
            ..Processor::default()
        };
        let found = groups(&cpu);
        let cores = vec![vec![4, 12], vec![5, 13], vec![6, 14], vec![7, 15]];
        assert_eq!(found[1], CacheGroup { cores, node: Some(1) });
        let plain = groups(&Processor { threads: Some(2), ..Processor::default() });
        assert_eq!(plain, [CacheGroup::single([0, 1], None)]);
    }

    #[test]
    fn vhosts_workers_in_the_kernel_are_known_by_their_name() {
        let proc = tempfile::tempdir().unwrap();
        let thread = |number: u32, comm: &str, parent: u32| {
            let folder = proc.path().join(number.to_string());
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("comm"), format!("{comm}\n")).unwrap();
            let status = format!("Name:\t{comm}\nPid:\t{number}\nPPid:\t{parent}\nTracerPid:\t0\n");
            std::fs::write(folder.join("status"), status).unwrap();
        };
        thread(77, "vhost-4242", 2);
        thread(78, "vhost-4242", 2);
        thread(79, "vhost-4242", 1);
        thread(80, "vhost-42", 2);
        thread(4242, "qemu-system-x86", 1);
        std::fs::write(proc.path().join("uptime"), "1").unwrap();
        let mut found = kernel_threads_of(proc.path(), 4242);
        found.sort_unstable();
        assert_eq!(found, [77, 78]);
        assert!(kernel_threads_of(Path::new("/proc"), std::process::id()).is_empty());
    }

    #[test]
    fn a_thread_is_put_where_it_should_be() {
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let before = rustix::thread::sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU).find(|cpu| before.is_set(*cpu)).unwrap() as u32;
        set_thread_affinity(own, &[first]).unwrap();
        let now = rustix::thread::sched_getaffinity(None).unwrap();
        assert_eq!(now.count(), 1);
        rustix::thread::sched_setaffinity(None, &before).unwrap();
        assert!(set_thread_affinity(own, &[1023]).is_err(), "there is no such processor here");
    }
}
