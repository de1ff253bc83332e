//! A stack with its medium and layers, checked: what scenarios and layers have in common.

use crate::state::AskedState;
use crate::tool_spec::Tool;
use iotax_facts::one_or_more;
use iotax_facts::place::Place;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Interface that a layer needs below it, or offers to the layer above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    Block,
    File,
    /// A bdev of an SPDK target; it is no device of a kernel.
    Bdev,
    /// A pool of a Ceph cluster, or an image in it; it is no device of a kernel.
    Rbd,
    /// A vhost-user socket, which only a guest can use as a disk.
    VhostUser,
    /// Storage that fio reaches as a client itself; no layer goes on it.
    Client,
    /// A place without a device; only `vm` and `null` go on it.
    Place,
    /// As a need: a device or a file. As an offer: the same interface as what is below.
    Any,
}

/// What a layer is to the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerRole {
    Storage,
    /// A guest, in which the load runs.
    Guest,
    Generator,
    /// A delay that the load generator adds to each I/O.
    Delay,
    /// No role: two stacks that differ only in this layer are equal.
    Null,
}

/// Returns the place that stands for the guest of a stack, whose name is known only once it is
/// planned.
pub fn in_guest() -> Place {
    Place::Guest("in the guest".into())
}

/// A checked stack: a medium with layers on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// Short unique name used in tables: the last layer, or the name given in TOML.
    pub name: String,
    /// Canonical one-line form of the stack.
    pub text: String,
    pub medium: Medium,
    /// The layers from the bottom up.
    pub layers: Vec<LayerSpec>,
    /// `own = true`: no prefix is shared with another stack.
    pub own: bool,
    /// Disks that a person makes of what the layers show, and that are loaded in its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_hand: Vec<HandedDisk>,
    /// State in which the stack is measured, if the scenario names states and the stack has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<InState>,
}

/// Disk that a person gives to a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedDisk {
    /// This host, or one over ssh.
    pub place: Place,
    pub path: PathBuf,
    /// Serial or WWN, which shows that it is the right disk.
    pub serial: String,
}

impl std::fmt::Display for HandedDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.place.ssh_host() {
            Some(host) => write!(f, "{} on {host}", self.path.display()),
            None => write!(f, "{}", self.path.display()),
        }
    }
}

impl Stack {
    /// Returns true if `word` is the name or the text of the stack.
    pub fn is_called(&self, word: &str) -> bool {
        self.name == word || self.text == word
    }

    /// Returns the layers, each with the place of what is below it.
    pub fn layers_in_places(&self) -> impl Iterator<Item = (&LayerSpec, Place)> {
        let mut place = self.medium.place();
        self.layers.iter().map(move |layer| {
            let near = place.clone();
            place = match layer.far.first() {
                Some(far) => far.clone(),
                None if layer.has_role(LayerRole::Guest) => in_guest(),
                None => near.clone(),
            };
            (layer, near)
        })
    }

    /// Returns all places that the stack has a part in.
    pub fn places(&self) -> BTreeSet<Place> {
        let far = self.layers.iter().flat_map(|layer| layer.far.clone());
        let ends = self.medium.members().iter().filter_map(Medium::far_end).cloned();
        let disks = self.by_hand.iter().map(|disk| disk.place.clone());
        self.medium.places().into_iter().chain(far).chain(ends).chain(disks).collect()
    }

    /// Returns true if the stack goes through states, in which members are rewritten even if no
    /// load writes.
    pub fn may_be_rebuilt(&self) -> bool {
        self.state.is_some()
    }

    /// Returns the number of guests side by side in which the load runs; 1 if there is no guest.
    pub fn guests(&self) -> u32 {
        self.layers.iter().map(|layer| layer.copies).max().unwrap_or(1)
    }

    /// Returns the number of places that load the stack at once: guests, clients of an export, or
    /// the hosts and labs of its members.
    pub fn clients(&self) -> u32 {
        self.guests() * self.far_clients() * self.medium.places().len().max(1) as u32
    }

