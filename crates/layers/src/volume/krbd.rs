//! `krbd`: an image of Ceph as a block device of this host, by the kernel's own client.

use super::ceph;
use crate::{Claim, ExposedDevice, Layer, PlanContext, required_number, required_word};
use anyhow::Result;
use iotax_drivers::path_ref::{PathRef, RbdImage};
use iotax_model::layer::LayerHelp;
use iotax_model::layer::krbd::HELP;
use iotax_model::stack::LayerSpec;
use iotax_steps::op::{MapRbd, Op};

pub struct Krbd;

impl Layer for Krbd {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    fn needs(&self, _: &LayerSpec) -> Vec<&'static str> {
        vec!["root", "ceph-common", "rbd"]
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Takes
    }

    fn reads_back(&self, op: &Op) -> Option<&'static str> {
        matches!(op, Op::MapRbd(_)).then_some("")
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let below = ceph::images(below, 1, context);
        let RbdImage { conf, pool, image } = ceph::image(spec, &below)?.clone();
        let map = MapRbd {
            conf,
            pool,
            image,
            // Blocks that were never written are written first, whatever the load does.
            read_only: !context.writable && below.unwritten.is_none(),
            queue_depth: required_number(spec, "queue-depth")?,
            read_from_replica: required_word(spec, "read-from-replica")?.to_owned(),
            ms_mode: required_word(spec, "ms-mode")?.to_owned(),
            before: None,
        };
        let step = context.add_step("map the image", Op::MapRbd(map));
        Ok(ExposedDevice {
            paths: vec![PathRef::Yield(step)],
            block: true,
            writable: context.writable,
            ..below
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::rig::{over, planned, refused};
    use super::*;
    use crate::FirstWrites;
    use iotax_units::GIB;

    #[test]
    fn an_image_is_mapped_with_the_options_of_the_kernels_client() {
        let pool = PathRef::RbdPool {
            conf: "/run/r/ceph0/ceph.conf".into(),
            pool: "iotax-RUN-ceph0".into(),
        };
        let pool = ExposedDevice {
            paths: vec![pool],
            unwritten: Some(FirstWrites::InOrder),
            ..over(1, GIB)
        };
        let theirs = RbdImage { conf: "/c/ceph.conf".into(), pool: "p".into(), image: "i".into() };
        let theirs = ExposedDevice { paths: vec![PathRef::Rbd(Box::new(theirs))], ..over(1, GIB) };
        let shown = |below: &ExposedDevice, options: &str| {
            let (exposed, steps) = planned(&Krbd, below, options).unwrap();
            assert!(exposed.block && exposed.bytes == GIB, "{exposed:?}");
            steps.iter().map(|step| step.op.operation().describe()).collect::<Vec<_>>().join("\n")
        };
        let options = "queue-depth=32,read-from-replica=balance,ms-mode=secure";
        let all = [shown(&pool, ""), shown(&theirs, options), shown(&theirs, "ms-mode=legacy")];
        insta::assert_snapshot!(all.join("\n\n"));
        assert!(refused(&Krbd, &over(1, GIB), "").contains("requires an RBD image"));
    }
}
