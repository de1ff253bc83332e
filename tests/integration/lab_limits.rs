//! Limits that this kernel may not have, set in a lab and found there: a network that delays and
//! loses (netem), tc's token bucket, `io.max` and `cpu.max` of control groups v2. All of it is
//! emulated, so only what was set is asserted.

use crate::lab::told_in_lab;
use crate::rig::alone;
use serde_json::Value;

/// Each finding is printed between `<<NAME` and `>>`.
const SCRIPT: &str = r#"
dmesg -n 1
iotax() { $tool --runs /run/runs "$@"; }
said() { name=$1; shift; echo "<<$name"; "$@" 2> /run/errors || { echo "LIMITS FAILED: $name"; cat /run/errors; }; echo ">>"; }
bare() { "$@" > /run/found || return; tr -d '\n' < /run/found | sed -E 's/"points": *\[( *\[[^]]*\],?)* *\]/"points": []/g'; echo; }
# The loopback of a namespace of its own, with frames as Ethernet has them.
ip netns add far; ip -n far link set lo mtu 1500; ip -n far link set lo up
within() { ip netns exec far "$@"; }
shape() { tc -n far qdisc replace dev lo root "$@"; }
over="net:host,address=127.0.0.1"
quick="--slice 500ms --min-time 5s --budget 20s --format json"

modprobe sch_netem; shape netem delay 5ms loss 1% limit 100000
said rr bare within $tool --runs /run/runs run $over --probe "rr(udp)" $quick
said lost within $tool --runs /run/runs run $over --probe "udp(send)" --rate_iops 300 $quick
said samples grep -h -o '"metric":"net.[a-z]*"[^}]*' -r /run/runs --include=index.jsonl

modprobe sch_tbf; shape tbf rate 20mbit burst 600kb latency 100ms
said tbf bare within $tool --runs /run/runs limits $over --seconds 6 --rest 1s --json

mkdir /run/groups; mount -t cgroup2 groups /run/groups; echo "+io +cpu" > /run/groups/cgroup.subtree_control; mkdir /run/groups/x
in_group() { sh -c 'echo $$ > /run/groups/x/cgroup.procs; exec "$@"' sh "$@"; }
echo "$(cat /sys/class/block/$(basename $(readlink -f ${by}d0))/dev) riops=600" > /run/groups/x/io.max
said io bare in_group $tool --runs /run/runs limits ${by}d0 --seconds 10 --rest 0s --json
echo "40000 100000" > /run/groups/x/cpu.max
said cpu bare in_group $tool --runs /run/runs run cpu "cpu | null" --probe integer --slice 200ms --min-time 5s --budget 20s --format json
echo "LIMITS end"
"#;

fn found<'a>(output: &'a str, name: &str) -> &'a str {
    let rest = output
        .split_once(&format!("<<{name}\r\n"))
        .or_else(|| output.split_once(&format!("<<{name}\n")));
    rest.and_then(|(_, rest)| rest.split_once(">>")).map(|(found, _)| found).expect(name)
}

fn json(output: &str, name: &str) -> Value {
    serde_json::from_str(found(output, name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn is_within(found: f64, set: f64, share: f64) -> bool {
    (found / set - 1.0).abs() <= share
}

/// What a course came to a second.
fn rate(course: &Value) -> f64 {
    let of = |value: &Value| value.as_f64();
    let open = || of(&course["fell"]["to"]).or_else(|| of(&course["mean"]));
    of(&course["rate"]["value"]).or_else(open).unwrap_or_else(|| panic!("no rate: {course}"))
}

#[test]
#[ignore = "in an image that ./check --lab builds"]
fn what_is_set_in_a_lab_is_found_there() {
    let _alone = alone();
    let Some(output) = told_in_lab(SCRIPT, "LIMITS end") else { return };
    assert!(!output.contains("FAILED"), "{output}");

    let round_trip_ns =
        json(&output, "rr")["workloads"][0]["rows"][0]["iops"]["value"].as_f64().unwrap();
    assert!((10e6..40e6).contains(&round_trip_ns), "5 ms each way: {round_trip_ns}");
    let sum = |metric: &str| -> f64 {
        let name = format!("\"metric\":\"{metric}\"");
        let lines = found(&output, "samples").lines().filter(|line| line.contains(&name));
        let value =
            |line: &str| line.rsplit(':').next().and_then(|value| value.trim().parse::<f64>().ok());
        lines.filter_map(value).sum()
    };
    let share = sum("net.lost") / sum("net.sent");
    assert!((0.003..0.03).contains(&share), "1 % each way: {share}");

    println!("round trip {:.1} ms, {:.2} % lost", round_trip_ns / 1e6, 100.0 * share);

    let tbf = json(&output, "tbf");
    for (at, direction) in [(0, "send"), (1, "receive")] {
        let course = &tbf["courses"][at];
        assert_eq!(
            (&course["direction"], &course["unit"]),
            (&direction.into(), &"bytes".into()),
            "{course}"
        );
        assert!(is_within(course["on_wire"].as_f64().unwrap(), 2.5e6, 0.05), "{course}");
        assert_eq!(course["settings"][0]["rate"].as_f64(), Some(2.5e6), "{course}");
    }
    // Small datagrams take more of an emulated processor than it has.
    assert_eq!(tbf["courses"][2]["unit"], "datagrams");

    let io = &json(&output, "io")["courses"][0];
    println!("tbf: {}; io.max: {}", tbf["courses"][0]["on_wire"], rate(io));
    assert!(is_within(rate(io), 600.0, 0.05), "{io}");
    let set_in = io["settings"][0]["set_in"].as_str().unwrap();
    assert!(set_in.ends_with("/x/io.max"), "{set_in}");

    let comparison = json(&output, "cpu")["workloads"][0]["comparisons"][0].to_string();
    let words = ["at_limit", "0.4 processors (/run/groups/x/cpu.max)"];
    assert!(words.iter().all(|words| comparison.contains(words)), "{comparison}");
}
