//! Verifies after a load with `verify`: the data is read back through the stacks, in the places
//! that wrote it, and wrong blocks are recorded. After a load that was cut short, only the wrong
//! blocks that its own reads found are asked for.

use super::observer::{Observer, RunEvent};
use super::visit_workers::Bench;
use anyhow::Result;
use iotax_model::record::RunRecord;
use iotax_model::record::verification::Verification;
use iotax_units::count_noun;
use iotax_units::exit::Failed;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

impl Bench<'_> {
    /// Asks all workers, one after the other, for the wrong blocks that they found, and records
    /// these. If `read`, they first read back all that they wrote, until `stop` is set.
    ///
    /// # Errors
    /// A peer is lost, or the record cannot be written. Wrong blocks are no error.
    pub fn read_back(
        &mut self,
        read: bool,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        for worker in 0..self.ready.len() {
            let ready = self.ready[worker].clone();
            for member in &ready.members {
                let read = read && !stop.load(Ordering::Relaxed);
                let what = format!("reading back what was written to {}", ready.stack);
                if read {
                    observer.notify(RunEvent::Phase { what: what.clone() });
                }
                let mut report = |far: serde_json::Value| {
                    let share = far["read_back"].as_f64().unwrap_or(0.0);
                    observer.notify(RunEvent::Phase {
                        what: format!("{what}: {:.0} %", 100.0 * share),
                    });
                    match stop.load(Ordering::Relaxed) {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    }
                };
                let peer = &mut self.places.get(&member.place)?.peer;
                let found = peer.verify(worker as u32, read, &mut report).map_err(Failed::from)?;
                if found.wrong() > 0 {
                    let wrong = count_noun(found.wrong(), "block", "blocks");
                    let text = format!("{}: {wrong} not as last written", ready.stack);
                    observer.notify(RunEvent::Warning { text });
                }
                self.store.append(&RunRecord::Verified(Verification {
                    visit: self.visit,
                    set: self.set,
                    workload: self.workload.name.clone(),
                    stack: ready.stack.clone(),
                    place: member.place.clone(),
                    found,
                }))?;
            }
        }
        Ok(())
    }
}
