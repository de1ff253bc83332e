use crate::rule::testing::found;

fn page(sentence: &str, last: &str) -> String {
    format!(
        "{sentence}\n\n| | pvscsi | NVMe controller |\n|---|---|---|\n| write 4M | 4603.11 MB/s | 4594.44 MB/s |\n\
         | read 4M | 4618.22 MB/s | 4618.33 MB/s |\n| write 4k | 54.61 MB/s | {last} MB/s |\n"
    )
}

#[test]
fn pairs_outside_a_stated_band_are_counted() {
    let both = "The difference between pvscsi and the nvme controller is within the margin of error of 5%.";
    let told = found(&page(both, "60.02"), "S1");
    assert_eq!(told.len(), 1);
    assert!(told[0].message.starts_with("1 of 3 pairs are further apart than 5%"), "{}", told[0].message);
    assert_eq!(found(&page(both, "55.02"), "S1"), []);
    let own = "Writes of the nvme controller (218) are within 30% of those of pvscsi (168).";
    assert_eq!(found(&page(own, "30.02"), "S1"), [], "it tells what it compares");
    assert_eq!(
        found(&page("4k writes of pvscsi and nvme are within 30%.", "30.02"), "S1").len(),
        1,
        "a size"
    );
    assert_eq!(found(&page("Prices are within 5% of each other.", "60.02"), "S1"), [], "of other things");
}

#[test]
fn two_bands_of_error_are_told() {
    let two = "Between pvscsi and nvme it is within the margin of error of 5%.\nOther results are within a margin of error of 2%.\n";
    assert_eq!(found(two, "S7").len(), 1);
    assert_eq!(found(&two.replace("of 2%", "of 5%"), "S7"), []);
}
