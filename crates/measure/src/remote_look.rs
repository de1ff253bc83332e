//! Inspects media on other hosts through the agents there.

use super::places::ReachedPlace;
use anyhow::{Context, Result};
use iotax_host::block::Identity;
use iotax_host::guard::found::{InspectedKind, Inspection};
use iotax_host::guard::judge::Intent;
use iotax_layers::medium::FoundMedium;
use iotax_model::scenario::Scenario;
use iotax_model::stack::{Medium, Stack};
use iotax_plan::survey::{found_of, intent, judged_afar, other_size};
use iotax_units::exit::Failed;
use iotax_units::shell;
use iotax_wire::message::{Response, WireRequest};
use std::path::Path;
use std::time::Duration;

/// Limit for inspecting a device: a thousand random blocks of a slow disk, without an agent over a
/// slow connection.
const INSPECT_LIMIT: Duration = Duration::from_secs(150);

/// Returns the inspection of a path by the agent of another host; `None` if nothing is there.
///
/// # Errors
/// The place does not answer, or its answer cannot be understood.
pub(super) fn seen_afar(place: &mut ReachedPlace, path: &Path) -> Result<Option<Inspection>> {
    match place.send_request(WireRequest::Inspect { path: path.to_owned() }, INSPECT_LIMIT)? {
        Response::Inspect { payload } => {
            serde_json::from_value(payload).context("cannot understand what the agent saw")
        }
        other => Err(Failed::from(place.peer.unexpected("inspect", &other)).into()),
    }
}

/// Inspects a medium on another host through the agent there. Returns its facts, warnings, and its
/// identity if it is a device. A file with a size is made when it is not there, or reused when it
/// is ours, as on this host.
///
/// # Errors
/// Bad input when it does not exist or may not be used as intended. The agent does not answer.
pub(super) fn remote(
    place: &mut ReachedPlace,
    medium: &Medium,
    scenario: &Scenario,
    stack: &Stack,
) -> Result<(FoundMedium, Vec<String>, Option<Identity>)> {
    let Medium::Remote { host, path, size, .. } = medium else {
        return Err(Failed::input(format!("{}: not on another host", stack.text)).into());
    };
    let refused = |why: String| Failed::input(format!("{}: {why}", stack.text));
    let Some(found) = seen_afar(place, path)? else {
        let hint = match path.starts_with("/dev") {
            true => format!("`ssh {} lsblk` lists the devices there", shell::quote_word(host)),
            false => "name an existing file, or add size=4GiB to have it created".to_owned(),
        };
        let absent =
            || refused(format!("{} does not exist on {host}; hint: {hint}", path.display()));
        return Ok((
            FoundMedium::without_signature(size.ok_or_else(absent)?, false, false),
            Vec::new(),
            None,
        ));
    };
    let drive = (found.kind != InspectedKind::File).then(|| found.identity.clone());
    let Some(bytes) = *size else {
        let permit = judged_afar(&found, intent(scenario, stack), scenario, stack)?;
        return Ok((found_of(&found), permit.warnings, drive));
    };
    let permit = judged_afar(&found, Intent::Write, scenario, stack)?;
    match found.marker.as_ref().map(|marker| marker.bytes) {
        // The step that would make the file uses it again.
        ours if ours.is_none_or(|ours| ours == bytes) => {
            Ok((FoundMedium::without_signature(bytes, false, false), permit.warnings, drive))
        }
        ours => Err(refused(other_size(path, ours.unwrap_or(0), bytes)).into()),
    }
}
