//! Finds the parts for guests on this machine: accelerator, kernel, QEMU, firmware.

use super::super::room::Room;
use super::super::system_image::{self, Images};
use super::VirtualMachine;
use crate::Layer;
use anyhow::Result;
use iotax_host::pci::{self, PciDrive};
use iotax_host::probe::{GuestProbe, Probe};
use iotax_host::routes::{Subnet, routes};
use iotax_model::scenario::Scenario;
use iotax_model::stack::LayerSpec;
use iotax_qemu::accel::Accel;
use iotax_qemu::boot::{self, BootError, Requested};
use iotax_qemu::command_line::{self as qemu, Firmware};
use iotax_qemu::kernel::{self, Kernel, KernelSource};
use iotax_qemu::ovmf;
use iotax_qemu::version::Version;
use iotax_sys::kvm::probe_kvm;
use iotax_units::exit::Failed;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct GuestParts {
    pub kernel: Kernel,
    /// Image that QEMU boots: the kernel's own image, or one unpacked for TCG.
    pub image: PathBuf,
    pub accel: Accel,
    /// Rate of the time-stamp counter that guests see under TCG, in kHz.
    pub tsc_khz: Option<u32>,
    /// Why figures are not representative, for every output; `None` if they are.
    pub emulated: Option<String>,
    /// True if the user demanded KVM, so that TCG must not replace it.
    pub demanded: bool,
    /// Version of the installed QEMU; `None`: not known.
    pub qemu: Option<Version>,
    pub firmware: Option<Firmware>,
    pub room: Room,
    /// Disks of this host that are attached to PCI functions; the NVMe drives among them could be
    /// passed through to a guest.
    pub drives: Vec<PciDrive>,
    /// Images with a system of their own, by path.
    pub images: Images,
    pub lab_image: Option<PathBuf>,
    /// Networks that this host has routes to, with the interface of each. Networks of guests must
    /// not overlap them.
    pub routes: Vec<(String, Subnet)>,
}

impl GuestParts {
    /// Returns the parts for a scenario's guests: checks their images, finds or fetches the kernel
    /// if one of the guests is our own, and probes KVM.
    ///
    /// # Errors
    /// Bad input: an image that no guest can be booted from. An unmet need with its command.
    pub fn obtain(requested: Requested, scenario: &Scenario) -> Result<GuestParts> {
        let images = system_image::inspect_images(scenario)?;
        let (accel, emulated) = boot::choose_accel(requested, &probe_kvm())?;
        let kernel =
            if wants_kernel(scenario) { kernel::obtain()? } else { to_be_fetched("KERNEL") };
        let image = kernel::bootable(&kernel, accel);
        Ok(GuestParts {
            images,
            ..GuestParts::on_this_machine(requested, accel, emulated, kernel, image)
        })
    }

    /// Makes up parts of no real machine, for plans in tests.
    #[cfg(any(test, feature = "testing"))]
    pub fn made_up() -> GuestParts {
        let kernel = to_be_fetched("KERNEL");
        let image = kernel.image.clone();
        GuestParts {
            kernel,
            image,
            accel: Accel::Kvm,
            tsc_khz: None,
            emulated: None,
            demanded: false,
            qemu: None,
            firmware: None,
            room: Room::default(),
            drives: Vec::new(),
            images: Images::new(),
            lab_image: Some("/LAB/root.ext4".into()),
            routes: Vec::new(),
        }
    }

    /// Returns the parts that a plan shows. Does the same as [`GuestParts::obtain`], but downloads
    /// nothing.
    ///
    /// # Errors
    /// Bad input: an image that no guest can be booted from. An unmet need: KVM was demanded and is
    /// not available.
    pub fn for_plan(requested: Requested, scenario: &Scenario) -> Result<GuestParts> {
        let images = system_image::inspect_images(scenario)?;
        let (accel, emulated) = boot::choose_accel(requested, &probe_kvm())?;
        let kernel = match kernel::find_kernel_source() {
            Ok(KernelSource::Ready(kernel)) => kernel,
            Ok(KernelSource::Packages(packages)) => to_be_fetched(&packages.join("+")),
            // This is an unmet need, which the plan names.
            Err(_) => to_be_fetched("KERNEL"),
        };
        let image = kernel.image.clone();
        let here = GuestParts::on_this_machine(requested, accel, emulated, kernel, image);
        // This is another such need.
        let lab_image = here.lab_image.clone().or_else(|| Some("LAB_IMAGE".into()));
        Ok(GuestParts { images, lab_image, ..here })
    }

