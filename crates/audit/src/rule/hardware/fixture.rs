//! Pages for tests: tables are lines with `|` (the first of them the head), outputs lines such as
//! `fio: rw=randread bs=4096 iodepth=1 numjobs=4 ioengine=libaio iops=26.0k bw=102MiB/s lat=118us usr=5% sys=10%`.

use crate::finding::Finding;
use crate::import::fio::{Asked, Cpu, Direction, Fio, Form, Job, Latency};
use crate::import::{Output, Said, Way};
use crate::knowledge::ratings::known;
use crate::number::{Figure, quantities};
use crate::page::{Page, Spot};
use crate::rule::{Evidence, Sink};
use crate::table::{Cell, Column, Row, Table};

/// What the rules of this group find on a page.
pub fn findings(text: &str) -> Vec<Finding> {
    let page = Page::new("p", text);
    let outputs: Vec<Output> = (0..page.len()).filter_map(|at| output(&page, at)).collect();
    let tables = tables(&page);
    let evidence = Evidence::new(&page, &outputs, &tables, &[], &[], &[], known());
    let mut sink = Sink::default();
    for rule in crate::rule::ALL.iter().filter(|rule| rule.id.starts_with('P')) {
        (rule.check)(&evidence, &mut sink);
    }
    for finding in &sink.findings {
        for spot in finding.operands.iter().chain([&finding.spot]) {
            let line = page.line(spot.index());
            assert!(line.get(spot.start as usize..spot.end as usize).is_some(), "{finding:?} on {line}");
        }
    }
    sink.findings
}

/// Their rules.
pub fn ids(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.rule).collect()
}

fn output(page: &Page, line: usize) -> Option<Output> {
    let text = page.line(line).strip_prefix("fio: ")?;
    let value = |key: &str| text.split(' ').find_map(|part| part.strip_prefix(key)?.strip_prefix('='));
    let figure = |key: &str| -> Option<Figure> {
        let at = page.line(line).find(&format!(" {key}="))? + key.len() + 2;
        quantities(line, page.line(line))
            .into_iter()
            .find(|one| one.figure.spot.start as usize == at)
            .map(|one| one.figure)
    };
    let rw = value("rw")?;
    let way = if rw.ends_with("write") { Way::Write } else { Way::Read };
    let bs = value("bs").and_then(|bs| bs.parse().ok());
    let mut direction = Direction::new(way, line);
    direction.iops = figure("iops");
    direction.bandwidth = figure("bw");
    direction.lat = figure("lat").map(|mean| Latency { min: mean, max: mean, mean, deviation: mean });
    let asked = Asked {
        name: "j".into(),
        line,
        rw: Some(rw.into()),
        bs: [bs.map(|bs| (bs, bs)); 3],
        ioengine: value("ioengine").map(str::to_owned),
        iodepth: value("iodepth").and_then(|depth| depth.parse().ok()),
    };
    let job = Job {
        name: "j".into(),
        line,
        jobs: value("numjobs").and_then(|jobs| jobs.parse().ok()),
        directions: vec![direction],
        cpu: figure("usr").zip(figure("sys")).map(|(user, system)| Cpu { user, system, switches: None }),
        ..Job::default()
    };
    let mut fio = Fio::new(Form::Text, None);
    fio.asked.push(asked);
    fio.jobs.push(job);
    Some(Output { format: "fio text", lines: line..line + 1, said: Said::Fio(Box::new(fio)) })
}

fn tables(page: &Page) -> Vec<Table> {
    let mut tables = Vec::new();
    let mut at = 0;
    while at < page.len() {
        let end = (at..page.len()).find(|line| !page.line(*line).contains('|')).unwrap_or(page.len());
        if end - at >= 2 {
            tables.push(table(page, at, end));
        }
        at = end.max(at + 1);
    }
    tables
}

fn table(page: &Page, from: usize, end: usize) -> Table {
    let split = |line: usize| -> Vec<(usize, String)> {
        let mut start = 0;
        let parts = page.line(line).split('|').map(|part| {
            let at = start + (part.len() - part.trim_start().len());
            start += part.len() + 1;
            (at, part.trim().to_owned())
        });
        parts.collect()
    };
    let head = split(from);
    let rows = (from + 1..end).map(|line| {
        let parts = split(line);
        let cell = |(start, text): &(usize, String)| {
            let spot = Spot::new(line, *start..start + text.len());
            let all = quantities(line, page.line(line));
            let inside = all
                .into_iter()
                .filter(|one| one.figure.spot.start >= spot.start && one.figure.spot.end <= spot.end);
            let mut inside = inside.collect::<Vec<_>>().into_iter();
            (!text.is_empty()).then(|| Cell {
                spot,
                figure: inside.next(),
                share: None,
                more: inside.collect(),
            })
        };
        Row { label: parts[0].1.clone(), line, cells: parts[1..].iter().map(cell).collect() }
    });
    Table {
        lines: from..end,
        title: None,
        corner: head[0].1.clone(),
        columns: head[1..].iter().map(|(_, text)| Column { head: text.clone() }).collect(),
        rows: rows.collect(),
    }
}
