//! `rados` and `fio-rbd`: targets that fio reaches as a client of a Ceph cluster. Nothing is shown
//! to a kernel: a file of the run gives fio its load.

use super::ceph;
use crate::{Claim, ExposedDevice, Layer, PlanContext, needs, required_bytes};
use anyhow::{Result, bail, ensure};
use iotax_drivers::path_ref::{PathRef, RbdImage};
use iotax_engines::fio::{Client, ENDING, PoolPart, has_ioengine};
use iotax_host::Missing;
use iotax_model::layer::{LayerHelp, fio_rbd, rados};
use iotax_model::scenario::Engine;
use iotax_model::stack::LayerSpec;
use iotax_steps::op::{MakeFioTarget, Op};
use iotax_units::{KIB, MIB, show_bytes};
use std::path::PathBuf;

const NEEDS: [&str; 4] = ["root", "ceph-common", "fio", "fio-ceph"];

/// Objects in a pool of ours, loaded by fio.
pub struct Rados;

pub struct FioRbd;

impl Layer for Rados {
    fn help(&self) -> &'static LayerHelp {
        &rados::HELP
    }

    fn needs(&self, _: &LayerSpec) -> Vec<&'static str> {
        NEEDS.to_vec()
    }

    fn missing_on_host(&self, _: &LayerSpec) -> Vec<Missing> {
        missing_engine("rados")
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Takes
    }

    fn reads_back(&self, op: &Op) -> Option<&'static str> {
        is_of(op, "rados").then_some("")
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let PathRef::RbdPool { conf, pool } = below.only_path(spec)? else {
            bail!(
                "{}: rados creates objects in a pool, but iotax creates nothing in an existing cluster; hint: use \
                 fio-rbd on the image, or put ceph(...) below rados",
                spec.origin
            )
        };
        let object_bytes = required_bytes(spec, "object-size")?;
        ensure!(
            object_bytes % (4 * KIB) == 0 && (4 * KIB..=64 * MIB).contains(&object_bytes),
            "{}: object-size={} is not a multiple of 4 KiB up to 64 MiB",
            spec.origin,
            show_bytes(object_bytes)
        );
        let bytes = below.bytes / object_bytes * object_bytes;
        ensure!(
            bytes > 0,
            "{}: the pool has no room for an object of {}",
            spec.origin,
            show_bytes(object_bytes)
        );
        let name = context.instance("rados");
        let of = PoolPart::Objects { name: name.clone(), object_bytes };
        let client = Client { conf: conf.clone(), pool: pool.clone(), of, bytes };
        target(spec, below, context, &name, conf.clone(), client, None)
    }
}

impl Layer for FioRbd {
    fn help(&self) -> &'static LayerHelp {
        &fio_rbd::HELP
    }

    fn needs(&self, _: &LayerSpec) -> Vec<&'static str> {
        NEEDS.to_vec()
    }

    fn missing_on_host(&self, _: &LayerSpec) -> Vec<Missing> {
        missing_engine("rbd")
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Takes
    }

    fn caches_writes(&self, spec: &LayerSpec) -> bool {
        spec.option("cache") == Some("writeback")
    }

    fn reads_back(&self, op: &Op) -> Option<&'static str> {
        is_of(op, "rbd").then_some("")
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let below = ceph::images(below, 1, context);
        let RbdImage { conf, pool, image } = ceph::image(spec, &below)?.clone();
        let name = context.instance("fiorbd");
        let copy = context.directory().join(format!("{name}.conf"));
        let client =
            Client { conf: copy, pool, of: PoolPart::Image { name: image }, bytes: below.bytes };
        target(spec, &below, context, &name, conf, client, Some(self.caches_writes(spec)))
    }
}

fn missing_engine(engine: &str) -> Vec<Missing> {
    has_ioengine(engine)
        .err()
        .and_then(|what| needs::need_as_missing("fio-ceph", what))
        .into_iter()
        .collect()
}

