//! Routes and interfaces, read and set over a netlink socket. This works in every place, also
//! without iproute2, which a guest of ours does not have.

use super::hello::array_at;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};
use std::io;
use std::net::{IpAddr, Ipv4Addr};

const HEADER: usize = 16;
const ERROR: u16 = 2;
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const NEW_ADDRESS: u16 = 20;
const GET_ROUTE: u16 = 26;
/// Flag of a request. Those of [`MAKE`] are for a request that makes something that must not exist
/// yet, and wants an answer.
const REQUEST: u16 = 1;
const MAKE: u16 = REQUEST | 0x4 | 0x200 | 0x400;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) is_local: bool,
    pub(super) interface: u32,
    /// Next machine on the path; `None` if the address is on the interface's link.
    pub(super) gateway: Option<IpAddr>,
    /// Address that this place sends from on this route.
    pub(super) source: Option<IpAddr>,
    /// MTU of the route, if one is set.
    pub(super) mtu: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NetworkInterface {
    pub(super) name: String,
    pub(super) mtu: u32,
    /// Kind of a virtual interface: `veth`, `bridge`, `tun`, ...; `None` for hardware and the
    /// loopback.
    pub(super) kind: Option<String>,
}

/// Finds the route to an address, like `ip route get ADDRESS`.
///
/// # Errors
/// The kernel's error, mostly that no route leads there, or an answer that is not understood.
pub(super) fn route(to: IpAddr) -> io::Result<Route> {
    let address = match to {
        IpAddr::V4(to) => to.octets().to_vec(),
        IpAddr::V6(to) => to.octets().to_vec(),
    };
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    // struct rtmsg: family, length of the address in bits; all else is open.
    let mut body = vec![family.as_raw() as u8, address.len() as u8 * 8];
    body.resize(12, 0);
    add_attribute(&mut body, 1, &address);
    read_route(&ask_kernel_routes(GET_ROUTE, REQUEST, &body)?).ok_or_else(odd)
}

/// Reads the interface with an index, like `ip link show`.
///
/// # Errors
/// The kernel's error, mostly that there is no such interface, or an answer that is not understood.
pub(super) fn link(index: u32) -> io::Result<NetworkInterface> {
    // struct ifinfomsg: the index after family, padding and type.
    let mut body = vec![0; 16];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    read_link(&ask_kernel_routes(GET_LINK, REQUEST, &body)?).ok_or_else(odd)
}

/// Gives an address to the interface with an index, like `ip addr add ADDRESS/PREFIX dev`.
///
/// # Errors
/// The kernel's error: the interface has it already, or this process may not.
pub(super) fn add_address(index: u32, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
    // struct ifaddrmsg: family, length of the prefix, flags and scope, index.
    let mut body = vec![AddressFamily::INET.as_raw() as u8, prefix, 0, 0];
    body.extend(index.to_ne_bytes());
    // The interface's own address, and that of the other end, which is the same where there is no
    // such end.
    add_attribute(&mut body, 2, &address.octets());
    add_attribute(&mut body, 1, &address.octets());
    ask_kernel_routes(NEW_ADDRESS, MAKE, &body).map(drop)
}

/// Switches on the interface with an index, like `ip link set up`.
///
/// # Errors
/// The kernel's error: there is no such interface, or this process may not.
pub(super) fn set_up(index: u32) -> io::Result<()> {
    // The body is as in `link`; after the index come the flags, and which of them change.
    let mut body = vec![0; 16];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    for at in [8, 12] {
        body[at..at + 4].copy_from_slice(&1_u32.to_ne_bytes());
    }
    // The interface exists, so nothing is made.
    ask_kernel_routes(NEW_LINK, REQUEST | 0x4, &body).map(drop)
}

/// Adds an attribute whose value is short enough to need no padding.
fn add_attribute(body: &mut Vec<u8>, number: u16, value: &[u8]) {
    body.extend((4 + value.len() as u16).to_ne_bytes());
    body.extend(number.to_ne_bytes());
    body.extend(value);
}

fn odd() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer is not understood")
}

fn ask_kernel_routes(what: u16, flags: u16, body: &[u8]) -> io::Result<Vec<u8>> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut message = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
    message.extend(what.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([1_u32, 0].into_iter().flat_map(u32::to_ne_bytes));
    message.extend(body);
    sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = vec![0; 32 << 10];
    let (_, bytes) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    answer.truncate(bytes);
    refusal(&answer).map_or(Ok(answer), Err)
}

/// Returns the kind of a message, and the bytes after its header; `None` if it is cut off.
fn message(answer: &[u8]) -> Option<(u16, &[u8])> {
    let length = u32::from_ne_bytes(array_at(answer.get(..HEADER)?, 0)) as usize;
    Some((u16::from_ne_bytes(array_at(answer, 4)), answer.get(HEADER..length)?))
}

/// Returns the error with which the kernel refused; `None` if it did not.
fn refusal(answer: &[u8]) -> Option<io::Error> {
    let (kind, body) = message(answer)?;
    let number = i32::from_ne_bytes(array_at(body.get(..4)?, 0));
    (kind == ERROR && number < 0).then(|| io::Error::from_raw_os_error(-number))
}

/// Iterates over attributes, as number and value, and ends at one that is cut off.
fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(array_at(rest.get(..4)?, 0)));
        // The upper two bits are flags.
        let number = u16::from_ne_bytes(array_at(rest, 2)) & 0x3fff;
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((number, value))
    })
}

