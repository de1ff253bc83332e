//! Two runs against each other, for real: a layer that became slower, one that did not, and what is
//! refused.

use crate::rig::{Rig, flat, says};

/// A bare file and a stack over it that is always called `layered`. Returns the run's id.
fn measured(rig: &Rig, layer: &str) -> String {
    let scenario = rig.path("scenario.toml");
    let text = format!(
        "[stack.bare]\ntext = \"{0}\"\n[stack.layered]\ntext = \"{0} | {layer}\"\n[[workload]]\nrw = \"randread\"\n\
         [measure]\nprecision = \"5%\"\nbudget = \"30s\"\n",
        rig.file("x.img", 64)
    );
    std::fs::write(&scenario, text).unwrap();
    rig.expect(0, &["run", scenario.to_str().unwrap()]);
    rig.last_id()
}

#[test]
fn when_quiet_exit_codes_follow_what_surely_changed() {
    let _alone = crate::rig::alone();
    let rig = Rig::new();
    // The share of each I/O's own time that is held back follows the machine: a fifth of the rate
    // is left, however busy it is, and nothing but the ratio to the bare file of the same run is
    // judged.
    let [fast, slow, again] =
        ["null", "delay(percent=400)", "null"].map(|layer| measured(&rig, layer));

    let text = rig.expect(1, &["compare", &fast, &slow, "--fail-above", "5%"]);
    let needed = [
        "layered, new against old: costs",
        "fails: all of the interval is a loss beyond 5 %",
        "layered against bare, the baseline of its own run",
        "stack (layered): only the name is the same",
        "--fail-above 5 %: fails",
    ];
    says(&text, &needed);
    let text = rig.expect(1, &["compare", &fast, &slow, "--fail-above", "latency=50%,cpu=1000%"]);
    says(
        &text,
        &["mean latency +", "a rise beyond 50 %", "--fail-above latency=50 %,cpu=1000 %: fails"],
    );
    let text = flat(&rig.expect(0, &["compare", &fast, &slow]));
    assert!(text.contains("costs") && !text.contains("--fail-above"), "{text}");
    // Faster, and the same again: neither is a loss of more than nine tenths.
    for (old, new) in [(&slow, &fast), (&fast, &again)] {
        let text = flat(&rig.expect(0, &["compare", old, new, "--fail-above", "90%"]));
        assert!(text.contains("does not fail"), "{text}");
    }

    let page = rig.path("comparison.json");
    let folder = rig.runs().join(&slow);
    let to = ["--format", "json", "--output", page.to_str().unwrap()];
    let args =
        [&["compare", &fast, folder.to_str().unwrap(), "--fail-above", "5%"][..], &to].concat();
    assert_eq!(rig.expect(1, &args), "");
    let found: serde_json::Value = serde_json::from_slice(&std::fs::read(&page).unwrap()).unwrap();
    let layered = &found["workloads"][0]["stacks"][1]["rates"][0];
    assert_eq!(layered["limit"]["call"], "fails", "{found}");
    let ratio = layered["change"]["against_own_baseline"]["value"].as_f64().unwrap();
    assert!((0.05..0.6).contains(&ratio), "{found}");
    let plain = &layered["change"]["as_it_stands"]["interval"];
    assert!(plain["low"].as_f64() < plain["high"].as_f64(), "{found}");
    assert_eq!(found["new"]["id"].as_str(), Some(slow.as_str()));

    refusals(&rig, &fast, &slow);
}

fn refusals(rig: &Rig, one: &str, other: &str) {
    let says =
        |args: &[&str], parts: &[&str]| rig.complains(2, &[&["compare"], args].concat(), parts);
    says(&[one, one], &["given twice", "hint: name two runs"]);
    // `last` is the third run; a folder that is another name of the first is the first.
    let folder = rig.runs().join(one);
    says(&[one, folder.to_str().unwrap()], &["given twice"]);
    says(&[one, "20000101-000000-0000"], &["no run", "iotax list"]);
    says(&[one, other, "--fail-above", "5"], &["not a percentage", "write \"5%\""]);
    says(
        &[one, other, "--fail-above", "tail=5%"],
        &["unknown figure \"tail\"", "rate, latency, cpu"],
    );
    says(&[one, other, "--fail-above", "5%,rate=6%"], &["the rate has two limits"]);
    says(&[one, other, "--format", "csv"], &["terminal, markdown, html, json"]);
    says(&[one], &["NEW"]);
    let scenario = rig.path("scenario.toml");
    let text = std::fs::read_to_string(&scenario).unwrap().replace("randread", "read");
    std::fs::write(&scenario, text).unwrap();
    rig.expect(0, &["run", scenario.to_str().unwrap()]);
    says(&[one, "last"], &["no workload in common", "randread", "hint"]);
}
