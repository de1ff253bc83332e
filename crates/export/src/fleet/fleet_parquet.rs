//! Parquet of a fleet: a row for each host and figure, and one for a host without figures. What a
//! host has once (facts, verdicts) is in its first row, as JSON.

use super::fleet_exporter::{DeviationIndex, FleetExporter, outlier_word};
use iotax_analysis::findings::fleet::{FigureKey, FleetFindings, FleetQuantity, HostDeviation};
use iotax_analysis::fleet::{FIGURES_FORMAT, FleetHostResult, FleetInput, HostFigure, HostFigures};
use iotax_units::exit::contained;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::{Field, Row};
use parquet::schema::parser::parse_message_type;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Error, Result, Write};
use std::path::Path;
use std::sync::Arc;

pub const EXPORTER: FleetExporter = FleetExporter { name: "parquet", endings: &["parquet"], write };

/// Key of the file's metadata with the version of these columns.
const FORMAT_KEY: &str = "iotax-fleet";
const FORMAT: u32 = 1;

/// Rows of a row group.
const GROUP_ROWS: usize = 100_000;

/// A figure of a host, or a host without figures.
struct FleetRow<'a> {
    fleet: &'a FleetInput,
    host: &'a FleetHostResult,
    is_first: bool,
    figure: Option<&'a HostFigure>,
    deviation: Option<&'a HostDeviation>,
}

/// Takes the value of a column from a row.
enum FleetColumn {
    Text(fn(&FleetRow) -> Option<String>),
    Number(fn(&FleetRow) -> Option<f64>),
}

use FleetColumn::{Number, Text};

const COLUMNS: &[(&str, FleetColumn)] = &[
    ("fleet", Text(|row| Some(row.fleet.id.clone()))),
    ("fleet_name", Text(|row| row.fleet.name.clone())),
    ("source", Text(|row| Some(row.fleet.source.clone()))),
    ("host", Text(|row| Some(row.host.host.clone()))),
    ("state", Text(|row| Some(row.host.state.clone()))),
    ("why", Text(|row| row.host.why.clone())),
    ("next", Text(|row| row.host.next.clone())),
    ("clock_ahead_s", Number(|row| row.host.clock_ahead_s)),
    ("groups", Text(|row| once_as_json(row, &row.host.groups))),
    ("run", Text(|row| Some(row.host.figures.as_ref()?.run.clone()))),
    ("run_name", Text(|row| row.host.figures.as_ref()?.name.clone())),
    ("at", Text(|row| Some(row.host.figures.as_ref()?.at.clone()))),
    ("iotax", Text(|row| Some(row.host.figures.as_ref()?.iotax.clone()))),
    ("scenario_sha256", Text(|row| Some(row.host.figures.as_ref()?.scenario_sha256.clone()))),
    ("zone", Number(|row| Some(row.host.figures.as_ref()?.zone))),
    ("emulated", Text(|row| once_as_json(row, &row.host.figures.as_ref()?.emulated))),
    ("verdicts", Text(|row| once_as_json(row, &row.host.figures.as_ref()?.verdicts))),
    ("warnings", Text(|row| once_as_json(row, &row.host.figures.as_ref()?.warnings))),
    ("facts", Text(|row| once_as_json(row, &row.host.figures.as_ref()?.facts))),
    ("workload", Text(|row| Some(row.figure?.key.workload.clone()))),
    ("subject", Text(|row| Some(row.figure?.subject.clone()))),
    ("stack", Text(|row| Some(row.figure?.key.stack.clone()))),
    ("against", Text(|row| row.figure?.key.against.clone())),
    ("direction", Text(|row| row.figure?.key.direction.clone())),
    ("quantity", Text(|row| Some(row.figure?.key.quantity.key().to_owned()))),
    ("unit", Text(|row| Some(row.figure?.unit.clone()))),
    ("value", Number(|row| Some(row.figure?.value))),
    ("log_error", Number(|row| row.figure?.log_error)),
    ("freedom", Number(|row| row.figure?.freedom)),
    ("no_error", Text(|row| row.figure?.no_error.clone())),
    ("of_others", Number(|row| row.deviation?.of_others.value())),
    ("of_others_low", Number(|row| Some(row.deviation?.of_others.bounds()?.0))),
    ("of_others_high", Number(|row| Some(row.deviation?.of_others.bounds()?.1))),
    ("q", Number(|row| row.deviation?.q)),
    ("outlier", Text(|row| row.deviation.map(|one| outlier_word(Some(one)).to_owned()))),
];

