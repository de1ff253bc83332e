//! Exports by LIO's iSCSI fabric: a target with one portal at a named address, one LUN, and the
//! initiators that may use it. No other initiator has access: no ACL is generated, and there is no
//! demo mode.

use super::{
    LINK, Store, TARGET, backstore, has_store, load_target_modules, make_store, remove_store,
    store_by_hand, target_modules,
};
use crate::export::{self, echo_by_hand};
use crate::plain_file::write_sysfs;
use crate::refusal::NothingMade;
use crate::settings::{self, ThingSettings};
use anyhow::{Context, Result, anyhow};
use iotax_host::probe::Probe;
use iotax_units::shell;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IscsiTarget<'a> {
    pub store: Store<'a>,
    /// Attributes of the backstore by LIO's names, in the order in which they are written.
    pub attributes: &'a [(String, String)],
    pub iqn: &'a str,
    /// Names of the initiators that may use the LUN.
    pub initiators: &'a [String],
    pub portal: SocketAddr,
    pub iser: bool,
}

pub fn fabric() -> PathBuf {
    Path::new(TARGET).join("iscsi")
}

pub fn folder(iqn: &str) -> PathBuf {
    fabric().join(iqn)
}

/// Makes the backstore, the target and all in it. Returns the fabric's folder, if it was not there
/// before.
///
/// # Errors
/// If the target's or the backstore's name is taken ([`NothingMade`]), the device is in use, this
/// machine lacks the address, the port is taken, or the kernel has no such target or refuses a
/// part.
pub fn export(target: &IscsiTarget) -> Result<Option<PathBuf>> {
    check_iscsi_target(target)?;
    load_target_modules(modules(target.iser))?;
    let store = make_store(&target.store)?;
    for (name, value) in target.attributes {
        write_sysfs(&store.join("attrib").join(name), value).with_context(|| {
            format!(
                "LIO does not take {name}={value} for {}; hint: leave it out",
                target.store.backing.display()
            )
        })?;
    }
    let made = export::make_folder(&fabric())?;
    let group = folder(target.iqn).join("tpgt_1");
    let lun = group.join("lun/lun_0");
    for folder in [&folder(target.iqn), &group, &lun] {
        export::make_new(folder)?;
    }
    export::link(&store, &lun.join(LINK))?;
    // All but the first are the kernel's defaults. They are written since everything depends on
    // them.
    for (name, value) in [("authentication", "0"), ("generate_node_acls", "0")] {
        write_sysfs(&group.join("attrib").join(name), value)?;
    }
    for initiator in target.initiators {
        allow(&group.join("acls").join(initiator), &lun, target.store.read_only)?;
    }
    listen(&group, target)?;
    write_sysfs(&group.join("enable"), "1")?;
    Ok(made.then(fabric))
}

/// Returns the commands that do what [`export`] does.
pub fn export_by_hand(target: &IscsiTarget) -> Vec<String> {
    let group = folder(target.iqn).join("tpgt_1");
    let lun = group.join("lun/lun_0");
    let store = backstore(target.store.block, target.store.name);
    let portal = group.join("np").join(target.portal.to_string());
    let mut lines = export::load_by_hand(&target_modules(modules(target.iser)));
    lines.extend(store_by_hand(&target.store));
    let attributes = target.attributes.iter();
    lines.extend(
        attributes.map(|(name, value)| echo_by_hand(value, &store.join("attrib").join(name))),
    );
    lines.extend([
        export::folders_by_hand([lun.as_path()]),
        export::link_by_hand(&store, &lun.join(LINK)),
        echo_by_hand("0", &group.join("attrib/authentication")),
        echo_by_hand("0", &group.join("attrib/generate_node_acls")),
        export::folders_by_hand([portal.as_path()]),
    ]);
    for initiator in target.initiators {
        let mapped = group.join("acls").join(initiator).join("lun_0");
        let protect = if target.store.read_only { "1" } else { "0" };
        lines.extend([
            export::folders_by_hand([mapped.as_path()]),
            export::link_by_hand(&lun, &mapped.join(LINK)),
            echo_by_hand(protect, &mapped.join("write_protect")),
        ]);
    }
    if target.iser {
        lines.push(echo_by_hand("1", &portal.join("iser")));
    }
    lines.push(echo_by_hand("1", &group.join("enable")));
    lines
}

