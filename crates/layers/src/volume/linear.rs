//! `split(4)`: equal parts of a device, all loaded at once or one for each of as many guests.
//! `linear`: several devices one after the other as one. Both use the device mapper.

use crate::{Claim, ExposedDevice, Layer, PlanContext, required_number};
use anyhow::{Result, ensure};
use iotax_drivers::dm::{MakeLinear, Stretch};
use iotax_drivers::path_ref::PathRef;
use iotax_model::layer::{LayerHelp, linear, split};
use iotax_model::stack::LayerSpec;
use iotax_steps::op::Op;
use iotax_units::{MIB, show_bytes};

const NEEDS: [&str; 3] = ["root", "dmsetup", "dm_mod"];

pub struct SplitLayer;

impl Layer for SplitLayer {
    fn help(&self) -> &'static LayerHelp {
        &split::HELP
    }

    fn needs(&self, _: &LayerSpec) -> Vec<&'static str> {
        NEEDS.to_vec()
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        // The device mapper claims the device: neither mkfs nor sfdisk would take it at the same
        // time. Reads pass through.
        Claim::Writes
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let device = below.only_path(spec)?;
        let parts: u64 = required_number(spec, "parts")?;
        let bytes = below.bytes / parts.max(1) / MIB * MIB;
        ensure!(
            bytes > 0,
            "{}: {} are not enough for {parts} parts, 1 MiB each; hint: fewer parts",
            spec.origin,
            show_bytes(below.bytes)
        );
        let part = |part: u64| {
            let stretch = Stretch { device: device.clone(), offset: part * bytes, bytes };
            add_linear_step(
                context,
                below,
                format!("make part {} of {parts}", part + 1),
                vec![stretch],
            )
        };
        let paths = (0..parts).map(part).collect();
        Ok(ExposedDevice {
            paths,
            bytes,
            block: true,
            writable: context.writable,
            split: true,
            ..below.clone()
        })
    }
}

pub struct Linear;

impl Layer for Linear {
    fn help(&self) -> &'static LayerHelp {
        &linear::HELP
    }

    fn needs(&self, _: &LayerSpec) -> Vec<&'static str> {
        NEEDS.to_vec()
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        // The device mapper claims the device: neither mkfs nor sfdisk would take it at the same
        // time. Reads pass through.
        Claim::Writes
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let bytes = below.bytes / MIB * MIB;
        ensure!(bytes > 0, "{}: members have less than 1 MiB", spec.origin);
        let stretch = |device: &PathRef| Stretch { device: device.clone(), offset: 0, bytes };
        let stretches: Vec<Stretch> = below.paths.iter().map(stretch).collect();
        let bytes = bytes * stretches.len() as u64;
        let path =
            add_linear_step(context, below, "put the devices together".to_owned(), stretches);
        let shown = ExposedDevice {
            paths: vec![path],
            bytes,
            block: true,
            writable: context.writable,
            ..below.clone()
        };
        Ok(ExposedDevice { uneven: false, split: false, ..shown })
    }
}

fn add_linear_step(
    context: &mut PlanContext,
    below: &ExposedDevice,
    why: String,
    stretches: Vec<Stretch>,
) -> PathRef {
    let instance = context.instance("dm");
    let name = format!("iotax-{}-{instance}", context.tag.run_id);
    // First writes go through the device, whatever the load does.
    let read_only = !context.writable && below.unwritten.is_none();
    PathRef::Yield(context.add_step(why, Op::MakeLinear(MakeLinear { name, stretches, read_only })))
}
