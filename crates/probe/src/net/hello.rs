//! First message of a connection or of a flow by datagrams: its purpose and the token. In every
//! version of the protocol it begins with magic and version, so that an end can report that the
//! other has another version.

use crate::ProbeError;
use rustix::rand::{GetRandomFlags, getrandom};
use std::fmt::{self, Write as _};
use std::str::FromStr;

/// Version of the protocol, raised with every change of what crosses the network.
pub(super) const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"iotaxnet";
/// Bytes of magic and version.
pub(super) const FOREWORD: usize = 12;
pub(super) const HELLO: usize = 64;
pub(super) const ANSWER: usize = 32;

/// Random number that a client needs to be served.
#[derive(Clone, Copy)]
pub(super) struct Token([u8; 16]);

impl Token {
    /// Makes a new token.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub(super) fn random() -> Result<Token, ProbeError> {
        random().map(Token)
    }

    /// Returns true if the bytes are this token. The comparison takes equally long for any 16
    /// bytes.
    fn matches_bytes(&self, other: &[u8]) -> bool {
        other.len() == 16 && self.0.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b)) == 0
    }
}

/// Returns random bytes of the system.
///
/// # Errors
/// When the system has none.
pub(super) fn random<const N: usize>() -> Result<[u8; N], ProbeError> {
    let mut bytes = [0; N];
    match getrandom(&mut bytes[..], GetRandomFlags::empty()) {
        Ok(given) if given == N => Ok(bytes),
        Ok(_) => Err(ProbeError::Failed("the system gave too few random bytes".into())),
        Err(error) => {
            Err(ProbeError::System { action: "get random bytes".into(), source: error.into() })
        }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Token {
    type Err = ProbeError;

    fn from_str(text: &str) -> Result<Token, ProbeError> {
        let digit =
            |at: usize| text.as_bytes().get(at).and_then(|digit| (*digit as char).to_digit(16));
        let bytes: Option<Vec<u8>> =
            (0..16).map(|at| Some((digit(2 * at)? << 4 | digit(2 * at + 1)?) as u8)).collect();
        match bytes.and_then(|bytes| <[u8; 16]>::try_from(bytes).ok()) {
            Some(bytes) if text.len() == 32 => Ok(Token(bytes)),
            _ => Err(ProbeError::Unfit(
                "the token of the other end is not 32 hexadecimal digits; hint: copy it from the end that listens"
                    .into(),
            )),
        }
    }
}

/// Purpose of a connection, as the client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionRole {
    /// Requests and replies about slices.
    Control,
    Send,
    Receive,
    /// The client asks, the server echoes.
    Ask,
}

const ROLES: [ConnectionRole; 4] =
    [ConnectionRole::Control, ConnectionRole::Send, ConnectionRole::Receive, ConnectionRole::Ask];

/// First message of a client.
#[derive(Clone, Copy)]
pub(super) struct Hello {
    pub(super) role: ConnectionRole,
    pub(super) token: Token,
    /// Session that the connection belongs to; 0 for [`ConnectionRole::Control`], which begins one.
    pub(super) session: u64,
    pub(super) index: u32,
}

impl Hello {
    pub(super) fn encode(&self) -> [u8; HELLO] {
        let mut bytes = [0; HELLO];
        bytes[..FOREWORD].copy_from_slice(&foreword());
        bytes[12] = self.role as u8;
        bytes[16..32].copy_from_slice(&self.token.0);
        bytes[32..40].copy_from_slice(&self.session.to_be_bytes());
        bytes[40..44].copy_from_slice(&self.index.to_be_bytes());
        bytes
    }

    /// Checks and reads a client's first message.
    ///
    /// # Errors
    /// The verdict to answer.
    pub(super) fn decode(bytes: &[u8; HELLO], token: &Token) -> Result<Hello, HelloVerdict> {
        let role = ROLES.get(usize::from(bytes[12]));
        match (version(bytes), role) {
            (Some(VERSION), _) if !token.matches_bytes(&bytes[16..32]) => {
                Err(HelloVerdict::WrongToken)
            }
            (Some(VERSION), Some(role)) => Ok(Hello {
                role: *role,
                token: *token,
                session: u64::from_be_bytes(array_at(bytes, 32)),
                index: u32::from_be_bytes(array_at(bytes, 40)),
            }),
            (Some(VERSION), None) => Err(HelloVerdict::Unknown),
            _ => Err(HelloVerdict::OtherVersion),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HelloVerdict {
    Welcome,
    OtherVersion,
    WrongToken,
    /// The server serves its maximum already, or has no descriptors, memory or threads left.
    Full,
    /// There is no such role or session, or the session has this flow already.
    Unknown,
}

const VERDICTS: [HelloVerdict; 5] = [
    HelloVerdict::Welcome,
    HelloVerdict::OtherVersion,
    HelloVerdict::WrongToken,
    HelloVerdict::Full,
    HelloVerdict::Unknown,
];

/// Answer to a hello: the verdict, and the number of the session if it is
/// [`HelloVerdict::Welcome`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HelloAnswer {
    pub(super) verdict: HelloVerdict,
    pub(super) session: u64,
}

impl HelloAnswer {
    pub(super) fn encode(self) -> [u8; ANSWER] {
        let mut bytes = [0; ANSWER];
        bytes[..FOREWORD].copy_from_slice(&foreword());
        bytes[12] = self.verdict as u8;
        bytes[16..24].copy_from_slice(&self.session.to_be_bytes());
        bytes
    }

    /// Reads an answer; `None` if this version does not understand it.
    pub(super) fn decode(bytes: &[u8; ANSWER]) -> Option<HelloAnswer> {
        let verdict = *VERDICTS.get(usize::from(bytes[12]))?;
        Some(HelloAnswer { verdict, session: u64::from_be_bytes(array_at(bytes, 16)) })
    }
}

/// Returns the protocol version of whoever wrote these bytes; `None` if they are too few, or not
/// iotax's.
pub(super) fn version(bytes: &[u8]) -> Option<u32> {
    let foreword = bytes.get(..FOREWORD)?;
    foreword.starts_with(&MAGIC).then(|| u32::from_be_bytes(array_at(foreword, 8)))
}

fn foreword() -> [u8; FOREWORD] {
    let mut bytes = [0; FOREWORD];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..].copy_from_slice(&VERSION.to_be_bytes());
    bytes
}

/// Returns `N` bytes from `at` on, which must exist.
pub(super) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}

/// Returns the first line of these bytes, at most 24 of them, in readable form for an error.
pub(super) fn readable_bytes(bytes: &[u8]) -> String {
    bytes.iter().take_while(|byte| **byte != b'\n').take(24).fold(
        String::new(),
        |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{}", byte.escape_ascii());
            text
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_is_written() {
        let (one, two) = (Token::random().unwrap(), Token::random().unwrap());
        assert!(one.to_string().parse::<Token>().unwrap().matches_bytes(&one.0));
        assert!(!one.matches_bytes(&two.0) && !one.matches_bytes(&one.0[..15]));
        for odd in ["", "12", &"g".repeat(32), &"a".repeat(33), &"ä".repeat(16)] {
            assert!(odd.parse::<Token>().is_err(), "{odd}");
        }
    }

    #[test]
    fn a_hello_is_read_back_and_each_fault_has_its_answer() {
        let token = Token::random().unwrap();
        let hello = Hello { role: ConnectionRole::Ask, token, session: 7, index: 3 };
        let read = Hello::decode(&hello.encode(), &token).unwrap();
        assert_eq!((read.role, read.session, read.index), (ConnectionRole::Ask, 7, 3));
        let with = |at: usize, byte: u8| {
            let mut bytes = hello.encode();
            bytes[at] = byte;
            Hello::decode(&bytes, &token).err()
        };
        assert_eq!(with(0, b'x'), Some(HelloVerdict::OtherVersion));
        assert_eq!(with(11, 9), Some(HelloVerdict::OtherVersion));
        assert_eq!(with(12, 9), Some(HelloVerdict::Unknown));
        assert_eq!(with(16, token.0[0] ^ 1), Some(HelloVerdict::WrongToken));
        for verdict in VERDICTS {
            let answer = HelloAnswer { verdict, session: 1 << 60 };
            assert_eq!(HelloAnswer::decode(&answer.encode()), Some(answer));
            assert_eq!(version(&answer.encode()), Some(VERSION));
        }
        assert_eq!((version(b"SSH-2.0-OpenSSH"), version(b"iot")), (None, None));
        assert_eq!(readable_bytes(b"SSH-2.0\x07\r\nmore"), "SSH-2.0\\x07\\r");
    }
}
