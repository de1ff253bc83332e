//! Inventory of Ansible in YAML, and the JSON that `ansible-inventory --list` prints.

use super::host_range::expand_range;
use super::variables::{Variables, host_with_variables, unused_note};
use super::{HostFormat, Inventory, LineError, add_unique};
use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub(super) const FORMAT: HostFormat =
    HostFormat { name: "an inventory of Ansible (YAML)", fits, read };

/// Deepest nesting of groups.
const DEEPEST: usize = 64;

fn fits(path: &Path, text: &str) -> bool {
    let named = path.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json");
    named
        || text.trim_start().starts_with('{')
        || text.lines().any(|line| line.trim_end() == "all:")
}

/// Host as the file has it, before its variables are checked.
#[derive(Default)]
struct YamlHost {
    line: usize,
    variables: Variables,
    groups: BTreeSet<String>,
}

/// Hosts by their names, in the order of the file.
#[derive(Default)]
struct YamlHosts {
    order: Vec<String>,
    hosts: BTreeMap<String, YamlHost>,
}

fn read(text: &str) -> Result<Inventory, LineError> {
    let documents = MarkedYaml::load_from_str(text).map_err(|error| {
        LineError::at_line(error.marker().line(), format!("it is not YAML: {error}"))
    })?;
    let Some(root) = documents.first() else { return Ok(Inventory::default()) };
    let groups = entries_of(root, "the inventory")?;
    let mut found = YamlHosts::default();
    match groups.iter().find(|(name, _)| name == "_meta") {
        Some((_, meta)) => found.add_listed(&groups, meta)?,
        None => {
            for (name, group) in &groups {
                found.add_group(name, group, &Variables::new(), &BTreeSet::new(), 0)?;
            }
        }
    }
    found.inventory()
}

impl YamlHosts {
    /// Adds the hosts of a group and of the groups in it.
    fn add_group(
        &mut self,
        name: &str,
        group: &MarkedYaml,
        above: &Variables,
        within: &BTreeSet<String>,
        depth: usize,
    ) -> Result<(), LineError> {
        if depth > DEEPEST {
            return Err(LineError::at_line(
                line_of(group),
                format!("groups are nested more than {DEEPEST} deep"),
            ));
        }
        let parts = entries_of(group, name)?;
        if let Some((key, value)) =
            parts.iter().find(|(key, _)| !["hosts", "children", "vars"].contains(&key.as_str()))
        {
            let why = format!(
                "{name} has an unknown key \"{}\"; hint: use hosts, children or vars",
                key.escape_debug()
            );
            return Err(LineError::at_line(line_of(value), why));
        }
        let part = |key: &str| parts.iter().find(|(own, _)| own == key).map(|(_, value)| value);
        let mut variables = above.clone();
        variables.extend(part("vars").map_or(Ok(Variables::new()), |vars| variables_of(vars))?);
        let mut within = within.clone();
        if name != "all" && name != "ungrouped" {
            within.insert(name.to_owned());
        }
        for (pattern, host) in
            part("hosts").map_or(Ok(Vec::new()), |hosts| entries_of(hosts, "hosts"))?
        {
            let own = variables_of(host)?;
            let failed = |why| LineError::at_line(line_of(host), why);
            for name in expand_range(&pattern).map_err(failed)? {
                self.add_host(&name, line_of(host), [&variables, &own], &within);
            }
        }
        for (child, group) in
            part("children").map_or(Ok(Vec::new()), |all| entries_of(all, "children"))?
        {
            self.add_group(&child, group, &variables, &within, depth + 1)?;
        }
        Ok(())
    }

