//! Measures one load on one target: one run of iotax as a JSON object, or iotax and fio in turn
//! with their ratio.

use super::Args;
use super::table::iops;
use crate::contest::goals::Ours;
use crate::contest::{self, ContestLoad, ContestTarget, Peer, Shot, keep_to};
use crate::saying::{say, say_aside};
use anyhow::Result;
use iotax_load::{EngineName, Histogram, Iomem, Job, Stamping};
use iotax_measure::noise;
use iotax_model::scenario::error::Origin;
use iotax_model::scenario::values::{Dialect, parse_engine};
use iotax_model::scenario::words::JobWords;
use iotax_model::scenario::{Engine, InputError};
use iotax_units::exit::{DONE, Failed};
use iotax_units::{median, show_bytes, show_ns};
use serde_json::{Value, json};
use std::path::Path;

/// Name of the format of one load on one target.
const FORMAT: &str = "iotax-selfcheck-engine-target";
/// Raised when a field changes its meaning or goes.
const VERSION: u32 = 1;
const OURS: &str = "iotax";
/// Target that is endless and has no disk.
const ZERO: &str = "/dev/zero";
/// Bytes of /dev/zero that are read by default.
const OF_ZERO: u64 = 1 << 30;

/// Load, engine and target of one run.
struct Bout {
    place: ContestTarget,
    load: ContestLoad,
    ours: Ours,
    seconds: f64,
}

/// Runs the command. Ctrl-C ends the process at once, even within a run or while a target is read:
/// nothing that would have to be removed is stored or made, and fio dies with us (`ends_with_us`).
///
/// # Errors
/// Bad input, a target that may not or cannot be read, no fio.
pub(super) fn run(args: &Args, target: &Path) -> Result<u8> {
    crate::stop::at_once()?;
    let load = load(args, target)?;
    let place = place(args, target)?;
    let ours = Ours { stamps: stamps(&args.stamps), iomem: load.iomem };
    if let Some(cpu) = args.cpu {
        keep_to(cpu).map_err(Failed::from)?;
    }
    let bout = Bout { place, load, ours, seconds: args.time.as_secs_f64() };
    bout.warn();
    let json = args.json;
    if args.only.as_deref() == Some("iotax") {
        return told_alone(&bout, OURS, &bout.of_ours()?, json);
    }
    let engine = contest::engine(&bout.place, &bout.load, ours).map_err(Failed::from)?;
    let peer = Peer::like(ours);
    if args.only.is_some() {
        return told_alone(&bout, peer.name(), &bout.of_fio(peer, engine)?, json);
    }
    let mut pairs = Vec::new();
    for round in 0..args.repeats {
        // The two take turns, and each comes first as often as the other.
        pairs.push(match round % 2 {
            0 => (bout.of_ours()?, bout.of_fio(peer, engine)?),
            _ => {
                let theirs = bout.of_fio(peer, engine)?;
                (bout.of_ours()?, theirs)
            }
        });
    }
    told_both(&bout, &pairs, peer, json)
}

impl Bout {
    fn of_ours(&self) -> Result<Shot> {
        self.warm()?;
        Ok(contest::our_shot(&self.place, &self.load, self.ours, self.seconds)
            .map_err(Failed::from)?)
    }

    fn of_fio(&self, peer: Peer, engine: EngineName) -> Result<Shot> {
        self.warm()?;
        Ok(peer.shot(&self.place, &self.load, engine, self.seconds, None).map_err(Failed::from)?)
    }

    /// Returns true if reads go through the page cache, as far as it holds the target.
    fn cached(&self) -> bool {
        !self.load.direct && self.place.path != Path::new(ZERO)
    }

    fn warm(&self) -> Result<()> {
        if self.cached() {
            self.place.warm().map_err(Failed::measurement)?;
        }
        Ok(())
    }

    fn warn(&self) {
        let (bytes, held) = (self.place.bytes, self.place.cacheable());
        if self.cached() && held < bytes {
            let [bytes, held] = [bytes, held].map(show_bytes);
            say_aside(&format!(
                "warning: {held} of {bytes} are read into the page cache before each run, half of the memory that is available; hint: a smaller --size, or --direct 1"
            ));
        }
    }
}

