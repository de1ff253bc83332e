//! `vm(...)`: a guest of our own with one virtio-blk disk over what is below. The options are QEMU's;
//! the guest is QEMU with a kernel found or fetched, and this very binary as its PID 1.

use super::boot::{self, BootError, Limits, Requested};
use super::initramfs;
use super::kernel::{self, Kernel, Source};
use super::qemu::{self, Accel, Aio, Backend, Cache, DiskSpec, GuestFiles, GuestSpec};
use super::qmp::Qmp;
use crate::exit::Failed;
use crate::host::kvm::KvmState;
use crate::host::probe::GuestProbe;
use crate::layer::{Claim, Exposed, Layer, PlanContext, flag, number, word};
use crate::measure::wire::{Link, Peer};
use crate::scenario::{LayerSpec, Scenario};
use crate::step::op::{BuildInitramfs, Op, Spawn};
use crate::step::system::process_of_tag;
use crate::step::{HOST, PathRef};
use anyhow::{Context, Result, anyhow, ensure};
use iotax_sys::kvm::{KvmProbe, probe_kvm};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Stands in QEMU's command line for a device that only a step will know.
pub const BELOW: &str = "@below@";

/// What guests are made of on this machine.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The kernel and its modules.
    pub kernel: Kernel,
    /// What QEMU is given to boot: the kernel's own image, or one unpacked for the translator.
    pub image: PathBuf,
    /// Who executes.
    pub accel: Accel,
    /// The note that every output carries when figures are not representative.
    pub emulated: Option<String>,
    /// Whether the user demanded this accelerator.
    pub demanded: bool,
}

/// A guest that the steps of a plan start.
#[derive(Clone, Debug)]
pub struct GuestPlan {
    /// Its name as a place.
    pub place: String,
    /// Its sockets and logs.
    pub files: GuestFiles,
    /// The word of its command line that no other process has.
    pub tag: String,
    /// The whole command line, with `@below@` where only a step knows the device.
    pub command: Vec<String>,
    /// That step's path.
    pub below: Option<PathRef>,
    /// Who executes.
    pub accel: Accel,
    /// The note on its figures.
    pub emulated: Option<String>,
}

impl Parts {
    /// Finds or fetches the kernel, probes KVM.
    ///
    /// # Errors
    /// An unmet need with its command.
    pub fn obtain(requested: Requested) -> Result<Parts> {
        let (accel, emulated) = boot::choose_accel(requested, &probe_kvm())?;
        let kernel = kernel::obtain()?;
        let image = kernel::bootable(&kernel, accel);
        Ok(Parts { kernel, image, accel, emulated, demanded: requested == Requested::Kvm })
    }

    /// What a plan shows: as [`Parts::obtain`], but nothing is downloaded.
    ///
    /// # Errors
    /// An unmet need: KVM was demanded and there is none.
    pub fn for_plan(requested: Requested) -> Result<Parts> {
        let (accel, emulated) = boot::choose_accel(requested, &probe_kvm())?;
        let kernel = match kernel::look() {
            Ok(Source::Ready(kernel)) => kernel,
            Ok(Source::Packages(packages)) => to_be_fetched(&packages.join("+")),
            // An unmet need, which the plan names.
            Err(_) => to_be_fetched("KERNEL"),
        };
        let image = kernel.image.clone();
        Ok(Parts { kernel, image, accel, emulated, demanded: requested == Requested::Kvm })
    }

    /// After a KVM that showed no sign of life: TCG, unless KVM was demanded.
    pub fn fall_back_to_tcg(&mut self) -> bool {
        if self.accel == Accel::Tcg || self.demanded {
            return false;
        }
        self.accel = Accel::Tcg;
        self.image = kernel::bootable(&self.kernel, self.accel);
        self.emulated = Some("emulated: not representative of KVM (KVM showed no sign of life)".into());
        true
    }
}

