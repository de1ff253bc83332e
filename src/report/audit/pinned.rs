//! What a file of pins did to the audit of a page: how many there are, which findings they set aside and why. Never silent: what is
//! set aside is told in every form.

use super::digest::Told;
use crate::units::counted;
use iotax_audit::finding::Finding;
use iotax_audit::pins::{Pinned, SetAside};

/// Pins of a page.
#[derive(Clone, Debug, Default)]
pub struct PinsUsed {
    /// The file that they are in.
    pub file: String,
    /// How many.
    pub count: usize,
    /// How many figures are left out, since they are no results.
    pub no_results: usize,
    /// Findings that are set aside.
    pub set_aside: Vec<ToldAside>,
    /// Lines of pins that set nothing aside.
    pub idle: Vec<u32>,
}

/// A finding that a pin set aside.
#[derive(Clone, Debug)]
pub struct ToldAside {
    /// What was found, and where.
    pub told: Told,
    /// Line of the file of pins.
    pub pin: usize,
    /// Why, in the user's words.
    pub reason: String,
}

/// What is kept; `None` where there are no pins.
pub fn used(
    pinned: &Pinned,
    set_aside: Vec<SetAside>,
    tell: &mut dyn FnMut(Finding) -> Told,
) -> Option<PinsUsed> {
    let idle = pinned.idle.iter().map(|line| u32::try_from(*line).unwrap_or(u32::MAX)).collect();
    (pinned.count > 0).then(|| PinsUsed {
        file: String::new(),
        count: pinned.count,
        no_results: pinned.aside.iter().filter(|aside| aside.is_of_no_claim()).count(),
        set_aside: set_aside
            .into_iter()
            .map(|one| ToldAside { told: tell(one.finding), pin: one.pin, reason: one.reason })
            .collect(),
        idle,
    })
}

impl PinsUsed {
    /// What people are told, a line each.
    pub fn said(&self) -> Vec<String> {
        let mut said = vec![format!("pins: {} of {}", counted(self.count as u64, "pin", "pins"), self.file)];
        if self.no_results > 0 {
            let figures = counted(self.no_results as u64, "figure", "figures");
            said.push(format!("left out as no result: {figures}"));
        }
        for ToldAside { told, pin, reason } in &self.set_aside {
            let finding = &told.finding;
            said.push(format!(
                "set aside by line {pin} of the pins: {} of \"{}\" in line {}: {reason}",
                finding.rule, finding.printed, told.place.line
            ));
        }
        if !self.idle.is_empty() {
            let lines = super::words::line_numbers(self.idle.iter().copied());
            said.push(format!("nothing is set aside by {lines} of the pins: no such finding is there"));
        }
        said
    }
}
