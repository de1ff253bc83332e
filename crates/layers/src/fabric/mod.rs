//! Plans fabrics, which are layers with two ends. The target is in the place of the layer below.
//! Initiators show the device in the same place or in others. Nothing listens at a wildcard
//! address, and only the initiators of the plan may connect.

mod iscsi;
mod nbd;
mod nvmf;

pub use iscsi::Iscsi;
pub use nbd::Nbd;
pub use nvmf::Nvmf;

use super::{ExposedDevice, Layer, PlanContext};
use anyhow::{Context, Error, Result, bail, ensure};
use iotax_drivers::nvmet::ExportNvmf;
use iotax_drivers::path_ref::{PathRef, StepId};
use iotax_drivers::spdk::nvmf::ExportSpdkNvmf;
use iotax_drivers::tool::guid;
use iotax_facts::place::Place;
use iotax_model::stack::LayerSpec;
use iotax_steps::op::{ExportIscsi, ExportNbd, NbdServer, Op, RdmaOn, SoftRdma};
use iotax_units::{MIB, count_noun, show_bytes};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr};

pub const ALL: &[&dyn Layer] = &[&Nvmf, &Iscsi, &Nbd];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FabricTransport {
    Tcp,
    Rdma,
    /// Transport that does not leave the machine: `loop`, `unix`.
    Inside,
}

/// One export: a device, where its target listens, and the places that connect to it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FabricEnds {
    device: PathRef,
    near: Place,
    /// Places that connect; none if a person connects initiators.
    clients: Vec<Place>,
    /// Address and port where the target listens; `None` if it has no address.
    at: Option<(IpAddr, u16)>,
}

impl FabricEnds {
    /// Returns the target's address and port. Fails for a transport within the machine, which has
    /// none.
    fn addressed(&self, spec: &LayerSpec) -> Result<(IpAddr, u16)> {
        self.at.with_context(|| format!("{}: {} without an address", spec.origin, spec.name))
    }
}

/// Transport of a fabric, and the lowest port that is tried if the stack names none.
#[derive(Clone, Copy)]
struct FabricWire {
    transport: FabricTransport,
    first_port: u16,
}

/// Plans an export for each device below, with the steps for the RDMA devices that they need.
/// Several devices are shared out evenly among the clients; one alone is exported once, and each
/// client uses an equal part of it. If a person connects initiators, nothing connects, and what is
/// returned has no paths: the person says where the disks are. `export` adds the steps of one, and
/// returns those that connect its clients.
///
/// # Errors
/// The address or port is invalid, taken, or does not suit the transport or the ends; the ends are
/// in two places and the address is missing; or `export` fails.
fn plan_exports(
    spec: &LayerSpec,
    below: &ExposedDevice,
    wire: FabricWire,
    context: &mut PlanContext,
    mut export: impl FnMut(&FabricEnds, &mut PlanContext) -> Result<Vec<StepId>>,
) -> Result<ExposedDevice> {
    ensure!(
        below.copies.is_empty(),
        "{}: {} takes one device, and there is one in each of several guests",
        spec.origin,
        spec.name
    );
    let near = below.place.clone();
    let clients = match spec.far.as_slice() {
        _ if !context.initiators.is_empty() => Vec::new(),
        [] => vec![near.clone()],
        far => far.to_vec(),
    };
    // Whoever connects by hand may connect to each export from another machine.
    let taker_count = if clients.is_empty() { below.paths.len() } else { clients.len() };
    let addresses = target_addresses(spec, below, &clients, taker_count, wire.transport, context)?;
    let mut connected = Vec::new();
    for (number, device) in below.paths.iter().enumerate() {
        let taker = number * taker_count / below.paths.len();
        let address = addresses[taker % addresses.len()];
        let clients = match below.paths.len() {
            1 => clients.clone(),
            _ => clients.get(taker).cloned().into_iter().collect(),
        };
        let port = |address| port_at(spec, address, wire.first_port, number, &near, context);
        let at = address.map(|address| Ok::<_, Error>((address, port(address)?))).transpose()?;
        let ends = FabricEnds { device: device.clone(), near: near.clone(), clients, at };
        let steps = export(&ends, context)?.into_iter().map(PathRef::Yield);
        connected.extend(ends.clients.into_iter().zip(steps));
    }
    Ok(shared_out(below, connected, context.writable))
}

