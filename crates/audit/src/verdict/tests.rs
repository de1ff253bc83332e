use super::*;
use crate::audit::audit;
use crate::page::AuditedPage;

/// The sentences, and of each block its findings by rule and line: those of the fault, then those
/// that follow.
fn shown(text: &str) -> String {
    let audited = audit(AuditedPage::new("p", text));
    let AuditVerdict { line, coverage, blocks, .. } = verdict(&audited);
    let named = |at: &usize| {
        let Finding { rule, spot, printed, .. } = &audited.findings[*at];
        format!(" {rule}:{} {printed}", spot.line + 1)
    };
    let blocks = blocks.iter().map(|FindingBlock { root, also, consequences, severity }| {
        let parts = [&[*root], also.as_slice(), consequences]
            .map(|all| all.iter().map(named).collect::<String>());
        format!("{}:{} |{} |{}\n", severity.severity_word(), parts[0], parts[1], parts[2])
    });
    format!("{line}\n{coverage}\n{}", blocks.collect::<String>())
}

#[test]
fn every_page_has_its_answer() {
    crate::testing::hold("verdicts.txt", shown);
}

#[test]
fn text_is_cut_between_words_and_never_within_a_figure() {
    let cut = |text: &str, most| cut(text, most, |c| if c.is_ascii() { 1 } else { 2 });
    assert_eq!(cut("writes lose 21.6 % of all", 25), "writes lose 21.6 % of all");
    assert_eq!(cut("writes lose 21.6 % of all", 22), "writes lose 21.6 % of…");
    for most in 14..=19 {
        assert_eq!(cut("writes lose, 21.6 % of all", most), "writes lose…");
    }
    assert_eq!(cut("写损失为21.6%很", 13), "写损失为…");
    assert_eq!(
        [grouped(0), grouped(999), count_with_noun(44_400, "a", "b")],
        ["0", "999", "44,400 b"]
    );
}

#[test]
fn figures_that_blame_each_other_are_one_block_and_a_remark_causes_nothing() {
    let spot = |at: usize| TextSpan::new(0, at..at + 1);
    let finding = |severity, at, blames: usize| {
        Finding::new("T1", severity, spot(at), ["one", "two", "three"][at])
            .recomputed("1")
            .against([spot(blames)])
    };
    let roots = |findings: [Finding; 3]| {
        let figures = FiguresBySpot::from_all(&findings);
        group_findings(&findings, &figures).iter().map(|block| block.root).collect::<Vec<_>>()
    };
    let [one, other] =
        [(0, 1), (1, 0)].map(|(at, blames)| finding(Severity::WrongFigure, at, blames));
    assert_eq!(roots([one.clone(), other.clone(), finding(Severity::WrongFigure, 2, 1)]), [0]);
    let remark = Finding { severity: Severity::Ambiguous, ..other };
    assert_eq!(
        roots([finding(Severity::WrongFigure, 0, 1), remark, finding(Severity::WrongFigure, 2, 1)])
            .len(),
        2
    );
}