fn once_as_json(row: &FleetRow, value: &impl Serialize) -> Option<String> {
    row.is_first.then(|| serde_json::to_string(value).ok())?
}

fn write(fleet: &FleetInput, found: &FleetFindings, out: &mut dyn Write) -> Result<()> {
    out.write_all(&parquet_bytes(fleet, found, GROUP_ROWS).map_err(Error::other)?)
}

fn parquet_bytes(
    fleet: &FleetInput,
    found: &FleetFindings,
    group_rows: usize,
) -> std::result::Result<Vec<u8>, ParquetError> {
    let column = |(name, column): &(&str, FleetColumn)| match column {
        Text(_) => format!("optional binary {name} (string);"),
        Number(_) => format!("optional double {name};"),
    };
    let schema = format!("message fleet {{ {} }}", COLUMNS.iter().map(column).collect::<String>());
    let version = KeyValue::new(FORMAT_KEY.to_owned(), FORMAT.to_string());
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![version]))
        .build();
    let schema = Arc::new(parse_message_type(&schema)?);
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let index = DeviationIndex::new(found);
    let mut rows = fleet.hosts.iter().flat_map(|host| fleet_rows(fleet, host, &index)).peekable();
    while rows.peek().is_some() {
        let group: Vec<FleetRow> = rows.by_ref().take(group_rows).collect();
        let mut writer = file.next_row_group()?;
        for (_, column) in COLUMNS {
            match column {
                Text(pick) => {
                    let texts = group
                        .iter()
                        .map(|row| pick(row).map(|text| ByteArray::from(text.as_str())));
                    write_column::<ByteArrayType>(&mut writer, texts)?;
                }
                Number(pick) => write_column::<DoubleType>(&mut writer, group.iter().map(pick))?,
            }
        }
        writer.close()?;
    }
    file.into_inner()
}

fn fleet_rows<'a>(
    fleet: &'a FleetInput,
    host: &'a FleetHostResult,
    index: &DeviationIndex<'a>,
) -> Vec<FleetRow<'a>> {
    let row = |is_first, figure: Option<&'a HostFigure>| {
        let deviation = figure.and_then(|one| index.deviation(&host.host, one));
        FleetRow { fleet, host, is_first, figure, deviation }
    };
    let figures = host.figures.as_ref().map(|one| one.figures.as_slice()).unwrap_or_default();
    match figures {
        [] => vec![row(true, None)],
        all => all.iter().enumerate().map(|(at, one)| row(at == 0, Some(one))).collect(),
    }
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: impl Iterator<Item = Option<T::T>>,
) -> std::result::Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns".into());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    let values: Vec<Option<T::T>> = values.collect();
    let known: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    column.typed::<T>().write_batch(&values, Some(&known), None)?;
    column.close()
}

/// Reads a fleet that was exported as Parquet.
///
/// # Errors
/// The file cannot be read, is no Parquet of a fleet, or of a later version.
pub fn read_fleet_parquet(path: &Path) -> Result<FleetInput> {
    let file = File::open(path)?;
    let of_path = |why: String| Error::other(format!("{}: {why}", path.display()));
    // The reader may panic over a file that is damaged.
    let read = contained(move || read_rows(file).map_err(|error| error.to_string()));
    read.unwrap_or_else(|_| Err("it is damaged".to_owned())).map_err(of_path)
}

