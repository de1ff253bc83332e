use super::*;

#[test]
fn sound_documents_have_no_wrong_finding_and_slips_are_found_as_often_as_stated() {
    let measured = measure(Plan { sound: 120, slipped: 8 * slips::all().count() as u64, seed: 11 });
    let alarms: Vec<String> = measured
        .wrong
        .iter()
        .filter(|(_, alarm)| alarm.sound > 0)
        .flat_map(|(_, alarm)| alarm.examples.clone())
        .collect();
    assert_eq!((measured.alarmed, alarms), (0, Vec::new()));
    let seldom: Vec<String> = measured
        .slips
        .iter()
        .filter(|slip| !slip.holds())
        .map(|slip| format!("{}: {} of {}, least {}", slip.slip, slip.found, slip.documents, slip.bound))
        .collect();
    assert_eq!(seldom, Vec::<String>::new());
    assert!(measured.slips.iter().all(|slip| slip.documents == 8));
    // What is held against nothing has no false alarms either.
    assert!(2 * measured.checked[0] > measured.checked[1], "{:?}", measured.checked);
}

#[test]
fn the_same_seed_measures_the_same() {
    let plan = Plan { sound: 5, slipped: 5, seed: 3 };
    assert_eq!(measure(plan).text(), measure(plan).text());
    assert_ne!(measure(plan).text(), measure(Plan { seed: 4, ..plan }).text());
}

#[test]
fn it_is_told_as_text_and_as_markdown() {
    let measured = measure(Plan { sound: 2, slipped: 3, seed: 1 });
    let text = measured.text();
    assert!(
        text.contains("2 sound documents, 3 with one slip, seed 1") && text.contains("fio: a digit of IOPS"),
        "{text}"
    );
    let rows = measured.markdown();
    assert!(rows.contains("| fio: a digit of IOPS | 1 | 1 | 100 % | 95 % | F1 1 |"), "{rows}");
}

#[test]
fn it_ends_where_it_is_told_to() {
    let asked = std::cell::Cell::new(0);
    let goes_on = || {
        asked.set(asked.get() + 1);
        asked.get() < 3
    };
    assert!(measure::measure_until(Plan { sound: 50, slipped: 50, seed: 1 }, &goes_on).is_none());
    assert_eq!(asked.get(), 3);
}
