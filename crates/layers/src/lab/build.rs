//! Builds a root image: ZFS's modules in a throw-away chroot, a root of packages by mmdebstrap,
//! both with the kernel's modules in an ext4 file system. Everything is in one folder of the cache.
//! The folder gets its name when it is complete, and is removed if the build fails.

use super::image::{self, CacheLock, Image, ImageRecord, UNFINISHED, ZfsModules};
use super::recipe::{self, ASSEMBLE, COMPILE_ZFS, Recipe};
use super::sources::{self, ReleaseSource};
use super::{child, current};
use anyhow::{Context, Result};
use iotax_qemu::kernel::{self, Kernel};
use iotax_qemu::modules::Tree;
use iotax_sys::regular::read_text;
use iotax_units::exit::Failed;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Programs that building needs, with the package that has each.
const NEEDS: &[(&str, &str)] = &[
    ("apt-get", "apt"),
    ("mmdebstrap", "mmdebstrap"),
    ("mkfs.ext4", "e2fsprogs"),
    ("depmod", "kmod"),
    ("dpkg-query", "dpkg"),
    ("tar", "tar"),
    ("unshare", "util-linux"),
];

/// A build, with the means to watch and to end it.
pub struct Build<'a> {
    /// If set, the build undoes what it did and ends.
    pub stop: &'a AtomicBool,
    pub progress: &'a mut dyn FnMut(&str),
    /// True to build the image even if it is there already.
    pub again: bool,
}

