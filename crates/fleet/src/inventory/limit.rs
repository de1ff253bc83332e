//! Chooses some hosts of an inventory, as Ansible's `--limit` does.

use super::FleetHost;
use super::host_range::expand_range;
use iotax_units::exit::Failed;
use std::collections::BTreeSet;

/// Keeps the hosts that fit one of the patterns: names and groups with `*`, `?` and ranges
/// (`n[1-4]`), separated by commas; `!PATTERN` leaves hosts out.
///
/// # Errors
/// Bad input: a pattern matches no host, or no host is left.
pub fn limit_hosts(hosts: Vec<FleetHost>, patterns: &str) -> Result<Vec<FleetHost>, Failed> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for pattern in split_patterns(patterns) {
        let (kept, pattern) = match pattern.strip_prefix('!') {
            Some(pattern) => (&mut without, pattern),
            None => (&mut with, pattern),
        };
        let failed = |why| Failed::input(format!("--limit: {why}"));
        kept.extend(expand_range(pattern).map_err(failed)?);
    }
    let unused =
        with.iter().chain(&without).find(|one| !hosts.iter().any(|host| fits_host(host, one)));
    if let Some(pattern) = unused {
        let names: BTreeSet<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
        let groups: BTreeSet<&str> =
            hosts.iter().flat_map(|host| &host.groups).map(String::as_str).collect();
        let groups = match groups.is_empty() {
            true => String::new(),
            false => format!("; groups: {}", first_names(groups)),
        };
        return Err(Failed::input(format!(
            "--limit: \"{}\" matches no host or group; hosts: {}{groups}",
            pattern.escape_debug(),
            first_names(names)
        )));
    }
    let is_chosen = |host: &FleetHost| {
        (with.is_empty() || with.iter().any(|one| fits_host(host, one)))
            && !without.iter().any(|one| fits_host(host, one))
    };
    let chosen: Vec<FleetHost> = hosts.into_iter().filter(is_chosen).collect();
    match chosen.is_empty() {
        true => Err(Failed::input("--limit leaves no host")),
        false => Ok(chosen),
    }
}

/// Splits a text at the commas that are in no range.
fn split_patterns(text: &str) -> Vec<&str> {
    let mut in_range = false;
    let parts = text.split(|c| {
        in_range = (in_range || c == '[') && c != ']';
        c == ',' && !in_range
    });
    parts.map(str::trim).filter(|one| !one.is_empty()).collect()
}

/// Returns names for a sentence: all, or the first of many and the number of the others.
pub fn first_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match names.len().saturating_sub(MOST_NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..MOST_NAMED].join(", ")),
    }
}

/// Most names in a sentence.
const MOST_NAMED: usize = 8;

fn fits_host(host: &FleetHost, pattern: &str) -> bool {
    pattern == "all"
        || fits_glob(&host.name, pattern)
        || host.groups.iter().any(|group| fits_glob(group, pattern))
}

/// Returns true if the text fits a pattern with `*` (any text) and `?` (any character).
fn fits_glob(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) =
        (text.chars().collect(), pattern.chars().collect());
    let (mut at, mut in_pattern) = (0, 0);
    // Where to go on if the text after the last star does not fit.
    let mut star: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(in_pattern) {
            Some('*') => {
                star = Some((in_pattern, at));
                in_pattern += 1;
            }
            Some(c) if *c == '?' || *c == text[at] => {
                at += 1;
                in_pattern += 1;
            }
            _ => match star {
                Some((after, from)) => {
                    star = Some((after, from + 1));
                    (at, in_pattern) = (from + 1, after + 1);
                }
                None => return false,
            },
        }
    }
    pattern[in_pattern..].iter().all(|c| *c == '*')
}