    /// Returns the number of places at the far end of the stack's exports, or with disks that a
    /// person makes of it; 1 if there are none.
    pub fn far_clients(&self) -> u32 {
        let by_hand: BTreeSet<&Place> = self.by_hand.iter().map(|disk| &disk.place).collect();
        let far = self.layers.iter().map(|layer| layer.far.len()).max().unwrap_or(0);
        if by_hand.is_empty() { far.max(1) as u32 } else { by_hand.len() as u32 }
    }

    /// Returns true if the stack differs from `other`, which loads more places, only in the number
    /// of guests or clients, or in which of its places load.
    pub fn is_but_for_copies(&self, other: &Stack) -> bool {
        // An option that is written as its default is the default.
        let same = |(a, b): (&LayerSpec, &LayerSpec)| {
            let clients = a.far.iter().all(|client| b.far.contains(client))
                && a.far.is_empty() == b.far.is_empty();
            (&a.name, &a.place) == (&b.name, &b.place)
                && clients
                && a.options
                    .keys()
                    .chain(b.options.keys())
                    .all(|name| a.option(name) == b.option(name))
        };
        let of_its_places = || {
            let ours = self.medium.places();
            let theirs =
                other.medium.members().iter().filter(|member| ours.contains(&member.place()));
            theirs.eq(self.medium.members())
        };
        (self.medium == other.medium || of_its_places())
            && self.layers.len() == other.layers.len()
            && self.layers.iter().zip(&other.layers).all(same)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location<'a> {
    /// A path on this host, or on the named one.
    Path(Option<&'a str>, &'a Path),
    /// An emulated drive of a guest: the guest, and the drive's name there.
    Drive(&'a Place, &'a str),
    /// A Ceph image: the configuration of its cluster, its pool and its name.
    Rbd(&'a Path, &'a str, &'a str),
}

/// The bottom of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "medium", rename_all = "lowercase")]
pub enum Medium {
    /// `file:/srv/x.img,size=4GiB`: created new, or reused with our marker in it.
    File {
        path: PathBuf,
        /// Bytes; `None`: the existing file's own size.
        size: Option<u64>,
        /// `keep=true`: not removed after the run.
        keep: bool,
    },
    /// `/dev/nvme1n1` on this host.
    Device { path: PathBuf },
    /// `ssh:host1:/dev/vdb`: a device of another machine, or a file there.
    Remote {
        /// Destination as given to ssh (`user@host`, an alias of ssh's config).
        host: String,
        /// Absolute path there, a device or a file.
        path: PathBuf,
        /// Bytes; `None`: the existing file's own size.
        size: Option<u64>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keep: bool,
        #[serde(default, skip_serializing_if = "LoadIssuer::is_iotax")]
        agent: LoadIssuer,
    },
    /// `nvme0 @lab`: an emulated drive of a guest of the run.
    Drive {
        place: Place,
        /// Name of the drive there, which is also its serial number.
        name: String,
    },
    /// `rbd:POOL/IMAGE@CONF`: an image of a Ceph cluster; iotax made neither of them.
    Rbd {
        pool: String,
        image: String,
        /// Configuration by which the cluster is reached.
        conf: PathBuf,
    },
    /// `cpu`, `cpu @ssh:HOST`: a place without a device, for probes.
    Cpu { place: Place },
    /// `net:ssh:b @ssh:a`: the network from one place, where probes run, to another, which answers.
    Net {
        place: Place,
        to: Place,
        /// `address=10.0.0.2`: the address of that place to use; `None`: the first one that is
        /// reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<IpAddr>,
        /// `port=5201`; `None`: a free port.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
    },
    /// `vhost-user:/run/x.sock`: a disk that another process serves to a guest.
    #[serde(rename = "vhost-user")]
    VhostUser { path: PathBuf },
    /// `[a,b,c]`: several media for a layer that joins them. Without such a layer, `each([a,b,c])`:
    /// the same load on all of them at once.
    Many {
        /// At least one; all in one place if a layer joins them.
        members: Vec<Medium>,
        /// Number of lists of equal length into which the members are divided, one after the other.
        /// Each list is joined separately.
        #[serde(default = "one_group", skip_serializing_if = "is_one_group")]
        groups: usize,
    },
}

fn one_group() -> usize {
    1
}

fn is_one_group(groups: &usize) -> bool {
    *groups == 1
}

impl Medium {
    pub fn list_count(&self) -> usize {
        match self {
            Medium::Many { groups, .. } => (*groups).max(1),
            _ => 1,
        }
    }

    /// Returns the media that this one is made of; a single medium returns itself.
    pub fn members(&self) -> &[Medium] {
        match self {
            Medium::Many { members, .. } => members,
            one => std::slice::from_ref(one),
        }
    }

    pub(crate) fn members_mut(&mut self) -> &mut [Medium] {
        match self {
            Medium::Many { members, .. } => members,
            one => std::slice::from_mut(one),
        }
    }

    /// Returns the SSH host of the medium, or of its first member; `None`: it is on this host or in
    /// a guest of the run.
    pub fn host(&self) -> Option<&str> {
        match self.members().first()? {
            Medium::Remote { host, .. } => Some(host),
            Medium::Cpu { place } | Medium::Net { place, .. } => place.ssh_host(),
            _ => None,
        }
    }

    /// Returns the place of the medium, or of its first member: `host`, a guest of the run, or
    /// `ssh:HOST`.
    pub fn place(&self) -> Place {
        match self.members().first() {
            Some(Medium::Remote { host, .. }) => Place::Ssh(host.clone()),
            Some(
                Medium::Drive { place, .. } | Medium::Cpu { place } | Medium::Net { place, .. },
            ) => place.clone(),
            _ => Place::Host,
        }
    }

    pub fn far_end(&self) -> Option<&Place> {
        match self {
            Medium::Net { to, .. } => Some(to),
            _ => None,
        }
    }

    pub fn places(&self) -> BTreeSet<Place> {
        self.members().iter().map(Medium::place).collect()
    }

    pub fn agent(&self) -> LoadIssuer {
        match self.members().first() {
            Some(Medium::Remote { agent, .. }) => *agent,
            _ => LoadIssuer::Iotax,
        }
    }

    /// Returns the locations of the members. Media that have one of these in common overlap.
    pub fn locations(&self) -> impl Iterator<Item = Location<'_>> {
        self.members().iter().filter_map(Medium::location)
    }

    /// Returns the location of a single medium, whatever its options; `None`: it has none, or is
    /// several media.
    fn location(&self) -> Option<Location<'_>> {
        match self {
            Medium::File { path, .. } | Medium::Device { path } | Medium::VhostUser { path } => {
                Some(Location::Path(None, path))
            }
            Medium::Remote { host, path, .. } => Some(Location::Path(Some(host), path)),
            Medium::Drive { place, name } => Some(Location::Drive(place, name)),
            Medium::Rbd { pool, image, conf } => Some(Location::Rbd(conf, pool, image)),
            Medium::Cpu { .. } | Medium::Net { .. } | Medium::Many { .. } => None,
        }
    }

