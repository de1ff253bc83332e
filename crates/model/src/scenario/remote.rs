//! Media on other machines, `ssh:HOST:/PATH`: the host, the path there (Windows paths too), and the
//! program that issues the load. A host must be named in one way: always with agent=fio or never,
//! and always with Windows paths or never.

use super::ast::MediumExpr;
use super::error::Checked;
use super::error::{Fault, TextFault};
use super::media::{absolute, flag, is_device_path, medium_options, size_option};
use super::{Engine, Workload};
use crate::stack::{LoadIssuer, Medium, Stack};
use iotax_facts::place::is_of_windows;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const EXAMPLE: &str = "write ssh:HOST:/dev/vdb";

/// Returns the medium `ssh:HOST:/PATH,size=SIZE,agent=fio`.
///
/// # Errors
/// A part is not a host, a path or an option; Windows without agent=fio; a size of a device; or a
/// file to be kept that iotax does not create.
pub(super) fn medium(expr: &MediumExpr) -> Checked<Medium> {
    let at = |fault| TextFault::new(expr.span.clone(), fault);
    let Some(colon) = end_of_host(&expr.body) else {
        return Err(at(Fault::hint("a remote medium without a path", EXAMPLE)));
    };
    let (host, path) = (&expr.body[..colon], &expr.body[colon + 1..]);
    check_host(host).map_err(at)?;
    let options = medium_options(expr, &["size", "keep", "agent"])?;
    let agent = match options.get("agent").map(|option| (option, option.values[0].as_str())) {
        None | Some((_, "iotax")) => LoadIssuer::Iotax,
        Some((_, "fio")) => LoadIssuer::Fio,
        Some((option, other)) => {
            let fault = Fault::unknown("agent", other, &["iotax", "fio"]);
            return Err(TextFault::new(option.span.clone(), fault));
        }
    };
    let (path, is_device) = match path.starts_with('/') {
        true => (absolute(expr, path)?, is_device_path(Path::new(path))),
        false => windows_path(path).map_err(at)?,
    };
    if is_of_windows(&path) && agent == LoadIssuer::Iotax {
        let hint = format!(
            "write ssh:{},agent=fio: the fio that is installed there issues the load",
            expr.body
        );
        return Err(at(Fault::hint("iotax itself does not run on Windows", hint)));
    }
    let size = options.get("size").map(|option| size_option(option)).transpose()?;
    if size.is_some() && is_device {
        return Err(at(Fault::hint("a device takes no size", "a device is used whole")));
    }
    let keep = options.get("keep").map_or(Ok(false), |option| flag(option))?;
    if keep && (size.is_none() || agent == LoadIssuer::Fio) {
        let why = match agent {
            LoadIssuer::Fio => {
                "keep=true cannot be combined with agent=fio: that file is always removed"
            }
            LoadIssuer::Iotax => {
                "keep=true requires size=: it applies only to a file that iotax creates"
            }
        };
        return Err(at(Fault::hint(why, "leave keep out")));
    }
    Ok(Medium::Remote { host: host.to_owned(), path, size, keep, agent })
}

/// Checks that ssh takes a text for a host.
///
/// # Errors
/// The text is empty, begins with `-` (ssh would take it for an option), or contains blanks or
/// control characters.
pub(super) fn check_host(host: &str) -> Result<(), Fault> {
    let strange = |c: char| c.is_whitespace() || c.is_control();
    match host.is_empty() || host.starts_with('-') || host.contains(strange) {
        true => Err(Fault::hint(format!("\"{host}\" is no host for ssh"), EXAMPLE)),
        false => Ok(()),
    }
}

/// Returns the index of the colon before the path: `HOST:/PATH`, `HOST:C:\PATH` or
/// `HOST:\\.\PhysicalDrive1`.
fn end_of_host(body: &str) -> Option<usize> {
    let drive = |rest: &str| {
        let mut signs = rest.chars();
        signs.next().is_some_and(|letter| letter.is_ascii_alphabetic())
            && signs.next() == Some(':')
            && matches!(signs.next(), Some('/' | '\\'))
    };
    let begins = |at: usize| {
        let rest = &body[at + 1..];
        rest.starts_with(['/', '\\']) || drive(rest)
    };
    body.match_indices(':').map(|(at, _)| at).find(|at| begins(*at))
}

