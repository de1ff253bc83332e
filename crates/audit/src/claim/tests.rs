use super::list::listed;
use crate::audit::{Options, audit, audit_pinned};
use crate::page::Page;
use crate::pins::Pins;
use proptest::prelude::*;

/// `printed | system | workload | why` of all figures of a page.
fn all(page: &str) -> Vec<String> {
    let audited = audit(Page::new("p", page));
    let line = |one: &super::list::Listed| {
        let (system, workload) = (one.system.as_deref(), one.workload.as_deref());
        format!("{} | {} | {} | {}", one.printed, system.unwrap_or("-"), workload.unwrap_or("-"), one.why)
    };
    listed(&audited).iter().map(line).collect()
}

/// What one figure is of.
fn of(page: &str, printed: &str) -> String {
    let all = all(page);
    let found: Vec<&String> = all.iter().filter(|one| one.starts_with(&format!("{printed} | "))).collect();
    assert_eq!(found.len(), 1, "{printed} in {all:#?}");
    found[0].rsplit_once(" | ").unwrap().0.split_once(" | ").unwrap().1.to_owned()
}

const COMPARED: &str = "| load | host | guest | guest / host |
|---|---|---|---|
| 4k random read | 80000 | 73600 | 92% |
| 4k random write | 60000 | 56400 | 94% |
| 64k read | 7000 | 6510 | 93% |
| 1M write | 500 | 410 | 92% |
";

#[test]
fn cells_are_of_the_system_and_workload_that_label_and_head_tell() {
    assert_eq!(of(COMPARED, "73600"), "guest | 4k random read");
    assert_eq!(of(COMPARED, "94%"), "guest / host | 4k random write");
    let lying = "| system | 4k randread IOPS | 4k randwrite IOPS |\n|---|---|---|\n| LVM | 81234 | 61234 |\n| ZFS | 41234 | 31234 |\n| Average | 61234 | 46234 |\n";
    assert_eq!(of(lying, "31234"), "ZFS | 4k randwrite IOPS");
    assert_eq!(of(lying, "46234"), "- | 4k randwrite IOPS", "an average is of no system");
    let titled = "## 4k random write\n\n| | IOPS | MB/s |\n|---|---|---|\n| LVM | 81234 | 333 |\n| ZFS | 41234 | 169 |\n";
    assert_eq!(of(titled, "169"), "ZFS | 4k random write");
}

#[test]
fn what_nothing_tells_is_none() {
    let tests = "| | score |\n|---|---|\n| Dhrystone | 81234 |\n| Whetstone | 61234 |\n";
    assert_eq!(of(tests, "61234"), "- | -", "tests, or systems");
    let runs = "| load | run 1 | run 2 |\n|---|---|---|\n| 4k read | 81234 | 61234 |\n| 4k write | 71234 | 51234 |\n";
    assert_eq!(of(runs, "51234"), "- | 4k write", "a run is no system");
    assert_eq!(of("It reached 400 MB/s in all.\n", "400 MB/s"), "- | -");
}

const OUTPUT: &str =
    "w: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=8
fio-3.28
w: (groupid=0, jobs=4): err= 0: pid=1: Fri Apr 12 13:55:32 2024
  read: IOPS=26.1k, BW=102MiB/s (107MB/s)(29.9GiB/300001msec)
  write: IOPS=26.0k, BW=102MiB/s (106MB/s)(29.7GiB/300001msec)
     issued rwts: total=7829520,7797520,0,0 short=0,0,0,0 dropped=0,0,0,0
";

