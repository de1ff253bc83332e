//! Recipe of a root image: the packages of `recipe.toml` and those that the layers require, two
//! scripts, a kernel and a release of the distribution. All of them together determine one name, by
//! which an image is found again.

use anyhow::{Context, Result};
use iotax_model::layer;
use serde::Deserialize;
use std::collections::BTreeMap;

const RECIPE: &str = include_str!("recipe.toml");
pub const ASSEMBLE: &str = include_str!("assemble.sh");
pub const COMPILE_ZFS: &str = include_str!("zfs.sh");

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Packages, with the purpose of each.
    pub packages: BTreeMap<String, String>,
    pub zfs: ZfsRecipe,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZfsRecipe {
    /// Package with ZFS's programs.
    pub tools: String,
    /// Package with the source of ZFS's modules.
    pub source: String,
    /// Packages that compile the modules, in addition to the kernel's headers.
    pub build: Vec<String>,
}

impl Recipe {
    /// Returns the recipe of this program.
    ///
    /// # Errors
    /// Never in practice: a test reads the recipe.
    pub fn built_in() -> Result<Recipe> {
        let mut recipe: Recipe = toml::from_str(RECIPE).context("the recipe of the lab's image")?;
        for (package, why) in of_layers() {
            // ZFS has a part of its own.
            if package != recipe.zfs.tools && package != recipe.zfs.source {
                recipe.packages.entry(package.to_owned()).or_insert_with(|| why.to_owned());
            }
        }
        Ok(recipe)
    }
}

/// Returns the Debian packages that layers which can be set up in a lab require, with the purpose
/// of each.
fn of_layers() -> impl Iterator<Item = (&'static str, &'static str)> {
    let there = layer::ALL.iter().filter(|layer| !layer.only_here);
    let required = there.flat_map(|layer| layer.requires);
    let supplied = required.flat_map(|one| one.supply.iter().map(|supply| (supply, one.why)));
    supplied.filter(|(supply, _)| supply.distribution == "debian").flat_map(|(supply, why)| {
        let words = supply.command.strip_prefix("apt-get install ").unwrap_or_default();
        let packages = words.split(" (").next().unwrap_or_default();
        packages.split_whitespace().map(move |package| (package, why))
    })
}

/// Returns the name of the image that this recipe makes for a kernel and a release: a checksum of
/// all parts.
pub fn image_name(suite: &str, kernel: &str) -> String {
    let packages = of_layers().map(|(package, _)| package).collect::<Vec<_>>().join(" ");
    let parts = [RECIPE, &packages, ASSEMBLE, COMPILE_ZFS, suite, kernel];
    format!("{:08x}", crc32fast::hash(parts.join("\0").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_says_what_it_is_for() {
        let recipe = Recipe::built_in().unwrap();
        for (package, purpose) in &recipe.packages {
            let is_name =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-+.".contains(c);
            assert!(package.chars().all(is_name), "{package}");
            assert!(purpose.len() > 1, "{package}: {purpose:?}");
        }
        for needed in ["mdadm", "lvm2", "bcache-tools", "nvme-cli", "udev", "kmod", "iproute2"] {
            assert!(
                recipe.packages.contains_key(needed),
                "{needed}: the guest's init or the layers run it"
            );
        }
    }

    #[test]
    fn another_kernel_or_release_is_another_image() {
        let names = [
            image_name("bookworm", "6.1.0-56-amd64"),
            image_name("bookworm", "6.1.0-57-amd64"),
            image_name("trixie", "6.1.0-56-amd64"),
        ];
        assert!(names.iter().all(|name| name.len() == 8));
        assert!(names[0] != names[1] && names[0] != names[2] && names[1] != names[2], "{names:?}");
    }
}
