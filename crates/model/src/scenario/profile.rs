//! Loads that others published, by name: the I/O, not its duration or target. Each is an entry of
//! [`ALL`].

use super::draft::WorkloadDraft;
use super::error::{Fault, InputError, Origin};
use super::words::JobWords;
use super::{probes, sweep};

/// A named list of loads.
pub struct Profile {
    /// Name of the profile; `NAME/LOAD` is one of its loads.
    pub name: &'static str,
    /// Source or content of the profile, in one line.
    pub help: &'static str,
    loads: &'static [LoadProfile],
}

/// Name of a load, and its keys and values of fio.
type LoadProfile = (&'static str, &'static [(&'static str, &'static str)]);

pub const ALL: &[Profile] = &[
    Profile {
        name: "disk-reads",
        help: "iotax's own reads: one at a time, many at a time, sequential",
        loads: &[
            ("read-4k-qd1", &plain("randread", "4KiB", "1")),
            ("read-4k-qd32", &plain("randread", "4KiB", "32")),
            ("read-1M-qd8", &plain("read", "1MiB", "8")),
        ],
    },
    Profile {
        name: "disk-writes",
        help: "the same for writes",
        loads: &[
            ("write-4k-qd1", &plain("randwrite", "4KiB", "1")),
            ("write-4k-qd32", &plain("randwrite", "4KiB", "32")),
            ("write-1M-qd8", &plain("write", "1MiB", "8")),
        ],
    },
    Profile {
        name: "hcibench",
        help: "five vdbench profiles of a comparison of iSER and NVMe-oF, eight I/Os in flight per disk",
        loads: &[
            ("4k-80random-50read", &mixed("4KiB", "50", "80")),
            ("8k-80random-75read", &mixed("8KiB", "75", "80")),
            ("64k-80sequential-75read", &mixed("64KiB", "75", "20")),
            ("4k-random-read", &plain("randread", "4KiB", "8")),
            ("4k-random-write", &plain("randwrite", "4KiB", "8")),
        ],
    },
    Profile {
        name: "vm-raid",
        help: "from a comparison of RAID engines under virtual machines, which does not state its iodepths; these are iotax's",
        loads: &[
            ("randread-4k", &plain("randread", "4KiB", "32")),
            ("randwrite-4k", &plain("randwrite", "4KiB", "32")),
            (
                "mix-70-30",
                &[("rw", "randrw"), ("rwmixread", "70"), ("bs", "4KiB"), ("iodepth", "32")],
            ),
            ("read-1M", &plain("read", "1MiB", "4")),
            ("write-1M", &plain("write", "1MiB", "4")),
        ],
    },
];

const fn plain(
    rw: &'static str,
    bs: &'static str,
    iodepth: &'static str,
) -> [(&'static str, &'static str); 3] {
    [("rw", rw), ("bs", bs), ("iodepth", iodepth)]
}

const fn mixed(
    bs: &'static str,
    rwmixread: &'static str,
    percentage_random: &'static str,
) -> [(&'static str, &'static str); 5] {
    [
        ("rw", "randrw"),
        ("bs", bs),
        ("iodepth", "8"),
        ("rwmixread", rwmixread),
        ("percentage_random", percentage_random),
    ]
}

/// Returns the workloads of `NAME`, `NAME/LOAD` or several of these with commas between them,
/// written at `origin`.
///
/// # Errors
/// A name is unknown; the error lists the known ones.
pub fn drafts(word: &str, origin: &Origin) -> Result<Vec<WorkloadDraft>, InputError> {
    let all: Result<Vec<Vec<WorkloadDraft>>, InputError> =
        word.split(',').map(|word| drafts_of(word.trim(), origin)).collect();
    Ok(all?.concat())
}