/// What this machine has for guests, for the needs.
pub const FINDINGS: GuestProbe = GuestProbe {
    kvm: kvm_state,
    qemu: || qemu::installed_version(OsStr::new(qemu::PROGRAM)).map(drop),
    kernel: || kernel::look().map(drop),
    io_uring: io_uring_state,
};

fn io_uring_state() -> Result<(), String> {
    qemu::io_uring_works(OsStr::new(qemu::PROGRAM))
        .map_err(|why| format!("{} does not open a file with io_uring: {why}", qemu::PROGRAM))
}

fn kvm_state() -> KvmState {
    match probe_kvm() {
        KvmProbe::Works { .. } => KvmState::Works,
        KvmProbe::Emulated { why, .. } => KvmState::Emulated(why),
        KvmProbe::Absent { why } => KvmState::Absent(why),
    }
}

fn to_be_fetched(package: &str) -> Kernel {
    let folder = PathBuf::from("CACHE").join(package);
    Kernel {
        version: package.to_owned(),
        image: folder.join("vmlinuz"),
        modules: folder.join("modules"),
        origin: kernel::Origin::Cached,
    }
}

/// Who shall execute the guests of a scenario; `None` when it has none.
///
/// # Errors
/// Bad input: two layers ask for different ones, and one kernel image and one accelerator serve all guests of a run.
pub fn requested(scenario: &Scenario) -> Result<Option<Requested>> {
    let mut guests = scenario
        .stacks
        .iter()
        .flat_map(|stack| &stack.layers)
        .filter(|spec| spec.name == VirtualMachine.name());
    let Some(first) = guests.next() else { return Ok(None) };
    if let Some(other) = guests.find(|spec| wanted_accel(spec) != wanted_accel(first)) {
        return Err(Failed::input(format!(
            "{}: the guests of a run share one accelerator; hint: compare accelerators in two runs",
            other.origin
        ))
        .into());
    }
    Ok(Some(wanted_accel(first)))
}

fn wanted_accel(spec: &LayerSpec) -> Requested {
    match spec.option("accel") {
        Some("kvm") => Requested::Kvm,
        Some("tcg") => Requested::Tcg,
        _ => Requested::Auto,
    }
}

/// Whether a failure is KVM's that does not run guests here.
pub fn is_dead_kvm(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<BootError>().is_some_and(BootError::blames_kvm))
}

/// The initramfs of a guest on this kernel's modules.
///
/// # Errors
/// When this binary or a module cannot be read.
pub fn initramfs_for(modules: &Path) -> Result<Vec<u8>> {
    let program = std::env::current_exe().context("cannot find this binary")?;
    let kernel = Kernel {
        version: modules.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        image: PathBuf::new(),
        modules: modules.to_owned(),
        origin: kernel::Origin::Installed,
    };
    initramfs::build(&program, &kernel)
}

/// Waits for the guest that was started a moment ago and connects to its agent; `stop` (Ctrl-C) ends the wait.
///
/// # Errors
/// [`BootError`] with the tail of its console and QEMU's last words.
pub fn reach(plan: &GuestPlan, stop: &AtomicBool) -> Result<(Peer, Option<String>, Qmp)> {
    let process = process_of_tag(&plan.tag)?.ok_or_else(|| {
        Failed::measurement(format!(
            "QEMU of guest {} ended at once{}",
            plan.place,
            boot::last_words(&plan.files)
        ))
    })?;
    let booted = boot::connect(&plan.files, &process, plan.accel, Limits::of(plan.accel), stop)?;
    let files = plan.files.clone();
    let link = Link::of_socket(booted.port).context("cannot use the guest's port")?;
    let peer = Peer::new(format!("guest {}", plan.place), link, Box::new(move || boot::last_words(&files)));
    Ok((peer, plan.emulated.clone(), booted.qmp))
}

/// The layer.
pub struct VirtualMachine;

