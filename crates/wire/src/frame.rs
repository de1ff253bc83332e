//! Frames over a byte stream: magic, version, kind, lengths, CRC, JSON, blob (docs/wire.md).
//! Refuses what is foreign, garbled, of another version or over its limits, and never panics on
//! input.

use std::io::{self, Read};

/// Bytes that an agent writes first. What comes before them (a login's greeting) is skipped.
pub const PREAMBLE: &[u8; 16] = b"\n<IOTAX-AGENT>\r\n";
/// Most bytes before the preamble that are skipped.
pub const NOISE_LIMIT: usize = 64 << 10;
pub const MAGIC: [u8; 4] = *b"IOTX";
pub const PROTOCOL: u16 = 4;
pub const JSON_LIMIT: u32 = 4 << 20;
pub const BLOB_LIMIT: u32 = 16 << 20;
const HEADER_LEN: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    Request,
    Response,
    /// Agent to host: the request is still being worked on.
    Progress,
    /// Host to agent: nobody wants the rest of the request that is under way.
    Stop,
}

impl FrameKind {
    fn code(self) -> u16 {
        match self {
            FrameKind::Request => 1,
            FrameKind::Response => 2,
            FrameKind::Progress => 3,
            FrameKind::Stop => 4,
        }
    }

    fn from_code(code: u16) -> Option<FrameKind> {
        [FrameKind::Request, FrameKind::Response, FrameKind::Progress, FrameKind::Stop]
            .into_iter()
            .find(|kind| kind.code() == code)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireFrame {
    pub kind: FrameKind,
    pub json: Vec<u8>,
    pub blob: Vec<u8>,
}

/// Reason why no frame could be read or written. After any of these the stream is of no further
/// use.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("it is not an iotax agent: it wrote {seen}")]
    NoPreamble {
        /// The first bytes, escaped.
        seen: String,
    },
    #[error("garbled stream: a frame should begin here, but there is {seen}")]
    BadMagic { seen: String },
    #[error(
        "it speaks wire protocol {theirs}, this iotax speaks {ours}; hint: use the same iotax at both ends"
    )]
    Version { theirs: u16, ours: u16 },
    #[error("garbled stream: unknown kind of frame {0}")]
    Kind(u16),
    #[error("garbled stream: {part} of {len} bytes, the limit is {limit}")]
    TooLarge { part: &'static str, len: u32, limit: u32 },
    #[error("garbled stream: a frame's CRC does not match")]
    Crc,
    #[error("the connection was lost")]
    Eof,
    #[error("the connection was lost in the middle of a message")]
    CutOff,
    #[error("the stream stood still beyond its time limit")]
    Timeout,
    #[error("the stream failed: {0}")]
    Io(io::Error),
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => FrameError::Timeout,
            io::ErrorKind::UnexpectedEof => FrameError::CutOff,
            _ => FrameError::Io(error),
        }
    }
}

/// Reads up to the end of the preamble and discards all of that.
///
/// # Errors
/// [`FrameError::Eof`] if nothing comes, [`FrameError::NoPreamble`] if the stream ends or
/// [`NOISE_LIMIT`] bytes come before the preamble. Fails too if reading does.
pub fn skip_to_preamble(reader: &mut impl Read) -> Result<(), FrameError> {
    let mut seen = Vec::with_capacity(256);
    let mut byte = [0u8; 1];
    while !seen.ends_with(PREAMBLE) {
        if seen.len() >= NOISE_LIMIT + PREAMBLE.len() {
            return Err(FrameError::NoPreamble { seen: escaped(&seen) });
        }
        match read_some(reader, &mut byte)? {
            0 if seen.is_empty() => return Err(FrameError::Eof),
            0 => {
                return Err(FrameError::NoPreamble { seen: escaped(&seen) });
            }
            _ => seen.push(byte[0]),
        }
    }
    Ok(())
}

pub fn read_frame(reader: &mut impl Read) -> Result<WireFrame, FrameError> {
    let header = read_header(reader)?;
    let version = u16_at(&header, 4);
    if version != PROTOCOL {
        return Err(FrameError::Version { theirs: version, ours: PROTOCOL });
    }
    let json_len = checked_len("json", u32_at(&header, 8), JSON_LIMIT)?;
    let blob_len = checked_len("blob", u32_at(&header, 12), BLOB_LIMIT)?;
    let json = read_exactly(reader, json_len)?;
    let blob = read_exactly(reader, blob_len)?;
    if crc_of(&header[..16], &json, &blob) != u32_at(&header, 16) {
        return Err(FrameError::Crc);
    }
    let code = u16_at(&header, 6);
    let kind = FrameKind::from_code(code).ok_or(FrameError::Kind(code))?;
    Ok(WireFrame { kind, json, blob })
}

