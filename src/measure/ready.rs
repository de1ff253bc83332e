//! What `run`, `resume` and `plan` ask alike before anything is made: whether the stacks make sense here, and only then what this
//! machine lacks. What does not exist, and all that is lacking beside it, is named at once. Nothing is fetched or made.

use super::plan::Ground;
use super::sets::{Layout, layout};
use super::survey::{self, Survey};
use crate::exit::{Failed, UNMET_NEED, code_of};
use crate::host::Missing;
use crate::host::pci::Drive;
use crate::layer::guest::{self, Parts, Requested};
use crate::scenario::Scenario;
use crate::step::RunTag;
use anyhow::{Error, Result};

/// What is known of a scenario that makes sense on this machine.
pub struct Ready {
    /// Who can be up with whom.
    pub layout: Layout,
    /// The bottom of every stack.
    pub survey: Survey,
    /// What guests are made of, with a kernel that may still have to be fetched.
    pub guest_parts: Option<Parts>,
    /// What is lacking.
    missing: Vec<Missing>,
    /// The same of what no table of needs knows: memory in huge pages, KVM that was demanded.
    also: Vec<Error>,
}

impl Ready {
    /// What this machine lacks, by name, with what supplies it; empty: nothing.
    pub fn lacks(&self, scenario: &Scenario) -> Option<String> {
        let missing = survey::listed(scenario, &self.missing);
        let also = self.also.iter().map(|error| format!("{error:#}"));
        let all: Vec<String> = missing.into_iter().chain(also).collect();
        (!all.is_empty()).then(|| all.join("\n"))
    }

    /// The same as an error.
    ///
    /// # Errors
    /// Exit code 3 naming everything.
    pub fn met(&self, scenario: &Scenario) -> Result<()> {
        self.lacks(scenario).map_or(Ok(()), |all| Err(Failed::need(all).into()))
    }

    /// The same of a run that can wait: an error unless a reboot supplies all of it.
    ///
    /// # Errors
    /// Exit code 3 naming everything.
    pub fn waits_for(&self, scenario: &Scenario) -> Result<Option<String>> {
        let lacks = self.lacks(scenario);
        match lacks {
            Some(all) if !self.also.is_empty() || self.missing.iter().any(|missing| !missing.reboot) => {
                Err(Failed::need(all).into())
            }
            other => Ok(other),
        }
    }
}

/// Looks at everything that a scenario names.
///
/// # Errors
/// Bad input, with what is lacking where something does not exist that may come with it; a file system that is too full.
pub fn ready(scenario: &Scenario) -> Result<Ready> {
    let requested = guest::requested(scenario)?;
    let layout = layout(scenario);
    let (survey, absent) = survey::look_over(scenario, &layout)?;
    let mut also = Vec::new();
    let guest_parts = match requested {
        Some(requested) => Some(parts(requested, scenario, &absent, &mut also)?),
        None => None,
    };
    let tag = RunTag::of_none();
    let (found, parts) = (&survey.found, guest_parts.clone());
    let bounds = Ground { scenario, layout: &layout, found, guest_parts: parts, tag }.bounds().err();
    let (lacking, wrong): (Vec<Error>, Vec<Error>) =
        bounds.into_iter().partition(|error| code_of(error) == UNMET_NEED);
    also.extend(lacking);
    let ready = Ready { layout, survey, guest_parts, missing: survey::missing(scenario), also };
    match wrong.into_iter().next() {
        None if absent.is_empty() => Ok(ready),
        Some(wrong) if absent.is_empty() => Err(wrong),
        wrong => Err(of_absent(&absent, wrong, &ready, scenario)),
    }
}

/// What does not exist is told with everything else that will be missed.
fn of_absent(absent: &[survey::Absent], wrong: Option<Error>, ready: &Ready, scenario: &Scenario) -> Error {
    let lines = absent.iter().map(|absent| absent.why.clone());
    let wrong = wrong.map(|error| format!("{error:#}"));
    let all: Vec<String> = lines.chain(wrong).chain(ready.lacks(scenario)).collect();
    Failed::input(all.join("\n")).into()
}

/// What guests are made of. KVM that was demanded and is not there is lacking as other things are, and a drive that does not
/// exist could be given away if it did: neither keeps the rest from being looked at.
fn parts(
    requested: Requested,
    scenario: &Scenario,
    absent: &[survey::Absent],
    also: &mut Vec<Error>,
) -> Result<Parts> {
    let mut parts = match Parts::for_plan(requested, scenario) {
        Err(error) if code_of(&error) == UNMET_NEED => {
            also.push(error);
            Parts::for_plan(Requested::Auto, scenario)?
        }
        other => other?,
    };
    parts.drives.extend(absent.iter().map(|absent| Drive {
        address: "ADDRESS".into(),
        paths: vec![absent.path.clone()],
        driver: Some("nvme".into()),
        ..Drive::default()
    }));
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::BAD_INPUT;
    use crate::scenario::check::{Request, from_arguments, from_path};

    fn refused(scenario: &Scenario) -> String {
        let error = ready(scenario).err().unwrap();
        assert_eq!(code_of(&error), BAD_INPUT, "{error:#}");
        format!("{error:#}")
    }

    #[test]
    fn what_is_wrong_with_a_stack_comes_before_what_this_machine_lacks() {
        let folder = tempfile::tempdir().unwrap();
        let file = format!("file:{},size=1MiB", folder.path().join("x.img").display());
        let stacks = [file.clone(), format!("{file} | vm(attach=vfio)")];
        let why = refused(&from_arguments(&stacks, &Request::default()).unwrap());
        assert!(why.contains("what is below is a file"), "{why}");
        assert!(!why.contains("x.img.2") && !why.contains("lacks"), "{why}");
        let socket = [format!("{file} | vm(spdk=/no.sock)")];
        let why = refused(&from_arguments(&socket, &Request::default()).unwrap());
        assert!(why.contains("hint: attach=vhost-user-blk") && !why.contains("lacks"), "{why}");
    }

    #[test]
    fn what_does_not_exist_is_told_with_all_that_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.toml");
        let text = "[device.drive]\npath = \"/dev/no-such\"\n[stack.host]\non = \"drive\"\n[stack.vm]\non = \"host\"\n\
                    layers = [\"vm(attach=vfio,memory=1024TiB)\"]\n[[workload]]\nrw = \"randread\"\n";
        std::fs::write(&path, text).unwrap();
        let scenario = from_path(&path, &Request::default()).unwrap();
        let why = refused(&scenario);
        let place =
            format!("{}:2:8: key \"path\" of [device.drive]: /dev/no-such does not exist", path.display());
        assert_eq!(why.matches("does not exist").count(), 1, "{why}");
        assert!(why.starts_with(&place) && why.contains("hint: iotax doctor"), "{why}");
        assert!(
            why.contains("guest vm0 needs 1024.00 TiB") || why.contains("guest vm0 needs 1024 TiB"),
            "{why}"
        );
        for missing in survey::missing(&scenario) {
            assert!(why.contains(&missing.what), "{}: {why}", missing.what);
        }
    }
}
