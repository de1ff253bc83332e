//! Tests of which keys of a job file are native, left to fio, ignored and refused, on the job files
//! of tests/fixtures/jobs.

use super::super::Engine;
use super::super::draft::Targets;
use super::super::fio_keys::known_keys;
use super::tests::read_text;
use super::*;
use iotax_load::EngineName;

/// Returns what becomes of a job file: `native`, `fio: KEYS`, or `refused: KEYS`.
fn fate(path: &std::path::Path) -> String {
    let file = match read_fio_job(path) {
        Ok(file) => file,
        Err(error) => {
            let text = error.to_string();
            let keys =
                text.lines().filter_map(|line| line.split("key \"").nth(1)?.split('"').next());
            return format!("refused: {}", keys.collect::<Vec<_>>().join(", "));
        }
    };
    let targets = Targets { smallest: Some(1 << 30), all_declared: true };
    let loads: Vec<_> =
        file.drafts.iter().map(|draft| draft.workload_on(targets).unwrap()).collect();
    for load in &loads {
        let keys = load.fio_keys();
        assert_eq!(load.engine == Some(Engine::Fio), !keys.is_empty(), "{}", path.display());
        for job in &load.jobs {
            iotax_load::fio_options::check(job).unwrap();
        }
    }
    match loads.iter().flat_map(|load| load.fio_keys()).collect::<Vec<_>>().as_slice() {
        [] => "native".to_owned(),
        keys => format!("fio: {}", keys.join(", ")),
    }
}

#[test]
fn every_job_file_as_people_write_them_has_the_fate_that_it_names() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/jobs");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut taken = 0;
    let mut refused = 0;
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let named = text.lines().next().unwrap().trim_start_matches("; ").to_owned();
        assert_eq!(fate(&path), named, "{}", path.display());
        if named.starts_with("refused") { refused += 1 } else { taken += 1 }
    }
    assert_eq!((taken, refused), (27, 3));
}

#[test]
fn the_page_names_every_key() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/job-files.md");
    let page = std::fs::read_to_string(page).unwrap();
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario-format.md");
    let pages = page + &std::fs::read_to_string(scenario).unwrap();
    for pair in known_keys().into_iter().filter(|key| canonical_key(key) == *key) {
        assert!(pages.contains(&format!("`{pair}")), "{pair}");
    }
}

#[test]
fn all_refusals_are_reported_at_once_and_each_once() {
    let text =
        "[global]\nfrobnicate=1\nbs=0\n[a]\nrw=read\niodepth=0\n[b]\nbs=${NOPE}\n[c]\nwait_for=z\n";
    let error = read_text(text, &[]).unwrap_err();
    let lines: Vec<_> = error.lines().map(|line| line.split(':').nth(1).unwrap()).collect();
    assert_eq!(lines, ["8", "2", "3", "6", "10"], "{error}");
    assert_eq!(error.matches("frobnicate").count(), 1, "{error}");
}

#[test]
fn the_rates_and_regions_of_native_keys() {
    let job = |text: &str| {
        let file = read_text(&format!("[a]\n{text}\n"), &[]).unwrap();
        file.drafts[0].workload_on(Targets::default()).unwrap().jobs[0].clone()
    };
    let rate = |text| job(text).rate_iops;
    assert_eq!(rate("rw=randread\nrate=4m"), Some(1024));
    assert_eq!(rate("rw=write\nrate=1m,8m\nbs=8k"), Some(1024));
    assert_eq!(rate("rw=write\nrate=1000"), None, "by fio");
    assert_eq!(job("rw=read\nsize=1g\nfilesize=8m\nnrfiles=2").size, Some(16 << 20));
    assert_eq!(job("rw=read\nkb_base=1000\nsize=8MiB\nbs=4KiB").size, Some(8 << 20));
    assert_eq!(job("rw=read\nkb_base=1000\nsize=8m").size, Some(8_000_000));
    let zoned = job("rw=randwrite\nbs=64k\nzonemode=zbd\nzonesize=1m\nsize=8z\noffset=2z");
    assert_eq!((zoned.offset, zoned.size), (2 << 20, Some(8 << 20)));
    let strided = job("rw=read\nzonemode=strided\nzonesize=1m\nzoneskip=3m");
    assert_eq!(strided.stride, Some(iotax_load::Stride { zone: 1 << 20, skip: 3 << 20 }));
    assert_eq!(job("rw=write\nsync=dsync").sync, iotax_load::WriteSync::Dsync);
    assert_eq!(job("rw=read\ncpumask=5").cpus_allowed, [0, 2]);
}

#[test]
fn another_engine_by_name_cannot_replace_fio() {
    let mut draft = read_text("[a]\nthinktime=9\n", &[]).unwrap().drafts.remove(0);
    draft.engine = Some(Engine::Native(EngineName::Uring));
    let error = draft.workload_on(Targets::default()).unwrap_err().to_string();
    assert!(error.contains("jobs.fio:2") && error.contains("thinktime"), "{error}");
    draft.engine = None;
    assert_eq!(draft.workload_on(Targets::default()).unwrap().engine, Some(Engine::Fio));
}

#[test]
fn a_job_that_fio_stamps_says_that_nothing_is_read_back() {
    for keys in ["verify=pattern\nverify_pattern=0xff", "verify=crc32c\nverify_interval=512"] {
        let (notes, options) = {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("jobs.fio");
            std::fs::write(&path, format!("[a]\nrw=write\ndirect=1\n{keys}\n")).unwrap();
            let file = read_fio_job(&path).unwrap();
            (file.notes.join("\n"), file.drafts[0].jobs[0].job.fio_options.clone())
        };
        assert!(notes.contains("job \"a\": nothing is read back but by verify_backlog"), "{notes}");
        assert!(options.contains(&"do_verify=0".to_owned()), "{options:?}");
    }
}
