//! Finds images that the kernel's client (krbd) shows as block devices of this host, as sysfs
//! reports them.

use super::Cluster;
use anyhow::Result;
use iotax_host::probe::Probe;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const DEVICES: &str = "/sys/bus/rbd/devices";

/// Id of the cluster of an image, and the devices of this host that the image is mapped to before a
/// run maps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    pub fsid: String,
    pub mapped: Vec<PathBuf>,
}

impl Before {
    pub fn look_up(conf: &Path, pool: &str, image: &str) -> Result<Before> {
        let fsid = Cluster { conf }.ceph(&["fsid"])?.trim().to_owned();
        let mapped = mapped_image_devices(&Probe::of_files(Path::new("/")), &fsid, pool, image);
        Ok(Before { fsid, mapped })
    }
}

/// Returns the devices of this host that an image itself is mapped to (not a snapshot of it, and
/// not an image in a namespace of the pool).
pub fn mapped_image_devices(probe: &Probe, fsid: &str, pool: &str, image: &str) -> Vec<PathBuf> {
    let is_it = |number: &String| {
        let holds = |name: &str, value: &str| {
            probe
                .read_trimmed(format!("{DEVICES}/{number}/{name}"))
                .is_some_and(|read| read.trim() == value)
        };
        let namespace =
            probe.read_trimmed(format!("{DEVICES}/{number}/pool_ns")).unwrap_or_default();
        holds("cluster_fsid", fsid)
            && holds("pool", pool)
            && holds("name", image)
            && holds("current_snap", "-")
            && namespace.trim().is_empty()
    };
    let numbers = probe.folder_names(DEVICES).into_iter().filter(is_it);
    numbers.map(|number| PathBuf::from(format!("/dev/rbd{number}"))).collect()
}

/// Returns the options that the device's client got, without keys and names of keys, or `None` if
/// sysfs does not report them.
pub fn client_options(probe: &Probe, device: &Path) -> Option<String> {
    let number = device.to_str()?.strip_prefix("/dev/rbd")?;
    let config = probe.read_trimmed(format!("{DEVICES}/{number}/config_info"))?;
    // `config_info` lists addresses, options, pool, image, snapshot.
    let options = config.split_whitespace().nth(1)?.split(',');
    let is_open =
        |option: &&str| !["name=", "key=", "secret="].iter().any(|word| option.starts_with(word));
    Some(options.filter(is_open).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_host::made_up::server;

    #[test]
    fn an_image_is_found_by_cluster_pool_and_name_and_nothing_like_it() {
        let machine = server();
        let put = |number: u32, name: &str, value: &str| {
            machine.put(&[(&format!("{DEVICES}/{number}/{name}"), value)]);
        };
        for (number, fsid, pool, image, snap) in [
            (0, "f1", "p", "i", "-"),
            (1, "f2", "p", "i", "-"),
            (2, "f1", "q", "i", "-"),
            (3, "f1", "p", "i2", "-"),
            (4, "f1", "p", "i", "monday"),
            (5, "f1", "p", "i", "-"),
        ] {
            for (name, value) in
                [("cluster_fsid", fsid), ("pool", pool), ("name", image), ("current_snap", snap)]
            {
                put(number, name, &format!("{value}\n"));
            }
        }
        put(0, "pool_ns", "\n");
        put(5, "pool_ns", "theirs\n");
        assert_eq!(
            mapped_image_devices(&machine.probe, "f1", "p", "i"),
            [PathBuf::from("/dev/rbd0")]
        );
        assert!(mapped_image_devices(&machine.probe, "f3", "p", "i").is_empty());
        let told = "127.0.0.1:3300 name=admin,key=client.admin,ms_mode=crc,queue_depth=32 p i -\n";
        put(0, "config_info", told);
        assert_eq!(
            client_options(&machine.probe, Path::new("/dev/rbd0")).as_deref(),
            Some("ms_mode=crc,queue_depth=32")
        );
        assert_eq!(client_options(&machine.probe, Path::new("/dev/rbd1")), None);
    }
}
