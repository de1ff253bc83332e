//! Finds the sources of packages: this machine's own apt sources of its release, and no other. apt
//! itself reports which sources these are; the files that list them name the keyrings.

use anyhow::{Context, Result};
use iotax_sys::child::{ANSWERS_WITHIN, output_of};
use iotax_sys::regular::read_text;
use iotax_units::exit::Failed;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Distributions that an image can be made of, by the origin that their archives report, and the
/// component of each that has ZFS.
const ORIGINS: &[(&str, &str)] = &[("Debian", "contrib"), ("Ubuntu", "universe")];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseSource {
    uri: String,
    release: String,
    components: Vec<String>,
    /// Paths of keyrings, separated by commas; `None`: apt's own trusted keys.
    signed_by: Option<String>,
    further: &'static str,
}

impl ReleaseSource {
    /// Formats the source as a line of apt's list; `further` adds the component with ZFS.
    fn apt_list_line(&self, further: bool) -> String {
        let signed_by =
            self.signed_by.as_ref().map_or_else(String::new, |keys| format!("[signed-by={keys}] "));
        let mut components = self.components.clone();
        if further && !components.iter().any(|component| component == self.further) {
            components.push(self.further.to_owned());
        }
        format!("deb {signed_by}{} {} {}\n", self.uri, self.release, components.join(" "))
    }
}

pub fn list(sources: &[ReleaseSource], further: bool) -> String {
    sources.iter().map(|source| source.apt_list_line(further)).collect()
}

/// Returns the code name of this machine's release. For a derivative, it is the name of the release
/// that the derivative is based on, if the derivative reports it.
///
/// # Errors
/// An unmet need: it is no Debian and no Ubuntu.
pub fn suite() -> Result<String, Failed> {
    let text = read_text(Path::new("/etc/os-release")).unwrap_or_default();
    suite_of(&text).ok_or_else(|| {
        Failed::need(
            "the lab's image is made of packages of Debian or Ubuntu, and /etc/os-release names no release of these; \
             hint: build it on such a machine, and copy the folder that `iotax lab show` names",
        )
    })
}

fn suite_of(os_release: &str) -> Option<String> {
    let value = |key: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        Some(line.trim_matches(['"', '\'']).to_owned())
    };
    let words = ["ID", "ID_LIKE"].map(|key| value(key).unwrap_or_default()).join(" ");
    if !words.split(' ').any(|word| word == "debian" || word == "ubuntu") {
        return None;
    }
    let names = ["DEBIAN_CODENAME", "UBUNTU_CODENAME", "VERSION_CODENAME"];
    names.iter().find_map(|key| value(key)).filter(|name| !name.is_empty())
}

/// Returns this machine's sources for a release, as apt has fetched their lists.
///
/// # Errors
/// An unmet need: apt-get does not run, or has no lists for that release.
pub fn of_machine(suite: &str) -> Result<Vec<ReleaseSource>> {
    let mut apt = Command::new("apt-get");
    let asked = apt.env("LC_ALL", "C").args(["indextargets", "Created-By: Packages"]);
    let output = output_of(asked, ANSWERS_WITHIN).map_err(|error| {
        Failed::need(format!(
            "the lab's image is made of Debian packages, and apt-get does not run: {error}"
        ))
    })?;
    let sources = of_targets(&String::from_utf8_lossy(&output.stdout), suite, &read);
    if sources.is_empty() {
        let why = format!("apt knows no packages of {suite}; hint: apt-get update");
        return Err(Failed::need(why).into());
    }
    Ok(sources)
}

fn read(path: &str) -> Option<String> {
    read_text(Path::new(path)).ok()
}

/// Parses the output of `apt-get indextargets`, which has one paragraph per index. Keeps the
/// sources of Debian or Ubuntu for this release. `read` reads the file that lists a source.
fn of_targets(
    text: &str,
    suite: &str,
    read: &dyn Fn(&str) -> Option<String>,
) -> Vec<ReleaseSource> {
    let mut sources: Vec<ReleaseSource> = Vec::new();
    for target in text.split("\n\n").map(fields) {
        let field = |name: &str| target.get(name).copied().unwrap_or_default();
        let (uri, release, component) = (field("Repo-URI"), field("Release"), field("Component"));
        let origin = ORIGINS.iter().find(|(origin, _)| *origin == field("Origin"));
        let Some((_, further)) = origin.filter(|_| is_of_suite(release, suite)) else { continue };
        match sources.iter_mut().find(|source| source.uri == uri && source.release == release) {
            Some(source) if source.components.iter().any(|known| known == component) => {}
            Some(source) => source.components.push(component.to_owned()),
            None => sources.push(ReleaseSource {
                uri: uri.to_owned(),
                release: release.to_owned(),
                components: vec![component.to_owned()],
                signed_by: signed_by(field("Sourcesentry"), uri, release, read),
                further,
            }),
        }
    }
    sources
}

/// Returns true if a release is the suite itself, its updates or its security fixes. A machine
/// installs nothing from backports or proposed updates by itself.
fn is_of_suite(release: &str, suite: &str) -> bool {
    let Some(pocket) = release.strip_prefix(suite) else { return false };
    matches!(pocket, "" | "-updates" | "-security")
}

fn fields(paragraph: &str) -> BTreeMap<&str, &str> {
    paragraph
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(key, value)| (key, value.trim()))
        .collect()
}

