//! Caches that hold writes back on their way to a drive, with the sizes that this machine reports.
//! A drive's own cache is not among them.

use super::facts::memory_bytes;
use super::probe::Probe;
pub use iotax_facts::machine::WriteCache;
use iotax_units::show_bytes;

/// Returns how much data the page cache may hold before a writer has to wait: `vm.dirty_bytes`, or
/// `vm.dirty_ratio` of the memory that is available now (Documentation/admin-guide/sysctl/vm.rst of
/// the kernel). `None` if the kernel does not report it.
pub fn page_cache(probe: &Probe) -> Option<WriteCache> {
    let whose = "the page cache of this host";
    if let Some(bytes) = probe.read_number("/proc/sys/vm/dirty_bytes").filter(|bytes| *bytes > 0) {
        return Some(WriteCache {
            name: format!("{whose} (vm.dirty_bytes)"),
            bytes,
            stacks: Vec::new(),
        });
    }
    let ratio = probe.read_number("/proc/sys/vm/dirty_ratio")?;
    let available = memory_bytes(probe, "MemAvailable")?;
    let name =
        format!("{whose} (vm.dirty_ratio, {ratio} % of {} available)", show_bytes(available));
    let bytes = (u128::from(available) * u128::from(ratio) / 100) as u64;
    Some(WriteCache { name, bytes, stacks: Vec::new() })
}

/// Returns how much data ZFS may hold before a writer has to wait: `zfs_dirty_data_max`, or, if its
/// module is not loaded yet, the default (a tenth of the memory, at most 4 GiB: zfs(4)). `None` if
/// the memory is not known.
pub fn zfs(probe: &Probe) -> Option<WriteCache> {
    let set = probe
        .read_number("/sys/module/zfs/parameters/zfs_dirty_data_max")
        .filter(|bytes| *bytes > 0);
    let usual = || memory_bytes(probe, "MemTotal").map(|bytes| (bytes / 10).min(4 << 30));
    let bytes = set.or_else(usual)?;
    let name = "ZFS's dirty data (zfs_dirty_data_max)".to_owned();
    Some(WriteCache { name, bytes, stacks: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::server;

    #[test]
    fn zfs_has_a_limit_that_its_module_tells_or_that_follows_from_the_memory() {
        let machine = server();
        machine.put(&[("/proc/meminfo", "MemTotal: 1048576 kB\n")]);
        assert_eq!(zfs(&machine.probe).unwrap().bytes, (1 << 30) / 10);
        machine.put(&[("/sys/module/zfs/parameters/zfs_dirty_data_max", "67108864\n")]);
        assert_eq!(zfs(&machine.probe).unwrap().bytes, 64 << 20);
    }

    #[test]
    fn the_page_cache_has_a_limit_in_bytes_or_of_the_memory() {
        let machine = server();
        assert_eq!(page_cache(&machine.probe), None, "a kernel that does not tell");
        machine.put(&[
            ("/proc/meminfo", "MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n"),
            ("/proc/sys/vm/dirty_bytes", "0\n"),
            ("/proc/sys/vm/dirty_ratio", "20\n"),
        ]);
        let found = page_cache(&machine.probe).unwrap();
        assert_eq!(found.bytes, 107_374_182);
        assert!(found.name.contains("20 % of 512 MiB"), "{}", found.name);
        machine.put(&[("/proc/sys/vm/dirty_bytes", "67108864\n")]);
        assert_eq!(page_cache(&machine.probe).unwrap().bytes, 64 << 20);
    }
}