/// Returns a Windows path, and true if it is a drive. Signs with a meaning to Windows in a file's
/// name are refused.
fn windows_path(text: &str) -> Result<(PathBuf, bool), Fault> {
    let drive = r"\\.\PhysicalDrive";
    if text.get(..drive.len()).is_some_and(|start| start.eq_ignore_ascii_case(drive)) {
        return match text[drive.len()..].parse::<u16>() {
            Ok(number) => Ok((format!("{drive}{number}").into(), true)),
            Err(_) => Err(Fault::hint(
                format!("\"{text}\" has no number of a drive"),
                r"write \\.\PhysicalDrive1",
            )),
        };
    }
    if text.starts_with('\\') {
        let why = format!("\"{text}\" is neither a drive nor a file");
        return Err(Fault::hint(why, r"write \\.\PhysicalDrive1, or C:\FOLDER\FILE"));
    }
    let path = text.replace('/', "\\");
    let parts: Vec<&str> = path[2..].split('\\').skip(1).collect();
    let strange = |c: char| c.is_control() || "<>:\"|?*".contains(c);
    let plain =
        |part: &&str| !part.is_empty() && !part.contains(strange) && !part.ends_with(['.', ' ']);
    match parts.iter().all(plain) {
        true => Ok((path.into(), false)),
        false => Err(Fault::hint(
            format!("\"{text}\" is not a plain path of Windows"),
            r"write C:\FOLDER\FILE",
        )),
    }
}

/// Checks that each host is named in one way: always with agent=fio or never, and always with
/// Windows paths or never.
///
/// # Errors
/// Names the host that is named in two ways.
pub(super) fn one_end_each(stacks: &[Stack]) -> Result<(), Fault> {
    let mut known: BTreeMap<&str, (LoadIssuer, bool)> = BTreeMap::new();
    for medium in stacks.iter().flat_map(|stack| stack.medium.members()) {
        let Medium::Remote { host, path, agent, .. } = medium else { continue };
        let own = (*agent, is_of_windows(path));
        let other = *known.entry(host).or_insert(own);
        if other.0 != own.0 {
            let why = format!("{host} is named with agent=fio and without");
            return Err(Fault::hint(why, "write agent=fio wherever it is named, or nowhere"));
        }
        if other.1 != own.1 {
            return Err(Fault::new(format!("{host} is given paths of Windows and others")));
        }
    }
    Ok(())
}

/// Sets fio as the engine of loads that name none, if some but not all stacks can only be loaded by
/// fio (agent=fio) and no stack has a guest, as iotax's guests have no fio. Returns notes for the
/// report.
pub(super) fn one_engine(stacks: &[Stack], workloads: &mut [Workload]) -> Vec<String> {
    let is_afar = |stack: &&Stack| stack.medium.agent() == LoadIssuer::Fio;
    let afar: Vec<String> =
        stacks.iter().filter(is_afar).map(|stack| format!("\"{}\"", stack.name)).collect();
    if afar.is_empty() {
        return Vec::new();
    }
    let names = afar.join(", ");
    let mut notes = vec![format!(
        "{names}: loaded by the fio there (agent=fio): windows are known to a millisecond, latencies to 1.6 %, the host's \
         CPU time not at all"
    )];
    let guests = stacks.iter().any(|stack| stack.guest().is_some());
    if afar.len() < stacks.len() && !guests {
        let unnamed = workloads.iter_mut().filter(|workload| workload.engine.is_none());
        let named = unnamed.map(|workload| workload.engine = Some(Engine::Fio)).count();
        let note = format!("{names}: loaded by fio, so the other stacks are loaded by fio too");
        notes.extend((named > 0).then_some(note));
    }
    notes
}