    /// Returns true if both are at one path of one place, whatever their options.
    pub(crate) fn is_at(&self, other: &Medium) -> bool {
        self.location().is_some_and(|location| other.location() == Some(location))
    }

    /// Returns the fraction of the bytes written through `other` that reaches each drive below this
    /// medium: 1 if both are the same file or device, or files in one folder; less if `other` has
    /// members on other drives. Of several members the one that receives least counts. Media whose
    /// drives are not known to be the same count as apart, so that no drive is thought fuller than
    /// it is.
    pub fn receives(&self, other: &Medium) -> f64 {
        let (ours, theirs) = (self.members(), other.members());
        let beside = |one: &Medium| theirs.iter().filter(|other| one.is_on_drive_of(other)).count();
        // The member that gets least: all members must get past their caches.
        let least = ours.iter().map(beside).min().unwrap_or(0);
        least as f64 / theirs.len().max(1) as f64
    }

    fn is_on_drive_of(&self, other: &Medium) -> bool {
        let folder = |medium: &Medium| match medium {
            Medium::File { path, .. } => path.parent().map(Path::to_owned),
            _ => None,
        };
        self.is_at(other) || (folder(self).is_some() && folder(self) == folder(other))
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Medium::File { path, .. } | Medium::Device { path } | Medium::Remote { path, .. } => {
                Some(path)
            }
            Medium::Drive { .. }
            | Medium::Cpu { .. }
            | Medium::Net { .. }
            | Medium::VhostUser { .. }
            | Medium::Rbd { .. }
            | Medium::Many { .. } => None,
        }
    }

    /// Returns the name by which a consent allows writing to a Ceph image or a vhost-user socket,
    /// which have no serial. `None`: any other medium.
    pub fn foreign_name(&self) -> Option<String> {
        match self {
            Medium::Rbd { pool, image, .. } => Some(format!("rbd:{pool}/{image}")),
            Medium::VhostUser { path } => Some(format!("vhost-user:{}", path.display())),
            _ => None,
        }
    }

    pub fn face(&self) -> Face {
        match self {
            Medium::File { .. } => Face::File,
            Medium::Rbd { .. } => Face::Rbd,
            Medium::VhostUser { .. } => Face::VhostUser,
            Medium::Cpu { .. } | Medium::Net { .. } => Face::Place,
            _ => Face::Block,
        }
    }
}