pub fn encode(frame: &WireFrame) -> Result<Vec<u8>, FrameError> {
    let json_len = sized("json", frame.json.len(), JSON_LIMIT)?;
    let blob_len = sized("blob", frame.blob.len(), BLOB_LIMIT)?;
    let mut bytes = Vec::with_capacity(HEADER_LEN + frame.json.len() + frame.blob.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&PROTOCOL.to_le_bytes());
    bytes.extend_from_slice(&frame.kind.code().to_le_bytes());
    bytes.extend_from_slice(&json_len.to_le_bytes());
    bytes.extend_from_slice(&blob_len.to_le_bytes());
    let crc = crc_of(&bytes, &frame.json, &frame.blob);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes.extend_from_slice(&frame.json);
    bytes.extend_from_slice(&frame.blob);
    Ok(bytes)
}

/// Returns the first 120 bytes in a form that is safe to print.
pub fn escaped(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(120)];
    let more = if bytes.len() > shown.len() { "..." } else { "" };
    format!("\"{}\"{more}", shown.escape_ascii())
}

fn read_header(reader: &mut impl Read) -> Result<[u8; HEADER_LEN], FrameError> {
    let mut header = [0u8; HEADER_LEN];
    let mut filled = 0;
    while filled < HEADER_LEN {
        match read_some(reader, &mut header[filled..])? {
            0 if filled == 0 => return Err(FrameError::Eof),
            0 => break,
            read => filled += read,
        }
    }
    let magic = filled.min(MAGIC.len());
    if header[..magic] != MAGIC[..magic] {
        return Err(FrameError::BadMagic { seen: escaped(&header[..filled]) });
    }
    if filled < HEADER_LEN { Err(FrameError::CutOff) } else { Ok(header) }
}

fn read_some(reader: &mut impl Read, buffer: &mut [u8]) -> Result<usize, FrameError> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return Ok(other?),
        }
    }
}

/// Reads into a buffer that grows with what really comes, so that a lying length costs no memory.
fn read_exactly(reader: &mut impl Read, len: u32) -> Result<Vec<u8>, FrameError> {
    let mut bytes = Vec::new();
    reader.by_ref().take(u64::from(len)).read_to_end(&mut bytes)?;
    if bytes.len() < len as usize { Err(FrameError::CutOff) } else { Ok(bytes) }
}

fn checked_len(part: &'static str, len: u32, limit: u32) -> Result<u32, FrameError> {
    if len > limit { Err(FrameError::TooLarge { part, len, limit }) } else { Ok(len) }
}

fn sized(part: &'static str, len: usize, limit: u32) -> Result<u32, FrameError> {
    checked_len(part, u32::try_from(len).unwrap_or(u32::MAX), limit)
}

fn crc_of(header: &[u8], json: &[u8], blob: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(json);
    hasher.update(blob);
    hasher.finalize()
}

fn u16_at(header: &[u8; HEADER_LEN], at: usize) -> u16 {
    u16::from_le_bytes([header[at], header[at + 1]])
}

