//! Places where load runs: this host, a guest, a host over SSH.

use std::path::Path;

/// The place that is this host.
pub const HOST: &str = "host";

/// The place of a host that is reached over SSH.
pub fn ssh_place(host: &str) -> String {
    format!("ssh:{host}")
}

/// The host behind a place's name, if it is one over SSH.
pub fn ssh_host(place: &str) -> Option<&str> {
    place.strip_prefix("ssh:")
}

/// Whether a place is a host that is reached over SSH.
pub fn is_ssh_place(place: &str) -> bool {
    ssh_host(place).is_some()
}

/// Whether its name says that the kernel makes it up, whatever is mounted there.
pub fn is_of_the_kernel(path: &Path) -> bool {
    path.starts_with("/proc") || path.starts_with("/sys")
}

/// Whether a path is one of Windows': those of every other system begin with a slash.
pub fn is_of_windows(path: &Path) -> bool {
    !path.to_string_lossy().starts_with('/')
}
