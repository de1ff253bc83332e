//! `ceph(...)`: a Ceph cluster of its own over files or devices of this host, with one OSD on each.
//! Only layers that bring its images to a kernel may be above it, and each of them makes one image
//! in its pool. Refuses a number of copies that the members are too few for.

use super::array_of;
use crate::state::StateMove;
use crate::{
    Claim, ExposedDevice, FirstWrites, Layer, PlanContext, needs, optional_bytes, required_bytes,
    required_number, required_word,
};
use anyhow::{Result, bail, ensure};
use iotax_drivers::ceph;
use iotax_drivers::ceph::cluster::{CephChange, ChangeCeph, MakeCeph};
use iotax_drivers::drives::Drives;
use iotax_drivers::path_ref::{PathRef, RbdImage};
use iotax_host::Missing;
use iotax_model::layer::LayerHelp;
use iotax_model::layer::ceph::{HELP, min_size};
use iotax_model::stack::LayerSpec;
use iotax_qemu::guest_files::can_be_sockets;
use iotax_steps::op::{AttachLoop, MakeRbdImage, Op};
use iotax_units::{GIB, KIB, MIB, show_bytes};

/// Bytes kept for BlueStore's own database and logs. An empty OSD of Ceph 16.2 takes 300 MB.
const OWN_BYTES: u64 = 320 * MIB;
/// Smallest member. A smaller OSD is nearly full before anything is in it.
const LEAST_MEMBER: u64 = GIB;

pub struct Ceph;

impl Layer for Ceph {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    // Ceph gets files as loop devices, which keep it off the marker after their data.
    fn needs(&self, _: &LayerSpec) -> Vec<&'static str> {
        vec!["root", "ceph", "ceph-common", "losetup", "loop-devices"]
    }

    fn missing_on_host(&self, _: &LayerSpec) -> Vec<Missing> {
        let what = ceph::qemu_has_driver().err();
        what.and_then(|what| needs::need_as_missing("qemu-rbd", what)).into_iter().collect()
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Takes
    }

    fn writes_below(&self, _: &LayerSpec) -> bool {
        true
    }

    fn gives_unwritten(&self, _: &LayerSpec) -> bool {
        true
    }

    fn state_move_op(
        &self,
        _: &LayerSpec,
        made: &PathRef,
        _: &[PathRef],
        step: StateMove,
    ) -> Result<Op> {
        let change = match step {
            StateMove::Fail(at) => CephChange::Ends(at),
            StateMove::Return(at) => CephChange::Returns(at),
            StateMove::Await => CephChange::AwaitHealthy,
        };
        Ok(Op::ChangeCeph(ChangeCeph { made: made.clone(), change, bytes: 0 }))
    }

    fn put_out(&self, _: &LayerSpec, made: &PathRef, at: usize, out: bool) -> Result<Op> {
        let change = if out { CephChange::Out(at) } else { CephChange::In(at) };
        Ok(Op::ChangeCeph(ChangeCeph { made: made.clone(), change, bytes: 0 }))
    }

    fn reads_back(&self, op: &Op) -> Option<&'static str> {
        matches!(op, Op::MakeCeph(_)).then_some("")
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let origin = &spec.origin;
        ensure!(
            below.place.is_host(),
            "{origin}: a cluster of Ceph is made on this host only, and what is below is on {}",
            below.place
        );
        let bytes = image_bytes(spec, below, context.ways_above)?;
        let order = object_order(spec)?;
        let instance = context.instance("ceph");
        let directory = context.directory().join(&instance);
        let members = member_devices(below, context);
        let make = MakeCeph {
            name: format!("iotax-{}-{instance}", context.tag.run_id),
            directory,
            members,
            size: required_number(spec, "size")?,
            min_size: min_size(spec) as u32,
            pg: required_number(spec, "pg")?,
            memory: self::required_bytes(spec, "osd-memory")?,
            cache_policy: required_word(spec, "cache-policy")?.to_owned(),
            order,
            drives: Drives::default(),
        };
        let conf = make.conf();
        can_be_sockets([&ceph::longest_socket(&conf)])?;
        let pool = PathRef::RbdPool { conf: conf.clone(), pool: make.name.clone() };
        let step = context.add_step("make the Ceph cluster", Op::MakeCeph(make));
        Ok(ExposedDevice {
            paths: vec![pool],
            bytes,
            block: true,
            writable: context.writable,
            unwritten: Some(FirstWrites::InOrder),
            write_unit: None,
            arrays: array_of(spec, below, step, PathRef::Path(conf), bytes),
            split: false,
            uneven: false,
            ..below.clone()
        })
    }
}