    /// Returns these parts with the others that this machine has, but without images.
    fn on_this_machine(
        requested: Requested,
        accel: Accel,
        emulated: Option<String>,
        kernel: Kernel,
        image: PathBuf,
    ) -> GuestParts {
        let demanded = requested == Requested::Kvm;
        let (qemu, firmware) = (version(), ovmf::installed());
        let probe = Probe::of_files(Path::new("/"));
        let (room, drives) = (Room::this_machine(&probe), pci::drives(&probe));
        let images = Images::new();
        let tsc_khz = tsc_khz(accel);
        // The image is a need of the layers that want it, which is reported with the others.
        let lab_image = crate::lab::root_image(&kernel).ok();
        GuestParts {
            kernel,
            image,
            accel,
            tsc_khz,
            emulated,
            demanded,
            qemu,
            firmware,
            room,
            drives,
            images,
            lab_image,
            routes: routes(&probe),
        }
    }

    /// Switches to TCG because KVM showed no sign of life, unless KVM was demanded. Returns true if
    /// it switched.
    pub fn fall_back_to_tcg(&mut self) -> bool {
        if self.accel == Accel::Tcg || self.demanded {
            return false;
        }
        self.accel = Accel::Tcg;
        self.tsc_khz = tsc_khz(self.accel);
        self.image = kernel::bootable(&self.kernel, self.accel);
        self.emulated =
            Some("emulated: not representative of KVM (KVM showed no sign of life)".into());
        true
    }
}

/// Returns the rate of the time-stamp counter for TCG, in kHz. Under KVM the guest learns it from
/// KVM.
fn tsc_khz(accel: Accel) -> Option<u32> {
    (accel == Accel::Tcg).then(iotax_sys::tsc::khz).flatten()
}

fn version() -> Option<Version> {
    iotax_qemu::version::installed_version(OsStr::new(qemu::PROGRAM)).ok()
}

/// Checks of what this machine has for guests and labs, by which unmet needs are found.
pub const FINDINGS: GuestProbe =
    GuestProbe { lab: crate::lab::check_lab_image, ..iotax_qemu::findings::FINDINGS };

fn to_be_fetched(package: &str) -> Kernel {
    let folder = PathBuf::from("CACHE").join(package);
    Kernel {
        version: package.to_owned(),
        image: folder.join("vmlinuz"),
        modules: folder.join("modules"),
        origin: kernel::Origin::Cached,
    }
}

/// Returns the accelerator that a scenario requests for its guests; `None` if it has neither guests
/// nor labs.
///
/// # Errors
/// Bad input: two layers ask for different ones, and one kernel image and one accelerator serve all
/// guests of a run.
pub fn requested(scenario: &Scenario) -> Result<Option<Requested>> {
    let mut guests = guests_of(scenario);
    // A lab uses the accelerator of the guests, if there are any.
    let Some(first) = guests.next() else {
        return Ok((!scenario.labs.is_empty()).then_some(Requested::Auto));
    };
    if let Some(other) = guests.find(|spec| wanted_accel(spec) != wanted_accel(first)) {
        return Err(Failed::input(format!(
            "{}: the guests of a run share one accelerator; hint: compare accelerators in two runs",
            other.origin
        ))
        .into());
    }
    Ok(Some(wanted_accel(first)))
}

fn guests_of(scenario: &Scenario) -> impl Iterator<Item = &LayerSpec> {
    let layers = scenario.stacks.iter().flat_map(|stack| &stack.layers);
    layers.filter(|spec| spec.name == VirtualMachine.name()).chain(scenario.guests.values())
}

/// Returns true if a scenario needs our kernel: it has labs, or a guest without a kernel of its
/// own.
fn wants_kernel(scenario: &Scenario) -> bool {
    !scenario.labs.is_empty()
        || guests_of(scenario).any(|spec| system_image::wanted(spec).is_none())
}

fn wanted_accel(spec: &LayerSpec) -> Requested {
    match spec.option("accel") {
        Some("kvm") => Requested::Kvm,
        Some("tcg") => Requested::Tcg,
        _ => Requested::Auto,
    }
}

/// Returns true if a failure shows that KVM does not run guests here.
pub fn is_dead_kvm(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<BootError>().is_some_and(BootError::blames_kvm))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn only_translated_guests_are_told_how_fast_their_counter_runs() {
        let mut parts = GuestParts::made_up();
        assert_eq!((parts.accel, parts.tsc_khz, tsc_khz(Accel::Kvm)), (Accel::Kvm, None, None));
        assert!(parts.fall_back_to_tcg());
        assert!(parts.tsc_khz.is_some_and(|khz| khz > 100_000), "{:?}", parts.tsc_khz);
    }
}