#[test]
fn figures_of_outputs_are_of_their_job_and_of_the_system_that_lines_above_name() {
    assert_eq!(of(OUTPUT, "26.0k"), "- | w: randrw (write) bs=4k iodepth=8 numjobs=4");
    assert_eq!(of(OUTPUT, "7797520"), "- | w: randrw bs=4k iodepth=8 numjobs=4", "of the whole job");
    assert_eq!(
        of(&format!("In the guest:\n\n{OUTPUT}"), "26.1k"),
        "guest | w: randrw (read) bs=4k iodepth=8 numjobs=4"
    );
    let page = |heading: &str| {
        format!(
            "| load | DirectPath | Virtio |\n|---|---|---|\n| 4k read | 81234 | 61234 |\n| 4k write | 71234 | 51234 |\n\n{heading}\n\n{OUTPUT}"
        )
    };
    assert!(of(&page("## DirectPath"), "26.1k").starts_with("DirectPath | w"));
    assert!(of(&page("## DirectPath and Virtio"), "26.1k").starts_with("- | w"), "two are none");
}

#[test]
fn sentences_are_of_the_system_that_they_name() {
    let page = format!("{COMPARED}\nRandom writes of the guest lose 8 % there, and 4k reads 12 %.\n");
    assert_eq!(of(&page, "8 %"), "guest | random write");
    assert!(of(&page, "12 %").ends_with(" | read 4k"));
}

#[test]
fn why_a_figure_cannot_be_checked_is_told_as_exactly_as_structure_tells() {
    let why = |page: &str, printed: &str| {
        let all = all(page);
        let one = all.iter().find(|one| one.starts_with(&format!("{printed} | "))).unwrap();
        one.rsplit_once(" | ").unwrap().1.to_owned()
    };
    assert_eq!(why(COMPARED, "94%"), "T1");
    assert_eq!(why(COMPARED, "500"), "others are computed from it; nothing on the page gives it");
    assert_eq!(why("It lost 18.4 % of writes.\n", "18.4 %"), "nothing ties it to its operands");
    assert_eq!(
        why("It reached 400 MB/s in all.\n", "400 MB/s"),
        "nothing ties it to a figure of a table or an output"
    );
    let alone = "| | IOPS |\n|---|---|\n| a | 81234 |\n| b | 61234 |\n";
    assert_eq!(why(alone, "81234"), "its operands are not on the page");
    assert_eq!(
        why(&format!("{OUTPUT}\n{alone}"), "81234"),
        "no output of the page has it, and no other figure gives it"
    );
    assert_eq!(why(OUTPUT, "26.0k"), "F1");
    let cpu = format!("{OUTPUT}  cpu          : usr=4.65%, sys=5.51%, ctx=703251, majf=0, minf=58\n");
    assert_eq!(why(&cpu, "703251"), "no rule held a figure of this kind in its output");
}

#[test]
fn pins_tell_what_structure_does_not() {
    let page = "It reached 400 MB/s in all.\n";
    let pins = "format = \"iotax-pins\"\nversion = 1\n[[pin]]\nline = 1\nfigure = \"400 MB/s\"\nsystem = \"array\"\nworkload = \"read\"\n";
    let audited =
        audit_pinned(Page::new("p", page), &Options::default(), &Pins::read(pins).unwrap()).unwrap();
    let one = &listed(&audited)[0];
    assert_eq!((one.system.as_deref(), one.workload.as_deref()), (Some("array"), Some("read")));
    assert_eq!((one.line, one.columns), (1, Some((12, 20))));
}

proptest! {
    #[test]
    fn every_claim_is_listed_once_where_it_stands(
        cut in 0usize..900, from in 0usize..300, letter in "[0-9%|\\n:写]", text in "[0-9a-zA-Z%.,|写读 \\n]{0,200}",
    ) {
        let sound = format!("{OUTPUT}\n{COMPARED}\nWrites of the guest lose 8 %.\n");
        let mut letters: Vec<char> = sound.chars().collect();
        letters.splice(from..from + 1, letter.chars());
        letters.truncate(letters.len().saturating_sub(cut));
        for page in [letters.into_iter().collect::<String>(), text] {
            let audited = audit(Page::new("p", page.as_str()));
            let list = listed(&audited);
            prop_assert_eq!(list.len(), audited.claims.len());
            for one in list {
                let (start, end) = one.columns.unwrap();
                let line = audited.page.line(one.claim.spot.index());
                let there: String = line.chars().skip(start - 1).take(end - start).collect();
                prop_assert_eq!(there, one.printed);
            }
        }
    }
}
