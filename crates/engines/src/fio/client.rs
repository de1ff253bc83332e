//! fio as a client of a Ceph cluster, by librados or librbd: it reads and writes objects of a pool
//! (its ioengine rados) or an image (rbd), which need no device of the kernel. A target file in the
//! run's folder describes such a target. Refuses jobs that these ioengines would run otherwise.

use super::EngineError;
use iotax_journal::private::{self, Purpose};
use iotax_load::Job;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};

pub const ENDING: &str = "fio-target";
/// Most bytes that are read of a target file; all are shorter.
const LONGEST: u64 = 64 << 10;

/// Target that fio reaches by itself as a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// The cluster's configuration, as this client reads it.
    pub conf: PathBuf,
    pub pool: String,
    pub of: PoolPart,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolPart {
    /// Image, reached through librbd.
    Image { name: String },
    /// Objects `NAME.0`, `NAME.1` and so on, reached through librados.
    Objects { name: String, object_bytes: u64 },
}

impl Client {
    /// Reads a target file, which has the extension [`ENDING`]. Returns `None` for any other path.
    ///
    /// # Errors
    /// If another user could have written the file, it cannot be read or parsed, or
    /// [`Client::check`] fails.
    pub fn read_client_file(path: &Path) -> Result<Option<Client>, EngineError> {
        let unfit =
            |why: String| EngineError::Unfit(format!("cannot read {}: {why}", path.display()));
        if path.extension().is_none_or(|ending| ending != ENDING) {
            return Ok(None);
        }
        let (Some(folder), Some(name)) =
            (path.parent(), path.file_name().and_then(|name| name.to_str()))
        else {
            return Ok(None);
        };
        let file =
            private::open(folder, name, Purpose::Act).map_err(|why| unfit(why.to_string()))?;
        let mut text = String::new();
        let file = file.ok_or_else(|| unfit("it is gone".into()))?;
        file.take(LONGEST).read_to_string(&mut text).map_err(|why| unfit(why.to_string()))?;
        let client: Client = serde_json::from_str(&text).map_err(|why| unfit(why.to_string()))?;
        client.check().map_err(unfit)?;
        Ok(Some(client))
    }

