//! What answers a probe from another place: the listening end of the network pair, or a tool's own
//! server.

use crate::net::ProbeServer;
use crate::tool::ServedTool;
use crate::{ProbeError, ProbeSpec};
use std::net::{IpAddr, SocketAddr};

/// The other end of a probe; it answers until it is dropped.
pub enum OtherEnd {
    /// Of the network pair.
    Pair(ProbeServer),
    Tool(ServedTool),
}

impl OtherEnd {
    /// Listens for a probe at an address of this place; `None`: at a port that is free. A tool's
    /// server ends with the thread that called this.
    ///
    /// # Errors
    /// When the port is taken, the address is not this place's, or the tool is missing or does not
    /// listen.
    pub fn listen(
        spec: &ProbeSpec,
        bind: IpAddr,
        port: Option<u16>,
    ) -> Result<OtherEnd, ProbeError> {
        match spec.is_tool() {
            true => ServedTool::start(spec, bind, port).map(OtherEnd::Tool),
            false => ProbeServer::listen(bind, port).map(OtherEnd::Pair),
        }
    }

    pub fn address(&self) -> SocketAddr {
        match self {
            OtherEnd::Pair(server) => server.address(),
            OtherEnd::Tool(served) => served.address(),
        }
    }

    /// What a probe needs to be let in; tools let everybody in.
    pub fn token(&self) -> Option<String> {
        match self {
            OtherEnd::Pair(server) => Some(server.token()),
            OtherEnd::Tool(_) => None,
        }
    }
}