impl Layer for VirtualMachine {
    fn name(&self) -> &'static str {
        "vm"
    }

    fn needs(&self, spec: &LayerSpec) -> Vec<&'static str> {
        let mut needs = vec!["qemu", "guest-kernel"];
        if aio_of(spec).is_ok_and(|aio| aio == Aio::IoUring) {
            needs.push("qemu-io_uring");
        }
        needs
    }

    fn claim(&self, spec: &LayerSpec) -> Claim {
        match cache_of(spec) {
            Ok(cache) if !cache.direct() => Claim::Caches,
            _ => Claim::SharedRead,
        }
    }

    fn caches_writes(&self, spec: &LayerSpec) -> bool {
        cache_of(spec).is_ok_and(|cache| !cache.direct() && cache.write_cache())
    }

    fn plan(&self, spec: &LayerSpec, below: &Exposed, context: &mut PlanContext) -> Result<Exposed> {
        ensure!(
            below.place == HOST,
            "{}: a guest can stand on this host only, not on {}",
            spec.origin,
            below.place
        );
        let parts =
            context.guest_parts.clone().with_context(|| format!("{}: no parts for a guest", spec.origin))?;
        let name = context.instance("vm");
        let initrd = context.tag.run_dir.join(format!("{name}.initramfs"));
        let serial = format!("iotax-{name}");
        let path = below.path(spec)?;
        let guest = guest_spec(spec, below, context, &parts, &name, &initrd, &serial)?;
        let build = BuildInitramfs { path: initrd, modules: parts.kernel.modules.clone() };
        context.add("write the guest's initramfs", Op::BuildInitramfs(build));
        let files = GuestFiles::new(&context.tag.run_dir, &name)?;
        let spawn = spawn(&guest, &files, path)?;
        context.guests.push(GuestPlan {
            place: name.clone(),
            files,
            tag: spawn.tag.clone(),
            command: spawn.argv.clone(),
            below: spawn.below.clone(),
            accel: parts.accel,
            emulated: parts.emulated.clone(),
        });
        context.add("start the guest", Op::Spawn(spawn));
        Ok(Exposed {
            paths: vec![PathRef::Serial(serial)],
            block: true,
            place: name,
            writable: context.writable,
            ..below.clone()
        })
    }
}

fn spawn(guest: &GuestSpec, files: &GuestFiles, below: &PathRef) -> Result<Spawn> {
    let mut argv = vec![qemu::PROGRAM.to_owned()];
    for word in qemu::command_line(guest)? {
        argv.push(word.into_string().map_err(|word| anyhow!("{} is not UTF-8", word.to_string_lossy()))?);
    }
    Ok(Spawn {
        tag: guest_word(&argv)?,
        argv,
        below: matches!(below, PathRef::Yield(_)).then(|| below.clone()),
        log: files.stderr.clone(),
        makes: vec![files.qmp.clone(), files.port.clone()],
    })
}

/// The word behind `-name`: it carries the run's id and the guest's name.
fn guest_word(argv: &[String]) -> Result<String> {
    let at = argv.iter().position(|word| word == "-name").context("a guest without a name")?;
    argv.get(at + 1).cloned().context("a guest without a name")
}

fn guest_spec(
    spec: &LayerSpec,
    below: &Exposed,
    context: &PlanContext,
    parts: &Parts,
    name: &str,
    initrd: &Path,
    serial: &str,
) -> Result<GuestSpec> {
    let path = match below.path(spec)? {
        PathRef::Path(path) => path.clone(),
        _ => PathBuf::from(format!("/{BELOW}")),
    };
    let disk = DiskSpec {
        path,
        backend: if below.block { Backend::HostDevice } else { Backend::File },
        bytes: Some(below.bytes),
        cache: cache_of(spec)?,
        aio: aio_of(spec)?,
        iothread: flag(spec, "iothread"),
        num_queues: spec.option("num-queues").map(|_| number(spec, "num-queues")).transpose()?,
        serial: serial.to_owned(),
        read_only: !context.writable,
        share_read: !context.writable,
    };
    let memory = crate::units::parse_bytes(word(spec, "memory")?);
    Ok(GuestSpec {
        name: name.to_owned(),
        run_tag: context.tag.run_id.clone(),
        vcpus: number(spec, "vcpus")?,
        memory_bytes: memory.map_err(|why| anyhow!("{}: memory: {why}", spec.origin))?,
        accel: parts.accel,
        disks: vec![disk],
        kernel: parts.image.clone(),
        initrd: initrd.to_owned(),
        directory: context.tag.run_dir.clone(),
    })
}

