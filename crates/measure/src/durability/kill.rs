//! Kills a running guest, its QEMU or the processes that serve its disks. After any kill the guest
//! is no longer a reached place; a guest that was only reset comes back in the same QEMU.

use crate::places::Places;
use anyhow::{Context, Result};
use iotax_drivers::process::{ProcessId, kill, started_process};
use iotax_layers::guest::GuestPlan;
use iotax_model::scenario::Kill;
use iotax_qemu::boot;
use iotax_qemu::qmp::Qmp;
use iotax_units::exit::Failed;
use iotax_wire::peer::Peer;
use std::time::Duration;

/// Limit for reading what a guest sent before its QEMU was killed. It ends with the stream.
const STREAM_END: Duration = Duration::from_secs(2);
/// Limit for reading what a guest sent before its reset; it sends nothing more. Its port must be
/// closed before the new kernel looks at it.
const ALREADY_THERE: Duration = Duration::from_millis(20);

/// Processes to be killed. They are looked up before the load, so that the kill is not late.
pub struct Victims {
    qemu: ProcessId,
    daemons: Vec<ProcessId>,
}

impl Victims {
    pub fn guest_processes(guest: &GuestPlan) -> Result<Victims> {
        let process = |tag: &str| -> Result<ProcessId> {
            started_process(tag)?
                .with_context(|| format!("a process of guest {} is gone", guest.place))
        };
        let daemons =
            guest.daemons.iter().map(|daemon| process(&daemon.tag)).collect::<Result<_>>()?;
        Ok(Victims { qemu: process(&guest.tag)?, daemons })
    }

    /// Kills the victim. Returns the last acknowledgement that was still on its way (`None`: none
    /// was), and QEMU's control socket if QEMU lives on.
    ///
    /// # Errors
    /// The guest is not connected, or the victim cannot be reset or does not die.
    pub fn strike(
        &self,
        what: Kill,
        guest: &GuestPlan,
        places: &mut Places,
    ) -> Result<(Option<u64>, Option<Qmp>)> {
        let (peer, control) = places.take_connections(&guest.place)?;
        match what {
            Kill::Guest => reset(guest, peer, control).map(|(last, control)| (last, Some(control))),
            Kill::Qemu => {
                kill(&self.qemu)?;
                Ok((peer.drained(STREAM_END), None))
            }
            Kill::Daemon => {
                self.daemons.iter().try_for_each(kill)?;
                kill(&self.qemu)?;
                Ok((peer.drained(STREAM_END), None))
            }
        }
    }
}

fn reset(guest: &GuestPlan, peer: Peer, control: Option<Qmp>) -> Result<(Option<u64>, Qmp)> {
    let mut control = control.context("a guest without a QEMU")?;
    boot::reset(&mut control).map_err(|error| {
        Failed::measurement(format!("guest {}: cannot reset it: {error}", guest.place))
    })?;
    Ok((peer.drained(ALREADY_THERE), control))
}