    /// Adds the hosts that `ansible-inventory --list` printed: groups with lists of hosts, and
    /// variables of all hosts below `_meta`.
    fn add_listed(
        &mut self,
        groups: &[(String, &MarkedYaml)],
        meta: &MarkedYaml,
    ) -> Result<(), LineError> {
        let variables = entries_of(meta, "_meta")?;
        let of_hosts = variables.iter().find(|(key, _)| key == "hostvars");
        let of_hosts =
            of_hosts.map_or(Ok(Vec::new()), |(_, hosts)| entries_of(hosts, "hostvars"))?;
        for (group, value) in groups.iter().filter(|(name, _)| name != "_meta") {
            let parts = entries_of(value, group)?;
            let Some((_, hosts)) = parts.iter().find(|(key, _)| key == "hosts") else { continue };
            let YamlData::Sequence(hosts) = &hosts.data else {
                return Err(LineError::at_line(
                    line_of(hosts),
                    format!("hosts of {group} is not a list"),
                ));
            };
            let within = BTreeSet::from([group.clone()])
                .into_iter()
                .filter(|name| name != "ungrouped")
                .collect();
            for host in hosts {
                let name = scalar_text(host).unwrap_or_default();
                let own = of_hosts.iter().find(|(own, _)| *own == name);
                let own = own.map_or(Ok(Variables::new()), |(_, value)| variables_of(value))?;
                self.add_host(&name, line_of(host), [&Variables::new(), &own], &within);
            }
        }
        Ok(())
    }

    fn add_host(
        &mut self,
        name: &str,
        line: usize,
        variables: [&Variables; 2],
        groups: &BTreeSet<String>,
    ) {
        if !self.hosts.contains_key(name) {
            self.order.push(name.to_owned());
        }
        let host =
            self.hosts.entry(name.to_owned()).or_insert(YamlHost { line, ..YamlHost::default() });
        for one in variables {
            host.variables.extend(one.clone());
        }
        host.groups.extend(groups.iter().cloned());
    }

    fn inventory(self) -> Result<Inventory, LineError> {
        let mut inventory = Inventory::default();
        for (name, host) in self.order.iter().filter_map(|name| Some((name, self.hosts.get(name)?)))
        {
            let failed = |why| LineError::at_line(host.line, why);
            let mut read = host_with_variables(name, &host.variables).map_err(failed)?;
            read.groups = host.groups.clone();
            add_unique(&mut inventory.hosts, read).map_err(failed)?;
        }
        inventory.notes.extend(unused_note(self.hosts.values().map(|host| &host.variables)));
        Ok(inventory)
    }
}

/// Returns the entries of a mapping, in order; none of a null.
fn entries_of<'a, 'y>(
    node: &'a MarkedYaml<'y>,
    what: &str,
) -> Result<Vec<(String, &'a MarkedYaml<'y>)>, LineError> {
    match &node.data {
        YamlData::Mapping(entries) => Ok(entries
            .iter()
            .map(|(key, value)| (scalar_text(key).unwrap_or_default(), value))
            .collect()),
        YamlData::Value(Scalar::Null) => Ok(Vec::new()),
        _ => Err(LineError::at_line(
            line_of(node),
            format!("{what} is not a mapping; hint: `NAME:` on lines of their own"),
        )),
    }
}

/// Returns the variables of a mapping that are single values.
fn variables_of(node: &MarkedYaml) -> Result<Variables, LineError> {
    let entries = entries_of(node, "the variables of a host or group")?;
    Ok(entries.into_iter().filter_map(|(key, value)| Some((key, scalar_text(value)?))).collect())
}

fn scalar_text(node: &MarkedYaml) -> Option<String> {
    match &node.data {
        YamlData::Value(Scalar::String(text)) => Some(text.to_string()),
        YamlData::Value(Scalar::Integer(number)) => Some(number.to_string()),
        YamlData::Value(Scalar::Boolean(flag)) => Some(flag.to_string()),
        YamlData::Value(Scalar::FloatingPoint(number)) => Some(number.to_string()),
        YamlData::Representation(text, _, _) => Some(text.to_string()),
        _ => None,
    }
}

fn line_of(node: &MarkedYaml) -> usize {
    node.span.start.line()
}
