use super::*;

fn shipped() -> Ratings {
    Ratings::read(include_str!("../ratings.toml"))
        .unwrap_or_else(|fault| panic!("ratings.toml: {fault}"))
}

#[test]
fn every_drive_has_a_source_names_and_sane_figures() {
    let ratings = shipped();
    assert!(ratings.drives().len() >= 40, "{}", ratings.drives().len());
    for drive in ratings.drives() {
        let name = &drive.name;
        assert!(drive.source.len() > 15, "{name}: which data sheet?");
        let hdd = drive.media == Medium::Hdd;
        let sane = if hdd { [50.0..=1000.0, 50e6..=600e6] } else { [3e3..=4e6, 100e6..=16e9] };
        for (rated, key) in &DriveRatings::ALL[..4] {
            let [iops, bytes] = &sane;
            let range = if rated.unit() == NumberUnit::PerSecond { iops } else { bytes };
            let figures = drive.sizes.iter().filter_map(|size| size.figures[*rated as usize]);
            figures.for_each(|figure| assert!(range.contains(&figure), "{name}: {key} {figure}"));
        }
        let capacities: Vec<f64> = drive.sizes.iter().filter_map(|size| size.capacity).collect();
        assert!(capacities.is_sorted_by(|one, next| one * 1.05 < *next), "{name}: {capacities:?}");
    }
}

#[test]
fn a_capacity_picks_the_figures_and_without_one_they_are_bounds() {
    let of = |model, bytes| builtin_ratings().rating_of(model, bytes).unwrap();
    assert_eq!(
        of("Samsung SSD 980 PRO", Some(250_059_350_016.0)).most(DriveRatings::RandreadIops),
        Some(500e3)
    );
    assert_eq!(of("Samsung SSD 980 PRO 1TB", None).sizes[0].capacity, Some(1e12), "as it is named");
    let two = builtin_ratings().rating_of("Samsung 980 PRO and Samsung 990 PRO", None);
    assert!(two.is_none(), "two drives are no drive");
    let any = of("Samsung SSD 980 PRO", None);
    assert_eq!(
        (any.least(DriveRatings::RandreadIops), any.most(DriveRatings::Read)),
        (Some(500e3), Some(7e9))
    );
    assert!(
        builtin_ratings().rating_of("Samsung SSD 980 PRO", Some(8e12)).is_none(),
        "there is none of 8 TB"
    );
    assert_eq!(
        of("PM1725", Some(3.2e12)).most(DriveRatings::RandwriteIops),
        Some(120e3),
        "the family's"
    );
    assert_eq!(of("PM9A3", None).most(DriveRatings::Read), None, "one capacity is not rated");
    let writes = ["980 PRO", "PM9A3"].map(|model| of(model, None).drive.writes);
    assert_eq!(writes, [RatedWrites::Burst, RatedWrites::Sustained]);
}

const OWN: &str = r#"
[[drive]]
name = "Own 1"
models = ["OWN1000*"]
interface = "PCIe 4.0 x4"
media = "TLC"
writes = "sustained"
source = "Own, data sheet, 2024"
sizes = [{ capacity = "1TB", read = "7000MB/s", randread_latency = "70us" }]
"#;

#[test]
fn users_lay_their_own_over_it() {
    let named =
        |ratings: &Ratings, model: &str| Some(ratings.rating_of(model, None)?.drive.name.clone());
    let own = shipped().with_user_file(OWN).unwrap();
    assert_eq!(own.drives().len(), shipped().drives().len() + 1);
    let again = own.with_user_file(&OWN.replace("7000MB/s", "6 GB/s")).unwrap();
    assert_eq!(again.drives().len(), own.drives().len(), "the same name replaces");
    assert_eq!(again.rating_of("OWN1000GTX", None).unwrap().most(DriveRatings::Read), Some(6e9));
    // Ours knows it by more letters of that word: MZQL21T9*.
    let file = |models: &str| OWN.replace("OWN1000*", models);
    let own = shipped().with_user_file(&file("MZQL2*")).unwrap();
    assert_eq!(named(&own, "SAMSUNG MZQL21T9HCJR-00A07").as_deref(), Some("Own 1"));
    // A file over another keeps the entries of both above ours.
    let later = own.with_user_file(&file("OWN2000").replace("Own 1", "Own 2")).unwrap();
    assert_eq!(named(&later, "SAMSUNG MZQL21T9HCJR-00A07").as_deref(), Some("Own 1"));
    // More words are another drive.
    let own = shipped().with_user_file(&file("970 EVO")).unwrap();
    assert_eq!(
        named(&own, "Samsung SSD 970 EVO Plus 2TB").as_deref(),
        Some("Samsung 970 EVO Plus")
    );
}

#[test]
fn errors_name_line_and_key() {
    for (from, to, expected) in [
        (
            "name = \"Own 1\"",
            "nam = \"Own 1\"",
            "line 3: nam: is not known; known are name, models",
        ),
        ("\"Own, data sheet, 2024\"", "\"\"", "line 8: source: is empty"),
        ("source = \"Own, data sheet, 2024\"\n", "", "line 2: source: is missing; write which"),
        ("\"TLC\"", "\"XLC\"", "line 6: media: is not a known value; write QLC"),
        ("PCIe 4.0 x4", "PCIe 4.0 x5", "line 5: interface: is not a known value; write PCIe"),
        ("7000MB/s", "9000MB/s", "line 9: read: is above what PCIe 4.0 x4 carries"),
        ("70us", "70us typical", "line 9: randread_latency: \"70us typical\" is not read"),
        ("capacity = \"1TB\"", "parts = \"X100\"", "line 9: parts: is no list of names"),
        ("read =", "reads =", "line 9: reads: is not known"),
        ("OWN1000*", "OW*", "line 4: models: \"OW*\" has fewer"),
        ("OWN1000*", "980 PRO\", \"*X1000", "line 4: models: \"*X1000\" has something"),
        (
            "writes = \"sustained\"",
            "writes = \"some\"",
            "line 7: writes: is not a known value; write burst",
        ),
        ("media = \"TLC\"", "media = \"HDD\"", "line 2: rpm: belongs to"),
        ("[[drive]]", "[[drives]]", "line 2: drives: is not known"),
        ("= [{", "= [[", "line 9: "),
    ] {
        let fault = Ratings::read(&OWN.replacen(from, to, 1)).expect_err(expected);
        assert!(fault.to_string().starts_with(expected), "{fault} is not {expected}");
    }
    let twice = format!("{OWN}{OWN}");
    assert!(Ratings::read(&twice).unwrap_err().why.contains("is listed twice"));
    let shared = format!("{OWN}{}", OWN.replace("Own 1", "Own 2"));
    assert!(Ratings::read(&shared).unwrap_err().why.contains("is a name of \"Own 1\" already"));
}
