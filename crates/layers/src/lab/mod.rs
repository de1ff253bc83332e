//! Makes the root image of the lab guest ([`crate::guest::lab`]): its contents, its cache, and its
//! build. No part of it is downloaded as an image: it is made on this machine from the
//! distribution's own packages, once for each kernel and release.

mod build;
mod child;
mod image;
mod recipe;
mod sources;

pub use build::Build;
pub use image::{
    Image, ImageRecord, ZfsModules, all_images, cache_directory, current, remove_others,
};

use anyhow::Result;
use iotax_qemu::kernel::{self, Kernel, KernelSource};
use iotax_units::exit::Failed;
use std::path::PathBuf;

/// Returns the path of the root image for a kernel.
///
/// # Errors
/// An unmet need with its command: it is not built.
pub fn root_image(kernel: &Kernel) -> Result<PathBuf> {
    let image = sources::suite().ok().and_then(|suite| current(&suite, &kernel.version));
    let image = image.ok_or_else(|| {
        Failed::need(format!("{}; hint: iotax lab build", not_built(&kernel.version)))
    })?;
    Ok(image.path())
}

/// Checks that there is an image for the kernel that guests boot with.
///
/// # Errors
/// Says why there is no image.
pub fn check_lab_image() -> Result<(), String> {
    let suite = sources::suite().map_err(|failed| failed.message)?;
    let version = match kernel::find_kernel_source()? {
        KernelSource::Ready(kernel) => kernel.version,
        KernelSource::Packages(packages) => packages.join(" and "),
    };
    current(&suite, &version).map(drop).ok_or_else(|| not_built(&version))
}

/// Returns the code name of the release whose packages an image on this machine is made of.
///
/// # Errors
/// An unmet need: this is no Debian and no Ubuntu.
pub fn suite() -> Result<String, Failed> {
    sources::suite()
}

fn not_built(kernel: &str) -> String {
    format!("the lab's root image for {kernel} is not built (some minutes, once)")
}
