//! Checks for `run`, `resume` and `plan` before anything is made. First the stacks must make sense
//! on this machine; only then do unmet needs count. Missing devices, consents and needs are named
//! all at once: `run` refuses, `plan` goes on with drives of unknown size. Nothing is fetched or
//! made.

use super::set_plan::PlanGround;
use super::sets::{SetLayout, layout};
use super::survey::{self, Survey};
use anyhow::{Error, Result};
use iotax_drivers::run_tag::RunTag;
use iotax_host::Missing;
use iotax_host::pci::PciDrive;
use iotax_layers::guest::{self, GuestParts};
use iotax_model::scenario::Scenario;
use iotax_qemu::boot::Requested;
use iotax_units::exit::{Failed, UNMET_NEED, code_of};

/// A scenario whose stacks are possible on this machine, with what was found for it. Devices,
/// consents and needs may still be missing: see [`ReadyScenario::met`].
pub struct ReadyScenario {
    pub layout: SetLayout,
    pub survey: Survey,
    /// Programs and images that this machine has for guests, with a kernel that may still have to
    /// be fetched.
    pub guest_parts: Option<GuestParts>,
    /// Devices and files that were named and do not exist, and consents that were not given, one
    /// sentence each.
    absent: Vec<String>,
    missing: Vec<Missing>,
    /// Further unmet needs that are no program or module: memory in huge pages, or KVM that was
    /// demanded.
    also: Vec<Error>,
}

impl ReadyScenario {
    /// Returns what does not exist and what this machine lacks, by name, with what supplies it;
    /// `None` if there is nothing.
    pub fn missing_summary(&self, scenario: &Scenario) -> Option<String> {
        let absent = self.absent.iter().cloned();
        let missing = survey::list_missing(scenario, &self.missing);
        let also = self.also.iter().map(|error| format!("{error:#}"));
        let all: Vec<String> = absent.chain(missing).chain(also).collect();
        (!all.is_empty()).then(|| all.join("\n"))
    }

    /// Returns the programs and modules that this machine lacks.
    pub fn missing_needs(&self) -> &[Missing] {
        &self.missing
    }

    /// Returns what else prevents the run, one sentence each: devices and files that do not exist,
    /// consents that were not given, needs that no package supplies.
    pub fn obstacles(&self) -> Vec<String> {
        let also = self.also.iter().map(|error| format!("{error:#}"));
        let there = self.survey.remote_consents_lacking();
        self.absent.iter().cloned().chain(also).chain(there).collect()
    }

    /// Fails if anything is lacking.
    pub fn met(&self, scenario: &Scenario) -> Result<()> {
        self.missing_summary(scenario).map_or(Ok(()), |all| Err(self.refusal(all).into()))
    }

    fn refusal(&self, all: String) -> Failed {
        if self.absent.is_empty() { Failed::need(all) } else { Failed::input(all) }
    }

    /// Returns what is lacking if a reboot supplies all of it, so that the run can wait for it;
    /// `None`: nothing is lacking.
    pub fn waits_for(&self, scenario: &Scenario) -> Result<Option<String>> {
        let by_reboot = self.absent.is_empty() && self.also.is_empty();
        match self.missing_summary(scenario) {
            Some(all) if !by_reboot || self.missing.iter().any(|missing| !missing.reboot) => {
                Err(self.refusal(all).into())
            }
            other => Ok(other),
        }
    }
}

/// Checks everything that a scenario names; `report` gets a sentence when that takes long.
///
/// # Errors
/// Bad input, such as a target that may not be used as meant or a file system without enough room.
/// If devices do not exist or consents are missing as well, the error lists all of these.
pub fn ready(scenario: &Scenario, report: &mut dyn FnMut(String)) -> Result<ReadyScenario> {
    let requested = guest::requested(scenario)?;
    let layout = layout(scenario);
    let (survey, absent) = survey::look_over(scenario, &layout, report)?;
    let mut also = Vec::new();
    let guest_parts = match requested {
        Some(requested) => Some(parts(requested, scenario, &absent, &mut also)?),
        None => None,
    };
    let tag = RunTag::of_none();
    let (found, parts) = (&survey.found, guest_parts.clone());
    let ground = PlanGround { scenario, layout: &layout, found, guest_parts: parts, tag };
    let bounds = ground.bounds().err();
    let mut obstacles = survey.consents_lacking.clone();
    if bounds.is_none() {
        obstacles.extend(ground.consents_lacking()?);
        obstacles.extend(ground.dedup_obstacles()?);
    }
    let (lacking, wrong): (Vec<Error>, Vec<Error>) =
        bounds.into_iter().partition(|error| code_of(error) == UNMET_NEED);
    also.extend(lacking);
    also.extend(survey::tools_lacking(scenario));
    let mut absent: Vec<String> =
        absent.into_iter().map(|absent| absent.why).chain(obstacles).collect();
    let refused = match wrong.into_iter().next() {
        Some(wrong) if absent.is_empty() => return Err(wrong),
        wrong => wrong.map(|wrong| absent.push(format!("{wrong:#}"))).is_some(),
    };
    let ready = ReadyScenario {
        layout,
        survey,
        guest_parts,
        absent,
        missing: survey::unmet_needs(scenario),
        also,
    };
    if refused {
        ready.met(scenario)?;
    }
    Ok(ready)
}