fn u32_at(header: &[u8; HEADER_LEN], at: usize) -> u32 {
    u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives its bytes in pieces of changing length.
    struct Split<'a>(&'a [u8], Vec<usize>);

    impl Read for Split<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let piece = self.1.pop().unwrap_or(1).clamp(1, buffer.len().max(1));
            let len = piece.min(self.0.len()).min(buffer.len());
            buffer[..len].copy_from_slice(&self.0[..len]);
            self.0 = &self.0[len..];
            Ok(len)
        }
    }

    fn frame(json: &[u8], blob: &[u8]) -> WireFrame {
        WireFrame { kind: FrameKind::Response, json: json.to_vec(), blob: blob.to_vec() }
    }

    #[test]
    fn each_fault_has_its_name() {
        let good = encode(&frame(b"{}", b"blob")).unwrap();
        let with = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            read_frame(&mut bytes.as_slice()).unwrap_err()
        };
        assert!(
            matches!(with(0, b'x'), FrameError::BadMagic { seen } if seen.starts_with("\"xOTX"))
        );
        assert!(matches!(with(4, 9), FrameError::Version { theirs: 9, ours: PROTOCOL }));
        assert!(matches!(with(6, 9), FrameError::Crc));
        assert!(matches!(with(11, 9), FrameError::TooLarge { part: "json", .. }));
        assert!(matches!(with(15, 9), FrameError::TooLarge { part: "blob", .. }));
        assert!(matches!(with(21, b'x'), FrameError::Crc));
        assert!(matches!(read_frame(&mut &good[..0]).unwrap_err(), FrameError::Eof));
        assert!(matches!(read_frame(&mut &good[..2]).unwrap_err(), FrameError::CutOff));
        assert!(matches!(read_frame(&mut &good[..24]).unwrap_err(), FrameError::CutOff));
        assert!(
            matches!(read_frame(&mut &b"Last login: Mon"[..]).unwrap_err(), FrameError::BadMagic { seen }
            if seen == "\"Last login: Mon\"")
        );
    }

    #[test]
    fn unknown_kind_of_a_sound_frame() {
        let mut bytes = encode(&frame(b"{}", b"")).unwrap();
        bytes[6] = 77;
        let crc = crc_of(&bytes[..16], b"{}", b"");
        bytes[16..20].copy_from_slice(&crc.to_le_bytes());
        assert!(matches!(read_frame(&mut bytes.as_slice()), Err(FrameError::Kind(77))));
    }

    #[test]
    fn too_large_is_refused_before_writing() {
        let error = encode(&frame(&vec![b' '; JSON_LIMIT as usize + 1], b"")).unwrap_err();
        assert!(matches!(error, FrameError::TooLarge { part: "json", .. }));
    }

    #[test]
    fn noise_is_skipped_up_to_its_limit() {
        for noise in [0, 1, NOISE_LIMIT] {
            let mut bytes = vec![b'\n'; noise];
            bytes.extend_from_slice(PREAMBLE);
            bytes.extend(encode(&frame(b"1", b"")).unwrap());
            let mut stream = bytes.as_slice();
            skip_to_preamble(&mut stream).unwrap();
            assert_eq!(read_frame(&mut stream).unwrap(), frame(b"1", b""));
        }
        let mut endless = io::repeat(b'y');
        let error = skip_to_preamble(&mut endless).unwrap_err();
        assert!(matches!(error, FrameError::NoPreamble { seen } if seen.starts_with("\"yyyy")));
        assert!(matches!(skip_to_preamble(&mut &b""[..]), Err(FrameError::Eof)));
        assert!(matches!(skip_to_preamble(&mut &b"bash: no such file\x1b"[..]),
            Err(FrameError::NoPreamble { seen }) if seen == "\"bash: no such file\\x1b\""));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
            let _ = read_frame(&mut bytes.as_slice());
            let _ = skip_to_preamble(&mut bytes.as_slice());
            let mut framed = MAGIC.to_vec();
            framed.extend(&PROTOCOL.to_le_bytes());
            framed.extend(&bytes);
            prop_assert!(read_frame(&mut framed.as_slice()).is_err());
        }

        #[test]
        fn split_reads_give_the_same_frames(
            json in proptest::collection::vec(any::<u8>(), 0..300),
            blob in proptest::collection::vec(any::<u8>(), 0..300),
            pieces in proptest::collection::vec(1usize..40, 0..60),
        ) {
            let sent = frame(&json, &blob);
            let mut bytes = encode(&sent).unwrap();
            bytes.extend(encode(&sent).unwrap());
            let mut stream = Split(&bytes, pieces);
            prop_assert_eq!(&read_frame(&mut stream).unwrap(), &sent);
            prop_assert_eq!(&read_frame(&mut stream).unwrap(), &sent);
            prop_assert!(matches!(read_frame(&mut stream), Err(FrameError::Eof)));
        }

        #[test]
        fn a_flipped_bit_is_always_noticed(
            json in proptest::collection::vec(any::<u8>(), 0..100),
            blob in proptest::collection::vec(any::<u8>(), 0..100),
            bit in any::<prop::sample::Index>(),
        ) {
            let mut bytes = encode(&frame(&json, &blob)).unwrap();
            let bit = bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(read_frame(&mut bytes.as_slice()).is_err());
        }
    }
}
