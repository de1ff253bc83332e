use super::*;

fn of(text: &str) -> Vec<(f64, Unit, u8)> {
    quantities(0, text).iter().map(|one| (one.figure.value, one.unit, one.decimals)).collect()
}

fn one(text: &str) -> Quantity {
    let found = quantities(0, text);
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    found[0]
}

#[test]
fn numbers_are_read_in_every_guise() {
    for (unit, guises) in [
        (
            Unit::Bare,
            "26.0k=26000|1,234,567=1234567|1.234,5=1234.5|26.5万=265000|27万9572=279572|1,2 млн=1200000",
        ),
        (
            Unit::PerSecond,
            "13.0K IOPS=13000|34839728.4 lps=34839728.4|26.5 万 IOPS=265000|12 тыс. IOPS=12000|5 tx/s=5",
        ),
        (
            Unit::BytesPerSecond,
            "1MiB/s=1048576|782KiB/s=800768|4603.11 МБ/с=4603110000|1820.50 МБ/c=1820500000",
        ),
        (
            Unit::BytesPerSecond,
            "1825548.4 KBps=1825548400|1,234.5 MB/s=1234500000|3\u{a0}604 МБ/с=3604000000",
        ),
        (Unit::BitsPerSecond, "12,7 Гбит/с=12700000000|34.93 Gbits/sec=34930000000"),
        (Unit::Mwips, "4368.3 MWIPS=4368.3"),
        (
            Unit::Percent,
            "94%=94|(99.7 %)=99.7|１２．５％=12.5|12,5 %=12.5|-5 %=-5|\u{2212}5,5 %=-5.5|5 процентов=5",
        ),
        (Unit::Nanoseconds, "198.89 usec=198890|100 微秒=100000|100µs=100000"),
        (Unit::Times, "4 倍=4|3x=3"),
        (Unit::Bytes, "32 GiB=34359738368|4 ＧＢ=4000000000"),
    ] {
        for (text, value) in guises.split('|').filter_map(|guise| guise.split_once('=')) {
            let (found, value) = (one(text), value.parse::<f64>().unwrap());
            assert!((found.figure.value / value - 1.0).abs() < 1e-12, "{text}: {found:?}");
            assert_eq!(found.unit, unit, "{text}");
        }
    }
}

#[test]
fn a_printed_figure_stands_for_what_rounds_to_it() {
    let found = one("26.0k");
    assert_eq!((found.figure.low, found.figure.high), (25_950.0, 26_050.0));
    assert_eq!(one("195").interval(), Interval { low: 194.5, high: 195.5 });
}

#[test]
fn what_only_looks_like_a_number_is_none() {
    let names = "nvme0n1 PM9A1 E5-2678 7.9.2009 00:38:52 2021-11-18 10.20.0.1 1c2g v3 sda1 /dev/md0 0x10 x86_64 4k_randread";
    for text in names.split(' ') {
        assert_eq!(of(text), [], "{text}");
    }
}

#[test]
fn figures_of_a_sentence_keep_their_hedges() {
    let hedges = |text: &str| quantities(0, text).iter().map(|one| one.hedge).collect::<Vec<_>>();
    assert_eq!(hedges("存储虚拟化后,读性能损失约21.5%,写性能损失约18.4%"), [Hedge::About, Hedge::About]);
    assert_eq!(
        hedges("within +-5 %, less than 2%, over 3 %, 10%左右"),
        [Hedge::PlusMinus, Hedge::Below, Hedge::Above, Hedge::About]
    );
    assert_eq!(of("8.35 Gbps (100%)").len(), 2);
    assert_eq!(of("随机4k读写性能 92% ~ 94%").iter().filter(|one| one.1 == Unit::Percent).count(), 2);
}

#[test]
fn a_known_style_settles_what_a_point_is() {
    let comma = Style { decimal_comma: true, spaces: true };
    let one = |text: &str, style: Style| match quantities_in(0, text, style).as_slice() {
        [only] => only.figure.value,
        other => panic!("{text}: {other:?}"),
    };
    for (text, usual, by_comma) in [
        ("1.234", 1.234, 1_234.0),
        ("1,234", 1_234.0, 1.234),
        ("1.234,5", 1_234.5, 1_234.5),
        ("12.5", 12.5, 12.5),
        ("0,123", 0.123, 0.123),
        ("7578.348", 7_578.348, 7_578.348),
    ] {
        assert_eq!((one(text, Style::default()), one(text, comma)), (usual, by_comma), "{text}");
    }
    assert_eq!(one("1.234.567", comma), 1_234_567.0);
    assert_eq!(one("3 604,25 MB/s", comma), 3_604.25e6);
    assert_eq!(of("1.234.567"), [], "a version, for all that is known");
    for (texts, shown) in [
        ("12,5|0,123|1.234,5|1.234.567", Shows::Comma),
        ("12.5|1,234,567.5|1,234,567|7578.348", Shows::Point),
        ("1.234|about 1,234 MB/s", Shows::Either),
        ("1234|12. Then|10.20.0.1|none", Shows::Nothing),
    ] {
        texts.split('|').for_each(|text| assert_eq!(shows(text), shown, "{text}"));
    }
}

#[test]
fn a_text_that_is_nothing_but_a_unit_is_read_as_one() {
    let megabytes = Measure { unit: Unit::BytesPerSecond, scale: 1e6, base: Base::Decimal };
    assert_eq!(measure("МБ/с"), Some(megabytes));
    assert_eq!(measure("K IOps").map(|read| (read.unit, read.scale)), Some((Unit::PerSecond, 1e3)));
    assert_eq!(measure("万").map(|read| read.scale), Some(1e4));
    assert_eq!((measure("MB/s read"), measure("Read"), measure("")), (None, None, None));
}

#[test]
fn a_figure_behind_a_label_is_read_and_a_date_is_none() {
    assert_eq!(of("(one):26.985 MB/s"), [(26_985_000.0, Unit::BytesPerSecond, 3)]);
    assert_eq!(of("at 12:30, image:1.25"), []);
    assert_eq!(of("2025/07/10"), []);
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
    assert_eq!(Interval { low: -1.0, high: 4.0 }.over(two), Some(Interval { low: -1.0, high: 4.0 }));
    assert_eq!(Interval { low: -4.0, high: -1.0 }.over(two), Some(Interval { low: -4.0, high: -0.5 }));
    assert_eq!(Interval { low: 1.0, high: 4.0 }.over(two), Some(Interval { low: 0.5, high: 4.0 }));
    assert_eq!(two.over(Interval { low: 0.0, high: 1.0 }), None);
}