impl Build<'_> {
    /// Returns the image for the kernel that guests boot with, and true if it was built now.
    ///
    /// # Errors
    /// Unmet needs, each with its command; a failed program, with its last lines; an interruption.
    /// Nothing unfinished remains.
    pub fn build_image(&mut self) -> Result<(Image, bool)> {
        let suite = sources::suite()?;
        let kernel = kernel::obtain()?;
        if let Some(image) = current(&suite, &kernel.version).filter(|_| !self.again) {
            return Ok((image, false));
        }
        self.check_needs()?;
        let cache = image::cache_directory()
            .context("no place for the lab's image: neither XDG_CACHE_HOME nor HOME is set")?;
        let begin = Instant::now();
        let _lock = self.lock(&cache)?;
        // Another process may have built the image while this one waited.
        if let Some(image) = current(&suite, &kernel.version).filter(|_| !self.again) {
            return Ok((image, false));
        }
        image::remove_leftovers(&cache)?;
        let work = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&cache);
        let work =
            work.with_context(|| format!("cannot create a folder in {}", cache.display()))?;
        let work = BuildFolder {
            work,
            cache,
            sources: sources::of_machine(&suite)?,
            options: sources::apt_options()?,
            suite,
            kernel,
        };
        let (zfs, packages) = self.make(&work)?;
        let image = work.keep(zfs, packages, begin.elapsed().as_secs())?;
        Ok((image, true))
    }

    fn check_needs(&self) -> Result<()> {
        let lacking: Vec<_> =
            NEEDS.iter().filter(|(program, _)| sources::lacks_program(program)).collect();
        if !lacking.is_empty() {
            let names = |part: fn(&(&'static str, &'static str)) -> &'static str| {
                lacking.iter().map(|need| part(need)).collect::<Vec<_>>().join(" ")
            };
            let (programs, packages) = (names(|need| need.0), names(|need| need.1));
            let what = format!("not installed: {programs}; hint: apt-get install {packages}");
            return Err(Failed::need(format!(
                "building the lab's image takes more than there is: {what}"
            ))
            .into());
        }
        let mut asked = as_root("true");
        let status =
            asked.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !status.is_ok_and(|status| status.success()) {
            let why = match is_root() {
                true => {
                    "building the lab's image takes namespaces for mounts and processes, and `unshare --mount --pid` does not \
                     work here; hint: in a container, run it on the host itself"
                }
                false => {
                    "building the lab's image takes root, or a user namespace with ids of its own, and `unshare \
                     --map-root-user --map-auto` does not work here; hint: sudo iotax lab build; or apt-get install uidmap, \
                     with a line of this user in /etc/subuid and /etc/subgid"
                }
            };
            return Err(Failed::need(why).into());
        }
        Ok(())
    }

    fn lock(&mut self, cache: &Path) -> Result<CacheLock> {
        let mut waits = false;
        loop {
            if let Some(lock) = image::lock(cache)? {
                return Ok(lock);
            }
            if !std::mem::replace(&mut waits, true) {
                (self.progress)("another iotax builds an image: waiting for it");
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(child::interrupted().into());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn make(&mut self, work: &BuildFolder) -> Result<(ZfsModules, BTreeMap<String, String>)> {
        let recipe = Recipe::built_in()?;
        let kept = if self.again { None } else { work.kept_zfs()? };
        if let Some(version) = kept {
            self.report(&format!(
                "ZFS's modules {version} for {} are there, of another image",
                work.kernel.version
            ));
            let packages = self.finish(work, &recipe, true)?;
            if packages.get(&recipe.zfs.tools) == Some(&version) {
                return Ok((ZfsModules::Compiled { version }, packages));
            }
            self.report("ZFS's programs are newer than these modules, which are compiled again");
        }
        let zfs = self.zfs(work, &recipe)?;
        let packages = self.finish(work, &recipe, !matches!(zfs, ZfsModules::Lacks { .. }))?;
        Ok((zfs, packages))
    }

    /// Makes the root and its file system, with ZFS's programs if `zfs`. Returns the version of
    /// each installed package.
    fn finish(
        &mut self,
        work: &BuildFolder,
        recipe: &Recipe,
        zfs: bool,
    ) -> Result<BTreeMap<String, String>> {
        let count = recipe.packages.len();
        self.report(&format!(
            "installing {count} packages of {} and what they need into a root (a minute)",
            work.suite
        ));
        let tools = zfs.then_some(recipe.zfs.tools.as_str());
        let packages: Vec<&str> = recipe.packages.keys().map(String::as_str).chain(tools).collect();
        self.program(work, "mmdebstrap", &mut work.root(&packages)?)
            .context("cannot make the root")?;
        self.report("making the file system");
        self.program(work, "assemble.sh", &mut work.assemble())
            .context("cannot make the file system")?;
        work.packages()
    }

    /// Compiles ZFS's modules. A failure leaves an image without ZFS, which is still valid; an
    /// interrupted build leaves no image.
    fn zfs(&mut self, work: &BuildFolder, recipe: &Recipe) -> Result<ZfsModules> {
        let version = &work.kernel.version;
        if Tree::open(&work.kernel.modules)?.has_module("zfs") {
            return Ok(ZfsModules::OfKernel);
        }
        self.report(&format!("compiling ZFS's modules for {version} (some minutes)"));
        match self.program(work, "zfs.sh", &mut work.compile_zfs(recipe)?) {
            Ok(()) => {
                let printed = read_text(&work.work_path("zfs.version"))
                    .context("ZFS's modules report no version")?;
                Ok(ZfsModules::Compiled { version: printed.trim().to_owned() })
            }
            Err(_) if self.stop.load(Ordering::Relaxed) => Err(child::interrupted().into()),
            Err(error) => {
                self.report(&format!("the image will be without ZFS: {error:#}"));
                let cause =
                    child::cause(work.work.path(), "zfs.sh").unwrap_or_else(|| error.to_string());
                Ok(ZfsModules::Lacks {
                    why: format!("its modules were not compiled for {version}: {cause}"),
                })
            }
        }
    }

    fn program(&self, work: &BuildFolder, name: &str, command: &mut Command) -> Result<()> {
        child::run_to_end(name, command, work.work.path(), self.stop)
    }

    fn report(&mut self, line: &str) {
        (self.progress)(line);
    }
}

/// Archive of ZFS's modules, in the folder of an image. They are compiled once for a kernel,
/// however the recipe changes.
const MODULES: &str = "zfs.tar";

struct BuildFolder {
    work: TempDir,
    cache: PathBuf,
    sources: Vec<ReleaseSource>,
    options: Vec<String>,
    suite: String,
    kernel: Kernel,
}

impl BuildFolder {
    fn work_path(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }

    /// Returns the command for mmdebstrap, with its sources in the file `list`; `further` adds the
    /// component with ZFS. Paths are relative to the folder of the build, in which it runs.
    fn mmdebstrap(&self, list: &str, further: bool) -> Result<Command> {
        let path = self.work_path(list);
        std::fs::write(&path, sources::list(&self.sources, further))
            .with_context(|| format!("cannot write {}", path.display()))?;
        // Without root, mmdebstrap makes its own namespaces, with mapped ids.
        let mut command =
            if is_root() { as_root("mmdebstrap") } else { Command::new("mmdebstrap") };
        command.args(["--variant=apt", "--aptopt=APT::Install-Recommends \"false\""]);
        command.args(self.options.iter().map(|option| format!("--aptopt={option}")));
        if is_root() {
            // The next build then removes what a kill leaves. The ids of a user namespace have no
            // access to a home directory.
            command.arg("--mode=root").env("TMPDIR", self.work.path());
        } else {
            command.arg("--mode=unshare");
        }
        Ok(command)
    }

    /// Copies ZFS's modules from another image of this kernel and release, and returns their
    /// version; `None` if no image has them.
    fn kept_zfs(&self) -> Result<Option<String>> {
        let images = image::all_images(&self.cache).into_iter().filter_map(|(_, image)| image.ok());
        let fits = |image: &Image| {
            let record = &image.record;
            let same = record.kernel == self.kernel.version && record.suite == self.suite;
            match &record.zfs {
                ZfsModules::Compiled { version } if same => {
                    Some((image.folder.join(MODULES), version.clone()))
                }
                _ => None,
            }
        };
        let found = images.filter_map(|image| fits(&image)).find(|(path, _)| path.exists());
        let Some((path, version)) = found else { return Ok(None) };
        std::fs::copy(&path, self.work_path(MODULES))
            .with_context(|| format!("cannot copy {}", path.display()))?;
        Ok(Some(version))
    }

    fn compile_zfs(&self, recipe: &Recipe) -> Result<Command> {
        let (zfs, version) = (&recipe.zfs, &self.kernel.version);
        let script = self.work_path("zfs.sh");
        std::fs::write(&script, COMPILE_ZFS)
            .with_context(|| format!("cannot write {}", script.display()))?;
        let mut command = self.mmdebstrap("zfs.list", true)?;
        command.arg(format!("--include={},linux-headers-{version}", zfs.build.join(",")));
        command.arg("--format=null").arg("--customize-hook=upload zfs.sh /zfs.sh");
        let compile =
            format!("chroot \"$1\" env KERNEL={version} SOURCE={} sh /zfs.sh", zfs.source);
        command.arg(format!("--customize-hook={compile}"));
        command.arg("--customize-hook=download /zfs.tar zfs.tar");
        command.arg("--customize-hook=download /build/out/version zfs.version");
        command.args([&self.suite, "/dev/null", "zfs.list"]);
        Ok(command)
    }

    fn root(&self, packages: &[&str]) -> Result<Command> {
        let mut command = self.mmdebstrap("root.list", self.work_path(MODULES).exists())?;
        for folder in ["man", "doc", "locale", "info"] {
            command.arg(format!("--dpkgopt=path-exclude=/usr/share/{folder}/*"));
        }
        command.arg(format!("--include={}", packages.join(","))).arg("--format=tar");
        command.args([&self.suite, "root.tar", "root.list"]);
        Ok(command)
    }

    fn assemble(&self) -> Command {
        let mut command = as_root("sh");
        command.args(["-c", ASSEMBLE]);
        command.env("KERNEL", &self.kernel.version).env("MODULES", &self.kernel.modules);
        command.env("LEFT_OUT", kernel::PRUNED.join(" "));
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
        command
    }

    fn packages(&self) -> Result<BTreeMap<String, String>> {
        let path = self.work_path("packages");
        let text = read_text(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let pair = |line: &str| {
            line.split_once(' ').map(|(name, version)| (name.to_owned(), version.to_owned()))
        };
        Ok(text.lines().filter_map(pair).collect())
    }

    /// Gives the image its name in the cache. An earlier image with that name is removed with the
    /// folder of the build.
    fn keep(
        self,
        zfs: ZfsModules,
        packages: BTreeMap<String, String>,
        seconds: u64,
    ) -> Result<Image> {
        let name = recipe::image_name(&self.suite, &self.kernel.version);
        let record = ImageRecord {
            name: name.clone(),
            built: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            iotax: env!("CARGO_PKG_VERSION").into(),
            suite: self.suite.clone(),
            kernel: self.kernel.version.clone(),
            zfs,
            packages,
            seconds,
        };
        let (fresh, target) = (self.work_path("fresh"), self.cache.join(&name));
        let moved = |from: &Path, to: &Path| {
            std::fs::rename(from, to)
                .with_context(|| format!("cannot move {} to {}", from.display(), to.display()))
        };
        std::fs::create_dir(&fresh)
            .with_context(|| format!("cannot create {}", fresh.display()))?;
        moved(&self.work_path("root.ext4"), &fresh.join("root.ext4"))?;
        if matches!(record.zfs, ZfsModules::Compiled { .. }) {
            moved(&self.work_path(MODULES), &fresh.join(MODULES))?;
        }
        Image::write_record(&fresh, record.clone())?;
        if target.exists() {
            moved(&target, &self.work_path("before"))?;
        }
        moved(&fresh, &target)?;
        Ok(Image { folder: target, record })
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns a command that runs as root, or as root of a user namespace in which files can belong to
/// others. Nobody else sees its mounts, so that removing its folder never reaches into /proc or
/// /sys. When this process is killed, everything that it started is killed, too.
fn as_root(program: &str) -> Command {
    let mut command = Command::new("unshare");
    if !is_root() {
        command.args(["--map-root-user", "--map-auto"]);
    }
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", program]);
    command
}
