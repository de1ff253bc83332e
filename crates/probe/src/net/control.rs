//! Messages of the control connection: requests of the client and replies of the server, as JSON
//! that follows its length.

use super::flow::{FlowOrder, FlowShare};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// Maximum length in bytes of a frame that is read.
const LONGEST: usize = 256 << 10;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum ControlRequest {
    Clock,
    Flows,
    /// Orders a slice by the server's clock; has no reply.
    Slice(FlowOrder),
    Collect,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Reply {
    Clock {
        now_ns: u64,
    },
    Flows {
        /// Numbers of the flows, in the order in which they came.
        indices: Vec<u32>,
    },
    Shares {
        shares: Vec<(u32, FlowShare)>,
    },
    Refused {
        why: String,
    },
}

pub(super) fn write_frame(mut to: impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, what)?;
    let length = (frame.len() - 4) as u32;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    to.write_all(&frame)
}

/// Reads one frame and decodes its message.
///
/// # Errors
/// Errors of the connection, a frame that is too long, or an unexpected message.
pub(super) fn read_frame<T: DeserializeOwned>(mut from: impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > LONGEST {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a frame of {length} bytes"),
        ));
    }
    let mut frame = vec![0; length];
    from.read_exact(&mut frame)?;
    Ok(serde_json::from_slice(&frame)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_back_and_odd_ones_refused() {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &ControlRequest::Slice(FlowOrder::default())).unwrap();
        write_frame(&mut bytes, &ControlRequest::Collect).unwrap();
        let mut from = &bytes[..];
        assert_eq!(
            read_frame::<ControlRequest>(&mut from).unwrap(),
            ControlRequest::Slice(FlowOrder::default())
        );
        assert_eq!(read_frame::<ControlRequest>(&mut from).unwrap(), ControlRequest::Collect);
        assert_eq!(
            read_frame::<ControlRequest>(&mut from).unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
        for odd in [
            &b"\xff\xff\xff\xff{}"[..],
            b"\0\0\0\x02{}",
            b"\0\0\0\x03\"no",
            b"\0\0\0\x09\"clock\"",
            b"\0\0",
        ] {
            assert!(read_frame::<ControlRequest>(odd).is_err(), "{odd:?}");
        }
    }
}
