//! `loop`: a block device over a file, by losetup.

use crate::{Claim, ExposedDevice, Layer, PlanContext, flag};
use anyhow::Result;
use iotax_drivers::path_ref::PathRef;
use iotax_model::layer::LayerHelp;
use iotax_model::layer::loopdev::HELP;
use iotax_model::stack::LayerSpec;
use iotax_steps::op::{AttachLoop, Op};

pub struct Loop;

impl Layer for Loop {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    fn needs(&self, _: &LayerSpec) -> Vec<&'static str> {
        vec!["root", "losetup", "loop-devices"]
    }

    fn claim(&self, spec: &LayerSpec) -> Claim {
        if flag(spec, "direct-io") { Claim::SharedRead } else { Claim::Caches }
    }

    fn caches_writes(&self, spec: &LayerSpec) -> bool {
        !flag(spec, "direct-io")
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let attach = AttachLoop {
            backing: below.only_path(spec)?.clone(),
            bytes: below.bytes,
            direct_io: flag(spec, "direct-io"),
            // First writes go through the device, whatever the load does.
            read_only: !context.writable && below.unwritten.is_none(),
            file: None,
        };
        let step = context.add_step("attach a loop device", Op::AttachLoop(attach));
        Ok(ExposedDevice {
            paths: vec![PathRef::Yield(step)],
            block: true,
            writable: context.writable,
            ..below.clone()
        })
    }
}