fn stamps(word: &str) -> Stamping {
    match word {
        "batch" => Stamping::Batch,
        "off" => Stamping::Off,
        _ => Stamping::Each,
    }
}

fn load(args: &Args, target: &Path) -> Result<ContestLoad> {
    let mut words = JobWords::default();
    let origin = Origin::command_line();
    let direct =
        args.direct.clone().or_else(|| (target == Path::new(ZERO)).then(|| "0".to_owned()));
    let given = [
        ("rw", &args.rw),
        ("bs", &args.bs),
        ("iodepth", &args.iodepth),
        ("numjobs", &args.numjobs),
        ("rate_iops", &args.rate_iops),
        ("direct", &direct),
    ];
    for (word, value) in given {
        if let Some(value) = value {
            words.set(word, value, &origin);
        }
    }
    let draft = words.draft(Dialect::Ours).map_err(|error: InputError| Failed::from(error))?;
    let job: Job = draft.job;
    if job.rw.writes() {
        return Err(Failed::input(format!(
            "--rw {}: targets are only read here; hint: read or randread",
            job.rw.word()
        ))
        .into());
    }
    let engine = match args.engine.as_deref().map(parse_engine) {
        None | Some(Ok(None)) => None,
        Some(Ok(Some(Engine::Native(name)))) => Some(name),
        Some(Ok(Some(Engine::Fio))) => {
            return Err(Failed::input(
                "--engine fio: it is one of ours that is named; hint: --only fio",
            )
            .into());
        }
        Some(Err(fault)) => return Err(Failed::from(origin.error("engine", fault)).into()),
    };
    Ok(ContestLoad {
        rw: job.rw,
        bs: job.bs,
        iodepth: job.iodepth,
        numjobs: job.numjobs,
        direct: job.direct,
        engine,
        iomem: if args.iomem == "mmaphuge" { Iomem::MmapHuge } else { Iomem::Malloc },
        rate_iops: job.rate_iops,
    })
}

/// Returns the target that may be read, and how much of it.
fn place(args: &Args, target: &Path) -> Result<ContestTarget> {
    if target == Path::new(ZERO) {
        return Ok(ContestTarget { path: target.to_owned(), bytes: args.size.unwrap_or(OF_ZERO) });
    }
    let text = target.display().to_string();
    let quarry = noise::quarry(
        "--target",
        &if text.starts_with("/dev/") { text.clone() } else { format!("file:{text}") },
    )?;
    quarry.warnings.iter().for_each(|warning| say_aside(&format!("warning: {warning}")));
    match args.size {
        Some(size) if size > quarry.bytes => Err(Failed::input(format!(
            "--size: {text} has {} bytes, and {size} are asked for; hint: a smaller --size, or none",
            quarry.bytes
        ))
        .into()),
        size => Ok(ContestTarget { path: quarry.path, bytes: size.unwrap_or(quarry.bytes) }),
    }
}

fn told_alone(bout: &Bout, who: &str, shot: &Shot, json: bool) -> Result<u8> {
    if shot.errors > 0 {
        return Err(Failed::measurement(format!("{} I/Os failed", shot.errors)).into());
    }
    let text = if json { document(bout, object(shot)) } else { shot_words(who, shot) };
    say(&text)?;
    Ok(DONE)
}