/// Path at which Ceph's own tools find the configuration of the cluster that a machine is a client
/// of.
pub const USUAL_CEPH_CONF: &str = "/etc/ceph/ceph.conf";

/// Program that issues the load in a place over SSH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadIssuer {
    /// The iotax binary, copied there.
    #[default]
    Iotax,
    /// The fio that is installed there: `agent=fio`.
    Fio,
}

impl LoadIssuer {
    pub(crate) fn is_iotax(&self) -> bool {
        *self == LoadIssuer::Iotax
    }
}

/// A layer with its checked options, from which its steps are planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerSpec {
    /// Name of the layer in `layer::ALL`, or of the tool.
    pub name: String,
    /// Values of the written options, by their names. The layer's entry says which options there
    /// are.
    pub options: BTreeMap<String, String>,
    /// `@PLACE`; `None`: the place of the layer below.
    pub place: Option<Place>,
    /// `@A>PLACE`, `@A>[PLACE,PLACE]`: the places of the far end of a layer with two ends; empty:
    /// the same place. Several places share out what is below evenly, or the device itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "one_or_more")]
    pub far: Vec<Place>,
    /// `x4`: number of guests side by side, among which what is below is shared out evenly; 1 for
    /// other layers.
    #[serde(default = "one_copy", skip_serializing_if = "is_one")]
    pub copies: u32,
    /// Description of the layer, if it is not one of iotax's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Box<Tool>>,
    /// File, line and key, or the position in the one-line stack, for messages.
    pub origin: String,
}

impl LayerSpec {
    /// Returns the key of the instance that the layer makes. Layers with equal keys on the same
    /// thing below can share one instance.
    pub fn key(&self) -> String {
        format!("{}{:?}{:?}{:?}{}", self.name, self.options, self.place, self.far, self.copies)
    }

    pub fn named_places(&self) -> impl Iterator<Item = &Place> {
        self.place.iter().chain(&self.far)
    }
}

fn one_copy() -> u32 {
    1
}

fn is_one(copies: &u32) -> bool {
    *copies == 1
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InState {
    /// Position among the scenario's states; at 0 the stack is as it was set up.
    pub position: usize,
    pub state: AskedState,
    /// Index among the scenario's stacks of this stack's entry at position 0.
    pub of: usize,
}

impl InState {
    /// Returns the number of members that are lost; `None` while they are being rebuilt, or moved
    /// to others.
    pub fn lost_members(&self) -> Option<u32> {
        match self.state {
            AskedState::Healthy => Some(0),
            AskedState::Failed(count) => Some(count),
            AskedState::Out(_) | AskedState::Rebuilding => None,
        }
    }
}
