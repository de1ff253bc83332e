use crate::import::fio::{Fio, Form};
use crate::import::{Said, scan};
use crate::number::Figure;
use crate::page::Page;

/// fio 3.33, of our own: `fio --name=mixed --size=64m --rw=randrw --bs=4k --iodepth=8 --ioengine=libaio --direct=1
/// --numjobs=2 --group_reporting --time_based --runtime=2`.
const MIXED: &str = super::FORMAT.example;

fn fios(text: &str) -> (Page, Vec<Fio>) {
    let page = Page::new("p", text);
    let imported = scan(&page);
    assert_eq!(imported.unread, [], "{text}");
    (page, imported.outputs.into_iter().filter_map(|output| fio_of(output.said)).collect())
}

fn fio_of(said: Said) -> Option<Fio> {
    match said {
        Said::Fio(fio) => Some(*fio),
        _ => None,
    }
}

fn only(text: &str) -> (Page, Fio) {
    let (page, mut fios) = fios(text);
    assert_eq!(fios.len(), 1, "{fios:#?}");
    (page, fios.remove(0))
}

fn value(figure: &Option<Figure>) -> f64 {
    figure.as_ref().expect("a figure").value
}

#[test]
fn the_old_way_of_before_2_17_is_read() {
    let (_, fio) = only(
        "rr: (g=0): rw=randread, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=16\nfio-2.1.11\nStarting 8 processes\n\n\
         rr: (groupid=0, jobs=8): err= 0: pid=7: Fri Apr  7 18:42:49 2017\n  read : io=2048.0MB, bw=305529KB/s, iops=76382, runt=  6864msec\n\
         \x20   slat (usec): min=1, max=239, avg= 3.72, stdev=61.46\n    bw (KB  /s): min=30992, max=43188, per=12.55%, avg=38332.57, stdev=3596.67\n\
         \x20   lat (usec) : 20=0.01%, 50=99.99%\n  IO depths    : 1=0.1%, 16=99.9%\n\
         \x20    issued    : total=r=524288/w=0/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0\n\n\
         Run status group 0 (all jobs):\n   READ: io=2048.0MB, aggrb=305529KB/s, minb=305529KB/s, maxb=305529KB/s, mint=6864msec, maxt=6864msec\n",
    );
    let read = &fio.jobs[0].directions[0];
    assert_eq!((value(&read.iops), value(&read.bandwidth)), (76_382.0, 305_529.0 * 1024.0));
    assert_eq!((value(&read.io), value(&read.runtime_ms)), ((2048u64 << 20) as f64, 6864.0));
    assert_eq!(value(&fio.jobs[0].issued.unwrap().total[0]), 524_288.0);
    assert_eq!(value(&fio.statuses[0].runtime_ms[1]), 6864.0);
    assert_eq!(fio.asked[0].bs[0], Some((4096, 4096)));
}

#[test]
fn result_lines_that_were_pasted_alone_are_excerpts() {
    let text = "host\nread: IOPS=26.0k, BW=102MiB/s (107MB/s)(29.8GiB/300001msec)\nwrite: IOPS=25.0k, BW=102MiB/s (106MB/s)(29.7GiB/300001msec)\n\
                guest\n  read: IOPS=20.4k, BW=79.7MiB/s (83.6MB/s)(23.4GiB/300001msec)\n";
    let (_, found) = fios(text);
    assert_eq!(
        found.iter().map(|fio| (fio.form, fio.jobs[0].directions.len())).collect::<Vec<_>>(),
        [(Form::Excerpt, 2), (Form::Excerpt, 1)]
    );
}

#[test]
fn outputs_behind_each_other_are_told_apart_and_noise_is_listed() {
    let (_, found) = fios(&format!("{MIXED}\n{MIXED}prose about it\n{MIXED}"));
    assert_eq!(found.len(), 3);
    let bodies = MIXED.split_once("fio-3.33\n").unwrap().1;
    let (_, found) = fios(&format!("{bodies}{bodies}"));
    assert_eq!(found.iter().map(|fio| fio.jobs.len()).collect::<Vec<_>>(), [1, 1], "without heads");
    let imported = scan(&Page::new("p", MIXED.replace("  cpu  ", "www.example.org\n  cpu  ")));
    assert_eq!((imported.outputs.len(), imported.unread.len(), imported.unread[0].line), (1, 1, 36));
    for text in
        ["fio-3.16 was used for all", "read: the manual first", "Starting 4 processes", "Jobs: we offer some"]
    {
        assert!(scan(&Page::new("p", text)).outputs.is_empty(), "{text}");
    }
}

#[test]
fn latencies_of_syncs_and_of_priorities_are_of_no_way() {
    let list = "percentiles (usec):\n     |  1.00th=[  619], 99.99th=[96994]\n";
    let sync = format!(
        "  fsync/fdatasync/sync_file_range:\n    sync (usec): min=350, max=126117, avg=857.01, stdev=2345.36\n    sync {list}  cpu  "
    );
    let prio = format!(
        "    clat prio 0/4 (usec): min=1, max=2, avg= 1.50, stdev= 0.10\n    clat prio 0/4 (12.30% of IOs) {list}   bw ("
    );
    let (_, fio) = only(&MIXED.replace("  cpu  ", &sync).replacen("   bw (", &prio, 1));
    for direction in &fio.jobs[0].directions {
        assert_eq!(direction.percentiles.as_ref().unwrap().points.len(), 17);
    }
    assert_eq!(fio.jobs[0].directions[0].clat.unwrap().mean.value, 160_087.76);
    let (_, fio) = only(
        &MIXED.replace("BW=174MiB/s (183MB/s)", "BW=1392Mibit/s (1460Mbit/s)").replace("mixed: (", "fio: ("),
    );
    assert_eq!(value(&fio.jobs[0].directions[0].bandwidth), 174.0 * 1_048_576.0, "bits");
    assert_eq!(fio.jobs[0].name, "fio", "a job of the tool's own name");
}
