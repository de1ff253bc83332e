//! `partition`: a partition table with one partition on a whole block device, by sfdisk.

use crate::{
    Claim, ExposedDevice, Layer, PlanContext, optional_bytes, required_bytes, required_word,
};
use anyhow::{Result, ensure};
use iotax_drivers::drives::Drives;
use iotax_drivers::partition::{MakePartition, id_from};
use iotax_drivers::path_ref::PathRef;
use iotax_model::layer::LayerHelp;
use iotax_model::layer::partition::HELP;
use iotax_model::stack::LayerSpec;
use iotax_steps::op::Op;
use iotax_units::{KIB, MIB, is_unknown, show_bytes};

/// Least start of the partition. Header and entries of a GPT are before it, even if a logical block
/// has 4 KiB.
const LEAST_START: u64 = 24 * KIB;
/// Bytes after the partition, for the copy of a GPT.
const TAIL: u64 = MIB;
/// Unit of the partition's size.
const UNIT: u64 = 4 * KIB;
/// Largest size of a DOS table, which counts sectors of 512 bytes in 32 bits.
const MOST_DOS: u64 = 1 << 41;

pub struct Partition;

impl Layer for Partition {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    fn needs(&self, _: &LayerSpec) -> Vec<&'static str> {
        vec!["root", "sfdisk"]
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Writes
    }

    fn writes_below(&self, _: &LayerSpec) -> bool {
        true
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let table = required_word(spec, "table")?;
        let start = required_bytes(spec, "align")?;
        ensure!(
            start % 512 == 0 && start >= LEAST_START,
            "{}: a partition cannot begin at byte {start}; hint: align=1MiB, or any multiple of 512 bytes from {}",
            spec.origin,
            show_bytes(LEAST_START)
        );
        let room = below.bytes.saturating_sub(start).saturating_sub(TAIL) / UNIT * UNIT;
        let bytes = optional_bytes(spec, "size")?.unwrap_or(room);
        ensure!(
            bytes > 0 && bytes <= room && bytes % UNIT == 0,
            "{}: a partition of {} cannot be made: there is room for {} from {}, in whole {}; hint: leave size out",
            spec.origin,
            show_bytes(bytes),
            show_bytes(room),
            show_bytes(start),
            show_bytes(UNIT)
        );
        ensure!(
            table == "gpt" || is_unknown(bytes) || start + bytes <= MOST_DOS,
            "{}: a DOS partition table ends at {}; hint: table=gpt, or size=1TiB",
            spec.origin,
            show_bytes(MOST_DOS)
        );
        let instance = context.instance("part");
        let name = format!("iotax-{}-{instance}", context.tag.run_id);
        let device = below.only_path(spec)?.clone();
        let make = MakePartition {
            device,
            table: table.into(),
            id: id_from(table, &name),
            name,
            start,
            bytes,
            drives: Drives::default(),
        };
        let step = context.add_step("make the partition", Op::MakePartition(make));
        Ok(ExposedDevice {
            paths: vec![PathRef::Yield(step)],
            bytes,
            block: true,
            writable: context.writable,
            ..below.clone()
        })
    }
}
