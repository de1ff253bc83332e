//! Pages of others may hold anything: every draft is a scenario once it is completed, holds no
//! character that acts, and a page that is too much is refused soon.

use super::completed;
use iotax_audit::audit::audit;
use iotax_audit::container;
use iotax_draft::draft_scenarios;
use iotax_units::harmless::acts;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const WORDS: &[&str] = &[
    "host",
    "VM",
    "虚拟机",
    "物理机",
    "\"quoted\"",
    "'''",
    "\"\"\"",
    "a\\",
    "[stack.x]",
    "x = 1",
    "# say",
    "\u{202e}evil\u{202c}",
    "\u{200b}",
    "\u{1b}[31m",
    "\u{7}",
    "]]",
    "{ a = \"b\" }",
    "4k",
    "64k",
    "1M",
    "randread",
    "random write",
    "顺序读",
    "Случайное чтение",
    "IOPS",
    "MB/s",
    "МБ/с",
    "p99.9",
    "latency us",
    "rated",
    "cache=none",
    "cache=\"]",
    "queues=4",
    "qd=32",
    "qd32",
    "jobs=16",
    "fsync=1",
    "70/30",
    "80% rng",
    "50rdpct",
    "Dhrystone",
    "memcpy",
    "\u{e0001}",
    "İ",
    "ß",
    "..",
    "-",
    "99.99th",
    "",
    "system",
    "system-2",
    "load",
    "\t",
    "\r",
    "2.1",
    "\u{feff}",
];

const FIGURES: &[&str] = &[
    "26.0k",
    "102MiB/s",
    "8.35 Gbps (101%)",
    "190 us",
    "94%",
    "0",
    "-1",
    "1e300",
    "1,234.5",
    "7 MWIPS",
    "4x",
    "99999999999999999999",
    "0.0001 us",
    "3 604 МБ/с",
    "n/a",
    "12,7 Гбит/с",
    "１２k",
    "<100us",
];

/// Random numbers of a fixed seed.
struct Dice(u64);

impl Dice {
    fn number(&mut self, below: usize) -> usize {
        const FACTOR: u64 = 6_364_136_223_846_793_005;
        self.0 = self.0.wrapping_mul(FACTOR).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn words(&mut self, most: usize) -> String {
        let count = self.number(most + 1);
        (0..count).map(|_| WORDS[self.number(WORDS.len())]).collect::<Vec<_>>().join(" ")
    }

    fn page(&mut self) -> String {
        let mut page = String::new();
        for _ in 0..1 + self.number(6) {
            let [one, two, three, long] = [1, 2, 3, 5].map(|most| self.words(most));
            match self.number(6) {
                0 => page += &format!("\n# {three}\n\n"),
                1 => page += &format!("{two}: {three}\n- {long}\n"),
                2 => {
                    let rw = ["randread", "write", "randrw", "\"", ""][self.number(5)];
                    let depth = self.number(300);
                    page += &format!("fio --name=a{one} --rw={rw} --bs={two} --iodepth={depth}\n");
                }
                3 => page += &format!("[global]\nrw=randrw\nsize={two}\n[{one}]\nbs=4k\n\n"),
                4 => {
                    page += &format!("\n{three}\n\nfio-3.7\n{one}: (groupid=0, jobs=4): ");
                    page += "err= 0: pid=9: Fri Apr 12 13:55:32 2024\n";
                    page += "  write: IOPS=25.0k, BW=102MiB/s (106MB/s)(29.7GiB/300001msec)\n";
                    page += "    clat (usec): min=21, max=19215, avg=113.61, stdev=218.66\n";
                    page +=
                        "     issued rwts: total=0,7797520,0,0 short=0,0,0,0 dropped=0,0,0,0\n\n";
                }
                _ => self.add_table(&mut page),
            }
        }
        page
    }

    /// Returns a page of HTML, whose cells may hold line ends.
    fn html(&mut self) -> String {
        let escaped = |text: String| {
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
            text.replace('\u{202e}', "&#x202e;").replace(' ', "&#10;")
        };
        let mut page = format!("<html><h1>{}</h1><table>", escaped(self.words(4)));
        let columns = 1 + self.number(3);
        for row in 0..2 + self.number(3) {
            page += "<tr>";
            for column in 0..=columns {
                let is_label = row == 0 || column == 0;
                let text = if is_label {
                    escaped(self.words(3))
                } else {
                    FIGURES[self.number(FIGURES.len())].to_owned()
                };
                page += &format!("<td>{text}</td>");
            }
            page += "</tr>";
        }
        page + "</table></html>"
    }

    fn add_table(&mut self, page: &mut String) {
        let columns = 1 + self.number(4);
        let line = |cells: Vec<String>| {
            let cells = cells.into_iter().map(|cell| cell.replace(['|', '\n'], " "));
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        *page += "\n";
        *page += &line((0..=columns).map(|_| self.words(3)).collect());
        *page += &format!("|{}\n", "---|".repeat(columns + 1));
        for _ in 0..1 + self.number(4) {
            let label = self.words(3);
            let cells = (0..columns).map(|_| FIGURES[self.number(FIGURES.len())].to_owned());
            *page += &line(std::iter::once(label).chain(cells).collect());
        }
    }
}

#[test]
fn every_draft_of_a_hostile_page_is_a_scenario_when_it_is_completed() {
    let mut dice = Dice(1);
    let (mut figures, mut kinds) = (0, BTreeSet::new());
    for at in 0..700 {
        let page = if at % 7 == 0 { dice.html() } else { dice.page() };
        let name = format!("{}.md", dice.words(2));
        let drafts = draft_scenarios(&audit(container::page(&name, page.clone().into_bytes())));
        for draft in drafts.unwrap_or_else(|why| panic!("{why}\n{page}")) {
            let bad = draft.text.chars().find(|letter| acts(*letter) && *letter != '\n');
            assert_eq!(bad, None, "{}", draft.text);
            let scenario = completed(&draft);
            let published = scenario.published.map_or(0, |published| published.figures.len());
            assert_eq!(published, draft.figures, "{}", draft.text);
            figures += published;
            kinds.insert(draft.kind);
        }
    }
    assert!(figures > 500 && kinds.len() == 3, "{figures} figures of {kinds:?}");
}

#[test]
fn a_page_with_too_much_for_a_scenario_is_refused_soon() {
    let refused = |page: String, why: &str| {
        let audited = audit(container::page("many.md", page.into_bytes()));
        let began = Instant::now();
        let error = draft_scenarios(&audited).unwrap_err();
        assert!(error.contains(why) && error.contains("hint: "), "{error}");
        // Far more than it takes: only work that grows with the square of the page takes as long.
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    };
    let table = |at: usize| format!("| 4k randread | IOPS |\n|---|---|\n| a{at} | {at}5 |\n\n");
    refused((0..10_000).map(table).collect(), "more than 5000 figures");
    refused((0..200).map(table).collect(), "more than 100 systems");
    let same = |at: usize| format!("| 4k randread | IOPS |\n|---|---|\n| host | {at}5 |\n\n");
    refused((1..2_000).map(same).collect(), "more than 100 systems");
    let command = |depth: usize| format!("fio --name=a --rw=randread --iodepth={depth}\n");
    refused((0..20_000).map(command).collect(), "more than 100 loads");
}
