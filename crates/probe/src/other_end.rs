//! Other end of a probe, in another place: the server of the network probes, or a tool's own
//! server.

use crate::net::ProbeServer;
use crate::tool::ServedTool;
use crate::{ProbeError, ProbeSpec};
use std::net::{IpAddr, SocketAddr};

/// Other end of a probe, which answers until it is dropped.
pub enum OtherEnd {
    Pair(ProbeServer),
    Tool(ServedTool),
}

impl OtherEnd {
    /// Listens for a probe at an address of this place; without a port, at a free one. A tool's
    /// server ends with the thread that called this.
    ///
    /// # Errors
    /// When the port is taken, the address is not one of this place, or the tool is missing or does
    /// not listen.
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

    /// Returns the token that a probe needs; `None` for tools, which let everybody in.
    pub fn token(&self) -> Option<String> {
        match self {
            OtherEnd::Pair(server) => Some(server.token()),
            OtherEnd::Tool(_) => None,
        }
    }
}
