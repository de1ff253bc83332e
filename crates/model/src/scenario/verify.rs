//! Workloads with `verify`. Those for which right and wrong data could not be distinguished on any
//! stack are refused here, before anything is made. The load generator refuses what depends on
//! regions.

use super::error::Fault;
use super::{Engine, Workload};
use crate::stack::LayerRole;
use crate::stack::{LoadIssuer, Stack};
use iotax_load::{EngineName, verify};

/// Checks all workloads that verify.
///
/// # Errors
/// Returns the first workload that cannot be verified, with the reason.
pub(super) fn check_verification(stacks: &[Stack], workloads: &[Workload]) -> Result<(), Fault> {
    workloads.iter().filter(|workload| workload.verifies()).try_for_each(|workload| {
        let named =
            |(why, hint): (&str, &str)| Fault::hint(format!("\"{}\": {why}", workload.name), hint);
        let verified = || workload.jobs.iter().filter(|job| job.verify);
        if !verified().any(|job| job.rw.writes()) {
            return Err(named((
                "what is verified is what the same load has written, and no job with verify writes",
                "rw=randrw or rw=write, or leave out verify",
            )));
        }
        if let Some(odd) = verified().find_map(verify::oddity) {
            return Err(named(odd));
        }
        match workload.engine {
            Some(Engine::Fio) => return Err(named(BY_FIO)),
            Some(Engine::Native(EngineName::Null)) => return Err(named(BY_NULL)),
            _ => {}
        }
        stacks.iter().try_for_each(|stack| on_stack(stack).map_err(named))
    })
}

const BY_FIO: (&str, &str) = (
    "iotax puts its own stamps on what is written, which fio does not know",
    "an engine of iotax's own (engine = uring, aio or sync), or leave out verify",
);
const BY_NULL: (&str, &str) = (
    "the engine null writes nothing that could be read back",
    "another engine, or leave out verify",
);

fn on_stack(stack: &Stack) -> Result<(), (&'static str, &'static str)> {
    let engine = |word: &str| {
        stack
            .layers
            .iter()
            .any(|layer| layer.has_role(LayerRole::Generator) && layer.option("name") == Some(word))
    };
    match () {
        () if stack.medium.agent() == LoadIssuer::Fio || engine("fio") => Err(BY_FIO),
        () if engine("null") => Err(BY_NULL),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::check::{ScenarioRequest, from_stacks};

    fn read(stack: &str, words: &[(&str, &str)], engine: Option<&str>) -> Result<String, String> {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let words = [("verify", "1")].iter().chain(words).map(own).collect();
        let request = ScenarioRequest {
            words,
            engine: engine.map(str::to_owned),
            ..ScenarioRequest::default()
        };
        let scenario =
            from_stacks(&[stack.to_owned()], &request).map_err(|error| error.to_string())?;
        assert!(scenario.verifies() && scenario.workloads[0].jobs[0].verify);
        Ok(scenario.workloads[0].subject())
    }

    const FILE: &str = "file:/srv/x.img,size=1GiB";

    #[test]
    fn a_load_that_writes_is_verified_and_says_so() {
        let subject = read(FILE, &[("rw", "randrw"), ("iodepth", "8")], None).unwrap();
        assert_eq!(subject, "4k random 50/50 mix at iodepth 8, verified");
    }

    #[test]
    fn what_cannot_be_verified_is_refused_with_a_hint() {
        let write = ("rw", "randwrite");
        let refused =
            |stack: &str, words: &[(&str, &str)], engine| read(stack, words, engine).unwrap_err();
        assert!(
            refused(FILE, &[("rw", "randread")], None)
                .contains("no job with verify writes; hint: rw=randrw")
        );
        assert!(
            refused(FILE, &[write], Some("fio"))
                .contains("which fio does not know; hint: an engine")
        );
        assert!(refused(FILE, &[write], Some("null")).contains("writes nothing"));
        assert!(
            refused(&format!("{FILE} | engine(fio)"), &[write], None)
                .contains("which fio does not know")
        );
        assert!(
            refused(&format!("{FILE} | engine(null)"), &[write], None).contains("writes nothing")
        );
        let dedupe = refused(FILE, &[write, ("dedupe_percentage", "20")], None);
        assert!(
            dedupe.contains("blocks with stamps are all different; hint: leave out"),
            "{dedupe}"
        );
        let zeros = refused(FILE, &[write, ("buffer_compress_percentage", "100")], None);
        assert!(zeros.contains("32 random bytes of a sector"), "{zeros}");
        assert!(
            read(FILE, &[write, ("verify", "crc32c")], None)
                .unwrap_err()
                .contains("write verify = true")
        );
    }
}
