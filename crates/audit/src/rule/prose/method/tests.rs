use crate::rule::testing::found;

const TABLE: &str = "| t | host | VM | VM/host |\n|---|---|---|---|\n| a | 100 MB/s | 90 MB/s | 90% |\n| b | 200 MB/s | 190 MB/s | 95% |\n| c | 300 MB/s | 240 MB/s | 80% |\n";

#[test]
fn a_comparison_without_a_spread_is_told_once() {
    assert_eq!(found(TABLE, "M1").len(), 1);
    assert_eq!(found(&TABLE.replace("| a | 100 MB/s |", "| a | 100 ± 3 MB/s |"), "M1"), []);
    assert_eq!(found("| t | a |\n|---|---|\n| x | 100 |\n", "M1"), [], "nothing is compared");
    let votes = TABLE.replace(" MB/s", "").replace("host", "cast").replace("VM", "valid");
    assert_eq!(found(&votes, "M1"), [], "counts have no runs");
    let sizes = "| kind | size | free |\n|---|---|---|\n| a | 8 GB | 6 GB (75%) |\n| b | 5 GB | 4 GB (80%) |\n| c | 2 GB | 1 GB (50%) |\n";
    assert_eq!(found(sizes, "M1"), [], "what is free");
}

#[test]
fn a_page_without_measurements_compares_nothing() {
    let news = "Version 2 has an overhead of 10%.\nIt starts 20% faster.\n";
    assert_eq!(found(news, "M1"), []);
    assert_eq!(found(&format!("{news}A volume reads 120 MB/s.\n"), "M1").len(), 1);
    let log = |text: &str| format!("{text}\n{text}\nA volume reads 120 MB/s.\n");
    assert_eq!(found(&log("It is 2x as fast with it."), "M1").len(), 1);
    assert_eq!(found(&log("Collisions: expected 3.0, actual 6 (2.00x)"), "M1"), [], "a log");
    assert_eq!(found(&log("A graphics card at 2x (channels)."), "M1"), [], "a link's width");
}

#[test]
fn the_best_of_several_is_told() {
    assert_eq!(found("The best of three runs is shown.\n", "M2").len(), 1);
    assert_eq!(found("以上重复执行三次，取最好的一次。\n", "M2").len(), 1);
    assert_eq!(found("Each figure is the best result of 5 attempts.\n", "M2").len(), 1);
    for other in [
        "It is the best of all worlds.\n",
        "Version 3.0 has the best of both worlds.\n",
        "And, best of all, release 4 is out.\n",
        "They won the best of five series in 2019.\n",
        "In the best of conditions it does 10k a second.\n",
    ] {
        assert_eq!(found(other, "M2"), [], "{other}");
    }
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
    assert_eq!(found(&table("0 B/s"), "M3"), [], "nothing was written");
    assert_eq!(found(&table("10 s"), "M3"), [], "a setting");
    let service = |head: &str| format!("An NVMe drive.\n\n| clients | {head} |\n|---|---|\n| 64 | 2461 |\n");
    assert_eq!(found(&service("write IOPS"), "M3").len(), 1);
    assert_eq!(found(&service("write QPS"), "M3"), [], "of a service");
    assert_eq!(found(&service("write quorum"), "M3"), [], "no rate");
}

#[test]
fn release_notes_compare_no_measurements() {
    let notes = "- Reads are 20% faster.\n- Latency dropped by 15%.\n- A volume may read 2 GB/s.\n";
    assert_eq!(found(notes, "M1").len(), 1);
    assert_eq!(found(&format!("# Release notes of 2.4\n\n{notes}"), "M1"), []);
    assert_eq!(found(&format!("## 2.4.1 - 2024-05-01\n\n{notes}\n## 2.4.0\n\nA fix.\n"), "M1"), []);
    let timeouts = "- Reads are 20% faster.\n- Memory dropped by 15%.\n- The timeout is 30 s.\n";
    assert_eq!(found(timeouts, "M1"), [], "a time is no result");
    let settings =
        format!("{timeouts}\n| setting | default |\n|---|---|\n| timeout | 30 s |\n| retries | 3 |\n");
    assert_eq!(found(&settings, "M1"), [], "nor is a setting");
}

#[test]
fn counters_of_writes_are_no_rates() {
    let page = |label: &str, cell: &str| {
        format!("An NVMe drive.\n\n| what | a |\n|---|---|\n| throughput | 310 |\n| {label} | {cell} |\n")
    };
    assert_eq!(found(&page("SERVER-WRITES-COMPLETED-SUM", "214,307"), "M3"), []);
    assert_eq!(found(&page("writes", "214,307"), "M3").len(), 1);
    assert_eq!(found(&page("write total", "431 MB/s"), "M3").len(), 1, "a rate");
}

#[test]
fn a_quotation_that_is_asked_about_is_an_exercise() {
    assert_eq!(found("A report says \"42 us, best of 20 runs.\" What does it leave out?\n", "M2"), []);
    assert_eq!(found("\"A report says '42 us, best of 20 runs.' What does it leave out?\"\n", "M2"), []);
    assert_eq!(found("Each is the best of 20 runs. What does that leave out?\n", "M2").len(), 1);
    assert_eq!(found("Figures are \"best of 20 runs\" ones.\n", "M2").len(), 1);
}

#[test]
fn ratios_without_a_unit_or_word_of_speed_near_them_are_no_results() {
    let table = |heads: [&str; 2]| {
        let [before, behind] = heads;
        format!(
            "A volume reads 120 MB/s.\n\n| part | {before} | {behind} | change |\n|---|---|---|---|\n| a | 1200 | 900 | 25% |\n| b | 800 | 720 | 10% |\n| c | 500 | 250 | 50% |\n"
        )
    };
    assert_eq!(found(&table(["lines", "lines then"]), "M1"), [], "code");
    assert_eq!(found(&table(["QPS", "QPS then"]), "M1").len(), 1);
    let broken =
        table(["lines", "lines then"]).replace("lines", "part").replace("1200 | 900", "1200.4 | 900.3");
    assert_eq!(found(&broken, "M1").len(), 1, "no counts");
    let text = |text: &str| format!("{text}\n\n{text}\n\nA volume reads 120 MB/s.\n");
    assert_eq!(found(&text("最多 1.5 倍 karma_period 之后不再影响选择。"), "M1"), [], "a setting");
    assert_eq!(found(&text("吞吐是以前的 1.5 倍。"), "M1").len(), 1);
    let mixed = "Reads are 2x as fast.\n\nMemory dropped by 15%.\n\n";
    assert_eq!(found(&format!("{mixed}A volume reads 120 MB/s.\n"), "M1"), [], "one of speed");
    assert_eq!(found(&format!("{mixed}| t | a |\n|---|---|\n| x | 100 MB/s |\n"), "M1").len(), 1);
}
