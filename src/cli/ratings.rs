//! `--ratings FILE`: what drives are rated at beside what iotax knows itself, for `audit` and for reports of our own runs.

use crate::exit::Failed;
use crate::scenario::error::{Fault, InputError};
use anyhow::Result;
use iotax_audit::knowledge::ratings::{self, Ratings};
use std::path::{Path, PathBuf};

/// Files of ratings that were named.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Given {
    /// Data-sheet ratings of drives (TOML); they override the built-in ones, and later files override earlier ones
    #[arg(long, value_name = "FILE")]
    ratings: Vec<PathBuf>,
}

impl Given {
    /// No file.
    pub const NONE: Given = Given { ratings: Vec::new() };

    /// Ratings with the files over them.
    ///
    /// # Errors
    /// Bad input: a file cannot be read, or the first line and key at fault.
    pub fn over(&self, ratings: &Ratings) -> Result<Ratings> {
        self.ratings.iter().try_fold(ratings.clone(), |all, path| Ok(over(&all, path, &text(path)?)?))
    }

    /// The text of each, sound.
    ///
    /// # Errors
    /// The same.
    pub fn texts(&self) -> Result<Vec<String>> {
        let sound = |path: &PathBuf| {
            let text = text(path)?;
            over(ratings::known(), path, &text).map(|_| text)
        };
        Ok(self.ratings.iter().map(sound).collect::<Result<_, Failed>>()?)
    }
}

fn text(path: &Path) -> Result<String, Failed> {
    let cannot = |why: String| {
        let fault = Fault::hint(
            format!("cannot read the ratings: {why}"),
            "docs/audit.md has the form of such a file",
        );
        Failed::from(InputError::new(path.display().to_string(), fault))
    };
    match std::fs::metadata(path) {
        // A device may have no end.
        Ok(meta) if !meta.is_file() => Err(cannot("it is no file".to_owned())),
        _ => std::fs::read_to_string(path).map_err(|error| cannot(error.to_string())),
    }
}

/// A file's text over ratings.
fn over(ratings: &Ratings, file: &Path, text: &str) -> Result<Ratings, Failed> {
    ratings.with(text).map_err(|fault| {
        let mut error = InputError::new(file.display().to_string(), Fault::from_clause(&fault.why));
        error.line = Some(fault.line);
        error.key = Some(fault.key.into_boxed_str()).filter(|key| !key.is_empty());
        Failed::from(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_file_line_and_key_and_what_to_write() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("own.toml");
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            Given { ratings: vec![file.clone()] }.texts()
        };
        let error = read("[[drive]]\nname = \"Own 1\"\nmodel = \"OWN1000\"\n").unwrap_err().to_string();
        let begin =
            format!("{}:3: key \"model\": is not known; hint: known are name, models, ", file.display());
        assert!(error.starts_with(&begin), "{error}");
        let error = read("[[drive]\n").unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}:1: ", file.display())), "{error}");
        for absent in [folder.path().to_owned(), folder.path().join("none.toml"), "/dev/zero".into()] {
            let error =
                Given { ratings: vec![absent.clone()] }.over(ratings::known()).unwrap_err().to_string();
            let begin = format!("{}: cannot read the ratings: ", absent.display());
            assert!(error.starts_with(&begin) && error.contains("; hint: docs/audit.md"), "{error}");
        }
    }

    #[test]
    fn later_files_lie_over_earlier_ones() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, read: &str| {
            let text = format!(
                "[[drive]]\nname = \"Own 1\"\nmodels = [\"OWN1000\"]\ninterface = \"PCIe 4.0 x4\"\nmedia = \"TLC\"\n\
                 writes = \"sustained\"\nsource = \"Own, data sheet, 2024\"\nsizes = [{{ read = \"{read}\" }}]\n"
            );
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let given = Given { ratings: vec![file("a.toml", "7000MB/s"), file("b.toml", "6000MB/s")] };
        let all = given.over(ratings::known()).unwrap();
        let read = all.rating_of("OWN1000", None).unwrap().most(ratings::Rated::Read);
        assert_eq!((read, given.texts().unwrap().len()), (Some(6e9), 2));
    }
}
