//! Copy of the agent that iotax puts on a host over SSH: how the running copy recognises and
//! removes itself.

use iotax_journal::is_id;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Removes the running binary and its folder if they are such a copy, that is, `iotax` in a folder
/// that is ours ([`is_ours`]). The agent calls this when its stream ends.
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

/// Returns true for a folder `iotax-RUN`, where RUN is the id of a run, that this user owns and
/// nobody else can enter (mode 0700).
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