fn told_both(bout: &Bout, pairs: &[(Shot, Shot)], peer: Peer, json: bool) -> Result<u8> {
    let failed: u64 = pairs.iter().map(|(ours, theirs)| ours.errors + theirs.errors).sum();
    if failed > 0 {
        return Err(Failed::measurement(format!("{failed} I/Os failed")).into());
    }
    let of = |pick: fn(&(Shot, Shot)) -> f64| median(pairs.iter().map(pick));
    let (ours, theirs) = (of(|pair| pair.0.iops), of(|pair| pair.1.iops));
    let cpu =
        of(|pair| pair.0.user_ns + pair.0.kernel_ns) / of(|pair| pair.1.user_ns + pair.1.kernel_ns);
    let text = if json {
        let all = |pick: fn(&(Shot, Shot)) -> &Shot| {
            pairs.iter().map(|pair| object(pick(pair))).collect::<Vec<Value>>()
        };
        let found = json!({
            "iops_ratio": ours / theirs,
            "cpu_per_io_ratio": cpu,
            "iotax": all(|pair| &pair.0),
            "fio": all(|pair| &pair.1),
        });
        document(bout, found)
    } else {
        let middle = |pick: fn(&(Shot, Shot)) -> &Shot| {
            let mut shots: Vec<&Shot> = pairs.iter().map(pick).collect();
            shots.sort_by(|one, two| one.iops.total_cmp(&two.iops));
            shots[(shots.len() - 1) / 2]
        };
        format!(
            "{}{}above the run of each in the middle by IOPS; medians of {}: {} IOPS over {}: {:.3}; CPU per I/O: {:.3} of fio's\n",
            shot_words(OURS, middle(|pair| &pair.0)),
            shot_words(peer.name(), middle(|pair| &pair.1)),
            pairs.len(),
            iops(ours),
            iops(theirs),
            ours / theirs,
            cpu
        )
    };
    say(&text)?;
    Ok(DONE)
}

/// Describes a shot: the contender, its engine, and its result.
fn shot_words(who: &str, shot: &Shot) -> String {
    format!("{who}  {}\n  {}", shot.engine, sentence(shot))
}

fn sentence(shot: &Shot) -> String {
    let at =
        |q: f64| shot.latency.percentile(q).map_or_else(|| "-".to_owned(), |ns| show_ns(ns as f64));
    let law = shot
        .littles_law_error
        .map(|error| format!(", off Little's law by {:.2} %", 100.0 * error))
        .unwrap_or_default();
    let latency = match shot.latency.count() {
        0 => "no latencies".to_owned(),
        _ => format!("latency p50 {}, p99 {}, p99.9 {}", at(0.5), at(0.99), at(0.999)),
    };
    format!(
        "{} IOPS; CPU per I/O: {} user, {} kernel; {latency}{law}\n",
        iops(shot.iops),
        show_ns(shot.user_ns),
        show_ns(shot.kernel_ns)
    )
}

/// Returns the JSON document of a result, with the load and the target.
fn document(bout: &Bout, found: Value) -> String {
    let load = &bout.load;
    let mut document = json!({
        "format": FORMAT,
        "version": VERSION,
        "target": bout.place.path.display().to_string(),
        "size": bout.place.bytes,
        "seconds": bout.seconds,
        "rw": load.rw.word(),
        "bs": load.bs,
        "iodepth": load.iodepth,
        "numjobs": load.numjobs,
        "direct": load.direct,
        "rate_iops": load.rate_iops,
    });
    if let (Value::Object(document), Value::Object(found)) = (&mut document, found) {
        document.extend(found);
    }
    format!("{document:#}\n")
}

fn object(shot: &Shot) -> Value {
    let cpu_ns = shot.user_ns + shot.kernel_ns;
    let times = |histogram: &Histogram| {
        let at = |q: f64| histogram.percentile(q);
        (histogram.count() > 0).then(|| {
            json!({
                "mean": histogram.mean(),
                "p50": at(0.5),
                "p99": at(0.99),
                "p999": at(0.999),
                "max": histogram.max(),
                "n": histogram.count(),
            })
        })
    };
    json!({
        "iops": shot.iops,
        "cpu_user_ns_per_io": shot.user_ns,
        "cpu_kernel_ns_per_io": shot.kernel_ns,
        "kernel_share": (cpu_ns > 0.0).then(|| shot.kernel_ns / cpu_ns),
        "latency_ns": times(&shot.latency),
        "reap_gap_ns": times(&shot.reap_gap),
        "littles_law_error": shot.littles_law_error,
        "engine": shot.engine,
        "job_file": shot.job_file,
    })
}
