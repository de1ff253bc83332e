use super::*;
use crate::audit::{Audited, Options, audit, audit_pinned};
use crate::claim::Status;
use proptest::prelude::*;

const PAGE: &str = "# A guest against its host

The host did 25.99k random writes a second in three runs.
The guest did 20.39k of them.
So virtualization takes 18.4 % away, and 20.39k is what is left of 25.99k.

Nodes: 101 MB/s, 99 MB/s and 100 MB/s; together 310 MB/s.
The drive is sold as one of 26.5k.
";

fn pins(entries: &str) -> String {
    format!("format = \"iotax-pins\"\nversion = 1\n{entries}")
}

fn pinned(page: &str, entries: &str) -> Result<Audited, Fault> {
    audit_pinned(Page::new("p", page), &Options::default(), &Pins::read(&pins(entries))?)
}

/// `rule printed -> recomputed` of what is wrong.
fn wrong(audited: &Audited) -> Vec<String> {
    let wrong = audited.findings.iter().filter(|one| one.severity <= crate::finding::Severity::WrongFigure);
    wrong.map(|one| format!("{} {} -> {}", one.rule, one.printed, one.recomputed)).collect()
}

fn fault(entries: &str) -> String {
    pinned(PAGE, entries).map(|_| ()).unwrap_err().to_string()
}

