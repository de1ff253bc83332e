//! Chooses some hosts of an inventory, as Ansible's `--limit` does.

use super::FleetHost;
use iotax_units::exit::Failed;

/// Keeps the hosts that fit one of the patterns: names and groups with `*` and `?`, separated by
/// commas; `!PATTERN` leaves hosts out.
///
/// # Errors
/// Bad input: a pattern matches no host, or no host is left.
pub fn limit_hosts(hosts: Vec<FleetHost>, patterns: &str) -> Result<Vec<FleetHost>, Failed> {
    let patterns: Vec<&str> =
        patterns.split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
    let (without, with): (Vec<&str>, Vec<&str>) =
        patterns.iter().partition(|one| one.starts_with('!'));
    let without: Vec<&str> = without.into_iter().map(|one| &one[1..]).collect();
    let unused =
        with.iter().chain(&without).find(|one| !hosts.iter().any(|host| fits_host(host, one)));
    if let Some(pattern) = unused {
        let names: Vec<&str> =
            hosts.iter().take(MOST_NAMED).map(|host| host.name.as_str()).collect();
        let more = hosts.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        return Err(Failed::input(format!(
            "--limit: \"{}\" matches no host or group; hosts: {}{more}",
            pattern.escape_debug(),
            names.join(", ")
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

/// Number of hosts that the error names.
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
