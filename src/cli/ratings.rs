//! `--ratings FILE`: ratings of drives in addition to those that iotax knows, for reports of
//! measured runs.

use anyhow::Result;
use iotax_hardware::ratings::{self, Ratings};
use iotax_model::scenario::error::{Fault, InputError};
use iotax_sys::regular::read_text;
use iotax_units::exit::Failed;
use std::path::{Path, PathBuf};

/// Files of ratings that the user named, in their order.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct GivenRatings {
    /// Data-sheet ratings of drives (TOML); they override the built-in ones, and later files
    /// override earlier ones
    #[arg(long, value_name = "FILE")]
    ratings: Vec<PathBuf>,
}

impl GivenRatings {
    pub const NONE: GivenRatings = GivenRatings { ratings: Vec::new() };

    pub fn is_given(&self) -> bool {
        !self.ratings.is_empty()
    }

    /// Returns `ratings` overridden by the files.
    ///
    /// # Errors
    /// Bad input: a file cannot be read, or has a fault, which is named by its line and key.
    pub fn override_ratings(&self, ratings: &Ratings) -> Result<Ratings> {
        self.ratings.iter().try_fold(ratings.clone(), |all, path| {
            Ok(override_with_file(&all, path, &read_ratings_file(path)?)?)
        })
    }

    /// Returns the text of each file after checking it.
    ///
    /// # Errors
    /// Fails as [`GivenRatings::override_ratings`] does.
    pub fn checked_texts(&self) -> Result<Vec<String>> {
        let sound = |path: &PathBuf| {
            let text = read_ratings_file(path)?;
            override_with_file(ratings::builtin_ratings(), path, &text).map(|_| text)
        };
        Ok(self.ratings.iter().map(sound).collect::<Result<_, Failed>>()?)
    }
}

fn read_ratings_file(path: &Path) -> Result<String, Failed> {
    let cannot = |why: String| {
        let fault = Fault::hint(
            format!("cannot read the ratings: {why}"),
            "docs/audit.md has the form of such a file",
        );
        Failed::from(InputError::new(path.display().to_string(), fault))
    };
    read_text(path).map_err(|error| cannot(error.to_string()))
}

fn override_with_file(ratings: &Ratings, file: &Path, text: &str) -> Result<Ratings, Failed> {
    ratings.with_user_file(text).map_err(|fault| {
        let mut error = InputError::new(file.display().to_string(), Fault::from_clause(&fault.why));
        error.line = Some(fault.line);
        error.key = Some(fault.key.into_boxed_str()).filter(|key| !key.is_empty());
        Failed::from(error)
    })
}
