//! Lines of records that must survive a kill: JSON in an envelope with the length and CRC of its
//! exact bytes. The index of a run and its journal consist of such lines.

use super::FORMAT;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io::Write as _;

/// Envelope of a record, which is the same in every version.
#[derive(Deserialize)]
struct Envelope<'a> {
    v: u32,
    len: usize,
    crc: &'a str,
    #[serde(borrow)]
    rec: &'a RawValue,
}

/// Line that is not torn: the version of its format, and the text of the record.
pub struct SoundLine<'a> {
    pub version: u32,
    pub record: &'a str,
}

/// Returns the line for a record of a run, with its newline.
pub fn enclose(rec: &[u8]) -> Vec<u8> {
    enclose_as(FORMAT, rec)
}

fn enclose_as(version: u32, rec: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(rec.len() + 64);
    let crc = crc32fast::hash(rec);
    // Writing to a Vec cannot fail.
    let _ = write!(line, "{{\"v\":{version},\"len\":{},\"crc\":\"{crc:08x}\",\"rec\":", rec.len());
    line.extend_from_slice(rec);
    line.extend_from_slice(b"}\n");
    line
}

/// Opens a line, with or without its newline; `None` if it is torn or no such line.
pub fn open(line: &[u8]) -> Option<SoundLine<'_>> {
    as_written(line).or_else(|| as_json(line))
}

/// Reads the envelope exactly as [`enclose`] writes it, without parsing the record: a run has
/// millions of lines. [`as_json`] reads other JSON with the same meaning.
fn as_written(line: &[u8]) -> Option<SoundLine<'_>> {
    let line = std::str::from_utf8(line.strip_suffix(b"\n").unwrap_or(line)).ok()?;
    let rest = line.strip_prefix("{\"v\":")?.strip_suffix('}')?;
    let (version, rest) = rest.split_once(",\"len\":")?;
    let version = version.parse().ok()?;
    let (len, rest) = rest.split_once(",\"crc\":\"")?;
    let (crc, record) = rest.split_once("\",\"rec\":")?;
    let sound = len.parse() == Ok(record.len())
        && u32::from_str_radix(crc, 16) == Ok(crc32fast::hash(record.as_bytes()));
    sound.then_some(SoundLine { version, record })
}

fn as_json(line: &[u8]) -> Option<SoundLine<'_>> {
    let Envelope { v, len, crc, rec } = serde_json::from_slice(line).ok()?;
    let rec = rec.get();
    let sound =
        rec.len() == len && u32::from_str_radix(crc, 16) == Ok(crc32fast::hash(rec.as_bytes()));
    sound.then_some(SoundLine { version: v, record: rec })
}

/// Returns the line of a record, with its newline.
///
/// # Errors
/// Fails if the record has no JSON form (a path that is not UTF-8).
pub fn encode(record: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    encode_as(FORMAT, record)
}

/// Encodes a record whose format has version numbers of its own.
///
/// # Errors
/// As [`encode`].
pub fn encode_as(version: u32, record: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    Ok(enclose_as(version, &serde_json::to_vec(record)?))
}

/// Returns the record of a line, with or without its newline; `None` if the line is torn, newer, or
/// of another kind.
pub fn decode<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let sound = open(line).filter(|sound| sound.version <= FORMAT)?;
    serde_json::from_str(sound.record).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_with_spaces_is_as_good() {
        let line = String::from_utf8(encode(&["a", "b"]).unwrap()).unwrap();
        let spaced = line.replace(",\"rec\":", ", \"rec\" : ");
        assert!(as_written(line.as_bytes()).is_some() && as_written(spaced.as_bytes()).is_none());
        assert_eq!(decode::<Vec<String>>(spaced.as_bytes()).unwrap(), ["a", "b"]);
        assert!(open(line.replace("\"a\"", "\"c\"").as_bytes()).is_none());
    }
}
