//! `iotax lab`: the root image of the lab guest: shows the cache, builds the image, removes old
//! ones.

use super::output::{columns, hanging_paragraph, say, say_aside};
use super::stop;
use anyhow::{Context, Result};
use iotax_layers::lab::{self, Build, Image};
use iotax_qemu::kernel::{self, KernelSource};
use iotax_units::exit::DONE;
use iotax_units::{show_bytes, show_minute};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Arguments of `lab`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    what: Option<LabCommand>,
}

#[derive(clap::Subcommand)]
enum LabCommand {
    /// What is in the cache, and whether it is what this iotax would build
    Show,
    /// Build the image for the kernel that guests boot with: some minutes, once
    Build {
        /// Build it again, for newer packages or for ZFS that was not to be had
        #[arg(long)]
        again: bool,
    },
    /// Remove images that this iotax would build otherwise now, or for another kernel
    Remove {
        /// Remove all of them
        #[arg(long)]
        all: bool,
    },
}

pub fn run(args: &Args) -> Result<u8> {
    match args.what {
        None | Some(LabCommand::Show) => show(),
        Some(LabCommand::Build { again }) => build(again),
        Some(LabCommand::Remove { all }) => remove(all),
    }
}

/// Builds the image unless the cache has it. Only its path goes to standard output, for scripts;
/// progress goes to standard error.
fn build(again: bool) -> Result<u8> {
    let stop = stop::flag()?;
    let begin = Instant::now();
    let mut report =
        |line: &str| say_aside(&format!("{:5.0} s  {line}", begin.elapsed().as_secs_f64()));
    let (image, fresh) = Build { stop: &stop, progress: &mut report, again }.build_image()?;
    if fresh {
        report("built");
    }
    say_aside(&format!("ZFS: {}", image.record.zfs));
    say(&format!("{}\n", image.path().display()))?;
    Ok(DONE)
}

fn cache() -> Result<PathBuf> {
    lab::cache_directory()
        .context("no place for the lab's image: neither XDG_CACHE_HOME nor HOME is set")
}

/// Returns the image for the kernel that guests boot with, if it is built.
fn current() -> Option<Image> {
    let suite = lab::suite().ok()?;
    match kernel::find_kernel_source() {
        Ok(KernelSource::Ready(kernel)) => lab::current(&suite, &kernel.version),
        _ => None,
    }
}

fn show() -> Result<u8> {
    let cache = cache()?;
    let current = current();
    say(&match &current {
        Some(image) => describe_image(image),
        None => format!(
            "{}\n",
            lab::check_lab_image().err().unwrap_or_default() + "; hint: iotax lab build"
        ),
    })?;
    let others = other_images(&cache, current.as_ref());
    if !others.is_empty() {
        say("\nAlso in the cache (iotax lab remove takes them away)\n")?;
    }
    for (folder, image) in others {
        let about = image.map_or_else(|error| format!("{error:#}"), |image| remark(&image));
        say(&hanging_paragraph("  ", &format!("{}: {about}", folder.display()), columns()))?;
    }
    Ok(DONE)
}

fn other_images(cache: &Path, current: Option<&Image>) -> Vec<(PathBuf, Result<Image>)> {
    let mut all = lab::all_images(cache);
    all.retain(|(folder, _)| current.is_none_or(|current| current.folder != *folder));
    all
}

fn remark(image: &Image) -> String {
    let record = &image.record;
    let why = match image.is_of_our_recipe() {
        true => "for another kernel or release",
        false => "this iotax would build it otherwise",
    };
    format!("{}, {} of {}; {why}", size(image), record.kernel, record.suite)
}

fn size(image: &Image) -> String {
    image.bytes_on_disk().map_or_else(|| "of unknown size".into(), show_bytes)
}

fn describe_image(image: &Image) -> String {
    let record = &image.record;
    let packages: Vec<String> =
        record.packages.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let rows = [
        ("Image", image.path().display().to_string()),
        ("Size", size(image)),
        (
            "Built",
            format!(
                "{} by iotax {}, in {} s",
                show_minute(&record.built),
                record.iotax,
                record.seconds
            ),
        ),
        ("Kernel", format!("{} ({})", record.kernel, record.suite)),
        ("ZFS", record.zfs.to_string()),
        ("Packages", packages.join(", ")),
    ];
    rows.iter()
        .map(|(name, text)| hanging_paragraph(&format!("{name:<10}"), text, columns()))
        .collect()
}

fn remove(all: bool) -> Result<u8> {
    let cache = cache()?;
    let kept = if all { None } else { current() };
    let removed = lab::remove_others(&cache, kept.as_ref().map(|image| image.folder.as_path()))?;
    for folder in &removed {
        say(&format!("removed {}\n", folder.display()))?;
    }
    if removed.is_empty() {
        say("nothing to remove\n")?;
    }
    Ok(DONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_layers::lab::{ImageRecord, ZfsModules};

    fn image() -> Image {
        let versions = [("fio", "3.33-3"), ("mdadm", "4.2-5")];
        let record = ImageRecord {
            name: "0badcafe".into(),
            built: "2026-11-23T01:00:00Z".into(),
            iotax: "0.1.0".into(),
            suite: "bookworm".into(),
            kernel: "6.1.0-56-amd64".into(),
            zfs: ZfsModules::Lacks { why: "its modules were not compiled".into() },
            packages: versions.map(|(name, version)| (name.into(), version.into())).into(),
            seconds: 300,
        };
        Image { folder: "/cache/lab/0badcafe".into(), record }
    }

    #[test]
    fn an_image_tells_what_it_is_made_of_and_that_it_has_no_zfs() {
        let text = describe_image(&image());
        for line in [
            "Kernel    6.1.0-56-amd64 (bookworm)",
            "ZFS       none: its modules were not",
            "fio 3.33-3, mdadm",
        ] {
            assert!(text.contains(line), "no \"{line}\" in\n{text}");
        }
        assert!(remark(&image()).contains("this iotax would build it otherwise"));
    }

    #[test]
    fn what_is_shown_and_kept_is_the_image_of_now() {
        let cache = tempfile::tempdir().unwrap();
        let folder = |name: &str| cache.path().join(name);
        for name in ["now", "old"] {
            std::fs::create_dir(folder(name)).unwrap();
        }
        let now = Image { folder: folder("now"), ..image() };
        let found = other_images(cache.path(), Some(&now));
        assert_eq!(found.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>(), [folder("old")]);
        assert_eq!(lab::remove_others(cache.path(), Some(&now.folder)).unwrap(), [folder("old")]);
        assert!(folder("now").exists() && !folder("old").exists());
        assert_eq!(lab::remove_others(cache.path(), None).unwrap(), [folder("now")]);
    }
}