/// Returns what a person needs to connect an initiator to an export: where the target is and, for
/// an adapter of ESXi, the commands that connect it and take it away again. `None`: the operation
/// is no such export.
pub fn connection_by_hand(op: &Op, adapter: Option<&str>) -> Option<ConnectionByHand> {
    let (target, connect, disconnect) = match op {
        Op::ExportIscsi(ExportIscsi { iqn, portal, bytes, .. }) => (
            format!("{iqn} at {portal}, {}", show_bytes(*bytes)),
            vec![
                format!("iscsi adapter discovery statictarget add -A ADAPTER -a {portal} -n {iqn}"),
                "storage core adapter rescan -A ADAPTER".to_owned(),
            ],
            vec![
                format!(
                    "iscsi adapter discovery statictarget remove -A ADAPTER -a {portal} -n {iqn}"
                ),
                format!("iscsi session remove -A ADAPTER -n {iqn}"),
                "storage core adapter rescan -A ADAPTER".to_owned(),
            ],
        ),
        Op::ExportNvmf(ExportNvmf { nqn, at: Some((address, port)), .. })
        | Op::ExportSpdkNvmf(ExportSpdkNvmf { nqn, at: (address, port), .. }) => (
            format!("{nqn} at {address}, port {port}"),
            vec![format!("nvme fabrics connect -a ADAPTER -i {address} -p {port} -s {nqn}")],
            vec![format!("nvme fabrics disconnect -a ADAPTER -s {nqn}")],
        ),
        _ => return None,
    };
    let commands = |lines: Vec<String>| {
        let line = |line: &String| Some(format!("esxcli {}", line.replace("ADAPTER", adapter?)));
        lines.iter().filter_map(line).collect()
    };
    Some(ConnectionByHand { target, connect: commands(connect), disconnect: commands(disconnect) })
}

/// Connection that a person makes to an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionByHand {
    /// Name of the target, and where it listens.
    pub target: String,
    /// Commands of ESXi that connect it; none without an adapter.
    pub connect: Vec<String>,
    pub disconnect: Vec<String>,
}

/// Returns the device that the layer above sees: what each client has connected to.
fn shared_out(
    below: &ExposedDevice,
    connected: Vec<(Place, PathRef)>,
    writable: bool,
) -> ExposedDevice {
    let is_shared = below.paths.len() < connected.len();
    let first = connected.first().map_or(&below.place, |(place, _)| place).clone();
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        connected.into_iter().partition(|(place, _)| *place == first);
    let clients = if is_shared { elsewhere.len() as u64 + 1 } else { 1 };
    ExposedDevice {
        paths: here.into_iter().map(|(_, path)| path).collect(),
        // The parts of a device begin at whole MiB.
        bytes: if is_shared { below.bytes / clients / MIB * MIB } else { below.bytes },
        block: true,
        place: first,
        apart: if elsewhere.is_empty() { below.apart } else { !is_shared && !below.split },
        copies: elsewhere,
        overlaid: is_shared,
        writable,
        ..below.clone()
    }
}

fn refuse_inside(spec: &LayerSpec, near: &Place, far: Option<&str>) -> Result<()> {
    let transport = spec.option("transport").unwrap_or_default();
    if let Some(far) = far {
        bail!(
            "{}: {}(transport={transport}) does not leave the machine, and it leads from @{near} to {far}; hint: transport=tcp",
            spec.origin,
            spec.name
        );
    }
    match ["address", "port"].into_iter().find(|name| spec.options.contains_key(*name)) {
        Some(name) => {
            bail!(
                "{}: {}(transport={transport}) has no {name}; hint: leave it out",
                spec.origin,
                spec.name
            )
        }
        None => Ok(()),
    }
}

/// Returns the addresses where the targets listen, of which the takers have the next one in turn:
/// the clients, or each export if a person connects.
///
/// # Errors
/// As [`target_address`]; several addresses for one device, or for takers that do not share them
/// out evenly.
fn target_addresses(
    spec: &LayerSpec,
    below: &ExposedDevice,
    clients: &[Place],
    taker_count: usize,
    wire: FabricTransport,
    context: &mut PlanContext,
) -> Result<Vec<Option<IpAddr>>> {
    let words: Vec<Option<&str>> = match spec.option("address") {
        Some(list) => list.split(',').map(Some).collect(),
        None => vec![None],
    };
    ensure!(
        words.len() == 1 || (below.paths.len() > 1 && taker_count % words.len() == 0),
        "{}: {} addresses for {} exported to {}; hint: split(N) below, so that each client has its own exports, \
         and a number of addresses that divides the clients",
        spec.origin,
        words.len(),
        count_noun(below.paths.len() as u64, "device", "devices"),
        count_noun(taker_count as u64, "client", "clients")
    );
    let mut addresses = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let theirs: Vec<Place> = clients.iter().skip(at).step_by(words.len()).cloned().collect();
        addresses.push(target_address(spec, *word, &below.place, &theirs, wire, context)?);
    }
    Ok(addresses)
}