const LOSS: &str = "[[pin]]
line = 5
figure = \"18.4 %\"
is = \"loss\"
of = [{ line = 4, figure = \"20.39k\" }, { line = 3, figure = \"25.99k\" }]
";

#[test]
fn a_ratio_is_held_against_the_operands_that_are_pinned() {
    assert_eq!(wrong(&audit(Page::new("p", PAGE))), [""; 0], "nothing ties it to them");
    let audited = pinned(PAGE, LOSS).unwrap();
    assert_eq!(wrong(&audited), ["T1 18.4 % -> 21.5 %"]);
    let told = audited.findings.iter().find(|one| one.rule == "T1").unwrap();
    assert_eq!(told.operands.len(), 2);
    assert!(
        told.message.starts_with("So virtualization takes 18.4 % away is printed as 18.4 %"),
        "{}",
        told.message
    );
    assert_eq!(
        audited.claims.len(),
        audit(Page::new("p", PAGE)).claims.len() + 2,
        "what is pinned is a claim"
    );
    let right = pinned(&PAGE.replace("18.4 %", "21.5 %"), &LOSS.replace("18.4 %", "21.5 %")).unwrap();
    assert_eq!(wrong(&right), [""; 0]);
    assert_eq!(right.count(Status::Holds), 1);
    let share = LOSS.replace("loss", "share");
    assert_eq!(wrong(&pinned(PAGE, &share).unwrap()), ["T1 18.4 % -> 78.5 %"]);
    let gain = "[[pin]]\nline = 5\nfigure = \"18.4\"\nis = \"gain\"\nof = [{ line = 3, figure = \"25.99k\" }, { line = 4, figure = \"20.39k\" }]\n";
    assert_eq!(wrong(&pinned(PAGE, gain).unwrap()), ["T1 18.4 % -> 27.5 %"]);
}

#[test]
fn sums_means_and_extremes_are_those_of_the_parts_that_are_pinned() {
    let entry = |is: &str| {
        format!(
            "[[pin]]\nline = 7\nfigure = \"310 MB/s\"\nis = \"{is}\"\nof = [{{ line = 7, figure = \"101 MB/s\" }}, {{ line = 7, figure = \"99 MB/s\" }}, \
             {{ line = 7, figure = \"100 MB/s\" }}]\n"
        )
    };
    for (is, meant) in [("sum", 300), ("mean", 100), ("median", 100), ("maximum", 101), ("minimum", 99)] {
        assert_eq!(wrong(&pinned(PAGE, &entry(is)).unwrap()), [format!("T5 310 MB/s -> {meant} MB/s")]);
    }
    let right = pinned(&PAGE.replace("310", "300"), &entry("sum").replace("310", "300")).unwrap();
    assert_eq!((wrong(&right).len(), right.count(Status::Holds)), (0, 1));
}

#[test]
fn figures_of_one_measurement_agree() {
    let entry =
        "[[pin]]\nline = 8\nfigure = \"26.5k\"\nis = \"same\"\nof = [{ line = 3, figure = \"25.99k\" }]\n";
    assert_eq!(wrong(&pinned(PAGE, entry).unwrap()), ["T4 26.5k -> 26.0k"]);
    let rounded = pinned(&PAGE.replace("26.5k", "26.0k"), &entry.replace("26.5k", "26.0k")).unwrap();
    assert_eq!(wrong(&rounded), [""; 0], "25.99k is 26.0k, rounded");
}

/// fio 3.16 prints 25991 as 25.0k, of which nothing on this page is computed by structure.
const CARRY: &str =
    "w: (g=0): rw=randwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=1
fio-3.16
w: (groupid=0, jobs=4): err= 0: pid=1: Fri Apr 12 13:55:32 2024
  write: IOPS=25.0k, BW=102MiB/s (106MB/s)(29.7GiB/300001msec)
     issued rwts: total=0,7797520,0,0 short=0,0,0,0 dropped=0,0,0,0

The other one had 20387 of them, a loss of 18.4 %.
";

const CARRIED: &str = "[[pin]]
line = 7
figure = \"18.4 %\"
is = \"loss\"
of = [{ line = 7, figure = \"20387\" }, { line = 4, figure = \"25.0k\" }]
";

#[test]
fn a_pinned_ratio_of_a_wrong_figure_is_told_as_that() {
    let audited = pinned(CARRY, CARRIED).unwrap();
    assert_eq!(wrong(&audited), ["N2 25.0k -> 26.0k", "N10 18.4 % -> 21.6 %"]);
    let same = "[[pin]]\nline = 7\nfigure = \"20387\"\nis = \"same\"\nof = [{ line = 4, figure = \"IOPS=25.0k\" }]\n";
    assert_eq!(wrong(&pinned(CARRY, same).unwrap()), ["N2 25.0k -> 26.0k", "T4 20387 -> 25991"]);
}

#[test]
fn what_is_set_aside_is_kept_with_its_reason_and_corrects_nothing() {
    let aside = |rules: &str| {
        let entry = format!(
            "[[pin]]\nline = 4\nfigure = \"25.0k\"\nset_aside = \"{rules}\"\nreason = \"patched fio\"\n"
        );
        pinned(CARRY, &format!("{CARRIED}{entry}")).unwrap()
    };
    let audited = aside("n2");
    assert_eq!(wrong(&audited), [""; 0], "nor is anything computed from the correction");
    let [one] = audited.set_aside.as_slice() else { panic!("{:#?}", audited.set_aside) };
    assert_eq!(
        (one.finding.rule, one.finding.printed.as_str(), one.reason.as_str()),
        ("N2", "25.0k", "patched fio")
    );
    assert_eq!((audited.pinned.idle.len(), aside("T7").pinned.idle.as_slice()), (0, &[8][..]));
    let entry = "[[pin]]\nline = 4\nfigure = \"25.0k\"\nset_aside = \"N2\"\nreason = \"x\"\n";
    let others = audit_pinned(
        Page::new("p", CARRY),
        &Options { asked: &|id| id == "F9", ..Options::default() },
        &Pins::read(&pins(entry)).unwrap(),
    )
    .unwrap();
    assert_eq!((others.set_aside.len(), others.pinned.idle.len()), (0, 0), "it was not asked for");
    assert_eq!(wrong(&aside("T7")), ["N2 25.0k -> 26.0k", "N10 18.4 % -> 21.6 %"], "another rule's");
    let count = |audited: &Audited| audited.claims.len();
    assert_eq!(count(&aside("all")) + 1, count(&audited), "it is no result");
    let line = "[[pin]]\nline = 4\nfigure = \"write\"\nset_aside = \"N2\"\nreason = \"x\"\n";
    assert_eq!(pinned(CARRY, line).unwrap().set_aside, [], "it is of another place");
}

#[test]
fn a_pin_wins_over_structure() {
    let table = "| load | host | guest | guest / host |\n|---|---|---|---|\n| a | 800 | 400 | 50% |\n| b | 700 | 350 | 50% |\n| c | 600 | 330 | 50% |\n| d | 500 | 400 | 80% |\n\nIn a longer run c had 300.\n";
    assert_eq!(wrong(&audit(Page::new("p", table))), ["T1 50% -> 55%"]);
    let entry = "[[pin]]\nline = 5\nfigure = \"50%\"\nis = \"share\"\nof = [{ line = 8, figure = \"300\" }, { line = 5, figure = \"600\" }]\n";
    assert_eq!(wrong(&pinned(table, entry).unwrap()), [""; 0]);
}

#[test]
fn faults_name_line_and_key_and_say_what_to_do() {
    for (entries, said) in [
        (
            "[[pin]]\nline = 5\nfigure = \"18.5 %\"\nsystem = \"a\"\n",
            "line 3: figure: \"18.5 %\" is not on line 5 of the page, which has \"So virtualization",
        ),
        ("[[pin]]\nline = 5\nfigure = \"8.4 %\"\nsystem = \"a\"\n", "it is nowhere else on the page"),
        ("[[pin]]\nline = 4\nfigure = \"25.99k\"\nsystem = \"a\"\n", "; it is on line 3, 5"),
        (
            "[[pin]]\nline = 99\nfigure = \"1\"\nsystem = \"a\"\n",
            "line: there is no line 99 on the page, which has 8",
        ),
        (
            "[[pin]]\nline = 5\nfigure = \"virtualization\"\nsystem = \"a\"\n",
            "figure: \"virtualization\" is no figure",
        ),
        ("[[pin]]\nline = 7\nfigure = \"MB/s\"\nsystem = \"a\"\n", "\"MB/s\" is no figure"),
        (
            "[[pin]]\nline = 7\nfigure = \"101 MB/s, 99 MB/s\"\nsystem = \"a\"\n",
            "has several figures; write one",
        ),
        ("[[pin]]\nline = 5\nfigure = \"18.4 %\"\n", "line 3: pin: says nothing of its figure"),
        (
            "[[pin]]\nline = 5\nfigure = \"18.4 %\"\nis = \"los\"\nof = []\n",
            "line 6: is: \"los\" is not known; known are share, loss, gain, sum, mean",
        ),
        (
            "[[pin]]\nline = 5\nfigure = \"18.4 %\"\nis = \"loss\"\nof = [{ line = 4, figure = \"20.39k\" }]\n",
            "line 7: of: needs two figures: loss is 1 - the first / the second",
        ),
        ("[[pin]]\nline = 5\nfigure = \"18.4 %\"\nis = \"loss\"\n", "line 3: of: is missing"),
        ("[[pin]]\nline = 5\nfigure = \"18.4 %\"\nof = []\n", "is: is missing"),
        (
            "[[pin]]\nline = 5\nfigure = \"18.4 %\"\nis = \"loss\"\nof = [{ line = 4, figure = \"20.39k\" },\n{ line = 7, figure = \"99 MB/s\" }]\n",
            "cannot be divided",
        ),
        (
            "[[pin]]\nline = 4\nfigure = \"20.39k\"\nis = \"sum\"\nof = [{ line = 3, figure = \"25.99k\" },\n{ line = 7, figure = \"99 MB/s\" }]\n",
            "are of one unit",
        ),
        (
            "[[pin]]\nline = 4\nfigure = \"20.39k\"\nis = \"same\"\nof = [{ line = 4, figure = \"20.39k\" }]\n",
            "line 7: of: is the figure itself",
        ),
        (
            "[[pin]]\nline = 7\nfigure = \"99 MB/s\"\nis = \"loss\"\nof = [{ line = 4, figure = \"20.39k\" }, { line = 3, figure = \"25.99k\" }]\n",
            "99 MB/s has a unit of its own and is no ratio",
        ),
        ("[[pin]]\nline = 5\nfigure = \"18.4 %\"\nset_aside = \"T1\"\n", "reason: is missing"),
        ("[[pin]]\nline = 5\nfigure = \"18.4 %\"\nreason = \"x\"\nsystem = \"a\"\n", "belongs to set_aside"),
        (
            "[[pin]]\nline = 5\nfigure = \"18.4 %\"\nset_aside = \"T99\"\nreason = \"x\"\n",
            "line 6: set_aside: \"T99\" is no rule",
        ),
        ("[[pin]]\nline = 0\nfigure = \"x\"\n", "line 4: line: is no number from 1 on"),
        ("[[pin]]\nfigure = \"x\"\n", "line: is missing"),
        ("[[pin]]\nline = 3\n", "figure: is missing"),
        ("[[pin]]\nlines = 3\n", "line 4: lines: is not known; known are line, figure"),
        ("[pin]\nline = 3\n", "pin: is no list; write [[pin]]"),
        ("[[pin]\n", "line 3: "),
    ] {
        let error = fault(entries);
        assert!(error.contains(said), "{said}:\n{error}");
    }
    let read = |text: &str| Pins::read(text).unwrap_err().to_string();
    assert!(read("version = 1").contains("format: is missing"));
    assert!(read("format = \"x\"\nversion = 1").contains("format: is another"));
    assert!(read("format = \"iotax-pins\"").contains("version: is missing"));
    assert!(read("format = \"iotax-pins\"\nversion = 2").contains("line 2: version: 2 is not known"));
    assert_eq!(Pins::read("format = \"iotax-pins\"\nversion = 1"), Ok(Pins::default()));
}

#[test]
fn what_stands_several_times_asks_for_a_column() {
    let page = "It went from 20 % to 30 % and back to 20 % again.\n";
    let entry = "[[pin]]\nline = 1\nfigure = \"20 %\"\nsystem = \"a\"\n";
    let error = pinned(page, entry).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("stands several times on line 1 of the page; write column = 14 or 39"), "{error}");
    let second = pinned(page, &format!("{entry}column = 39\n")).unwrap();
    assert_eq!(second.pinned.named[0].spot, Spot::new(0, 38..42));
    let aside = entry.replace("system = \"a\"", "set_aside = \"T1\"\nreason = \"x\"");
    assert!(pinned(page, &aside).is_err() && pinned(page, &format!("{aside}column = 14\n")).is_ok());
    let off = pinned(page, &format!("{entry}column = 15\n")).map(|_| ()).unwrap_err().to_string();
    assert!(off.contains("it does not begin at column 15"), "{off}");
}

#[test]
fn lines_of_made_pages_are_found_by_their_numbers() {
    let page = Page::rendered("p", &[(7, "| a | 18.4 % |".to_owned()), (7, "| b | 20 % |".to_owned())]);
    let read = Pins::read(&pins("[[pin]]\nline = 7\nfigure = \"20 %\"\nworkload = \"b\"\n")).unwrap();
    let audited = audit_pinned(page, &Options::default(), &read).unwrap();
    assert_eq!(audited.pinned.named[0].spot.line, 1);
}

proptest! {
    #[test]
    fn hostile_pins_and_pages_are_refused_or_read(
        cut in 0usize..400, flip in 0usize..400, letter in "\\PC", page in "[0-9a-z%.,写 \n|]{0,200}",
        line in 0i64..12, figure in "[0-9.,%kMB/s写 ]{1,6}", column in proptest::option::of(-1i64..300), is in "share|loss|gain|sum|mean|median|same",
    ) {
        let sound = pins(&format!("{LOSS}{}", "[[pin]]\nline = 5\nfigure = \"18.4 %\"\nset_aside = \"all\"\nreason = \"x\"\n"));
        let mut text: Vec<char> = sound.chars().collect();
        let at = flip % text.len();
        text[at] = letter.chars().next().unwrap_or('x');
        text.truncate(text.len().saturating_sub(cut));
        let mutated: String = text.into_iter().collect();
        let column = column.map(|column| format!("column = {column}\n")).unwrap_or_default();
        let made = pins(&format!(
            "[[pin]]\nline = {line}\nfigure = \"{figure}\"\n{column}is = \"{is}\"\nof = [{{ line = 1, figure = \"{figure}\" }}, {{ line = 2, figure = \"1\" }}]\n\
             [[pin]]\nline = {line}\nfigure = \"{figure}\"\nset_aside = \"all\"\nreason = \"x\"\n"
        ));
        for text in [mutated, made] {
            for page in [PAGE, page.as_str()] {
                let audited = Pins::read(&text).and_then(|pins| audit_pinned(Page::new("p", page), &Options::default(), &pins));
                let lines = text.lines().count() + 1;
                match audited {
                    Ok(audited) => for named in audited.pinned.links.iter().map(|link| link.derived.figure.spot) {
                        prop_assert!(!audited.page.quote(named).is_empty());
                    },
                    Err(fault) => prop_assert!((1..=lines).contains(&fault.line), "{fault}"),
                }
            }
        }
    }
}
