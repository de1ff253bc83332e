//! Commands that supply what this machine lacks.

use iotax_host::Missing;
use iotax_layers::needs::BY_HAND;
use iotax_units::distinct;

/// Returns the command that installs the packages of all of these; `None` if no package of a
/// known package manager supplies any.
pub fn install_command<'a>(missing: impl IntoIterator<Item = &'a Missing>) -> Option<String> {
    let mut calls: Vec<(&str, Vec<&str>)> = Vec::new();
    let supplied = missing.into_iter().filter_map(Missing::packages);
    for (call, packages) in supplied.filter(|(call, _)| *call != BY_HAND) {
        match calls.iter_mut().find(|(known, _)| *known == call) {
            Some((_, all)) => all.extend(packages.split(' ')),
            None => calls.push((call, packages.split(' ').collect())),
        }
    }
    let line =
        |(call, packages): (&str, Vec<&str>)| format!("{call} {}", distinct(packages).join(" "));
    let lines: Vec<String> = calls.into_iter().map(line).collect();
    (!lines.is_empty()).then(|| lines.join(" && "))
}