/// Returns the parts for guests. KVM that was demanded and is not there is added to `also`, like
/// other needs. A drive that does not exist is assumed to be one that can be given to a guest.
/// Neither prevents the other checks.
fn parts(
    requested: Requested,
    scenario: &Scenario,
    absent: &[survey::AbsentTarget],
    also: &mut Vec<Error>,
) -> Result<GuestParts> {
    let mut parts = match GuestParts::for_plan(requested, scenario) {
        Err(error) if code_of(&error) == UNMET_NEED => {
            also.push(error);
            GuestParts::for_plan(Requested::Auto, scenario)?
        }
        other => other?,
    };
    parts.drives.extend(absent.iter().map(|absent| PciDrive {
        address: "ADDRESS".into(),
        paths: vec![absent.path.clone()],
        driver: Some("nvme".into()),
        ..PciDrive::default()
    }));
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_model::scenario::check::{ScenarioRequest, from_arguments, from_path};
    use iotax_units::exit::BAD_INPUT;

    fn refused(scenario: &Scenario) -> String {
        let error = ready(scenario, &mut |_| {}).err().unwrap();
        assert_eq!(code_of(&error), BAD_INPUT, "{error:#}");
        format!("{error:#}")
    }

    #[test]
    fn what_is_wrong_with_a_stack_comes_before_what_this_machine_lacks() {
        let folder = tempfile::tempdir().unwrap();
        let file = format!("file:{},size=1MiB", folder.path().join("x.img").display());
        let stacks = [file.clone(), format!("{file} | vm(attach=vfio)")];
        let why = refused(&from_arguments(&stacks, &ScenarioRequest::default()).unwrap());
        assert!(why.contains("what is below is a file"), "{why}");
        assert!(!why.contains("x.img.2") && !why.contains("lacks"), "{why}");
        let socket = [format!("{file} | vm(spdk=/no.sock)")];
        let why = refused(&from_arguments(&socket, &ScenarioRequest::default()).unwrap());
        assert!(why.contains("hint: attach=vhost-user-blk") && !why.contains("lacks"), "{why}");
    }

    /// Returns the error that refuses a run, though a plan goes on.
    fn refused_run(scenario: &Scenario) -> String {
        let ready = ready(scenario, &mut |_| {}).unwrap();
        let error = ready.waits_for(scenario).unwrap_err();
        assert_eq!(code_of(&error), BAD_INPUT, "{error:#}");
        assert_eq!(
            ready.missing_summary(scenario),
            Some(format!("{error:#}")),
            "a plan says the same"
        );
        format!("{error:#}")
    }

    #[test]
    fn what_does_not_exist_is_told_with_all_that_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.toml");
        let text = "[device.drive]\npath = \"/dev/no-such\"\n[stack.host]\non = \"drive\"\n[stack.vm]\non = \"host\"\n\
                    layers = [\"vm(attach=vfio,memory=1024TiB)\"]\n[[workload]]\nrw = \"randread\"\n";
        std::fs::write(&path, text).unwrap();
        let scenario = from_path(&path, &ScenarioRequest::default()).unwrap();
        let why = refused_run(&scenario);
        let place = format!(
            "{}:2:8: key \"path\" of [device.drive]: /dev/no-such does not exist",
            path.display()
        );
        assert_eq!(why.matches("does not exist").count(), 1, "{why}");
        assert!(why.starts_with(&place) && why.contains("hint: iotax doctor"), "{why}");
        assert!(
            why.contains("guest vm0 needs 1024.00 TiB") || why.contains("guest vm0 needs 1024 TiB"),
            "{why}"
        );
        for missing in survey::unmet_needs(&scenario) {
            assert!(why.contains(&missing.what), "{}: {why}", missing.what);
        }
    }

    #[test]
    fn a_size_that_nobody_knows_is_too_large_for_nothing() {
        let stacks = ["/dev/no-such | partition(table=dos)", "/dev/no-such | vm(snapshot=on)"];
        let words = vec![("rw".to_owned(), "randwrite".to_owned())];
        let scenario = from_arguments(
            &stacks.map(str::to_owned),
            &ScenarioRequest { words, ..ScenarioRequest::default() },
        );
        assert!(refused_run(&scenario.unwrap()).contains("/dev/no-such does not exist"));
    }

    #[test]
    fn a_stack_that_makes_no_sense_is_refused_though_its_device_does_not_exist() {
        let stacks = ["/dev/no-such | loop | vm(attach=vfio)".to_owned()];
        let why = refused(&from_arguments(&stacks, &ScenarioRequest::default()).unwrap());
        assert!(why.starts_with("/dev/no-such") && why.contains("does not exist"), "{why}");
        assert!(why.contains("\n") && why.contains("attach=vfio"), "{why}");
    }
}
