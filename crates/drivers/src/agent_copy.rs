//! The copy of the agent on a host over SSH, as it sees itself.

use iotax_journal::is_id;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Removes the running binary and its folder, if they are what `iotax_remote::ssh::connect` made.
/// Called by the agent when its stream ends.
pub fn remove_self() {
    let Ok(binary) = std::env::current_exe() else {
        return;
    };
    let Some(folder) = binary.parent().filter(|folder| is_ours(folder)) else {
        return;
    };
    if binary.file_name() == Some("iotax".as_ref()) {
        // Ignore errors: nobody is left to report them to. `remove_remote` finds what stays.
        let _ = std::fs::remove_file(&binary).and_then(|()| std::fs::remove_dir(folder));
    }
}

/// Returns true for a private folder of this user that is named after a run.
pub fn is_ours(folder: &Path) -> bool {
    let named = folder
        .file_name()
        .and_then(|name| name.to_str())
        .and_then(|name| name.strip_prefix("iotax-"));
    let private = std::fs::symlink_metadata(folder).is_ok_and(|meta| {
        meta.is_dir()
            && meta.mode() & 0o777 == 0o700
            && meta.uid() == rustix::process::geteuid().as_raw()
    });
    named.is_some_and(is_id) && private
}