    /// Checks that the names and the path have only characters that fio takes literally: it knows
    /// no quotes.
    ///
    /// # Errors
    /// A sentence with the path and both names.
    pub fn check(&self) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let in_path = |c: char| plain(c) || "/+,@=".contains(c);
        let (PoolPart::Image { name } | PoolPart::Objects { name, .. }) = &self.of;
        let conf = self.conf.to_str().unwrap_or("\0");
        let names = [self.pool.as_str(), name]
            .iter()
            .all(|name| !name.is_empty() && name.chars().all(plain));
        match names && conf.starts_with('/') && conf.chars().all(in_path) {
            true => Ok(()),
            false => Err(format!(
                "fio cannot take {conf}, {} and {name}; hint: use names and a path of letters, digits, - _ and .",
                self.pool
            )),
        }
    }

    pub fn ioengine(&self) -> &'static str {
        match self.of {
            PoolPart::Image { .. } => "rbd",
            PoolPart::Objects { .. } => "rados",
        }
    }

    /// Returns true for an image. Objects have nothing to flush: a write to one is durable.
    pub fn flushes(&self) -> bool {
        matches!(self.of, PoolPart::Image { .. })
    }

    /// Returns the job for this target. For objects, sets its size to whole objects.
    ///
    /// # Errors
    /// If the target is objects and the job has an offset, blocks larger than an object, flushes,
    /// or an uneven random distribution: fio's ioengine would run it otherwise.
    pub(super) fn fit_client_job(&self, job: Job) -> Result<Job, EngineError> {
        let refuse = |what: &str, hint: &str| {
            let why = format!(
                "job \"{}\": fio's engine {} {what}; hint: {hint}",
                job.name,
                self.ioengine()
            );
            Err(EngineError::Unfit(why))
        };
        let PoolPart::Objects { object_bytes, .. } = self.of else { return Ok(job) };
        let size = job.size.unwrap_or(self.bytes);
        match () {
            () if job.offset > 0 => refuse("begins at its first object", "no offset"),
            () if job.bs > object_bytes => refuse(
                "has no larger blocks than its objects",
                "a smaller bs, or rados(object-size=...)",
            ),
            () if job.fsync > 0 || job.fdatasync > 0 => {
                refuse("has nothing to flush: a write to an object is durable", "no fsync")
            }
            () if !job.random_distribution.is_random() => refuse(
                "spreads I/Os evenly over its objects",
                "random_distribution=random, or the layer fio-rbd",
            ),
            // Whole objects give each the same share.
            () => Ok(Job {
                size: Some((size / object_bytes * object_bytes).max(size.min(object_bytes))),
                ..job.clone()
            }),
        }
    }

    /// Returns the lines that name this target in a section of a job file, in place of `filename=`.
    pub(super) fn lines(&self, job: &Job) -> String {
        let mut text = String::new();
        let mut line = |key: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(text, "{key}={value}");
        };
        line("clientname", &"admin");
        line("pool", &self.pool);
        match &self.of {
            PoolPart::Image { name } => line("rbdname", name),
            PoolPart::Objects { name, object_bytes } => {
                line("conf", &self.conf.display());
                // Making the objects again would put them into caches.
                line("touch_objects", &0);
                line("nrfiles", &(job.size.unwrap_or(self.bytes) / object_bytes).max(1));
                line("filename_format", &format_args!("{name}.$filenum"));
                line("file_service_type", &if job.rw.random() { "random" } else { "sequential" });
            }
        }
        text
    }

    /// Returns a job file that writes the whole target once, in order.
    pub fn filling(&self) -> String {
        let job = Job { size: Some(self.bytes), ..Job::default() };
        format!(
            "[fill]\nioengine={}\nthread=1\n{}rw=write\nbs={}\niodepth=8\nsize={}\nrefill_buffers=1\n{}",
            self.ioengine(),
            self.lines(&job),
            match self.of {
                PoolPart::Image { .. } => 1 << 20,
                PoolPart::Objects { object_bytes, .. } => object_bytes.min(1 << 20),
            },
            self.bytes,
            if self.flushes() { "end_fsync=1\n" } else { "" }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_load::Rw;

    fn objects() -> Client {
        let of = PoolPart::Objects { name: "iotax".into(), object_bytes: 4 << 20 };
        Client { conf: "/r/ceph0/ceph.conf".into(), pool: "p".into(), of, bytes: 64 << 20 }
    }

    #[test]
    fn a_target_is_what_a_file_of_ours_alone_says() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rados0.fio-target");
        std::fs::write(&path, serde_json::to_string(&objects()).unwrap()).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(Client::read_client_file(&path).unwrap(), Some(objects()));
        assert_eq!(Client::read_client_file(Path::new("/srv/x.img")).unwrap(), None);
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Client::read_client_file(&path).is_err(), "others may have written it");
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        let bad = Client { pool: "p\nioengine=external:/tmp/x.so".into(), ..objects() };
        std::fs::write(&path, serde_json::to_string(&bad).unwrap()).unwrap();
        assert!(
            Client::read_client_file(&path).unwrap_err().to_string().contains("fio cannot take")
        );
    }

    #[test]
    fn objects_take_the_place_of_a_file_and_odd_jobs_are_refused() {
        let job = Job {
            name: "j".into(),
            rw: Rw::RandRead,
            bs: 4096,
            size: Some(30 << 20),
            ..Job::default()
        };
        let fits = objects().fit_client_job(job.clone()).unwrap();
        assert_eq!(fits.size, Some(28 << 20), "whole objects");
        let lines = objects().lines(&fits);
        for line in [
            "pool=p",
            "conf=/r/ceph0/ceph.conf",
            "nrfiles=7",
            "filename_format=iotax.$filenum",
            "file_service_type=random",
        ] {
            assert!(lines.lines().any(|one| one == line), "{line}: {lines}");
        }
        for (odd, what) in [
            (Job { offset: 4096, ..job.clone() }, "no offset"),
            (Job { bs: 8 << 20, ..job.clone() }, "object-size"),
            (Job { fsync: 1, ..job.clone() }, "no fsync"),
        ] {
            assert!(objects().fit_client_job(odd).unwrap_err().to_string().contains(what));
        }
        let image = Client { of: PoolPart::Image { name: "i".into() }, ..objects() };
        assert!(
            image.lines(&job).contains("rbdname=i\n") && image.filling().contains("end_fsync=1")
        );
        assert!(
            objects().filling().contains("ioengine=rados\n")
                && !objects().filling().contains("fsync")
        );
    }
}
