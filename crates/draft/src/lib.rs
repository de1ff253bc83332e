//! From an audited page to the draft of a scenario: systems become stacks, loads of commands,
//! outputs, tables and lists become workloads, and figures become `[published]`. What the page does
//! not say is a comment `# say: ...`. Values in, text out: the crate reads and writes no files. A
//! page with more systems, loads or figures than a scenario can compare is refused.
#![forbid(unsafe_code)]

mod commands;
mod figures;
mod gaps;
mod headings;
mod labels;
mod loads;
mod outputs;
mod rows;
mod stacks;
mod systems;
mod tables;
mod toml_lines;
mod toml_text;
mod words;

pub use figures::DraftKind;
use headings::HeadingList;
use iotax_audit::audit::Audited;
use loads::LoadList;
use toml_text::DraftPage;

/// Most figures of a page.
const MOST_FIGURES: usize = 5_000;
/// Most systems and most loads: more cannot be compared in one run.
const MOST_SYSTEMS: usize = 100;
const MOST_LOADS: usize = 100;
/// Most figures of which the reason is kept why no draft has them.
const MOST_UNUSED: usize = 1_000;

/// Draft of a scenario for the systems of one kind.
#[derive(Clone, Debug)]
pub struct ScenarioDraft {
    pub kind: DraftKind,
    /// TOML that a scenario file may have.
    pub text: String,
    pub stacks: usize,
    pub loads: usize,
    /// Number of figures in `[published]`.
    pub figures: usize,
    /// Number of stacks that the user must complete.
    pub open: usize,
}

/// Drafts the scenarios of a page, those of storage first: one for each kind of system that it has
/// figures of, at least one.
///
/// # Errors
/// Says what the page has too many of.
pub fn draft_scenarios(audited: &Audited) -> Result<Vec<ScenarioDraft>, String> {
    let mut limits = PageLimits::default();
    let mut loads = LoadList::default();
    let headings = HeadingList::of_page(audited);
    commands::add_stated_loads(audited, &mut limits, &mut loads);
    let outputs = outputs::read_outputs(audited, &headings, &mut limits, &mut loads);
    commands::add_listed_loads(audited, &mut limits, &mut loads);
    let tables = tables::read_tables(audited, &headings, &mut limits, &mut loads);
    let mut figures = tables.figures;
    figures.extend(outputs.figures);
    figures.sort_by_key(|figure| figure.line);
    let systems = systems::settle_systems(audited, &headings, &mut limits, &mut figures);
    if let Some(over) = limits.over {
        return Err(format!("{over}; hint: cut the page to the tables and outputs that matter"));
    }
    let mut unused = tables.unused;
    unused.extend(outputs.unused);
    let mut page = DraftPage {
        audited,
        loads: &loads.all,
        systems: &systems,
        figures: &figures,
        rated: &tables.rated,
        versions: &outputs.versions,
        unused,
    };
    let mut kinds: Vec<DraftKind> = systems.iter().map(|system| system.kind).collect();
    if kinds.is_empty() {
        kinds.push(DraftKind::Storage);
    }
    kinds.sort_unstable();
    kinds.dedup();
    Ok(kinds.into_iter().enumerate().map(|(at, kind)| page.draft(kind, at == 0)).collect())
}

/// Counts what is taken from a page, and keeps the first limit that it exceeds.
#[derive(Default)]
struct PageLimits {
    over: Option<String>,
}

impl PageLimits {
    fn is_over(&self) -> bool {
        self.over.is_some()
    }

    fn has_room_for_figures(&mut self, taken: usize) -> bool {
        self.has_room(taken, MOST_FIGURES, "figures")
    }

    fn has_room_for_loads(&mut self, taken: usize) -> bool {
        self.has_room(taken, MOST_LOADS, "loads")
    }

    fn check_systems(&mut self, count: usize) {
        let _ = self.has_room(count.saturating_sub(1), MOST_SYSTEMS, "systems");
    }

    fn has_room(&mut self, taken: usize, most: usize, what: &str) -> bool {
        if taken >= most && self.over.is_none() {
            self.over =
                Some(format!("the page has more than {most} {what}, too many for a scenario"));
        }
        taken < most
    }
}
