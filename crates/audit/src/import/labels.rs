//! Tools whose outputs consist only of lines of figures after labels, as listed in `patterns.txt`.

use super::{Format, sheet};

pub(crate) const RADOS: Format = Format {
    name: "rados bench",
    example: include_str!("../../fixtures/ceph/rados-write.txt"),
    begins: |line| line.starts_with("Total time run"),
    read: |page, line| sheet::read(page, line, RADOS.name),
};

pub(crate) const RBD: Format = Format {
    name: "rbd bench",
    example: include_str!("../../fixtures/ceph/rbd-new.txt"),
    begins: |line| {
        line.starts_with("elapsed: ") || (line.starts_with("bench") && line.contains(" io_size "))
    },
    read: |page, line| sheet::read(page, line, RBD.name),
};
