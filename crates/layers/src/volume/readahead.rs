//! `readahead`: sets the kernel's read-ahead of a block device while the stack is up.

use crate::{Claim, ExposedDevice, Layer, PlanContext, required_bytes};
use anyhow::{Result, ensure};
use iotax_model::layer::LayerHelp;
use iotax_model::layer::readahead::HELP;
use iotax_model::stack::LayerSpec;
use iotax_steps::op::{Op, SetReadAhead};
use iotax_units::{KIB, show_bytes};

pub struct ReadAhead;

impl Layer for ReadAhead {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    fn needs(&self, _: &LayerSpec) -> Vec<&'static str> {
        vec!["root"]
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        // The setting is the device's: every other stack on it would have it, too.
        Claim::Caches
    }

    fn reads_back(&self, op: &Op) -> Option<&'static str> {
        matches!(op, Op::SetReadAhead(_)).then_some("")
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let origin = &spec.origin;
        ensure!(
            below.block,
            "{origin}: readahead is a setting of a block device; hint: put loop between"
        );
        let bytes = required_bytes(spec, "size")?;
        ensure!(
            bytes % (4 * KIB) == 0,
            "{origin}: {} is no multiple of 4 KiB, the kernel's page",
            show_bytes(bytes)
        );
        for device in &below.paths {
            let set = SetReadAhead { device: device.clone(), kib: bytes / KIB, was_kib: None };
            context.add_step("set the read-ahead", Op::SetReadAhead(set));
        }
        Ok(below.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::rig::{over, planned, refused};
    use super::*;
    use iotax_units::GIB;

    #[test]
    fn each_device_below_gets_a_step_and_a_file_is_refused() {
        let (exposed, steps) = planned(&ReadAhead, &over(2, GIB), "4MiB").unwrap();
        assert_eq!(exposed, over(2, GIB));
        let steps: Vec<_> = steps.iter().map(|step| step.op.operation().describe()).collect();
        let [first, second] = &steps[..] else { panic!("{steps:?}") };
        assert!(first.starts_with("blockdev --setra 8192 ") && first != second, "{steps:?}");
        let file = ExposedDevice { block: false, ..over(1, GIB) };
        assert!(refused(&ReadAhead, &file, "4MiB").contains("hint: put loop between"));
        assert!(refused(&ReadAhead, &over(1, GIB), "6KiB").contains("6 KiB is no multiple"));
    }
}
