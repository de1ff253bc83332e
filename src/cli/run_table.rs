//! Layout of the list of runs: one line for each run, with whole figures. What has no room is cut
//! at its end.

use iotax_units::show_minute;

/// Cells of a run; the foreign text in them is escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunColumns {
    pub id: String,
    /// Start of the run, as it is recorded.
    pub at: String,
    pub state: String,
    pub answer: String,
    pub what: String,
}

const HEADS: [&str; 5] = ["run", "began (UTC)", "state", "answer", "what"];
const GAP: &str = "  ";
const MORE: &str = " ...";
/// Width from which the start has a column of its own; the id of a run begins with it.
const SHOWS_START: usize = 100;
/// Answers up to this length are never cut: a verdict keeps its figures.
const WHOLE_ANSWER: usize = 30;

/// Returns the table, at most `width` columns wide.
pub fn run_table(runs: &[RunColumns], width: usize) -> String {
    let shows_start = width >= SHOWS_START;
    let heads = HEADS.map(str::to_owned);
    let rows = runs.iter().map(|run| {
        let RunColumns { id, at, state, answer, what } = run.clone();
        [id, show_minute(&at), state, answer, what]
    });
    let rows: Vec<[String; 5]> = std::iter::once(heads).chain(rows).collect();
    let widest = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let start = if shows_start { widest(1) + GAP.len() } else { 0 };
    let fixed = widest(0) + start + widest(2) + 3 * GAP.len();
    let room = width.saturating_sub(fixed);
    let lengths = rows.iter().map(|row| row[3].chars().count());
    let whole = lengths.filter(|length| *length <= WHOLE_ANSWER).max().unwrap_or(0);
    let answer = widest(3).min(whole.max(room / 2)).min(room);
    let what = room.saturating_sub(answer);
    let line = |row: &[String; 5]| {
        let mut cells = vec![format!("{:1$}", row[0], widest(0))];
        if shows_start {
            cells.push(format!("{:1$}", row[1], widest(1)));
        }
        cells.push(format!("{:1$}", row[2], widest(2)));
        cells.push(format!("{:1$}", fit(&row[3], answer), answer));
        cells.push(fit(&row[4], what));
        cells.join(GAP).trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// Cuts a text to `width` columns, at a space if there is one in its second half.
fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(MORE.len())).collect();
    let at = kept.rfind(' ').filter(|at| *at > kept.len() / 2).unwrap_or(kept.len());
    let cut = kept[..at].trim_end();
    if width < MORE.len() { kept } else { format!("{cut}{MORE}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: &str, state: &str, answer: &str, what: &str) -> RunColumns {
        RunColumns {
            id: id.into(),
            at: "2026-11-22T18:33:19Z".into(),
            state: state.into(),
            answer: answer.into(),
            what: what.into(),
        }
    }

    #[test]
    fn a_run_is_one_line_that_fits() {
        let runs = [
            run(
                "20261122-183319-e975",
                "complete",
                "costs 27.7 % +- 6.8 %",
                "nightly: file / loop",
            ),
            run(
                "20261122-183403-6831",
                "complete",
                "no difference above 1.1 %",
                "vm cache=none / vm cache=writeback",
            ),
            run(
                "20261122-184931-001d",
                "failed",
                "the image /srv/boot.img does not start; hint: look",
                "vm",
            ),
        ];
        let narrow = run_table(&runs, 80);
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        assert_eq!(narrow.lines().count(), 4);
        assert!(runs[..2].iter().all(|run| narrow.contains(&run.answer)), "{narrow}");
        assert!(narrow.contains("vm cache=none / ...\n"), "{narrow}");
        let wide = run_table(&runs, 160);
        assert!(wide.contains("2026-11-22 18:33") && wide.lines().all(|line| line.len() <= 160));
        let whole = run_table(&runs, usize::MAX);
        assert!(runs.iter().all(|run| whole.contains(&run.answer) && whole.contains(&run.what)));
        for width in 0..80 {
            assert_eq!(run_table(&runs, width).lines().count(), 4);
        }
    }
}
