//! Finds and prepares the other end of a network probe: the place that answers, the addresses at
//! which it may be reached, and the counts of an exchange with it.

use super::places::Places;
use super::under_load::{FarEnd, PREPARE_LIMIT, StackUnderLoad};
use anyhow::{Result, ensure};
use iotax_facts::place::Place;
use iotax_model::record::{Better, ON_WIRE, SampleValue, SliceSample};
use iotax_probe::{Exchange, ExchangeDirection, ProbeSpec};
use iotax_units::exit::Failed;
use iotax_wire::message::{Listening, Prepared};
use iotax_wire::peer::{Peer, WireError};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Starts to listen at the other end. Returns the probe, once for each of the addresses at which
/// that end may be reached.
///
/// # Errors
/// When it cannot listen, or has no address.
pub(super) fn listen_at_far_end(
    places: &mut Places,
    ready: &StackUnderLoad,
    worker: u32,
    probe: &ProbeSpec,
) -> Result<Vec<ProbeSpec>> {
    let mut end = FarEnd::of_ready(ready);
    let is_apart = !ready.is_in(&end.place);
    if !is_apart {
        // Nobody from outside has to reach what is measured within a place.
        end.address.get_or_insert(Ipv4Addr::LOCALHOST.into());
    }
    if end.address.is_none() {
        end.address = Some(reached_at(places, ready, worker, &end)?);
    }
    listening_at(places, worker, probe, &end, is_apart && !probe.is_tool())
}

/// Finds, with iotax's own pair of programs, the address at which the other end can be reached.
/// Another tool then listens at this address only, since it does not check who connects.
fn reached_at(
    places: &mut Places,
    ready: &StackUnderLoad,
    worker: u32,
    end: &FarEnd,
) -> Result<IpAddr> {
    let pair = ProbeSpec::parse("rr").map_err(Failed::input)?;
    let near = ready.members.first().map_or(Place::Host, |member| member.place.clone());
    let mut found = Err(Failed::measurement(format!("{} has no address", end.place)));
    for spec in listening_at(places, worker, &pair, end, false)? {
        let peer = &mut places.get(&near)?.peer;
        match (peer.prepare_probe(worker, &spec, PREPARE_LIMIT), spec.peer) {
            (Ok(_), Some(at)) => {
                peer.end_worker(worker).map_err(Failed::from)?;
                found = Ok(at.ip());
                break;
            }
            (Ok(_), None) => {}
            (Err(error), _) => found = Err(Failed::from(error)),
        }
    }
    places.get(&end.place)?.peer.unlisten(worker).map_err(Failed::from)?;
    Ok(found?)
}

/// `may_translate`: an address that the place does not have may be translated on the way, as a
/// cloud's public one is. Then it listens at all addresses. A tool does not, since it does not
/// check who connects.
fn listening_at(
    places: &mut Places,
    worker: u32,
    probe: &ProbeSpec,
    end: &FarEnd,
    may_translate: bool,
) -> Result<Vec<ProbeSpec>> {
    let peer = &mut places.get(&end.place)?.peer;
    let listening = match peer.listen_for(worker, probe, end.address, end.port, PREPARE_LIMIT) {
        Err(error) => match end.address.filter(|_| may_translate && has_no_such_address(&error)) {
            Some(address) => peer
                .listen_for(worker, probe, None, end.port, PREPARE_LIMIT)
                .map(|listening| Listening { addresses: vec![address], ..listening })
                .map_err(|_| error),
            None => Err(error),
        },
        listening => listening,
    };
    let listening = listening.map_err(Failed::from)?;
    let is_reachable = |one: &&IpAddr| end.address.is_some() || !one.is_loopback();
    let spec = |address: &IpAddr| ProbeSpec {
        peer: Some(SocketAddr::new(*address, listening.port)),
        token: listening.token.clone(),
        ..probe.clone()
    };
    let specs: Vec<ProbeSpec> = listening.addresses.iter().filter(is_reachable).map(spec).collect();
    let why = format!("{} has no address; hint: name one: net:...,address=10.0.0.2", end.place);
    ensure!(!specs.is_empty(), Failed::measurement(why));
    Ok(specs)
}

/// Prepares the first of these probes that can be prepared.
///
/// # Errors
/// The error of the last, if none can be prepared.
pub(super) fn prepare_first_probe(
    peer: &mut Peer,
    worker: u32,
    others: &[ProbeSpec],
    last: &ProbeSpec,
) -> Result<Prepared, WireError> {
    let mut tried = others.iter().map(|spec| peer.prepare_probe(worker, spec, PREPARE_LIMIT));
    match tried.find_map(Result::ok) {
        Some(prepared) => Ok(prepared),
        None => peer.prepare_probe(worker, last, PREPARE_LIMIT),
    }
}

/// Returns the samples that a network probe has in addition to its result, both directions
/// together.
pub(super) fn samples(exchange: &Exchange) -> Vec<SliceSample> {
    let ways = || [&exchange.to_peer, &exchange.from_peer].into_iter().flatten();
    let sum = |of: fn(&ExchangeDirection) -> u64| ways().map(of).sum::<u64>() as f64;
    let counted = [
        ("net.sent", sum(|way| way.sent)),
        ("net.lost", sum(|way| way.lost) + exchange.unanswered as f64),
        ("net.retransmits", sum(|way| way.retransmits)),
    ];
    let peer_ns = (exchange.peer_cpu_user_ns + exchange.peer_cpu_system_ns) as f64;
    let one = |(name, value): (&str, f64)| {
        SliceSample::new(name, "1", Better::Lower, SampleValue::Value(value))
    };
    let peer = SliceSample::new("net.peer_cpu", "ns", Better::Lower, SampleValue::Value(peer_ns));
    let on_wire = exchange.on_wire().map(|share| one((ON_WIRE, share)));
    counted.into_iter().map(one).chain([peer]).chain(on_wire).collect()
}

/// Returns true if a place refused to listen because none of its cards has the address.
fn has_no_such_address(error: &WireError) -> bool {
    // The agent sends the system's own words for EADDRNOTAVAIL.
    error.to_string().contains("os error 99")
}
