use super::*;
use crate::audit::audit;
use crate::claim::Claim;
use crate::finding::Slip;
use crate::page::Page;

const PAGE: &str = "\
Writes lose 18.4 %, reads 21.5 %.
write: IOPS=25.0k of 7797520 issued
guest: 20.4k
table: 25.0k and 20.4k, a loss of 18.4 %
cut: 12.3 and 45.6 and 78.9
";

fn spot(line: usize, text: &str) -> Spot {
    let start = PAGE.lines().nth(line).unwrap().find(text).unwrap();
    Spot::new(line, start..start + text.len())
}

fn finding(rule: &'static str, severity: Severity, line: usize, printed: &str, recomputed: &str) -> Finding {
    let mut finding = Finding::new(rule, severity, spot(line, printed), format!("{printed} is {recomputed}"));
    finding.printed = printed.to_owned();
    finding.recomputed(recomputed)
}

fn of(mut findings: Vec<Finding>, statuses: &[Status]) -> Verdict {
    findings.sort_by_key(|finding| (finding.spot, finding.severity));
    let (tables, outputs, audited) = (Vec::new(), Vec::new(), audit(Page::new("p", PAGE)));
    let claims =
        statuses.iter().map(|status| Claim { status: *status, ..audited.claims[0].clone() }).collect();
    verdict(&Audited { findings, claims, tables, outputs, ..audited })
}

const CHECKED: &[Status] = &[Status::DoesNotHold, Status::Holds, Status::Plausible, Status::CannotBeChecked];

use Severity::{Ambiguous, Cosmetic, WrongConclusion, WrongFigure};

fn block(root: usize, also: &[usize], consequences: &[usize], severity: Severity) -> Block {
    Block { root, also: also.to_vec(), consequences: consequences.to_vec(), severity }
}

/// What one wrong 25.0k of fio leads to.
fn one_wrong_rate() -> Vec<Finding> {
    let raw = spot(1, "25.0k");
    vec![
        finding("N2", WrongFigure, 1, "25.0k", "26.0k").slip(Slip::FioCarry).against([spot(1, "7797520")]),
        finding("F30", Ambiguous, 1, "25.0k", "").against([spot(2, "20.4k")]),
        finding("T4", WrongFigure, 3, "25.0k", "26.0k").against([raw]),
        finding("T1", WrongFigure, 3, "18.4 %", "21.6 %").against([spot(3, "25.0k"), spot(3, "20.4k")]),
        finding("N10", WrongConclusion, 0, "18.4 %", "21.6 %").against([spot(3, "18.4 %")]),
        finding("M1", Ambiguous, 0, "18.4 %", ""),
    ]
}

#[test]
fn one_wrong_figure_is_one_block_with_its_consequences() {
    let verdict = of(one_wrong_rate(), CHECKED);
    // In the order of the page: N10, M1, N2, F30, T4, T1.
    assert_eq!(verdict.blocks, [block(2, &[1, 3], &[0, 4, 5], WrongConclusion)]);
    let line = |words: &str| {
        format!("3 figures do not hold, 1 conclusion changes: {words} 21.6 %, not 18.4 % (line 1)")
    };
    assert_eq!(verdict.line, line("Writes lose"));
    assert_eq!(verdict.coverage, "checked 3 of 4 figures; nothing on the page gives the others");
    let mut findings = one_wrong_rate();
    findings[4].subject = "small writes lose".to_owned();
    assert_eq!(of(findings.clone(), CHECKED).line, line("small writes lose"));
    // What has no room gives way to the words of the page.
    findings[4].subject = "writes of 4 KiB with a depth of 32 lose".to_owned();
    assert_eq!(of(findings, CHECKED).line, line("Writes lose"));
}

#[test]
fn the_first_line_says_what_its_figure_is_of_and_is_short() {
    let first = |text: &str, printed: &'static str| {
        let page = Page::new("p", text);
        let line = (0..page.len()).rfind(|at| page.line(*at).contains(printed)).unwrap();
        let start = page.line(line).rfind(printed).unwrap();
        let spot = Spot::new(line, start..start + printed.len());
        let mut finding = Finding::new("T1", WrongFigure, spot, "no").recomputed("21.6 %");
        finding.printed = printed.to_owned();
        verdict(&Audited { findings: vec![finding], ..audit(page) }).line
    };
    let said =
        |words: &str, line: u32| format!("1 figure does not hold: {words}21.6 %, not 18.4 % (line {line})");
    let table = "| 4k | host | guest | loss |\n|---|---|---|---|\n| write | 26.0k | 20.4k | 18.4 % |\n| read | 9k | 8k | 11 % |\n";
    assert_eq!(first(table, "18.4 %"), said("write, loss: ", 3));
    let wide = table.replace("write", &"write ".repeat(12));
    assert_eq!(first(&wide, "18.4 %"), said("loss: ", 3));
    assert_eq!(first("  write: IOPS=18.4 %", "18.4 %"), said("write: IOPS ", 1));
    assert_eq!(first("Of fio 3.16, **loss of reads**: 18.4 %", "18.4 %"), said("loss of reads: ", 1));
    assert_eq!(first("读损失 3 %，写损失为 18.4 %。", "18.4 %"), said("写损失为 ", 1));
    assert_eq!(first("读损失3 %,写损失约18.4 %", "18.4 %"), said("写损失约 ", 1));
    assert_eq!(first(&format!("{} 18.4 %", "long words ".repeat(20)), "18.4 %"), said("", 1));
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
        (grouped(0), grouped(999), grouped(44_400), counted(1_000_000, "a", "b")),
        ("0".into(), "999".into(), "44,400".into(), "1,000,000 b".into())
    );
}

