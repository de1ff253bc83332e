use crate::number::*;

/// What is read of each line: every figure by its own signs, and where the comma is known to be the
/// decimal sign of the text.
fn shown(text: &str) -> String {
    let comma = Style { decimal_comma: true, spaces: true };
    let told = |line: &str, one: &Quantity| {
        let spot = one.figure.spot;
        let printed = &line[spot.start as usize..spot.end as usize];
        let PrintedNumber { value, low, high, .. } = one.figure;
        format!("{printed}={value} ({low} to {high}) {:?} {:?}", one.unit, one.hedge)
    };
    let of = |line: &str, style: Style| -> String {
        let found = quantities_in(0, line, style);
        found.iter().map(|one| told(line, one)).collect::<Vec<_>>().join(", ")
    };
    let line = |line: &str| {
        let (own, by_comma) = (of(line, Style::default()), of(line, comma));
        let other = if own == by_comma { String::new() } else { format!("; by comma {by_comma}") };
        format!("{line} | {own}{other}; {:?}\n", shows(line))
    };
    text.lines().map(line).collect()
}

#[test]
fn every_text_is_read_as_was_checked() {
    crate::testing::hold("numbers.txt", shown);
}

#[test]
fn a_text_that_is_nothing_but_a_unit_is_read_as_one() {
    let megabytes =
        Measure { unit: NumberUnit::BytesPerSecond, scale: 1e6, base: PrefixBase::Decimal };
    assert_eq!(measure("МБ/с"), Some(megabytes));
    assert_eq!(
        measure("K IOps").map(|read| (read.unit, read.scale)),
        Some((NumberUnit::PerSecond, 1e3))
    );
    assert_eq!(measure("万").map(|read| read.scale), Some(1e4));
    assert_eq!((measure("MB/s read"), measure("Read"), measure("")), (None, None, None));
}

#[test]
fn leading_numbers_are_read_exactly() {
    assert_eq!(leading("118.47us"), Some((118.47, 6, 2)));
    assert_eq!(leading("1.2e+06,"), Some((1.2e6, 7, 1)));
    assert_eq!(leading("-3"), Some((-3.0, 2, 0)));
    assert_eq!(leading("12345678901234567890"), Some((12_345_678_901_234_567_890.0, 20, 0)));
    assert_eq!(leading(".5"), None);
    assert_eq!(leading("5."), Some((5.0, 1, 0)));
}

proptest::proptest! {
    #[test]
    fn a_plain_decimal_reads_as_the_library_reads_it(whole in 0u64..10_000_000_000, fraction in "[0-9]{0,9}") {
        let text = if fraction.is_empty() { whole.to_string() } else { format!("{whole}.{fraction}") };
        let (value, bytes, decimals) = leading(&text).unwrap();
        assert_eq!((value, bytes, decimals), (text.parse().unwrap(), text.len(), fraction.len()));
    }
}

#[test]
fn ratios_of_what_may_be_below_zero_are_all_told() {
    let two = Interval { low: 1.0, high: 2.0 };
    assert_eq!(
        Interval { low: -1.0, high: 4.0 }.ratio_to(two),
        Some(Interval { low: -1.0, high: 4.0 })
    );
    assert_eq!(
        Interval { low: -4.0, high: -1.0 }.ratio_to(two),
        Some(Interval { low: -4.0, high: -0.5 })
    );
    assert_eq!(
        Interval { low: 1.0, high: 4.0 }.ratio_to(two),
        Some(Interval { low: 0.5, high: 4.0 })
    );
    assert_eq!(two.ratio_to(Interval { low: 0.0, high: 1.0 }), None);
}
