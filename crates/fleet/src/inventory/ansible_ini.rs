//! Inventory of Ansible in INI: hosts with variables, `[group]`, `[group:children]`,
//! `[group:vars]`.

use super::host_range::expand_range;
use super::variables::{Variables, host_with_variables, unused_note};
use super::{HostFormat, Inventory, LineError, add_unique};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub(super) const FORMAT: HostFormat =
    HostFormat { name: "an inventory of Ansible (INI)", fits, read };

fn fits(path: &Path, text: &str) -> bool {
    let named = path.extension().is_some_and(|end| end == "ini" || end == "cfg");
    named
        || text.lines().any(|line| line.trim_start().starts_with('[') || line.contains(" ansible_"))
}

/// Kind of a section.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    Hosts,
    Children,
    Variables,
}

#[derive(Default)]
struct IniGroup {
    children: BTreeSet<String>,
    variables: Variables,
}

/// Host as its lines say it: variables and groups, and the first of its lines.
struct IniHost {
    name: String,
    line: usize,
    variables: Variables,
    groups: BTreeSet<String>,
}

#[derive(Default)]
struct IniInventory {
    hosts: Vec<IniHost>,
    groups: BTreeMap<String, IniGroup>,
}

fn read(text: &str) -> Result<Inventory, LineError> {
    let mut found = IniInventory::default();
    let (mut group, mut section) = ("ungrouped".to_owned(), Section::Hosts);
    for (at, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(head) = line.strip_prefix('[').filter(|_| line.ends_with(']')) {
            (group, section) = section_of(head.trim_end_matches(']'))
                .map_err(|why| LineError::at_line(at, why))?;
            found.groups.entry(group.clone()).or_default();
            continue;
        }
        let added = match section {
            Section::Hosts => found.add_hosts(at, line, &group),
            Section::Children => found.add_child(line, &group),
            Section::Variables => found.add_variable(line, &group),
        };
        added.map_err(|why| LineError::at_line(at, why))?;
    }
    found.inventory()
}

fn section_of(head: &str) -> Result<(String, Section), String> {
    let (group, kind) = head.split_once(':').unwrap_or((head, ""));
    let section = match kind {
        "" => Section::Hosts,
        "children" => Section::Children,
        "vars" => Section::Variables,
        _ => {
            return Err(format!(
                "\"{head}\" is not a section; hint: [GROUP], [GROUP:children] or [GROUP:vars]"
            ));
        }
    };
    Ok((group.trim().to_owned(), section))
}

impl IniInventory {
    fn add_hosts(&mut self, at: usize, line: &str, group: &str) -> Result<(), String> {
        let mut words = split_words(line)?.into_iter();
        let pattern = words.next().unwrap_or_default();
        let mut variables = Variables::new();
        for word in words.take_while(|word| !word.starts_with('#')) {
            let (key, value) = word.split_once('=').ok_or_else(|| {
                format!("\"{}\" is not a variable; hint: KEY=VALUE", word.escape_debug())
            })?;
            variables.insert(key.to_owned(), value.to_owned());
        }
        let (pattern, port) = match pattern.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name.to_owned(), Some(port.to_owned())),
            _ => (pattern, None),
        };
        if let Some(port) = port {
            variables.insert("ansible_port".into(), port);
        }
        for name in expand_range(&pattern)? {
            match self.hosts.iter_mut().find(|host| host.name == name) {
                Some(host) => {
                    host.variables.extend(variables.clone());
                    host.groups.insert(group.to_owned());
                }
                None => self.hosts.push(IniHost {
                    name,
                    line: at,
                    variables: variables.clone(),
                    groups: BTreeSet::from([group.to_owned()]),
                }),
            }
        }
        Ok(())
    }

    fn add_child(&mut self, line: &str, group: &str) -> Result<(), String> {
        let child = line.split(['#', ' ']).next().unwrap_or_default().to_owned();
        self.groups.entry(group.to_owned()).or_default().children.insert(child);
        Ok(())
    }

    fn add_variable(&mut self, line: &str, group: &str) -> Result<(), String> {
        let (key, value) = line.split_once('=').ok_or_else(|| {
            format!("\"{}\" is not a variable; hint: KEY=VALUE", line.escape_debug())
        })?;
        let words = split_words(value.trim())?;
        let value = words.join(" ");
        self.groups
            .entry(group.to_owned())
            .or_default()
            .variables
            .insert(key.trim().to_owned(), value);
        Ok(())
    }

    fn inventory(self) -> Result<Inventory, LineError> {
        let mut inventory = Inventory::default();
        let members = self.groups.values().flat_map(|group| &group.children);
        if let Some(child) = members.into_iter().find(|child| !self.groups.contains_key(*child)) {
            let why = format!("there is no group [{child}], which a [...:children] names");
            return Err(LineError { line: None, why });
        }
        for host in &self.hosts {
            let failed = |why| LineError::at_line(host.line, why);
            let groups = self.groups_of(host);
            let mut variables = Variables::new();
            // From `all` down to the nearest group; what is nearer counts.
            for group in &groups {
                variables.extend(
                    self.groups.get(group).map(|one| one.variables.clone()).unwrap_or_default(),
                );
            }
            variables.extend(host.variables.clone());
            let mut read = host_with_variables(&host.name, &variables).map_err(failed)?;
            read.groups =
                groups.into_iter().filter(|group| group != "all" && group != "ungrouped").collect();
            add_unique(&mut inventory.hosts, read).map_err(failed)?;
        }
        let variables = self
            .groups
            .values()
            .map(|group| &group.variables)
            .chain(self.hosts.iter().map(|host| &host.variables));
        inventory.notes.extend(unused_note(variables));
        Ok(inventory)
    }

    /// Returns the groups of a host, the widest first: `all`, then those that contain its own.
    fn groups_of(&self, host: &IniHost) -> Vec<String> {
        let mut nearest_first: Vec<String> = host.groups.iter().cloned().collect();
        let mut at = 0;
        while let Some(group) = nearest_first.get(at).cloned() {
            let above = self.groups.iter().filter(|(_, one)| one.children.contains(&group));
            for (name, _) in above {
                if !nearest_first.contains(name) {
                    nearest_first.push(name.clone());
                }
            }
            at += 1;
        }
        nearest_first.retain(|name| name != "all");
        nearest_first.push("all".to_owned());
        nearest_first.reverse();
        nearest_first
    }
}

/// Splits a line into words at blanks, as a shell does with quotes.
fn split_words(line: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote) = (None::<String>, None::<char>);
    for c in line.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match quote {
        None => Ok(words),
        Some(open) => Err(format!("the quote {open} is not closed")),
    }
}