/// Returns one block device per member. Adds the steps that attach loop devices over files.
fn member_devices(below: &ExposedDevice, context: &mut PlanContext) -> Vec<PathRef> {
    if below.block {
        return below.paths.clone();
    }
    let mut attached = |backing: &PathRef| {
        let attach = AttachLoop {
            backing: backing.clone(),
            bytes: below.bytes,
            direct_io: true,
            read_only: false,
            file: None,
        };
        PathRef::Yield(context.add_step("attach a loop device for an OSD", Op::AttachLoop(attach)))
    };
    below.paths.iter().map(&mut attached).collect()
}

/// Returns the bytes of each of `images` images in one pool: those asked for, else all that fit, in
/// whole MiB and objects. All of them are written, and no OSD may come near its limit (85 %).
fn image_bytes(spec: &LayerSpec, below: &ExposedDevice, images: u32) -> Result<u64> {
    let (origin, members) = (&spec.origin, below.paths.len() as u64);
    let (copies, least) = (required_number::<u64>(spec, "size")?, min_size(spec));
    ensure!(
        (1..=members).contains(&copies),
        "{origin}: size={copies} needs {copies} OSDs, but there {}; hint: add members, or write size={members}",
        if members == 1 { "is 1 member".to_owned() } else { format!("are {members} members") }
    );
    ensure!(
        (1..=copies).contains(&least),
        "{origin}: min-size={least} is more than the {copies} copies; hint: leave it out"
    );
    ensure!(
        below.bytes >= LEAST_MEMBER,
        "{origin}: {} are too few for an OSD; hint: members of {} or more",
        show_bytes(below.bytes),
        show_bytes(LEAST_MEMBER)
    );
    // With more OSDs than copies, few placement groups are spread unevenly.
    let even = if members == copies { (1, 1) } else { (2, 3) };
    let of_member = (below.bytes / 4 * 3 - OWN_BYTES) / even.1 * even.0;
    let part = of_member * members / copies / u64::from(images);
    let unit = required_bytes(spec, "object-size")?.max(MIB);
    let most = part / unit * unit;
    let wanted = optional_bytes(spec, "image-size")?.map_or(most, |wanted| wanted / MIB * MIB);
    ensure!(
        (MIB..=most).contains(&wanted),
        "{origin}: {images} images of {} in a pool that has room for {} of each; hint: larger members{}",
        show_bytes(wanted.max(MIB)),
        show_bytes(most),
        if spec.options.contains_key("image-size") { ", or a smaller image-size" } else { "" }
    );
    Ok(wanted)
}

/// Returns the order of objects, which is the power of two of their size in bytes.
fn object_order(spec: &LayerSpec) -> Result<u32> {
    let bytes = required_bytes(spec, "object-size")?;
    ensure!(
        bytes.is_power_of_two() && (4 * KIB..=32 * MIB).contains(&bytes),
        "{}: object-size={} is not a power of two from 4KiB to 32MiB",
        spec.origin,
        required_word(spec, "object-size")?
    );
    Ok(bytes.ilog2())
}

/// Returns `count` images, as equal parts, if a pool is below, and adds the steps that make them.
/// Otherwise returns what is below.
pub fn images(below: &ExposedDevice, count: u32, context: &mut PlanContext) -> ExposedDevice {
    let [PathRef::RbdPool { conf, pool }] = &below.paths[..] else { return below.clone() };
    let mut image = |_| {
        let (conf, pool, image) = (conf.clone(), pool.clone(), context.instance("vol"));
        let make = MakeRbdImage {
            conf: PathRef::Path(conf.clone()),
            pool: pool.clone(),
            image: image.clone(),
            bytes: below.bytes,
            run: context.tag.run_id.clone(),
        };
        context.add_step("make an image in the pool", Op::MakeRbdImage(make));
        PathRef::Rbd(Box::new(RbdImage { conf, pool, image }))
    };
    ExposedDevice { paths: (0..count).map(&mut image).collect(), split: count > 1, ..below.clone() }
}

