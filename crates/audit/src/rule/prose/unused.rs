//! S8: figures of the page that contradict what it concludes from others.

use super::spot;
use crate::finding::{Finding, Severity};
use crate::import::Said;
use crate::import::dd::Copy;
use crate::prose::Manner;
use crate::rule::{Evidence, Rule, Sink};

/// S8.
pub const RULE: Rule = Rule {
    id: "S8",
    name: "no other figure of the page contradicts a conclusion",
    severity: Severity::Ambiguous,
    holds: "a loss of writes that a sentence states is within twice and half, and ten points, of what two dd of the same bytes on the page have",
    silent: "unless the page has exactly two dd of one size, and one loss of writes",
    check,
};

fn check(evidence: &Evidence, sink: &mut Sink) {
    let copies: Vec<&Copy> = evidence
        .outputs
        .iter()
        .filter_map(|output| match &output.said {
            Said::Dd(copy) => Some(&**copy),
            _ => None,
        })
        .collect();
    let [one, other] = copies.as_slice() else { return };
    if one.bytes.value != other.bytes.value
        || one.rate.figure.value <= 0.0
        || other.rate.figure.value <= 0.0
        || !writes(evidence)
    {
        return;
    }
    let (fast, slow) =
        if one.rate.figure.value > other.rate.figure.value { (one, other) } else { (other, one) };
    let loss = 100.0 * (1.0 - slow.rate.figure.value / fast.rate.figure.value);
    let of_writes = |clause: &&crate::prose::Clause| {
        clause.manner == Manner::Loss
            && clause.topic.write
            && !clause.topic.read
            && clause.percents().count() == 1
    };
    let stated: Vec<_> = evidence.clauses.iter().filter(of_writes).collect();
    let Some(first) = stated.first() else { return };
    let Some(percent) = first.percents().next() else { return };
    let same = stated.iter().all(|clause| {
        clause.percents().next().is_some_and(|other| other.figure.value == percent.figure.value)
    });
    let claimed = percent.figure.value;
    let apart = (loss - claimed).abs() > 10.0 && (loss > 2.0 * claimed || claimed > 2.0 * loss);
    if !same || !apart {
        return;
    }
    let page = evidence.page;
    let (fast_rate, slow_rate) = (fast.rate.figure.spot, slow.rate.figure.spot);
    let message = format!(
        "dd on the same page wrote {} and {}, which is {loss:.0} % less: it is shown and not used, and says another thing",
        page.quote(fast_rate),
        page.quote(slow_rate)
    );
    sink.finds(Finding::new("S8", Severity::Ambiguous, spot(first), message).against([fast_rate, slow_rate]));
}

/// Whether the dd commands of a page write.
fn writes(evidence: &Evidence) -> bool {
    let commands: Vec<_> = crate::rule::method::loads::commands(evidence)
        .into_iter()
        .filter(|(_, one)| one.program == "dd")
        .collect();
    !commands.is_empty()
        && commands.iter().all(|(_, one)| {
            one.words.iter().any(|word| word.text.starts_with("of=") && word.text != "of=/dev/null")
        })
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    #[test]
    fn what_dd_says_against_it_is_told() {
        let dd = |rate: &str, seconds: &str| {
            format!(
                "$ dd if=/dev/zero of=/data/file bs=1M count=1000\n1000+0 records in\n1000+0 records out\n1048576000 bytes (1.0 GB) copied, {seconds} s, {rate} MB/s\n\n"
            )
        };
        let page = |rate: &str, seconds: &str| {
            format!("{}{}Writes lose 18.4 % in the guest.\n", dd("1000", "1.04858"), dd(rate, seconds))
        };
        assert_eq!(found(&page("400", "2.62144"), "S8").len(), 1);
        assert_eq!(found(&page("850", "1.23362"), "S8"), []);
        assert_eq!(found(&page("400", "2.62144").replace("Writes lose", "Reads lose"), "S8"), []);
        assert_eq!(found(&page("400", "2.62144").replace("of=/data/file", "of=/dev/null"), "S8"), []);
    }
}
