//! The network of a run's guests and labs: a bridge of this host with a tap device for each card.

use crate::PlanContext;
use anyhow::Result;
use iotax_drivers::path_ref::StepId;
use iotax_facts::place::Place;
use iotax_host::routes::{Subnet, free_subnet};
use iotax_qemu::command_line::Card;
use iotax_steps::op::{MOST_TAPS, MakeBridge, MakeTap, Op, bridge_name, tap_name};
use iotax_units::exit::Failed;
use iotax_wire::message::CardAddress;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// A network card on a tap device of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardWish {
    /// True if this host's kernel serves the card (vhost).
    pub vhost: bool,
    pub queues: u16,
}

/// Network that guests and labs share, with the number of cards that have an address in it.
pub struct GuestNetwork {
    bridge: String,
    subnet: Subnet,
    taken: usize,
}

impl GuestNetwork {
    /// Plans the network, and adds the step that makes its bridge, unless labs of the run have
    /// addresses in it already. `routes` are this host's, and `origin` says who wants a card.
    ///
    /// # Errors
    /// An unmet need: no network is left.
    pub fn plan_network(
        routes: &[(String, Subnet)],
        origin: &str,
        context: &mut PlanContext,
    ) -> Result<GuestNetwork> {
        let name = bridge_name(&context.tag.run_id);
        let subnet = subnet_of_run(routes, origin, &context.tag.run_id)?;
        let taken = context.lab_addresses.len();
        if taken == 0 {
            let (address, prefix) = (subnet.address(1), subnet.prefix());
            let make = MakeBridge { name: name.clone(), address, prefix };
            context.add_step("make the network of the guests", Op::MakeBridge(make));
        }
        Ok(GuestNetwork { bridge: name, subnet, taken })
    }

    /// Adds the step that makes the tap device of a guest's card. Returns the step, the card and
    /// the card's address.
    pub fn card(
        &mut self,
        wish: CardWish,
        name: &str,
        origin: &str,
        context: &mut PlanContext,
    ) -> Result<(StepId, Card, CardAddress)> {
        let tag = &context.tag;
        let tap = tap_name(&tag.run_id, self.taken).ok_or_else(|| {
            let why = format!("{origin}: more than {MOST_TAPS} guests with a network");
            Failed::input(format!("{why}; hint: fewer guests, or net=none for some of them"))
        })?;
        let [_, a, b, c] =
            crc32fast::hash(format!("{} {name}", tag.run_id).as_bytes()).to_be_bytes();
        // This prefix is QEMU's own range.
        let mac = format!("52:54:00:{a:02x}:{b:02x}:{c:02x}");
        let CardWish { vhost, queues } = wish;
        let make =
            MakeTap { name: tap.clone(), bridge: self.bridge.clone(), multi_queue: queues > 1 };
        let step =
            context.add_step("make this host's end of the guest's network card", Op::MakeTap(make));
        let (address, prefix) = (address_of_card(&self.subnet, self.taken), self.subnet.prefix());
        self.taken += 1;
        Ok((
            step,
            Card { tap, mac: mac.clone(), vhost, queues },
            CardAddress { mac, address, prefix },
        ))
    }
}

/// Returns the addresses of labs with a card, in the order in which their cards are planned.
///
/// # Errors
/// As [`GuestNetwork::plan_network`].
pub fn lab_addresses<'a>(
    labs: impl Iterator<Item = &'a Place>,
    routes: &[(String, Subnet)],
    run_id: &str,
) -> Result<BTreeMap<Place, Ipv4Addr>> {
    let mut addresses = BTreeMap::new();
    for (number, place) in labs.enumerate() {
        let subnet = subnet_of_run(routes, &format!("@{place}"), run_id)?;
        addresses.insert(place.clone(), address_of_card(&subnet, number));
    }
    Ok(addresses)
}

/// Returns the address of the card of this number, from 0; the bridge has the first of the network.
fn address_of_card(subnet: &Subnet, number: usize) -> Ipv4Addr {
    subnet.address(number as u32 + 2)
}

/// Returns the network of a run. The run's id determines it, so that parallel runs have different
/// ones.
fn subnet_of_run(routes: &[(String, Subnet)], origin: &str, run_id: &str) -> Result<Subnet> {
    let from = crc32fast::hash(run_id.as_bytes()) >> 8;
    Ok(free_subnet(routes, from).ok_or_else(|| {
        Failed::need(format!(
            "{origin}: no network is left for guests, because this host has routes to all of 198.18.0.0/15 (ip route shows them); \
             hint: remove one while iotax measures"
        ))
    })?)
}
