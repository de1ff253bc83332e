//! Files of cases in `fixtures`: `=== name`, a text, `--- `, and the result of reading it. After
//! `--- from => to && from => to` comes the result for the text with these replacements, with a
//! reason after `###`.

/// Checks a file of cases. If `IOTAX_CASES=write` is set, writes the results into it instead:
/// review the diff.
pub(crate) fn hold(file: &str, shown: impl Fn(&str) -> String) {
    hold_named(file, |_, text| shown(text));
}

/// Checks a file of cases whose results also depend on the name of the case.
pub(crate) fn hold_named(file: &str, shown: impl Fn(&str, &str) -> String) {
    let path = format!("{}/fixtures/{file}", env!("CARGO_MANIFEST_DIR"));
    let checked = std::fs::read_to_string(&path).expect("a file of cases");
    let mut cases = checked.split("=== ");
    let mut all = cases.next().unwrap_or_default().to_owned();
    for case in cases {
        let mut parts = case.split("\n--- ");
        let (name, text) = parts.next().and_then(|input| input.split_once('\n')).expect("a name");
        all += &format!("=== {name}\n{text}\n");
        let page: String = text.split('\n').map(with_fixture).collect();
        for part in parts {
            let changes = part.lines().next().unwrap_or_default();
            all += &format!("--- {changes}\n{}", shown(name, &changed(&page, changes)));
        }
    }
    if std::env::var("IOTAX_CASES").is_ok_and(|what| what == "write") {
        return std::fs::write(path, all).unwrap();
    }
    for (number, (now, before)) in (1..).zip(all.lines().zip(checked.lines())) {
        assert_eq!(now, before, "line {number} of {file}");
    }
    assert_eq!(all.len(), checked.len());
}

fn changed(text: &str, changes: &str) -> String {
    let changes = changes.split(" ### ").next().unwrap_or_default().split(" && ");
    let changes = changes.filter_map(|change| change.split_once(" => "));
    changes.fold(text.to_owned(), |text, (from, to)| {
        let [from, to] = [from, to].map(|part| part.replace("\\n", "\n"));
        assert!(text.contains(&from), "{from} is not in {text}");
        text.replacen(&from, &to, 1)
    })
}

/// Returns a line, or the fixture that it names: `@fio/randread-3.33.txt`.
fn with_fixture(line: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
    let fixture =
        line.strip_prefix('@').map(|name| std::fs::read_to_string(format!("{folder}/{name}")));
    fixture.and_then(Result::ok).unwrap_or_else(|| format!("{line}\n"))
}
