//! `librbd`: an image of Ceph as a file of this host, by a qemu-storage-daemon and FUSE.

use super::ceph;
use crate::{Claim, ExposedDevice, Layer, PlanContext};
use anyhow::{Context, Result};
use iotax_drivers::path_ref::{PathRef, RbdImage};
use iotax_model::layer::LayerHelp;
use iotax_model::layer::librbd::HELP;
use iotax_model::stack::LayerSpec;
use iotax_qemu::command_line::STORAGE_DAEMON;
use iotax_qemu::option_value::{OptionValue, on_off};
use iotax_steps::op::{ExportLibrbd, Op, Spawn};
use std::path::Path;

pub struct Librbd;

impl Layer for Librbd {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    fn needs(&self, _: &LayerSpec) -> Vec<&'static str> {
        vec!["root", "qemu-storage-daemon", "fuse"]
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Takes
    }

    fn caches_writes(&self, spec: &LayerSpec) -> bool {
        spec.option("cache") == Some("writeback")
    }

    fn reads_back(&self, op: &Op) -> Option<&'static str> {
        matches!(op, Op::ExportLibrbd(_)).then_some("")
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let below = ceph::images(below, 1, context);
        let RbdImage { conf, pool, image } = ceph::image(spec, &below)?;
        let instance = context.instance("librbd");
        let directory = context.directory();
        let (file, pid) =
            (directory.join(format!("{instance}.img")), directory.join(format!("{instance}.pid")));
        let log = directory.join(format!("{instance}.log"));
        // Blocks that were never written are written first, whatever the load does.
        let writable = context.writable || below.unwritten.is_some();
        let blockdev = OptionValue::new("driver", "rbd")
            .set("node-name", "disk")
            .set("pool", pool)
            .set("image", image)
            .set("conf", conf)
            .set("cache.direct", on_off(spec.option("cache") == Some("none")))
            .set("read-only", on_off(!writable));
        let export = OptionValue::new("type", "fuse")
            .set("id", "export")
            .set("node-name", "disk")
            .set("mountpoint", &file)
            .set("writable", on_off(writable))
            .set("allow-other", "off");
        let text = |path: &Path| {
            path.to_str().map(str::to_owned).context("a run directory that is not UTF-8")
        };
        let word = |value: OptionValue| {
            value.into_word().into_string().ok().context("a path that is not UTF-8")
        };
        let mut argv: Vec<String> =
            vec![STORAGE_DAEMON.to_owned(), "--pidfile".to_owned(), text(&pid)?];
        argv.extend([
            "--blockdev".to_owned(),
            word(blockdev)?,
            "--export".to_owned(),
            word(export)?,
        ]);
        let spawn = Spawn {
            what: format!("the qemu-storage-daemon of {instance}"),
            argv,
            belows: Vec::new(),
            tag: text(&pid)?,
            log: log.clone(),
            makes: vec![pid, log],
            ready: None,
        };
        let export = ExportLibrbd {
            spawn,
            file,
            conf: conf.clone(),
            pool: pool.clone(),
            image: image.clone(),
        };
        let step = context.add_step("show the image as a file", Op::ExportLibrbd(export));
        Ok(ExposedDevice {
            paths: vec![PathRef::Yield(step)],
            block: false,
            writable: context.writable,
            ..below
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::rig::{over, planned, refused};
    use super::*;
    use iotax_units::GIB;

    #[test]
    fn the_daemon_is_told_the_image_and_its_cache() {
        let pool = PathRef::RbdPool {
            conf: "/run/r/ceph0/ceph.conf".into(),
            pool: "iotax-RUN-ceph0".into(),
        };
        let pool = ExposedDevice { paths: vec![pool], ..over(1, GIB) };
        let shown = |options: &str| {
            let (exposed, steps) = planned(&Librbd, &pool, options).unwrap();
            assert!(!exposed.block && exposed.bytes == GIB);
            steps.iter().map(|step| step.op.operation().describe()).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!([shown(""), shown("writeback")].join("\n\n"));
        assert!(
            refused(&Librbd, &over(1, GIB), "")
                .contains("requires an RBD image, but below it is /dev/nvme0n1; hint:")
        );
    }
}
