//! Network interface of a guest of ours. It gets its address here, since nothing else in the guest
//! would give it one.

use super::netlink;
use crate::ProbeError;
use std::fs;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

const INTERFACES: &str = "/sys/class/net";
/// Time limit for a card to appear. It usually does some milliseconds after its driver was loaded,
/// but far later under an emulator.
const CARD_WITHIN: Duration = Duration::from_secs(20);

/// Gives an IPv4 address to the interface with this hardware address, switches it on, and returns
/// its name. `prefix` is the length of the network's prefix in bits.
///
/// # Errors
/// When there is no such interface within 20 s, or the kernel refuses.
pub fn give_address(mac: &str, address: Ipv4Addr, prefix: u8) -> Result<String, ProbeError> {
    let begin = Instant::now();
    let (name, index) = loop {
        match with_mac(Path::new(INTERFACES), mac) {
            Some(found) => break found,
            None if begin.elapsed() > CARD_WITHIN => {
                let why = format!(
                    "there is no network card {mac} here; hint: the kernel needs its driver, virtio_net"
                );
                return Err(ProbeError::Unfit(why));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let failed = |action: &str| {
        let action = format!("{action} {name}");
        move |source| ProbeError::System { action, source }
    };
    match netlink::add_address(index, address, prefix) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(failed(&format!("give {address}/{prefix} to"))(error));
        }
        _ => netlink::set_up(index).map_err(failed("switch on"))?,
    }
    Ok(name)
}

/// Returns name and index of the interface with this hardware address, if there is one.
fn with_mac(class: &Path, mac: &str) -> Option<(String, u32)> {
    let folders = fs::read_dir(class).ok()?.flatten().map(|entry| entry.path());
    let read = |folder: &Path, name: &str| {
        fs::read_to_string(folder.join(name)).ok().map(|text| text.trim().to_owned())
    };
    let folder =
        folders.into_iter().find(|folder| read(folder, "address").is_some_and(|own| own == mac))?;
    Some((
        folder.file_name()?.to_string_lossy().into_owned(),
        read(&folder, "ifindex")?.parse().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interface_with_a_hardware_address_is_found() {
        let class = tempfile::tempdir().unwrap();
        for (name, mac, index) in
            [("lo", "00:00:00:00:00:00", "1"), ("eth0", "52:54:00:0a:0b:0c", "2")]
        {
            fs::create_dir(class.path().join(name)).unwrap();
            fs::write(class.path().join(name).join("address"), format!("{mac}\n")).unwrap();
            fs::write(class.path().join(name).join("ifindex"), format!("{index}\n")).unwrap();
        }
        assert_eq!(with_mac(class.path(), "52:54:00:0a:0b:0c"), Some(("eth0".into(), 2)));
        assert_eq!(with_mac(class.path(), "52:54:00:ff:ff:ff"), None);
    }
}