#[test]
fn a_remark_causes_nothing_and_figures_that_blame_each_other_are_one_block() {
    let remark = finding("F29", Ambiguous, 1, "25.0k", "");
    let other = finding("P14", WrongConclusion, 0, "21.5 %", "").against([spot(1, "25.0k")]);
    let other = Finding { message: "a loss of latency: 4 in flight".to_owned(), ..other };
    let unsteady = finding("F28", WrongConclusion, 1, "25.0k", "");
    assert_eq!(of(vec![unsteady, other.clone()], CHECKED).blocks.len(), 2, "the figure itself holds");
    let verdict = of(vec![remark, other], CHECKED);
    assert_eq!(verdict.blocks.len(), 2);
    assert_eq!(verdict.line, "1 conclusion does not follow: a loss of latency (line 1)");
    let one = finding("T1", WrongFigure, 3, "25.0k", "26.0k").against([spot(3, "20.4k")]);
    let other = finding("T2", WrongFigure, 3, "20.4k", "21.4k").against([spot(3, "25.0k")]);
    let after = finding("T3", WrongFigure, 3, "18.4 %", "1 %").against([spot(3, "20.4k")]);
    let blocks = of(vec![one, other, after], CHECKED).blocks;
    let whole = block(0, &[], &[1, 2], WrongFigure);
    assert_eq!(blocks, [whole]);
}

#[test]
fn a_wrong_figure_that_is_printed_again_is_a_consequence() {
    let raw = finding("N2", WrongFigure, 1, "25.0k", "26.0k");
    let again = finding("N3", WrongFigure, 3, "25.0k", "26.0k");
    let whole = block(0, &[], &[1], WrongFigure);
    assert_eq!(of(vec![raw.clone(), again], CHECKED).blocks, [whole]);
    let other = finding("N3", WrongFigure, 3, "25.0k", "27.0k");
    assert_eq!(of(vec![raw.clone(), other], CHECKED).blocks.len(), 2);
    // What is of the kind of the copy belongs to the block of the copy, and to no other.
    let kind = |line, printed, recomputed| {
        let finding = finding("N3", WrongFigure, line, printed, recomputed);
        Finding { message: "a copy".to_owned(), ..finding }
    };
    let between = finding("T1", WrongFigure, 2, "20.4k", "21.4k");
    let of_kind = vec![raw, kind(3, "25.0k", "26.0k"), between, kind(4, "45.6", "45.7")];
    let mut roots: Vec<usize> = of(of_kind, CHECKED).blocks.iter().map(|block| block.root).collect();
    roots.sort_unstable();
    assert_eq!(roots, [0, 1]);
}

#[test]
fn the_same_fault_elsewhere_is_a_line_of_the_first() {
    let cut = ["12.3", "45.6", "78.9"].map(|text| finding("N4", Cosmetic, 4, text, "1"));
    let other = Finding { message: "another thing".to_owned(), ..finding("N4", Cosmetic, 0, "21.5 %", "1") };
    let blocks = of(cut.into_iter().chain([other]).collect(), CHECKED).blocks;
    assert_eq!(blocks.len(), 2);
    let whole = block(1, &[2, 3], &[], Cosmetic);
    assert!(blocks.contains(&whole), "{blocks:?}");
    assert_eq!(shape("is 916MiB/s, not 920MiB/s by 3 B"), shape("is 960MB/s, not 965MB/s by 3 B"));
    assert_ne!(shape("7 reads"), shape("7 writes"));
}

#[test]
fn blocks_are_ordered_by_severity_consequences_error_and_page() {
    let findings = vec![
        finding("A", Ambiguous, 0, "18.4 %", "90 %"),
        finding("B", WrongFigure, 1, "25.0k", "26.0k"),
        finding("C", WrongFigure, 2, "20.4k", "40.8k"),
        finding("D", WrongFigure, 4, "12.3", "12.4"),
        finding("E", WrongFigure, 4, "45.6", "45.7").against([spot(4, "12.3")]),
        finding("G", WrongConclusion, 4, "78.9", ""),
    ];
    let rules: Vec<usize> = of(findings, CHECKED).blocks.iter().map(|block| block.root).collect();
    assert_eq!(rules, [5, 3, 2, 1, 0]);
}

#[test]
fn nothing_is_said_to_hold_where_nothing_was_checked() {
    let line = |findings: Vec<Finding>, statuses: &[Status]| of(findings, statuses).line;
    let remark = || vec![finding("M1", Ambiguous, 0, "18.4 %", "")];
    assert_eq!(line(vec![], CHECKED), "every figure that could be checked holds (3 of 4)");
    assert_eq!(line(remark(), CHECKED), "every figure that could be checked holds (3 of 4); 1 remark");
    let cut = vec![finding("N4", Cosmetic, 4, "12.3", "12.4")];
    assert_eq!(line(cut, CHECKED), "no figure that could be checked is wrong (3 of 4), 1 cosmetic");
    let unchecked = [Status::CannotBeChecked; 9];
    let only = "nothing on this page could be checked: it has no table and no output of a known tool";
    assert_eq!(line(vec![], &unchecked), format!("{only}, only 9 figures in sentences"));
    assert_eq!(line(remark(), &unchecked), format!("{only}, only 9 figures in sentences; 1 remark"));
    assert!(line(vec![], &[]).starts_with("nothing on this page could be checked: it has no results"));
    assert_eq!(of(vec![], &unchecked).coverage, "checked none of 9 figures");
    assert_eq!(of(vec![], &CHECKED[..3]).coverage, "checked all 3 figures");
    assert_eq!(of(vec![], &[]).coverage, "there is no figure to check");
}