/// Returns the keyrings, separated by commas, that the file names which lists a source
/// (`/etc/apt/sources.list.d/x.sources:2`); `None` if it names none. A key in the file itself is
/// ignored; apt's own trusted keys are used instead.
fn signed_by(
    entry: &str,
    uri: &str,
    release: &str,
    read: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    let (path, _) = entry.rsplit_once(':')?;
    let text = read(path)?;
    let uri = uri.trim_end_matches('/');
    let names = |text: &str| {
        let mut words = text.split_whitespace();
        text.contains(uri) && words.any(|word| word.trim_end_matches('/') == release)
    };
    let found = match path.ends_with(".sources") {
        true => text.split("\n\n").filter(|stanza| names(stanza)).find_map(|stanza| {
            Some(
                stanza
                    .lines()
                    .find_map(|line| line.strip_prefix("Signed-By:"))?
                    .trim()
                    .replace(' ', ","),
            )
        }),
        false => {
            text.lines().filter(|line| !line.starts_with('#') && names(line)).find_map(|line| {
                let options = line.split_once('[')?.1.split_once(']')?.0;
                options
                    .split_whitespace()
                    .find_map(|option| option.strip_prefix("signed-by="))
                    .map(str::to_owned)
            })
        }
    };
    found.filter(|keys| keys.starts_with('/'))
}

/// Returns settings of this machine's apt without which its archives may be out of reach: proxies,
/// and the checks of dates.
///
/// # Errors
/// apt-config does not run.
pub fn apt_options() -> Result<Vec<String>> {
    let output = output_of(Command::new("apt-config").args(["dump", "Acquire"]), ANSWERS_WITHIN)
        .context("cannot run apt-config")?;
    Ok(options_of(&String::from_utf8_lossy(&output.stdout)))
}

fn options_of(dump: &str) -> Vec<String> {
    let wanted = |line: &&str| {
        let key = line.split(' ').next().unwrap_or_default();
        !line.ends_with("\"\";")
            && ["Proxy", "Check-Valid-Until", "Check-Date"].iter().any(|word| key.contains(word))
    };
    dump.lines().filter(wanted).map(|line| line.trim_end_matches(';').to_owned()).collect()
}

/// Returns true if a program is neither in `PATH` nor in /usr/sbin or /sbin.
pub fn lacks_program(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    !path
        .split(':')
        .chain(["/usr/sbin", "/sbin"])
        .any(|folder| Path::new(folder).join(program).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGETS: &str = "\
Release: bookworm\nRepo-URI: http://mirror.test/debian/\nOrigin: Debian\nComponent: main\nSourcesentry: /etc/apt/a.sources:1

Release: bookworm\nRepo-URI: http://mirror.test/debian/\nOrigin: Debian\nComponent: non-free\nSourcesentry: /etc/apt/a.sources:1

Release: bookworm-security\nRepo-URI: http://mirror.test/security/\nOrigin: Debian\nComponent: main\nSourcesentry: /etc/apt/b.list:3

Release: bookworm-backports\nRepo-URI: http://mirror.test/debian/\nOrigin: Debian\nComponent: main\nSourcesentry: /etc/apt/a.sources:2

Release: bookworm\nRepo-URI: http://other.test/x/\nOrigin: somebody\nComponent: main\nSourcesentry: /etc/apt/c.list:1
";

    fn file(path: &str) -> Option<String> {
        Some(match path {
            "/etc/apt/a.sources" => "Types: deb\nURIs: http://mirror.test/debian\nSuites: bookworm bookworm-updates\nComponents: main\nSigned-By: /usr/share/keyrings/d.gpg\n".into(),
            "/etc/apt/b.list" => "# deb [signed-by=/no.gpg] http://mirror.test/security bookworm-security main\ndeb [arch=amd64 signed-by=/s.gpg] http://mirror.test/security bookworm-security main\n".into(),
            _ => return None,
        })
    }

    #[test]
    fn only_the_distributions_own_sources_of_the_release_are_taken() {
        let sources = of_targets(TARGETS, "bookworm", &file);
        assert_eq!(
            list(&sources, false),
            "deb [signed-by=/usr/share/keyrings/d.gpg] http://mirror.test/debian/ bookworm main non-free\n\
             deb [signed-by=/s.gpg] http://mirror.test/security/ bookworm-security main\n"
        );
        assert!(
            list(&sources, true).lines().all(|line| line.ends_with(" contrib")),
            "{}",
            list(&sources, true)
        );
        assert_eq!(of_targets(TARGETS, "trixie", &file), []);
        // Without the file, apt's own keys have to do.
        assert!(
            list(&of_targets(TARGETS, "bookworm", &|_| None), false).starts_with("deb http://")
        );
    }

    #[test]
    fn a_key_within_a_file_is_not_taken_for_a_keyring() {
        let file = |_: &str| {
            Some(
                "URIs: http://m.test/d\nSuites: x\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n"
                    .to_owned(),
            )
        };
        assert_eq!(signed_by("/a.sources:1", "http://m.test/d/", "x", &file), None);
    }

    #[test]
    fn the_release_is_that_of_what_a_distribution_stands_on() {
        assert_eq!(suite_of("ID=debian\nVERSION_CODENAME=bookworm\n").as_deref(), Some("bookworm"));
        let mint = "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_CODENAME=wilma\nUBUNTU_CODENAME=noble\n";
        assert_eq!(suite_of(mint).as_deref(), Some("noble"));
        assert_eq!(suite_of("ID=fedora\nVERSION_CODENAME=\"\"\n"), None);
    }

    #[test]
    fn proxies_of_this_machine_are_passed_on() {
        let dump = "Acquire \"\";\nAcquire::http \"\";\nAcquire::http::Proxy \"http://p.test:3128\";\n\
                    Acquire::Retries \"3\";\nAcquire::Check-Valid-Until \"false\";\n";
        assert_eq!(
            options_of(dump),
            ["Acquire::http::Proxy \"http://p.test:3128\"", "Acquire::Check-Valid-Until \"false\""]
        );
    }
}
