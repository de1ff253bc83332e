//! What several tests share.

use iotax_load::LoadError;

/// Whether the kernel has no io_uring or allows it to nobody here, which is said: nothing else is a
/// reason to skip.
pub fn has_no_uring(error: &LoadError) -> bool {
    let words = error.to_string();
    let lacking = ["(os error 38)", "(os error 1)"].iter().any(|cause| words.contains(cause));
    let lacking = lacking && words.contains("io_uring:");
    if lacking {
        println!("skipped: needs io_uring ({error})");
    }
    lacking
}
