//! Drafts of whole pages: of published figures against the shipped scenarios, and of hostile pages.

mod hostile;
mod shipped;

use iotax_draft::{DraftKind, ScenarioDraft};
use iotax_model::scenario::Scenario;
use iotax_model::scenario::check::{ScenarioRequest, from_path};
use std::fmt::Write as _;

/// Fills in what a draft leaves open, and returns the scenario. Fails if anything but the stacks
/// and the drive is open.
pub fn completed(draft: &ScenarioDraft) -> Scenario {
    let mut text = String::new();
    let mut places = String::new();
    let mut lines = draft.text.lines().peekable();
    while let Some(line) = lines.next() {
        text += line;
        text.push('\n');
        if line == "[device.disk]" {
            text += "path = \"/srv/iotax-draft.img\"\nsize = \"1GiB\"\n";
        }
        let Some(name) = line.strip_prefix("[stack.").and_then(|rest| rest.strip_suffix(']'))
        else {
            continue;
        };
        while let Some(comment) = lines.next_if(|next| next.starts_with('#')) {
            text += comment;
            text.push('\n');
        }
        if lines.peek().is_none_or(|next| next.is_empty()) {
            match draft.kind {
                DraftKind::Network => {
                    _ = writeln!(places, "\n[place.peer-{name}]\nssh = \"{name}\"");
                    _ = writeln!(text, "text = \"net:peer-{name} @host\"");
                }
                DraftKind::Machine => text += "text = \"cpu @ssh:guest\"\n",
                DraftKind::Storage => {
                    _ = writeln!(text, "text = \"file:/srv/{name}.img,size=1GiB\"");
                }
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("draft.toml");
    std::fs::write(&file, format!("{text}{places}")).unwrap();
    from_path(&file, &ScenarioRequest::default()).unwrap_or_else(|why| panic!("{why}\n{text}"))
}
