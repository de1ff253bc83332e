//! Lines of the index: an envelope with length and CRC around a record's exact bytes. An incomplete
//! line is torn, not an error; a sound line of a newer format is an error.

use super::{FORMAT, StoreError, line};
use iotax_model::record::imported::ImportedResult;
use iotax_model::record::{RunRecord, Slice};
use serde::Deserialize;

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time, moved on at once; a box would cost an allocation a line"
)]
pub(super) enum ParsedLine {
    Record(RunRecord),
    /// A sound record of a kind that this version does not know.
    Unknown(String),
    Torn,
    /// A sound line of this newer format.
    Newer(u32),
    /// A sound line whose content does not fit its kind: kind and cause.
    Malformed(String, String),
}

/// Returns the line of a record, with its newline.
///
/// # Errors
/// [`StoreError::Unwritable`].
pub(super) fn encode(record: &RunRecord) -> Result<Vec<u8>, StoreError> {
    line::encode(record).map_err(StoreError::Unwritable)
}

/// Parses a line, with or without its newline.
pub(super) fn decode(line: &[u8]) -> ParsedLine {
    match line::open(line) {
        None => ParsedLine::Torn,
        Some(sound) if sound.version > FORMAT => ParsedLine::Newer(sound.version),
        Some(sound) => record(sound.record),
    }
}

/// Parses a record. Nearly all lines are slices or imported results, and serde's tagged enum would
/// parse each of them twice.
fn record(rec: &str) -> ParsedLine {
    if rec.starts_with("{\"record\":\"slice\",") {
        return match serde_json::from_str::<Slice>(rec) {
            Ok(slice) => ParsedLine::Record(RunRecord::Slice(slice)),
            Err(error) => ParsedLine::Malformed("slice".into(), error.to_string()),
        };
    }
    if rec.starts_with("{\"record\":\"imported\",") {
        return match serde_json::from_str::<ImportedResult>(rec) {
            Ok(result) => ParsedLine::Record(RunRecord::Imported(result)),
            Err(error) => ParsedLine::Malformed("imported".into(), error.to_string()),
        };
    }
    match serde_json::from_str::<RunRecord>(rec) {
        Ok(record) => ParsedLine::Record(record),
        Err(error) => unreadable(rec, &error),
    }
}

fn unreadable(rec: &str, error: &serde_json::Error) -> ParsedLine {
    #[derive(Deserialize)]
    struct Tagged {
        record: String,
    }
    let kind = serde_json::from_str::<Tagged>(rec)
        .map_or_else(|_| "untagged".to_owned(), |tagged| tagged.record);
    if KINDS.contains(&kind.as_str()) {
        return ParsedLine::Malformed(kind, error.to_string());
    }
    ParsedLine::Unknown(kind)
}

/// Kinds of records that this version knows; a test compares them with [`RunRecord`].
const KINDS: [&str; 29] = [
    "run",
    "place",
    "volume",
    "serving",
    "worker",
    "design",
    "matched",
    "apart",
    "laying_out",
    "laid_out",
    "passes",
    "preconditioned",
    "clocks",
    "cluster",
    "slice",
    "series",
    "transient",
    "device_traffic",
    "trial",
    "path_limits",
    "course",
    "verified",
    "imported_file",
    "imported",
    "warning",
    "resumed",
    "visit_end",
    "workload_end",
    "end",
];

#[cfg(test)]
mod tests {
    use super::line::enclose;
    use super::*;
    use proptest::prelude::*;

    fn resumed() -> RunRecord {
        RunRecord::Resumed { at: "2026-01-02T04:00:00Z".into() }
    }

    #[test]
    fn kinds_are_those_of_the_record() {
        let unknown =
            serde_json::from_str::<RunRecord>(r#"{"record":"nonsense"}"#).unwrap_err().to_string();
        let named: Vec<&str> = unknown.split('`').skip(3).step_by(2).collect();
        assert_eq!(named, KINDS);
    }

    #[test]
    fn each_state_of_a_line() {
        let line = |rec: &str| decode(&enclose(rec.as_bytes())[..]);
        let whole = encode(&resumed()).unwrap();
        assert!(matches!(decode(&whole), ParsedLine::Record(record) if record == resumed()));
        assert!(matches!(decode(&whole[..whole.len() - 3]), ParsedLine::Torn));
        assert!(
            matches!(line(r#"{"record":"bill_of_fare","dish":1}"#), ParsedLine::Unknown(kind) if kind == "bill_of_fare")
        );
        assert!(
            matches!(line(r#"{"record":"resumed"}"#), ParsedLine::Malformed(kind, cause) if kind == "resumed" && cause.contains("at"))
        );
        assert!(
            matches!(line(r#"{"record":"slice","visit":"x"}"#), ParsedLine::Malformed(kind, _) if kind == "slice")
        );
        let version = |v: u32| format!("{{\"v\":{v},");
        let whole = String::from_utf8(whole).unwrap();
        let older = whole.replace(&version(FORMAT), &version(FORMAT - 1));
        assert!(
            matches!(decode(older.as_bytes()), ParsedLine::Record(record) if record == resumed())
        );
        let newer = whole.replace(&version(FORMAT), &version(FORMAT + 1));
        assert!(matches!(decode(newer.as_bytes()), ParsedLine::Newer(v) if v == FORMAT + 1));
        assert!(matches!(decode(newer.replace("04:00", "05:00").as_bytes()), ParsedLine::Torn));
    }

    #[test]
    fn each_value_of_a_sample_is_read_and_none_is_missing() {
        use iotax_model::record::{SampleValue, SliceSample};
        let read = |value: &str| {
            let json = format!(r#"{{"metric":"m","unit":"1","better":"lower",{value}}}"#);
            serde_json::from_str::<SliceSample>(&json).unwrap().value
        };
        assert_eq!(read(r#""value":1"#), SampleValue::Value(1.0));
        assert_eq!(read(r#""histogram":7"#), SampleValue::Histogram(7));
        assert_eq!(read(r#""failed":"f""#), SampleValue::Failed("f".into()));
        assert_eq!(read(r#""missing":"m""#), SampleValue::Missing("m".into()));
        let nan = serde_json::to_string(&SampleValue::Value(f64::NAN)).unwrap();
        assert_eq!(nan, r#"{"value":null}"#);
        assert_eq!(read(r#""value":null"#), SampleValue::Missing("no finite number".into()));
    }

    proptest! {
        #[test]
        fn arbitrary_lines_never_panic(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            decode(&line);
        }

        #[test]
        fn a_changed_record_is_torn(at in 0usize..58, with in any::<u8>()) {
            let mut line = encode(&resumed()).unwrap();
            let start = line.len() - 2 - 50 + (at % 50);
            prop_assume!(line[start] != with);
            line[start] = with;
            prop_assert!(matches!(decode(&line[..line.len() - 1]), ParsedLine::Torn));
        }
    }
}