fn is_of(op: &Op, engine: &str) -> bool {
    matches!(op, Op::MakeFioTarget(target) if target.client.ioengine() == engine)
}

/// Adds the step that describes the target for fio, and returns a device that only fio can load. If
/// what is below was never written, the step also writes it once: no other generator could.
fn target(
    spec: &LayerSpec,
    below: &ExposedDevice,
    context: &mut PlanContext,
    name: &str,
    conf: PathBuf,
    client: Client,
    cache: Option<bool>,
) -> Result<ExposedDevice> {
    let fill = below.unwritten.is_some();
    ensure!(
        !fill || context.data.is_unique(),
        "{}: {} is written once with incompressible data without duplicates; hint: leave out \
         buffer_compress_percentage and dedupe_percentage",
        spec.origin,
        spec.name
    );
    let (file, bytes) = (context.directory().join(format!("{name}.{ENDING}")), client.bytes);
    let make = MakeFioTarget { file, conf, client, cache, fill };
    let why = if fill { "write it once with fio" } else { "name it for fio" };
    let step = context.add_step(why, Op::MakeFioTarget(make));
    Ok(ExposedDevice {
        paths: vec![PathRef::Yield(step)],
        bytes,
        block: false,
        writable: context.writable,
        unwritten: None,
        engine: Some(Engine::Fio),
        ..below.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::super::rig::{over, planned, refused};
    use super::*;
    use iotax_drivers::path_ref::PathRef;
    use iotax_units::GIB;

    fn pool() -> ExposedDevice {
        let pool = PathRef::RbdPool {
            conf: "/run/r/ceph0/ceph.conf".into(),
            pool: "iotax-RUN-ceph0".into(),
        };
        ExposedDevice {
            paths: vec![pool],
            unwritten: Some(crate::FirstWrites::InOrder),
            ..over(1, GIB)
        }
    }

    fn shown(layer: &dyn Layer, below: &ExposedDevice, options: &str) -> (ExposedDevice, String) {
        let (exposed, steps) = planned(layer, below, options).unwrap();
        let steps: Vec<String> = steps.iter().map(|step| step.op.operation().describe()).collect();
        (exposed, steps.join("\n"))
    }

    #[test]
    fn fio_loads_objects_or_an_image_that_are_written_once() {
        let (objects, steps) = shown(&Rados, &pool(), "object-size=3MiB");
        assert_eq!((objects.bytes, objects.engine), (GIB / (3 * MIB) * 3 * MIB, Some(Engine::Fio)));
        assert!(objects.unwritten.is_none(), "the step wrote it");
        assert!(
            steps.contains(
                "engine rados: 1023 MiB in objects of 3 MiB in iotax-RUN-ceph0, written once"
            ),
            "{steps}"
        );
        let (_, steps) = shown(&FioRbd, &pool(), "");
        let lines: Vec<&str> = steps.lines().collect();
        assert!(
            lines[0].starts_with("rbd create iotax-RUN-ceph0/vol0")
                && lines[1].ends_with("librbd's cache off, written once"),
            "{steps}"
        );
        assert!(shown(&FioRbd, &pool(), "writeback").1.contains("librbd's cache on"));
    }

    #[test]
    fn in_somebody_elses_cluster_an_image_is_named_and_nothing_is_made() {
        let image = RbdImage { conf: "/c/ceph.conf".into(), pool: "p".into(), image: "i".into() };
        let theirs = ExposedDevice { paths: vec![PathRef::Rbd(Box::new(image))], ..over(1, GIB) };
        let (_, steps) = shown(&FioRbd, &theirs, "");
        assert!(
            steps.contains("the image p/i, 1 GiB")
                && !steps.contains("written once")
                && !steps.contains("rbd create")
        );
        assert!(
            refused(&Rados, &theirs, "")
                .contains("creates nothing in an existing cluster; hint: use fio-rbd on")
        );
        assert!(refused(&Rados, &pool(), "object-size=1000B").contains("not a multiple of 4 KiB"));
    }
}
