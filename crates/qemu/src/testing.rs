//! Parts of guests for tests.

use crate::attach::ALL;
use crate::disk::{Aio, Backend, Cache, DetectZeroes, DiskServer, DiskSpec};

/// Returns a plain virtio-blk disk over a file, for tests.
pub fn made_up_disk() -> DiskSpec {
    DiskSpec {
        way: ALL[0],
        path: "/srv/x.img".into(),
        rbd: None,
        backend: Backend::File,
        offset: 0,
        bytes: None,
        qcow2: None,
        cache: Cache::None,
        aio: Aio::Native,
        discard: false,
        detect_zeroes: DetectZeroes::Off,
        snapshot: false,
        iothreads: 1,
        num_queues: None,
        queue_size: None,
        serial: "iotax-1".into(),
        read_only: false,
        share_read: false,
        shared_out: false,
        server: DiskServer::Qemu,
    }
}
