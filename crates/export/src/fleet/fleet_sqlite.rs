//! An SQLite database of a fleet: its hosts, their figures, and their facts.

use super::fleet_exporter::{DeviationIndex, FleetExporter, outlier_word};
use iotax_analysis::findings::fleet::FleetFindings;
use iotax_analysis::fleet::FleetInput;
use rusqlite::{Connection, MAIN_DB, params};
use std::io::{Error, Result, Write};

pub const EXPORTER: FleetExporter =
    FleetExporter { name: "sqlite", endings: &["sqlite", "sqlite3", "db"], write };

const SCHEMA: &str = "
CREATE TABLE hosts (
    fleet TEXT NOT NULL,
    host TEXT NOT NULL,
    state TEXT NOT NULL, -- done, failed, refused, lost, ...
    why TEXT,
    next TEXT, -- command that leads on
    groups TEXT NOT NULL,
    clock_ahead_s DOUBLE PRECISION,
    run TEXT,
    at TEXT, -- start, RFC 3339
    iotax TEXT,
    scenario_sha256 TEXT,
    PRIMARY KEY (fleet, host)
);
CREATE TABLE figures (
    fleet TEXT NOT NULL,
    host TEXT NOT NULL,
    workload TEXT NOT NULL,
    subject TEXT NOT NULL,
    stack TEXT NOT NULL,
    against TEXT, -- baseline of a ratio
    direction TEXT,
    quantity TEXT NOT NULL, -- rate, rate_ratio, latency_p99, ...
    value DOUBLE PRECISION NOT NULL,
    unit TEXT NOT NULL,
    log_error DOUBLE PRECISION, -- standard error of the logarithm of the value
    freedom DOUBLE PRECISION,
    of_others DOUBLE PRECISION, -- value over the mean of the other hosts
    of_others_low DOUBLE PRECISION, -- of its 95 % interval
    of_others_high DOUBLE PRECISION,
    q DOUBLE PRECISION, -- least false-discovery rate at which it is an outlier
    outlier TEXT NOT NULL -- worse, better, or empty
);
CREATE TABLE facts (
    fleet TEXT NOT NULL,
    host TEXT NOT NULL,
    subject TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL
);
";

fn write(fleet: &FleetInput, found: &FleetFindings, out: &mut dyn Write) -> Result<()> {
    out.write_all(&database_bytes(fleet, found).map_err(Error::other)?)
}

fn database_bytes(fleet: &FleetInput, found: &FleetFindings) -> rusqlite::Result<Vec<u8>> {
    let mut database = Connection::open_in_memory()?;
    database.execute_batch(SCHEMA)?;
    let inserting = database.transaction()?;
    insert_hosts(&inserting, fleet, found)?;
    inserting.commit()?;
    database.serialize(MAIN_DB).map(|bytes| bytes.to_vec())
}

fn insert_hosts(
    database: &Connection,
    fleet: &FleetInput,
    found: &FleetFindings,
) -> rusqlite::Result<()> {
    let insert = |table: &str, columns: usize| {
        let marks = vec!["?"; columns].join(",");
        database.prepare(&format!("INSERT INTO {table} VALUES ({marks})"))
    };
    let (mut hosts, mut figures, mut facts) =
        (insert("hosts", 11)?, insert("figures", 17)?, insert("facts", 5)?);
    let index = DeviationIndex::new(found);
    for host in &fleet.hosts {
        let (own, groups) = (host.figures.as_ref(), host.groups.join(", "));
        hosts.execute(params![
            fleet.id,
            host.host,
            host.state,
            host.why,
            host.next,
            groups,
            host.clock_ahead_s,
            own.map(|one| &one.run),
            own.map(|one| &one.at),
            own.map(|one| &one.iotax),
            own.map(|one| &one.scenario_sha256),
        ])?;
        for one in own.iter().flat_map(|own| &own.figures) {
            let deviation = index.deviation(&host.host, one);
            let (low, high) = deviation.and_then(|one| one.of_others.bounds()).unzip();
            figures.execute(params![
                fleet.id,
                host.host,
                one.key.workload,
                one.subject,
                one.key.stack,
                one.key.against,
                one.key.direction,
                one.key.quantity.key(),
                one.value,
                one.unit,
                one.log_error,
                one.freedom,
                deviation.and_then(|one| one.of_others.value()),
                low,
                high,
                deviation.and_then(|one| one.q),
                outlier_word(deviation),
            ])?;
        }
        for fact in own.iter().flat_map(|own| &own.facts) {
            facts.execute(params![fleet.id, host.host, fact.subject, fact.key, fact.value])?;
        }
    }
    Ok(())
}
