//! Short description of a guest's disk, for plans.

use crate::disk::{Cache, DetectZeroes, DiskServer, DiskSpec};
use iotax_drivers::path_ref::PathRef;
use iotax_units::show_size;

impl DiskSpec {
    /// Describes the disk: `256 MiB of /srv/x.img by virtio-blk, cache=none, aio=native`. `below`
    /// is the file or device that it is on.
    pub fn outline(&self, below: &PathRef) -> String {
        let size = self.qcow2.as_ref().map(|image| image.bytes).or(self.bytes);
        let what = match (&self.server, size) {
            (DiskServer::Drive(drive), _) => format!("the drive at {} ({below})", drive.address),
            (_, Some(bytes)) => format!("{} of {below}", show_size(bytes)),
            (_, None) => below.to_string(),
        };
        let by = match &self.server {
            DiskServer::Spdk(spdk) => format!("{} at {}", self.way.name(), spdk.rpc.display()),
            _ => self.way.name().to_owned(),
        };
        // Its own layer says how a bdev's files are opened, and an image of Ceph is not a file.
        let is_known =
            |name: &str| name != "aio" || !matches!(below, PathRef::Bdev { .. } | PathRef::Rbd(_));
        let words: Vec<String> = self
            .shown_settings()
            .into_iter()
            .filter(|(name, _)| is_known(name))
            .map(|(name, value)| format!(", {name}={value}"))
            .collect();
        format!("{what} by {by}{}", words.concat())
    }

    /// Returns the options to show, of those that the way of attachment supports: cache and aio
    /// always, others only if they are not the default.
    fn shown_settings(&self) -> Vec<(&'static str, String)> {
        let cache = Cache::ALL
            .iter()
            .find(|(_, cache)| *cache == self.cache)
            .map(|(word, _)| (*word).to_owned());
        let chosen = |on: bool, word: &str| on.then(|| word.to_owned());
        let zeroes = self.detect_zeroes;
        let of_threads = match self.iothreads {
            0 => ("iothread", chosen(self.way.takes_iothread(), "false")),
            many => ("iothreads", (many > 1).then(|| many.to_string())),
        };
        let all = [
            ("cache", cache),
            ("aio", Some(self.aio.word().to_owned())),
            of_threads,
            ("num-queues", self.num_queues.map(|queues| queues.to_string())),
            ("queue-size", self.queue_size.map(|size| size.to_string())),
            ("format", chosen(self.qcow2.is_some(), "qcow2")),
            ("snapshot", chosen(self.snapshot, "on")),
            ("discard", chosen(self.discard, "unmap")),
            ("detect-zeroes", chosen(zeroes != DetectZeroes::Off, zeroes.word())),
        ];
        let lacks = self.way.lacking_options();
        let has = all.into_iter().filter(|(name, _)| !lacks.contains(name));
        has.filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
