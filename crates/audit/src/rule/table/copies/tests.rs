use crate::rule::testing::{found, wrong};

fn page(version: &str, cell: &str) -> String {
    format!(
        "fio-{version}\na: (groupid=0, jobs=1): err= 0: pid=1: Fri Apr 12 13:55:32 2024\n  write: IOPS=25.0k, BW=102MiB/s (106MB/s)(29.7GiB/300001msec)\n\
         \x20    issued rwts: total=0,7797520,0,0 short=0,0,0,0 dropped=0,0,0,0\n\n\
         | | write | bandwidth | decimal |\n|---|---|---|---|\n| host | {cell} | 102MiB/s | 106MB/s |\n"
    )
}

#[test]
fn a_copy_of_a_wrong_figure_is_wrong() {
    assert_eq!(wrong(&page("3.7", "25.0k")), ["N2 25.0k -> 26.0k", "T4 25.0k -> 26.0k"]);
    assert_eq!(found(&page("3.7", "26.0k"), "T4"), [], "mended by the author");
}

#[test]
fn few_cells_alike_are_chance() {
    let page = page("3.7", "25.0k").replace("| 102MiB/s | 106MB/s |", "| 77MiB/s | 80MB/s |");
    assert_eq!(found(&page, "T4"), []);
}
