use crate::rule::testing::found;

const TABLE: &str = "| t | host | VM | VM/host |\n|---|---|---|---|\n| a | 100 | 90 | 90% |\n| b | 200 | 190 | 95% |\n| c | 300 | 240 | 80% |\n";

#[test]
fn a_comparison_without_a_spread_is_told_once() {
    assert_eq!(found(TABLE, "M1").len(), 1);
    assert_eq!(found(&TABLE.replace("| a | 100 |", "| a | 100 ± 3 |"), "M1"), []);
    assert_eq!(found("| t | a |\n|---|---|\n| x | 100 |\n", "M1"), [], "nothing is compared");
}

#[test]
fn a_page_without_measurements_compares_nothing() {
    let news = "Version 2 has an overhead of 10%.\nIt starts 20% faster.\n";
    assert_eq!(found(news, "M1"), []);
    assert_eq!(found(&format!("{news}A volume reads 120 MB/s.\n"), "M1").len(), 1);
}

#[test]
fn the_best_of_several_is_told() {
    assert_eq!(found("The best of three runs is shown.\n", "M2").len(), 1);
    assert_eq!(found("以上重复执行三次，取最好的一次。\n", "M2").len(), 1);
    assert_eq!(found("It is the best of all worlds.\n", "M2"), []);
}

#[test]
fn writes_to_flash_without_preconditioning_are_told() {
    let page = |method: &str| {
        format!("An NVMe drive. {method}\n\nwrite: IOPS=26.0k, BW=102MiB/s (107MB/s)(29.8GiB/300001msec)\n")
    };
    assert_eq!(found(&page(""), "M3").len(), 1);
    assert_eq!(found(&page("It was preconditioned by two full writes."), "M3"), []);
    assert_eq!(found(&page("").replace("NVMe drive", "array of disks"), "M3"), []);
    let table =
        |cell: &str| format!("An NVMe drive.\n\n| what | here |\n|---|---|\n| Default write | {cell} |\n");
    assert_eq!(found(&table("1900 MB/s"), "M3").len(), 1);
    assert_eq!(found(&table("Completes at once"), "M3"), [], "no figure");
}
