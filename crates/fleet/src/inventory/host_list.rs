//! A list: one `[USER@]HOST[:PORT]` on each line, with ranges; `#` begins a comment.

use super::host_range::expand_range;
use super::{FleetHost, HostFormat, Inventory, LineError, add_unique};
use std::path::Path;

pub(super) const FORMAT: HostFormat =
    HostFormat { name: "a list of hosts", fits: |_: &Path, _: &str| true, read };

fn read(text: &str) -> Result<Inventory, LineError> {
    let mut inventory = Inventory::default();
    for (at, line) in text.lines().enumerate() {
        let words = line.split('#').next().unwrap_or_default().trim();
        if words.is_empty() {
            continue;
        }
        let failed = |why| LineError::at_line(at + 1, why);
        if words.contains(char::is_whitespace) {
            let why = "a line of a list is one [USER@]HOST[:PORT]; hint: for more, name the file .ini or .yaml and write an \
                       inventory of Ansible";
            return Err(failed(why.to_owned()));
        }
        for word in expand_range(words).map_err(failed)? {
            let host = listed_host(&word).map_err(failed)?;
            add_unique(&mut inventory.hosts, host).map_err(failed)?;
        }
    }
    Ok(inventory)
}

fn listed_host(word: &str) -> Result<FleetHost, String> {
    let (user, rest) = match word.split_once('@') {
        Some((user, rest)) => (Some(user.to_owned()), rest),
        None => (None, word),
    };
    if user.as_ref().is_some_and(|user| user.is_empty() || user.starts_with('-')) {
        return Err(format!("\"{}\" has no user name before '@'", word.escape_debug()));
    }
    if rest.matches(':').count() > 1 {
        let hint = "hint: give the host a name in ~/.ssh/config, or ansible_host in an inventory";
        return Err(format!("\"{}\" is an IPv6 address; {hint}", rest.escape_debug()));
    }
    let (name, port) = match rest.split_once(':') {
        Some((name, port)) => {
            let parsed = port.parse().ok().filter(|port| *port > 0);
            let why = || format!("\"{}\" is not a port", port.escape_debug());
            (name, Some(parsed.ok_or_else(why)?))
        }
        None => (rest, None),
    };
    Ok(FleetHost { user, port, ..FleetHost::new(name)? })
}