/// Returns the image below a layer.
///
/// # Errors
/// What is below is not an RBD image, or is several.
pub fn image<'a>(spec: &LayerSpec, below: &'a ExposedDevice) -> Result<&'a RbdImage> {
    match below.only_path(spec)? {
        PathRef::Rbd(rbd) => Ok(rbd),
        other => bail!(
            "{}: {} requires an RBD image, but below it is {other}; hint: put ceph(...) below it",
            spec.origin,
            spec.name
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rig::{over, planned, refused, spec};
    use super::*;

    #[test]
    fn what_is_made_of_members_and_words() {
        let shown = |below: &ExposedDevice, options: &str| {
            let (exposed, steps) = planned(&Ceph, below, options).unwrap();
            let steps: Vec<String> =
                steps.iter().map(|step| step.op.operation().describe()).collect();
            format!("{} MiB of {}\n{}", exposed.bytes / MIB, exposed.paths[0], steps.join("\n"))
        };
        let files = ExposedDevice { block: false, ..over(2, GIB) };
        let all = [
            shown(&over(3, 4 * GIB), ""),
            shown(&over(5, 4 * GIB), "size=2,pg=64,object-size=1MiB,osd-memory=2GiB"),
            shown(&files, "size=2,image-size=256MiB,cache-policy=writeback"),
        ];
        insta::assert_snapshot!(all.join("\n\n"));
    }

    #[test]
    fn what_does_not_go_together_is_refused_before_anything_is_made() {
        let of = |members, bytes, options| refused(&Ceph, &over(members, bytes), options);
        let all = [
            of(2, 4 * GIB, ""),
            of(1, 4 * GIB, "size=2"),
            of(3, 4 * GIB, "min-size=4"),
            of(3, 512 * MIB, ""),
            of(3, 4 * GIB, "image-size=3GiB"),
            of(3, 4 * GIB, "object-size=3MiB"),
        ];
        insta::assert_snapshot!(all.join("\n"));
    }

    #[test]
    fn an_osd_that_is_out_comes_in_again_and_is_waited_for() {
        use crate::state::{AskedState, transition};
        let spec = spec(&Ceph, "");
        let (made, members) = (PathRef::Path("/r/ceph.conf".into()), over(3, GIB).paths);
        let way = |from, to| {
            let steps = transition(&Ceph, &spec, &made, &members, from, to)?;
            Ok(steps
                .into_iter()
                .map(|(why, op)| (why, op.operation().describe()))
                .collect::<Vec<_>>())
        };
        let way = |from, to| way(from, to).map_err(|why: anyhow::Error| why.to_string());
        let out = way(AskedState::Healthy, AskedState::Out(1)).unwrap();
        let first = ("mark member 1 of 3 out", "ceph osd out 0 (cluster /r/ceph.conf)");
        assert_eq!(out, [(first.0.to_owned(), first.1.to_owned())]);
        let back = way(AskedState::Out(1), AskedState::Healthy).unwrap();
        assert!(
            back[0].1.starts_with("ceph osd in 0") && back[1].1.starts_with("wait until"),
            "{back:?}"
        );
        assert!(
            way(AskedState::Healthy, AskedState::Out(2))
                .unwrap_err()
                .contains("loses data when more than 1")
        );
        assert!(
            way(AskedState::Out(1), AskedState::Rebuilding)
                .unwrap_err()
                .contains("out(1) cannot become")
        );
    }

    #[test]
    fn each_layer_on_it_has_an_image_of_its_own() {
        let (pool, _) = planned(&Ceph, &over(3, 4 * GIB), "").unwrap();
        let mut context = PlanContext::new(iotax_drivers::run_tag::RunTag::of_none(), None, 1);
        let one = images(&pool, 1, &mut context);
        let two = images(&pool, 2, &mut context);
        assert!(!one.split && two.split && one.unwritten.is_some());
        let shown: Vec<String> =
            one.paths.iter().chain(&two.paths).map(ToString::to_string).collect();
        assert_eq!(
            shown,
            ["vol0", "vol1", "vol2"].map(|image| format!("rbd:iotax-RUN-ceph0/{image}"))
        );
        assert_eq!(context.steps.len(), 3);
        let device = over(1, GIB);
        assert_eq!(images(&device, 4, &mut context), device, "no pool");
    }
}
