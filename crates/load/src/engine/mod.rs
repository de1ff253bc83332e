//! Engines: null, sync, aio, uring, posixaio. A new one is a file, an entry in [`ALL`] and a
//! variant of [`EngineName`]. An engine knows nothing of slices, rates or latencies: it gets I/Os
//! and returns completions.

mod aio;
pub(crate) mod choose;
pub(crate) mod family;
pub(crate) mod io;
mod name;
mod null;
mod posixaio;
mod punt;
mod ring;
mod sync;
pub(crate) mod trial;
pub(crate) mod trim;
mod uring;

pub use choose::Chosen;
pub use family::EngineFamily;
pub use name::EngineName;

/// Entries of all engines.
pub const ALL: &[&EngineFamily] =
    &[&null::KIND, &sync::KIND, &aio::KIND, &uring::KIND, &posixaio::KIND];

impl EngineName {
    /// Returns the engine's entry in [`ALL`].
    pub fn kind(self) -> &'static EngineFamily {
        match self {
            EngineName::Null => &null::KIND,
            EngineName::Sync => &sync::KIND,
            EngineName::Aio => &aio::KIND,
            EngineName::Uring => &uring::KIND,
            EngineName::PosixAio => &posixaio::KIND,
        }
    }
}

impl std::str::FromStr for EngineName {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = ALL.iter().find(|kind| kind.word == word);
        known.map(|kind| kind.name).ok_or_else(|| {
            let words: Vec<_> = ALL.iter().map(|kind| kind.word).collect();
            format!("no engine \"{word}\"; hint: one of {}", words.join(", "))
        })
    }
}

impl std::fmt::Display for EngineName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind().word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        for kind in ALL {
            assert_eq!(kind.word.parse(), Ok(kind.name));
            assert_eq!(kind.name.kind().word, kind.word);
            assert_eq!(kind.name.to_string(), kind.word);
            assert_eq!(format!("{:?}", kind.name).to_lowercase(), kind.word);
            assert_eq!(ALL.iter().filter(|k| k.word == kind.word).count(), 1);
        }
    }

    #[test]
    fn an_unknown_engine_is_answered_with_the_known() {
        let error = "libaio".parse::<EngineName>().unwrap_err();
        assert_eq!(error, "no engine \"libaio\"; hint: one of null, sync, aio, uring, posixaio");
    }
}