/// Returns the address where the targets listen, and adds the steps that provide RDMA at all ends.
/// `None`: the transport does not leave the machine. A lab with a network listens at its own
/// address unless the stack names one. Without clients, a person connects initiators.
fn target_address(
    spec: &LayerSpec,
    word: Option<&str>,
    near: &Place,
    clients: &[Place],
    wire: FabricTransport,
    context: &mut PlanContext,
) -> Result<Option<IpAddr>> {
    let far = match clients {
        [] => Some("the initiators".to_owned()),
        _ => clients.iter().find(|client| *client != near).map(|far| format!("@{far}")),
    };
    let far = far.as_deref();
    if wire == FabricTransport::Inside {
        refuse_inside(spec, near, far)?;
        return Ok(None);
    }
    let known = far.and_then(|_| context.lab_addresses.get(near)).copied();
    let address = match (word, known, far) {
        (Some(word), _, far) => named_address(spec, word, near, far, wire)?,
        (None, Some(address), _) => IpAddr::V4(address),
        (None, None, Some(far)) => bail!(
            "{}: {} leads from @{near} to {far}, and no address of @{near} is named; \
             hint: {}(address=IP), where @{near} is reached from there",
            spec.origin,
            spec.name,
            spec.name
        ),
        (None, None, None) if wire == FabricTransport::Tcp => {
            return Ok(Some(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        }
        (None, None, None) => return Ok(Some(own_network(context, near))),
    };
    if wire == FabricTransport::Rdma {
        rdma(RdmaOn::At(address), near, context);
        for far in clients.iter().filter(|client| *client != near) {
            rdma(RdmaOn::Toward(address), far, context);
        }
    }
    Ok(Some(address))
}

/// Returns the address that the stack names. Refuses one that is invalid, or of no use to the
/// initiators or to RDMA.
fn named_address(
    spec: &LayerSpec,
    word: &str,
    near: &Place,
    far: Option<&str>,
    wire: FabricTransport,
) -> Result<IpAddr> {
    let address: IpAddr = word
        .parse()
        .ok()
        .with_context(|| format!("{}: address = \"{word}\" is not an IP address", spec.origin))?;
    if let Some(far) = far {
        ensure!(
            !address.is_loopback(),
            "{}: {address} does not leave @{near}, and {far} must reach it; hint: an address of a network card of @{near}",
            spec.origin
        );
    }
    ensure!(
        !address.is_loopback() || wire != FabricTransport::Rdma,
        "{}: the loopback device has no RDMA; hint: leave address out, or name that of a network card",
        spec.origin
    );
    Ok(address)
}

/// Adds the step that makes a network with RDMA within one machine, and returns an address in it.
fn own_network(context: &mut PlanContext, near: &Place) -> IpAddr {
    let hash = digest(&[&context.tag.run_id, &context.steps.len().to_string(), "network"]);
    let [third, fourth, ..] = hash.to_le_bytes();
    // The address is link-local, without the first and last of 256 networks, which are reserved
    // (RFC 3927). Each network has four addresses.
    let address = Ipv4Addr::new(169, 254, third.clamp(1, 254), (fourth & !3) + 1);
    rdma(RdmaOn::Own(address.into(), 30), near, context);
    address.into()
}

fn rdma(on: RdmaOn, place: &Place, context: &mut PlanContext) {
    let name = context.instance("rdma");
    let short = format!("{:08x}", digest(&[&context.tag.run_id, &name]) as u32);
    context.add_in(place, "have RDMA there", Op::SoftRdma(SoftRdma { short, on }));
}

/// Returns the port that the stack names, or the first one from `first` on. Skips or refuses a port
/// at which another export of the plan listens. Several exports of a layer have ports one after the
/// other; `number` counts them from 0.
fn port_at(
    spec: &LayerSpec,
    address: IpAddr,
    first: u16,
    number: usize,
    near: &Place,
    context: &PlanContext,
) -> Result<u16> {
    let taken = |port: u16| {
        context
            .steps
            .iter()
            .any(|step| step.place == *near && listens(&step.op) == Some((address, port)))
    };
    let Some(word) = spec.option("port") else {
        return (first..).find(|port| !taken(*port)).context("no port is free");
    };
    let port = word
        .parse::<u16>()
        .ok()
        .and_then(|port| port.checked_add(u16::try_from(number).ok()?))
        .with_context(|| format!("{}: port = \"{word}\" is not a port number", spec.origin))?;
    ensure!(
        !taken(port),
        "{}: another export listens on port {port} of {address} at the same time; hint: leave port out",
        spec.origin
    );
    Ok(port)
}

/// Returns the address and port where an export listens; `None` if it listens at none.
fn listens(op: &Op) -> Option<(IpAddr, u16)> {
    match op {
        Op::ExportNvmf(ExportNvmf { at, .. }) => *at,
        Op::ExportSpdkNvmf(ExportSpdkNvmf { at, .. }) => Some(*at),
        Op::ExportIscsi(ExportIscsi { portal, .. }) => Some((portal.ip(), portal.port())),
        Op::ExportNbd(ExportNbd { server: NbdServer::Tcp(at), .. }) => Some((at.ip(), at.port())),
        _ => None,
    }
}

/// Returns the ids of the needs of one end with RDMA, apart from its modules. With `address=`, the
/// card may have RDMA itself; if it has not, the step reports what is lacking.
fn rdma_needs(spec: &LayerSpec) -> &'static [&'static str] {
    if spec.option("address").is_some() { &["ip"] } else { &["ip", "rdma", "rdma_rxe"] }
}

/// Checks that the names of initiators which a person connects are of the fabric's kind.
fn check_initiators(spec: &LayerSpec, context: &PlanContext, kinds: &[&str]) -> Result<()> {
    let is_kind = |name: &&String| kinds.iter().any(|kind| name.starts_with(kind));
    match context.initiators.iter().find(|name| !is_kind(name)) {
        Some(other) => bail!(
            "{}: {other} is no initiator of {}; hint: a name that begins with {}",
            spec.origin,
            spec.name,
            kinds.join(" or ")
        ),
        None => Ok(()),
    }
}

/// Returns a name for an export, unique within the plan. Initiators of others may look for an
/// export that is gone, so the names of theirs are of one visit only.
fn export_name(kind: &str, context: &mut PlanContext) -> String {
    let instance = context.instance(kind);
    match context.initiators.is_empty() {
        true => instance,
        false => format!("{instance}-{}", context.visit_name),
    }
}

/// Returns a UUID for `what` that only this run knows.
fn uuid(context: &PlanContext, what: &str) -> String {
    guid(&random(context, what)).to_ascii_lowercase()
}

/// Returns 16 hexadecimal digits for `what`: the same at every call in this process, and not to be
/// guessed by any other run.
fn random(context: &PlanContext, what: &str) -> String {
    format!("{:016x}", digest(&[&context.tag.run_id, what, &secret().to_string()]))
}

/// Returns a qualified name (NQN or IQN) that only this run knows:
/// `KIND.2026-01.invalid.iotax:RUN-NAME-RANDOM`. The domain is reserved (RFC 2606).
fn qualified(kind: &str, name: &str, context: &PlanContext) -> String {
    let random = random(context, &format!("{kind} {name}"));
    // iSCSI names are in lower case (RFC 7143).
    format!(
        "{kind}.2026-01.invalid.iotax:{}-{name}-{random}",
        context.tag.run_id.to_ascii_lowercase()
    )
}

fn digest(words: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}

/// Returns a number that only this process knows: every plan of a run then has the same names, and
/// no other run can guess them.
fn secret() -> u64 {
    static SECRET: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    #[cfg(any(test, feature = "testing"))]
    if FIXED.load(std::sync::atomic::Ordering::Relaxed) {
        return 0;
    }
    *SECRET.get_or_init(|| {
        std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), std::process::id())
    })
}

#[cfg(any(test, feature = "testing"))]
static FIXED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(cfg!(test));

/// Makes the secret in names the same in every process from now on, so that tests can compare plans
/// with earlier ones.
#[cfg(any(test, feature = "testing"))]
pub fn fix_names() {
    FIXED.store(true, std::sync::atomic::Ordering::Relaxed);
}

#[cfg(test)]
mod tests;
