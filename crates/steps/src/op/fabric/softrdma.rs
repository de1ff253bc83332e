//! Provides the RDMA device that a fabric uses: an existing one, or one in software that is made
//! for the run.

use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::Result;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::softrdma::{self, RdmaNames};
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_host::probe::Probe;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::path::Path;

/// Network card on which an RDMA device is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RdmaOn {
    /// Pair of virtual cards of our own, one of which gets the address; the number is the length of
    /// the network's prefix in bits.
    Own(IpAddr, u8),
    /// Card that has the address.
    At(IpAddr),
    /// Card through which the address is reached.
    Toward(IpAddr),
}

/// Runs `rdma link add TYPE rxe` if the card has no RDMA device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoftRdma {
    /// End of the run's id, which the names of what is made carry.
    pub short: String,
    pub on: RdmaOn,
}

impl SoftRdma {
    fn names(&self) -> RdmaNames {
        softrdma::names(&self.short)
    }
}

impl Operation for SoftRdma {
    fn describe(&self) -> String {
        let RdmaNames { rdma, card, peer } = self.names();
        match &self.on {
            RdmaOn::Own(address, prefix) => format!(
                "ip link add {card} type veth peer name {peer}, with {address}/{prefix}; rdma link add {rdma} type rxe netdev {card}"
            ),
            RdmaOn::At(address) => {
                format!(
                    "rdma link add {rdma} type rxe on the card with {address}, unless it has an RDMA device"
                )
            }
            RdmaOn::Toward(address) => {
                format!(
                    "rdma link add {rdma} type rxe on the card toward {address}, unless it has an RDMA device"
                )
            }
        }
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        let names = self.names();
        let RdmaNames { rdma, card, peer } = &names;
        let load = "modprobe rdma_rxe".to_owned();
        let add = |card: &str| format!("rdma link add {rdma} type rxe netdev {card}");
        let card_of = |query: &str| format!("card=$(ip -o {query} | awk '{{ print $2 }}')");
        match &self.on {
            RdmaOn::Own(address, prefix) => vec![
                load,
                format!("ip link add {card} type veth peer name {peer}"),
                format!("ip addr add {address}/{prefix} dev {card}"),
                format!("ip link set {card} up; ip link set {peer} up"),
                add(card),
            ],
            RdmaOn::At(address) => {
                let found = card_of(&format!("addr show to {address}"));
                vec!["# unless that card has an RDMA device".to_owned(), load, found, add("$card")]
            }
            RdmaOn::Toward(address) => {
                let route = format!("ip -o route get {address}");
                let found = format!("card=$({route} | sed 's/.* dev //; s/ .*//')");
                vec!["# unless that card has an RDMA device".to_owned(), load, found, add("$card")]
            }
        }
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Part(&self.short)]
    }

    fn undo_summary(&self, made: Option<&StepOutput>) -> Option<Undoing> {
        let RdmaNames { rdma, .. } = self.names();
        let is_made =
            made.and_then(|made| made.path.as_ref()).is_none_or(|path| path.ends_with(&rdma));
        is_made.then(|| Undoing::new("removed", format!("the RDMA device {rdma}")))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        Some(softrdma::unmake_by_hand(&self.names()))
    }
}

impl ManagedResource for SoftRdma {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        let names = self.names();
        let device = match self.on {
            RdmaOn::Own(address, prefix) => softrdma::make_own(&names, address, prefix)?,
            RdmaOn::At(address) => softrdma::device_at(&names, address)?,
            RdmaOn::Toward(address) => softrdma::toward(&names, address)?,
        };
        Ok(StepOutput::found_at(device))
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        Ok(softrdma::is_there(&self.names()).then(StepOutput::default))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        softrdma::remove_rdma(&self.names())
    }

    fn reader_notes(&self, made: &StepOutput) -> Vec<String> {
        let probe = Probe::of_files(Path::new("/"));
        made.path.iter().map(|device| softrdma::note(&probe, device)).collect()
    }
}
