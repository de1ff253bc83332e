//! A fleet for a spreadsheet: a line for each host and figure. Hosts without figures have one line.

use super::super::csv::{figure_fields, safe_cell};
use super::{FleetRenderer, PageContext};
use iotax_analysis::findings::fleet::{
    ComparedHost, FleetFigure, FleetFindings, HostDeviation, MissingHost, OutlierSide,
};

pub const RENDERER: FleetRenderer = FleetRenderer { name: "csv", endings: &["csv"], render };

const COLUMNS: [&str; 19] = [
    "fleet",
    "host",
    "state",
    "why",
    "next",
    "run",
    "workload",
    "subject",
    "stack",
    "against",
    "direction",
    "quantity",
    "value",
    "unit",
    "of_others",
    "of_others_low",
    "of_others_high",
    "q",
    "outlier",
];

fn render(found: &FleetFindings, _page: &PageContext) -> String {
    let mut rows = ::csv::Writer::from_writer(Vec::new());
    let measured = found.hosts.iter().flat_map(|host| {
        let figures = found.figures.iter().zip(&host.deviations);
        figures.filter_map(move |(figure, one)| Some(host_line(found, host, figure, one.as_ref()?)))
    });
    let missing = found.missing.iter().map(|one| missing_line(found, one));
    let head = COLUMNS.map(str::to_owned);
    for line in std::iter::once(head).chain(measured).chain(missing) {
        // Writing to memory cannot fail.
        let _ = rows.write_record(line.iter().map(|cell| safe_cell(cell)));
    }
    rows.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn host_line(
    found: &FleetFindings,
    host: &ComparedHost,
    figure: &FleetFigure,
    one: &HostDeviation,
) -> [String; 19] {
    let [_, of_others, _, low, high, ..] = figure_fields(&one.of_others);
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let side = match one.outlier {
        Some(OutlierSide::Worse) => "worse",
        Some(OutlierSide::Better) => "better",
        None => "",
    };
    [
        found.fleet.clone(),
        host.host.clone(),
        "done".into(),
        String::new(),
        String::new(),
        host.run.clone(),
        figure.key.workload.clone(),
        figure.subject.clone(),
        figure.key.stack.clone(),
        text(&figure.key.against),
        text(&figure.key.direction),
        figure.key.quantity.key().into(),
        one.value.to_string(),
        figure.unit.into(),
        of_others,
        low,
        high,
        one.q.map(|q| q.to_string()).unwrap_or_default(),
        side.into(),
    ]
}

fn missing_line(found: &FleetFindings, one: &MissingHost) -> [String; 19] {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut line: [String; 19] = Default::default();
    line[0].clone_from(&found.fleet);
    line[1].clone_from(&one.host);
    line[2].clone_from(&one.state);
    (line[3], line[4]) = (text(&one.why), text(&one.next));
    line
}
