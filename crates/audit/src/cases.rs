//! Files of cases in `fixtures`: `=== name`, a text, `--- `, and what is read in it.

/// Holds a file of cases; where `IOTAX_CASES=write` is set what is read is written into it: read the difference.
pub(crate) fn hold(file: &str, shown: impl Fn(&str) -> String) {
    let path = format!("{}/fixtures/{file}", env!("CARGO_MANIFEST_DIR"));
    let checked = std::fs::read_to_string(&path).expect("a file of cases");
    let mut cases = checked.split("=== ");
    let mut all = cases.next().unwrap_or_default().to_owned();
    for case in cases {
        let (input, _) = case.split_once("--- \n").expect("what is read");
        let (_, text) = input.split_once('\n').expect("a name");
        all += &format!("=== {input}--- \n{}", shown(text));
    }
    if std::env::var("IOTAX_CASES").is_ok_and(|what| what == "write") {
        return std::fs::write(path, all).unwrap();
    }
    for (number, (now, before)) in (1..).zip(all.lines().zip(checked.lines())) {
        assert_eq!(now, before, "line {number} of {file}");
    }
    assert_eq!(all.len(), checked.len());
}