fn cache_of(spec: &LayerSpec) -> Result<Cache> {
    word_of(spec, "cache", Cache::ALL)
}

/// aio=native needs O_DIRECT; without it threads are what QEMU itself would take.
fn aio_of(spec: &LayerSpec) -> Result<Aio> {
    match (spec.option("aio"), cache_of(spec)?.direct()) {
        (Some(_), _) => word_of(spec, "aio", Aio::ALL),
        (None, true) => Ok(Aio::Native),
        (None, false) => Ok(Aio::Threads),
    }
}

fn word_of<T: Copy>(spec: &LayerSpec, name: &str, all: &[(&str, T)]) -> Result<T> {
    let word = word(spec, name)?;
    let found = all.iter().find(|(known, _)| *known == word).map(|(_, value)| *value);
    found.ok_or_else(|| anyhow!("{}: {name}={word} is unknown", spec.origin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::catalog::{self, OptionKind};
    use crate::scenario::check::{Request, from_arguments};

    fn vm(options: &[(&str, &str)]) -> LayerSpec {
        LayerSpec {
            name: "vm".into(),
            options: options.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
            place: None,
            origin: "here".into(),
        }
    }

    #[test]
    fn qemu_knows_every_word_of_the_catalog() {
        let words = |name| match catalog::find("vm").unwrap().option(name).unwrap().kind {
            OptionKind::Word(words) => words,
            other => panic!("{name} is {other:?}"),
        };
        assert!(words("cache").iter().all(|word| cache_of(&vm(&[("cache", word)])).is_ok()));
        assert!(words("aio").iter().all(|word| aio_of(&vm(&[("aio", word)])).is_ok()));
    }

    #[test]
    fn the_guests_of_a_scenario_share_one_accelerator() {
        let asked = |layers: &[&str]| {
            let stacks: Vec<String> =
                layers.iter().map(|layers| format!("file:/srv/x.img,size=1GiB{layers}")).collect();
            requested(&from_arguments(&stacks, &Request::default()).unwrap())
        };
        assert_eq!(asked(&["", " | loop"]).unwrap(), None);
        assert_eq!(asked(&[" | vm", " | vm(cache=unsafe)"]).unwrap(), Some(Requested::Auto));
        assert_eq!(asked(&["", " | vm(accel=tcg)"]).unwrap(), Some(Requested::Tcg));
        let error = asked(&[" | vm(accel=kvm)", "", " | vm"]).unwrap_err();
        assert!(error.to_string().contains("share one accelerator; hint: "), "{error}");
        assert_eq!(crate::exit::code_of(&error), crate::exit::BAD_INPUT);
    }

    #[test]
    fn aio_follows_the_cache_mode_unless_it_is_written() {
        assert_eq!(aio_of(&vm(&[])).unwrap(), Aio::Native);
        assert_eq!(aio_of(&vm(&[("cache", "writeback")])).unwrap(), Aio::Threads);
        assert_eq!(aio_of(&vm(&[("cache", "writeback"), ("aio", "native")])).unwrap(), Aio::Native);
        let wide: Result<u16> = number(&vm(&[("num-queues", "65537")]), "num-queues");
        assert!(wide.unwrap_err().to_string().contains("no number that fits"));
    }

    #[test]
    fn io_uring_is_a_need_of_its_option_alone() {
        assert_eq!(VirtualMachine.needs(&vm(&[])), ["qemu", "guest-kernel"]);
        let asked = VirtualMachine.needs(&vm(&[("aio", "io_uring")]));
        assert_eq!(asked, ["qemu", "guest-kernel", "qemu-io_uring"]);
    }
}