fn modules(iser: bool) -> &'static [&'static str] {
    if iser { &["iscsi_target_mod", "ib_isert"] } else { &["iscsi_target_mod"] }
}

fn check_iscsi_target(target: &IscsiTarget) -> Result<()> {
    if folder(target.iqn).exists() || has_store(target.store.name) {
        let taken = anyhow!(
            "there is a target {} or a backstore {} already",
            target.iqn,
            target.store.name
        );
        return Err(taken.context(NothingMade));
    }
    export::check_free(target.store.backing)?;
    // iSER listens on an RDMA device, not on a socket.
    export::check_address(target.portal.ip(), (!target.iser).then_some(target.portal.port()))
}

fn allow(acl: &Path, lun: &Path, read_only: bool) -> Result<()> {
    let mapped = acl.join("lun_0");
    export::make_new(acl)?;
    export::make_new(&mapped)?;
    export::link(lun, &mapped.join(LINK))?;
    write_sysfs(&mapped.join("write_protect"), if read_only { "1" } else { "0" })
}

fn listen(group: &Path, target: &IscsiTarget) -> Result<()> {
    let portal = group.join("np").join(target.portal.to_string());
    export::make_new(&portal)?;
    if target.iser {
        write_sysfs(&portal.join("iser"), "1").with_context(|| {
            format!(
                "no RDMA device listens at {}; hint: the kernel's log (dmesg) says why",
                target.portal
            )
        })?;
    }
    Ok(())
}

pub fn is_exported(name: &str, iqn: &str) -> bool {
    folder(iqn).exists() || has_store(name)
}

/// Reads settings of the backstore and of the target from configfs, by LIO's names.
pub fn settings_of(probe: &Probe, target: &IscsiTarget) -> ThingSettings {
    let store =
        ["block_size", "emulate_write_cache", "emulate_fua_write", "emulate_tpu", "queue_depth"];
    let group = ["default_cmdsn_depth", "fabric_prot_type"];
    let attributes = backstore(target.store.block, target.store.name).join("attrib");
    let mut all = settings::files(probe, &attributes, &store);
    all.extend(settings::files(probe, &folder(target.iqn).join("tpgt_1/attrib"), &group));
    all
}

/// Removes the target with all that is in it and the backstore, as far as they exist, and `fabric`,
/// the fabric's folder, if the export made it and nothing else is in it.
///
/// # Errors
/// If a part is still in use.
pub fn unexport(target: &IscsiTarget, fabric: Option<&Path>) -> Result<()> {
    let group = folder(target.iqn).join("tpgt_1");
    let lun = group.join("lun/lun_0");
    if group.join("enable").exists() {
        write_sysfs(&group.join("enable"), "0")?;
    }
    for initiator in target.initiators {
        let acl = group.join("acls").join(initiator);
        export::unlink(&acl.join("lun_0").join(LINK))?;
        export::remove(&acl.join("lun_0"))?;
        export::remove(&acl)?;
    }
    export::unlink(&lun.join(LINK))?;
    for folder in [lun, group.join("np").join(target.portal.to_string()), group, folder(target.iqn)]
    {
        export::remove(&folder)?;
    }
    remove_store(target.store.block, target.store.name, fabric)
}

pub fn unexport_by_hand(target: &IscsiTarget) -> String {
    let iqn = folder(target.iqn);
    let group = iqn.join("tpgt_1");
    let acls: Vec<PathBuf> =
        target.initiators.iter().map(|initiator| Path::new("acls").join(initiator)).collect();
    let luns: Vec<PathBuf> = acls.iter().map(|acl| acl.join("lun_0")).collect();
    let portal = Path::new("np").join(target.portal.to_string());
    let store = super::backstore(target.store.block, target.store.name);
    let mapped = luns.iter().zip(&acls).flat_map(|(lun, acl)| [lun.as_path(), acl]);
    let whole = [Path::new("lun/lun_0"), &portal, &group, &iqn, &store];
    let links: Vec<String> = luns.iter().map(|lun| shell::path(lun.join(LINK))).collect();
    format!(
        "cd {}; echo 0 > enable; rm {} lun/lun_0/{LINK}; rmdir {}",
        shell::path(&group),
        links.join(" "),
        mapped.chain(whole).map(shell::path).collect::<Vec<_>>().join(" ")
    )
}