fn drafts_of(word: &str, origin: &Origin) -> Result<Vec<WorkloadDraft>, InputError> {
    if [probes::MACHINE, probes::NETWORK].contains(&word) {
        return probes::shipped(word, origin);
    }
    let (name, wanted) =
        word.split_once('/').map_or((word, None), |(name, load)| (name, Some(load)));
    let known = |what: &str, word: &str, known: Vec<&str>| {
        origin.error_at_key("profile", Fault::unknown(what, word, &known))
    };
    let profile = ALL.iter().find(|profile| profile.name == name).ok_or_else(|| {
        known(
            "profile",
            name,
            ALL.iter()
                .map(|profile| profile.name)
                .chain([probes::MACHINE, probes::NETWORK])
                .collect(),
        )
    })?;
    let loads: Vec<&LoadProfile> = profile
        .loads
        .iter()
        .filter(|(load, _)| wanted.is_none_or(|wanted| wanted == *load))
        .collect();
    if loads.is_empty() {
        let names = profile.loads.iter().map(|(load, _)| *load).collect();
        return Err(known(&format!("load of {name}"), wanted.unwrap_or_default(), names));
    }
    let drafts: Result<Vec<Vec<WorkloadDraft>>, InputError> =
        loads.into_iter().map(|load| workload(load, origin)).collect();
    Ok(drafts?.concat())
}

fn workload(
    (name, words): &LoadProfile,
    origin: &Origin,
) -> Result<Vec<WorkloadDraft>, InputError> {
    let mut job = JobWords::default();
    for (key, value) in *words {
        job.set_word(key, value, origin);
    }
    sweep::drafts(&job, Some(name), None)
}

/// Returns all profiles in one line, each with its source or content and the names of its loads.
pub fn profile_help_text() -> String {
    let each = |profile: &Profile| {
        let loads: Vec<&str> = profile.loads.iter().map(|(load, _)| *load).collect();
        format!("{}: {} ({})", profile.name, profile.help, loads.join(", "))
    };
    let of_machine = [
        format!("{}: iotax's probes of processors, memory and kernel", probes::MACHINE),
        format!(
            "{}: iotax's probes of TCP throughput both ways and of round trips",
            probes::NETWORK
        ),
    ];
    ALL.iter().map(each).chain(of_machine).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::draft::Targets;
    use super::super::jobfile;
    use super::*;
    use iotax_load::Job;
    use std::path::Path;

    fn jobs(drafts: &[WorkloadDraft]) -> Vec<(String, Job)> {
        // A load that only reads or only writes has no mix.
        let mix = |job: &Job| if job.rw.reads() && job.rw.writes() { job.rwmixread } else { 0 };
        let plain = |job: &Job| Job { name: String::new(), rwmixread: mix(job), ..job.clone() };
        let loads = drafts.iter().map(|draft| draft.workload_on(Targets::default()).unwrap());
        loads.map(|load| (load.name, plain(&load.jobs[0]))).collect()
    }

    #[test]
    fn the_job_file_of_the_same_comparison_says_the_same() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .join("scenarios/e4-hcibench-profiles.fio");
        let of_file = jobfile::read_job_file(&path).unwrap().drafts;
        let of_name = drafts("hcibench", &Origin::command_line()).unwrap();
        assert_eq!(of_name.len(), 5);
        assert_eq!(jobs(&of_name), jobs(&of_file));
    }

    #[test]
    fn every_load_is_found_by_its_own_name_and_others_are_told() {
        let origin = Origin::command_line();
        for profile in ALL {
            let all = drafts(profile.name, &origin).unwrap();
            assert_eq!(all.len(), profile.loads.len(), "each is one workload");
            for (load, of_all) in profile.loads.iter().zip(&all) {
                let own = drafts(&format!("{}/{}", profile.name, load.0), &origin).unwrap();
                assert_eq!(own, std::slice::from_ref(of_all));
            }
            assert!(profile_help_text().contains(profile.name));
        }
        let why = drafts("hcbench", &origin).unwrap_err().to_string();
        assert!(why.contains("did you mean \"hcibench\"?") && why.contains("vm-raid"), "{why}");
        let why = drafts("vm-raid/read", &origin).unwrap_err().to_string();
        assert!(
            why.contains("unknown load of vm-raid \"read\"") && why.contains("read-1M"),
            "{why}"
        );
    }
}