fn read_rows(file: File) -> std::result::Result<FleetInput, Box<dyn std::error::Error>> {
    let reader = SerializedFileReader::new(file)?;
    let metadata = reader.metadata().file_metadata().key_value_metadata();
    let version = metadata.and_then(|all| all.iter().find(|one| one.key == FORMAT_KEY));
    let version = version.and_then(|one| one.value.as_ref()?.parse::<u32>().ok());
    match version {
        Some(FORMAT) => {}
        Some(newer) => {
            return Err(format!("its format is {newer}, this iotax reads {FORMAT}").into());
        }
        None => return Err("it is no Parquet file of a fleet of iotax".into()),
    }
    let mut fleet = FleetInput::default();
    let mut known: HashMap<String, usize> = HashMap::new();
    for row in reader.get_row_iter(None)? {
        let row = ReadRow::new(row?);
        let name = row.text_in("host").ok_or("a row has no host")?;
        if fleet.hosts.is_empty() {
            fleet.id = row.text_in("fleet").unwrap_or_default();
            fleet.name = row.text_in("fleet_name");
            fleet.source = row.text_in("source").unwrap_or_default();
        }
        let at = match known.get(&name) {
            Some(at) => *at,
            None => {
                fleet.hosts.push(row.read_host(&name)?);
                known.insert(name, fleet.hosts.len() - 1);
                fleet.hosts.len() - 1
            }
        };
        if let Some(figures) = &mut fleet.hosts[at].figures {
            figures.figures.extend(row.read_figure()?);
        }
    }
    Ok(fleet)
}

/// Values of a row by the names of their columns.
struct ReadRow {
    values: HashMap<String, Field>,
}

impl ReadRow {
    fn new(row: Row) -> ReadRow {
        ReadRow { values: row.into_columns().into_iter().collect() }
    }

    fn text_in(&self, column: &str) -> Option<String> {
        match self.values.get(column) {
            Some(Field::Str(text)) => Some(text.clone()),
            _ => None,
        }
    }

    fn number_in(&self, column: &str) -> Option<f64> {
        match self.values.get(column) {
            Some(Field::Double(value)) => Some(*value),
            _ => None,
        }
    }

    fn json_in<T: DeserializeOwned + Default>(&self, column: &str) -> serde_json::Result<T> {
        self.text_in(column).map_or(Ok(T::default()), |text| serde_json::from_str(&text))
    }

    fn read_host(&self, name: &str) -> serde_json::Result<FleetHostResult> {
        let figures = match self.text_in("run") {
            Some(run) => Some(HostFigures {
                format: FIGURES_FORMAT,
                run,
                name: self.text_in("run_name"),
                at: self.text_in("at").unwrap_or_default(),
                iotax: self.text_in("iotax").unwrap_or_default(),
                scenario_sha256: self.text_in("scenario_sha256").unwrap_or_default(),
                zone: self.number_in("zone").unwrap_or_default(),
                emulated: self.json_in("emulated")?,
                figures: Vec::new(),
                verdicts: self.json_in("verdicts")?,
                warnings: self.json_in("warnings")?,
                facts: self.json_in("facts")?,
            }),
            None => None,
        };
        Ok(FleetHostResult {
            host: name.to_owned(),
            state: self.text_in("state").unwrap_or_default(),
            why: self.text_in("why"),
            next: self.text_in("next"),
            figures,
            clock_ahead_s: self.number_in("clock_ahead_s"),
            groups: self.json_in("groups")?,
        })
    }

    fn read_figure(&self) -> std::result::Result<Option<HostFigure>, String> {
        let Some(quantity) = self.text_in("quantity") else { return Ok(None) };
        let unknown = || format!("it has a figure \"{}\"", quantity.escape_debug());
        let quantity = FleetQuantity::from_key(&quantity).ok_or_else(unknown)?;
        let text = |column: &str| self.text_in(column).unwrap_or_default();
        let key = FigureKey {
            workload: text("workload"),
            stack: text("stack"),
            quantity,
            against: self.text_in("against"),
            direction: self.text_in("direction"),
        };
        Ok(Some(HostFigure {
            key,
            subject: text("subject"),
            unit: text("unit"),
            value: self.number_in("value").ok_or("a figure has no value")?,
            log_error: self.number_in("log_error"),
            freedom: self.number_in("freedom"),
            no_error: self.text_in("no_error"),
        }))
    }
}
