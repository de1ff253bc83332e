use crate::rule::fio::testing::{READ, found, speaks};

#[test]
fn an_end_that_is_not_the_mean_is_told() {
    let ends = |text: &str, at: &str| {
        let from = text.rfind("[100.0%][r=").expect("progress to the end") + "[100.0%][r=".len();
        let to = from + text[from..].find(']').unwrap();
        format!("{}{at}{}", &text[..from], &text[to..])
    };
    assert_eq!(found(&ends(READ, "246MiB/s"), "F28"), []);
    assert_eq!(found(&ends(READ, "123MiB/s"), "F28").len(), 1);
    assert_eq!(
        found(&ends(READ, "123MiB/s").replace("100.0%][r=", "45.0%][r="), "F28"),
        [],
        "progress of the middle"
    );
    assert_eq!(found(&ends(READ, "246MiB/s").replace("31001msec", "21001msec"), "F28"), [], "too short");
}

#[test]
fn two_regimes_are_told() {
    let smooth =
        READ.replace("90.00th=[  225]", "90.00th=[  165]").replace("95.00th=[  277]", "95.00th=[  225]");
    speaks(&smooth, &[("90.00th=[  165]", "90.00th=[  215]", "F29")]);
}

#[test]
fn a_write_that_fell_tells_what_its_cache_took_in() {
    let write = READ
        .replace("rw=randread", "rw=randwrite")
        .replace("  read: IOPS", "  write: IOPS")
        .replace("[r=", "[w=")
        .replace("total=1948425,0,0,0", "total=0,1948425,0,0")
        .replace("   READ:", "  WRITE:");
    let from = write.rfind("[100.0%][w=").unwrap() + "[100.0%][w=".len();
    let to = from + write[from..].find(']').unwrap();
    let fell = format!("{}100MiB/s{}", &write[..from], &write[to..]);
    let told = found(&fell, "F30");
    assert_eq!(told.len(), 1, "{told:#?}");
    // 8 in flight * 4 KiB / 94 us = 349 MB/s; (258 - 105) / (349 - 105) of 31 s.
    assert!(told[0].message.contains("about 6.8 GB were taken in at 349 MB/s"), "{}", told[0].message);
}

#[test]
fn progress_agrees_with_itself() {
    speaks(READ, &[("64.0k IOPS", "640k IOPS", "F32")]);
}