#[cfg(test)]
mod tests {
    use crate::scenario::check::{ScenarioRequest, from_stacks};
    use crate::scenario::{Engine, Scenario};
    use crate::stack::{LoadIssuer, Medium};
    use iotax_load::EngineName;

    fn read(stacks: &[&str], engine: Option<&str>) -> Result<Scenario, String> {
        let stacks: Vec<String> = stacks.iter().map(|text| (*text).to_owned()).collect();
        let request =
            ScenarioRequest { engine: engine.map(str::to_owned), ..ScenarioRequest::default() };
        from_stacks(&stacks, &request).map_err(|error| error.to_string())
    }

    fn medium(text: &str) -> (String, String, LoadIssuer) {
        let scenario = read(&[text], None).unwrap();
        let again = read(&[&scenario.stacks[0].text], None).unwrap();
        assert_eq!(
            again.stacks[0].medium, scenario.stacks[0].medium,
            "{}",
            scenario.stacks[0].text
        );
        let Medium::Remote { host, path, agent, .. } = scenario.stacks[0].medium.clone() else {
            panic!("{text}")
        };
        (host, path.display().to_string(), agent)
    }

    #[test]
    fn hosts_and_paths_of_all_systems() {
        let told = |host: &str, path: &str, agent| (host.to_owned(), path.to_owned(), agent);
        assert_eq!(medium("ssh:vm7:/dev/vda"), told("vm7", "/dev/vda", LoadIssuer::Iotax));
        assert_eq!(
            medium("ssh:vm7:/dev/vda,agent=iotax"),
            told("vm7", "/dev/vda", LoadIssuer::Iotax)
        );
        assert_eq!(medium("ssh:u@vm7:/a:/b,agent=fio"), told("u@vm7", "/a:/b", LoadIssuer::Fio));
        assert_eq!(medium(r"ssh:w:C:\x.img,agent=fio"), told("w", r"C:\x.img", LoadIssuer::Fio));
        assert_eq!(
            medium("ssh:w:c:/a b/x.img,agent=fio".replace(' ', "").as_str()),
            told("w", r"c:\ab\x.img", LoadIssuer::Fio)
        );
        assert_eq!(
            medium(r"ssh:w:\\.\physicaldrive01,agent=fio"),
            told("w", r"\\.\PhysicalDrive1", LoadIssuer::Fio)
        );
    }

    #[test]
    fn a_host_has_one_end() {
        let refused = |stacks: &[&str]| read(stacks, None).unwrap_err();
        let both = refused(&["ssh:a:/dev/sda,agent=fio", "ssh:a:/dev/sdb"]);
        assert!(both.contains("a is named with agent=fio and without"), "{both}");
        let systems = refused(&["ssh:a:/dev/sda,agent=fio", r"ssh:a:C:\x,agent=fio"]);
        assert!(systems.contains("paths of Windows and others"), "{systems}");
        assert!(read(&["ssh:a:/dev/sda,agent=fio", "ssh:b:/dev/sda"], None).is_ok());
    }

    #[test]
    fn a_load_without_an_engine_is_fios_on_all_sides() {
        let engine = |stacks: &[&str], engine| {
            let scenario = read(stacks, engine).unwrap();
            (
                scenario.workloads[0].engine,
                scenario
                    .notes
                    .iter()
                    .any(|note| note.ends_with("the other stacks are loaded by fio too")),
            )
        };
        let (there, here) = ("ssh:a:/dev/sda,agent=fio", "/dev/sda");
        assert_eq!(engine(&[here, there], None), (Some(Engine::Fio), true));
        assert_eq!(engine(&[there], None), (None, false));
        assert_eq!(engine(&[here], None), (None, false));
        let sync = Some(Engine::Native(EngineName::Sync));
        assert_eq!(engine(&[here, there], Some("sync")), (sync, false), "named, it stays");
        assert_eq!(
            engine(&["file:/x,size=1GiB | vm", there], None),
            (None, false),
            "there is no fio in our guests"
        );
    }
}