fn read_route(answer: &[u8]) -> Option<Route> {
    let (_, body) = message(answer)?;
    // RTN_LOCAL, in the eighth byte.
    let mut route = Route { is_local: *body.get(7)? == 2, ..Route::default() };
    for (number, value) in attributes(body.get(12..)?) {
        match number {
            4 => route.interface = number_of(value)?,
            5 => route.gateway = address(value),
            7 => route.source = address(value),
            // A gateway of the other family is after its family.
            18 => route.gateway = address(value.get(2..)?),
            8 => {
                route.mtu = attributes(value)
                    .find(|(number, _)| *number == 2)
                    .and_then(|(_, mtu)| number_of(mtu))
            }
            _ => {}
        }
    }
    Some(route)
}

fn read_link(answer: &[u8]) -> Option<NetworkInterface> {
    let (_, body) = message(answer)?;
    let mut link = NetworkInterface::default();
    for (number, value) in attributes(body.get(16..)?) {
        match number {
            3 => link.name = attribute_text(value),
            4 => link.mtu = number_of(value)?,
            18 => {
                link.kind = attributes(value)
                    .find(|(number, _)| *number == 1)
                    .map(|(_, kind)| attribute_text(kind))
            }
            _ => {}
        }
    }
    Some(link)
}

fn number_of(value: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(value.try_into().ok()?))
}

fn attribute_text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).trim_end_matches('\0').to_owned()
}

fn address(value: &[u8]) -> Option<IpAddr> {
    match value.len() {
        4 => Some(IpAddr::from(array_at::<4>(value, 0))),
        16 => Some(IpAddr::from(array_at::<16>(value, 0))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_answer_is_too_odd(mut bytes in prop::collection::vec(any::<u8>(), 0..200), attributes_fit in any::<bool>()) {
            if attributes_fit && bytes.len() > 34 {
                let length = bytes.len() as u32;
                bytes[..4].copy_from_slice(&length.to_ne_bytes());
                bytes[33] = 0;
            }
            let _ = (read_route(&bytes), read_link(&bytes), refusal(&bytes));
        }
    }

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len() / 2)
            .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
            .collect()
    }

    /// Recorded on a machine with 192.0.2.2/24 and fd00::2/64 on its second interface, by python's
    /// socket module.
    const LOOPBACK: &str = "680000001800000001000000b77f000002200000fe0000020002008008000f00fe000000080001007f0000010800040001000000080007007f000001080019000000000024000c000e0000009e164a00000000000000000000000000000000000000000000000000";
    const FAR: &str = "700000001800000001000000b77f000002200000fe0000010002000008000f00fe0000000800010008080808080004000400000008000700c000020208000500c0000201080019000000000024000c000200000064164a00000000000000000000000000000000000000000000000000";
    const FAR_6: &str = "b00000001800000001000000b77f00000a808000fe0300010000000008000f00fe0000001400010020010db8000000000000000000000001140002000000000000000000000000000000000014000700fd000000000000000000000000000002080006000004000014000500fd000000000000000000000000000001080004000400000024000c000200000010164a000000000000000000000000000000000000000000000000000500140000000000";
    #[cfg(target_endian = "little")]
    #[test]
    fn recorded_routes_are_read() {
        let ip = |text: &str| Some(text.parse().unwrap());
        let own =
            Route { is_local: true, interface: 1, source: ip("127.0.0.1"), ..Route::default() };
        assert_eq!(read_route(&bytes(LOOPBACK)), Some(own));
        let far = Route {
            interface: 4,
            gateway: ip("192.0.2.1"),
            source: ip("192.0.2.2"),
            ..Route::default()
        };
        assert_eq!(read_route(&bytes(FAR)), Some(far));
        let six = Route {
            interface: 4,
            gateway: ip("fd00::1"),
            source: ip("fd00::2"),
            ..Route::default()
        };
        assert_eq!(read_route(&bytes(FAR_6)), Some(six));
        for cut in 0..LOOPBACK.len() / 2 {
            assert_eq!(read_route(&bytes(LOOPBACK)[..cut]), None);
        }
    }

    #[test]
    fn links_have_a_kind_where_the_kernel_made_them() {
        let attribute = |number: u16, value: &[u8]| {
            let mut bytes = (4 + value.len() as u16).to_ne_bytes().to_vec();
            bytes.extend(number.to_ne_bytes());
            bytes.extend(value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let kind = attribute(1, b"veth\0");
        let body: Vec<u8> = [
            vec![0; 16],
            attribute(3, b"ve-a\0"),
            attribute(4, &1450_u32.to_ne_bytes()),
            attribute(18 | 0x8000, &kind),
        ]
        .concat();
        let mut answer = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        answer.resize(HEADER, 0);
        answer.extend(body);
        let expected =
            NetworkInterface { name: "ve-a".into(), mtu: 1450, kind: Some("veth".into()) };
        assert_eq!(read_link(&answer), Some(expected));
    }

    #[test]
    fn this_machine_has_a_loopback_and_no_interface_of_a_wild_index() {
        let route = route("127.0.0.1".parse().unwrap()).unwrap();
        assert!(route.is_local && route.gateway.is_none());
        let link = super::link(route.interface).unwrap();
        assert_eq!((link.name.as_str(), link.kind), ("lo", None));
        assert!(super::link(1 << 30).is_err());
    }
}
