//! Figures of the kernel about a TCP connection (`TCP_INFO`).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Figures of a TCP connection, some of those that `ss -ti` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Largest payload of a sent segment, in bytes.
    pub send_mss: u32,
    /// MTU of the path in bytes, as far as the kernel knows it.
    pub path_mtu: u32,
    /// Smoothed round-trip time in microseconds.
    pub round_trip_us: u32,
    /// Segments sent again since the connection began.
    pub retransmits: u32,
}

/// Reads the kernel's figures of a connected socket.
///
/// # Errors
/// The socket is not a TCP socket.
pub fn info(socket: impl AsFd) -> io::Result<TcpInfo> {
    // SAFETY: all bytes zero are a valid tcp_info.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = std::mem::size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: `info` is memory of `length` bytes that the call may write; an older kernel writes
    // fewer, the rest stays zero.
    let done = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &mut length,
        )
    };
    match done {
        0 => Ok(TcpInfo {
            send_mss: info.tcpi_snd_mss,
            path_mtu: info.tcpi_pmtu,
            round_trip_us: info.tcpi_rtt,
            retransmits: info.tcpi_total_retrans,
        }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn a_connection_has_segments_and_other_sockets_are_refused() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
        let stream = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
        let seen = info(&stream).expect("TCP_INFO");
        assert!(seen.send_mss >= 500 && seen.path_mtu > seen.send_mss, "{seen:?}");
        assert!(info(UdpSocket::bind(("127.0.0.1", 0)).expect("loopback")).is_err());
    }
}
