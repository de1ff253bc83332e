use super::*;
use crate::import::scan;

fn read_all(text: &str) -> (Vec<Fio>, Vec<Unread>) {
    let scanned = scan(&Page::new("p", text));
    let fio = |said| match said {
        Said::Fio(fio) => Some(*fio),
        _ => None,
    };
    (scanned.outputs.into_iter().filter_map(|output| fio(output.said)).collect(), scanned.unread)
}

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../../fixtures/fio/", $name))
    };
}

#[test]
fn all_versions_are_read() {
    for (text, version) in [
        (fixture!("terse-2.txt"), None),
        (fixture!("terse-3.txt"), Some(33)),
        (fixture!("terse-4.txt"), Some(33)),
        (fixture!("terse-5.txt"), Some(33)),
    ] {
        let (all, _) = read_all(text);
        let fio = &all[0];
        assert_eq!((all.len(), fio.jobs.len(), fio.form), (1, 2, Form::Terse));
        assert_eq!(fio.version.map(|version| version.minor), version);
        for job in &fio.jobs {
            assert_eq!((job.name.as_str(), job.error.unwrap().value, job.directions.len()), ("mix", 0.0, 2));
            for direction in &job.directions {
                let seconds = direction.runtime_ms.unwrap().value / 1e3;
                let rate = direction.io.unwrap().interval().scaled(1.0 / seconds);
                assert!(rate.wider(1e-3).meets(direction.bandwidth.unwrap().interval()));
                assert_eq!(direction.percentiles.as_ref().unwrap().points.len(), 17);
                let clat = direction.clat.unwrap();
                assert!(clat.min.low <= clat.mean.value && clat.mean.value <= clat.max.high);
                assert!(direction.slat.is_none());
            }
            let shares: f64 = job.buckets.iter().map(|(_, share)| share.value).sum();
            assert!((shares - 100.0).abs() < 0.3, "{shares}");
            assert_eq!((job.depths[0].0, job.depths[0].1.value), (1, 100.0));
            assert!(job.cpu.unwrap().switches.is_some());
        }
        assert_eq!(fio.disks.len(), usize::from(version.is_some()), "version 2 tells no disks");
    }
}

#[test]
fn the_short_lines_of_old_are_read() {
    let (all, _) = read_all(fixture!("terse-old.txt"));
    let [read, write] = all[0].jobs[0].directions.as_slice() else { panic!() };
    assert_eq!((read.iops, read.percentiles.is_none()), (None, true));
    assert_eq!(write.runtime_ms.unwrap().value, 60004.0);
    assert_eq!(read.lat.unwrap().mean.value, 3_523_600.0);
}

#[test]
fn what_stands_between_lines_parts_outputs_and_cut_lines_are_listed() {
    let line = fixture!("terse-3.txt").lines().next().unwrap();
    let (all, unread) = read_all(&format!("{line}\nJobs: 1 (f=1)\n{line}\n{}\n", &line[..line.len() / 2]));
    assert_eq!((all.len(), all[1].jobs.len()), (2, 1));
    assert_eq!((unread.len(), unread[0].line), (1, 4));
    for other in ["2;3;4", "2;a;b;c;d;e;f;g;h;i", "3;x;1;2;3;4;5;6;7;8;9;10"] {
        assert!(read_all(other).0.is_empty(), "{other}");
    }
}

#[test]
fn disks_and_what_stands_below_them_are_told_apart() {
    let line = fixture!("terse-3.txt").lines().next().unwrap().trim_end();
    let below = format!("{line};slaves;1;2;3;4;5;6;7;8.00%;md0;9;8;7;6;5;4;3;2.00%\n");
    let disks = &read_all(&below).0[0].disks;
    let told: Vec<(&str, bool)> = disks.iter().map(|disk| (disk.name.as_str(), disk.aggregates)).collect();
    assert_eq!(told, [("vda", true), ("md0", false)]);
    assert_eq!(disks[1].ios.map(|figure| figure.unwrap().value), [9.0, 8.0]);
}
