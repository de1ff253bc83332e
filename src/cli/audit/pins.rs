//! Files of pins: beside their pages, or named by `--pins`.

use super::pages::Source;
use crate::exit::Failed;
use anyhow::Result;
use iotax_audit::pins::{ENDING, Pins};
use std::path::{Path, PathBuf};

/// The page that a file of pins is of, by its name.
pub(super) fn page_of(file: &Path) -> Option<PathBuf> {
    let name = file.file_name()?.to_str()?.strip_suffix(ENDING).filter(|name| !name.is_empty())?;
    Some(file.with_file_name(name))
}

/// Why a file is no page: it has pins.
pub(super) fn is_no_page(file: &Path) -> Option<String> {
    let page = page_of(file)?;
    let page = page.file_name()?.to_str()?.to_owned();
    Some(format!("it is a file of pins; hint: its page is to be {page}, beside it"))
}

/// Pins and what their file is called.
pub(super) struct PinsFile {
    pub name: String,
    pub pins: Pins,
}

/// Which pins are taken.
pub(super) enum Taken {
    /// Those beside each page.
    Beside,
    /// Those of one file.
    Named(PathBuf),
    /// None.
    None,
}

impl Taken {
    /// By the options.
    ///
    /// # Errors
    /// Bad input: `--pins` names one file, and there are several pages.
    pub(super) fn of(named: Option<&Path>, none: bool, sources: &[Source]) -> Result<Taken> {
        match (named, sources) {
            (_, _) if none => Ok(Taken::None),
            (None, _) => Ok(Taken::Beside),
            (Some(file), [Source::StandardInput]) => Ok(Taken::Named(file.to_owned())),
            (Some(file), [Source::Path(page)]) if !page.is_dir() => Ok(Taken::Named(file.to_owned())),
            (Some(file), _) => Err(Failed::input(format!(
                "--pins {}: pins are of one page; hint: name one page, or put each page's pins beside it: PAGE{ENDING}",
                file.display()
            ))
            .into()),
        }
    }

    /// The pins of a page.
    ///
    /// # Errors
    /// What the file is called, and why it cannot be read.
    pub(super) fn read(&self, page: Option<&Path>) -> Result<Option<PinsFile>, (String, String)> {
        let file = match (self, page) {
            (Taken::None, _) | (Taken::Beside, None) => return Ok(None),
            (Taken::Named(file), _) => file.clone(),
            (Taken::Beside, Some(page)) => {
                let mut file = page.as_os_str().to_owned();
                file.push(ENDING);
                let file = PathBuf::from(file);
                if std::fs::symlink_metadata(&file).is_err() {
                    return Ok(None);
                }
                file
            }
        };
        let name = file.display().to_string();
        let read = match std::fs::metadata(&file) {
            Ok(meta) if !meta.is_file() => Err("it is no regular file".to_owned()),
            _ => std::fs::read_to_string(&file).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
                std::io::ErrorKind::PermissionDenied => "it may not be read".to_owned(),
                std::io::ErrorKind::InvalidData => "it is no text in UTF-8".to_owned(),
                _ => format!("it cannot be read: {error}"),
            }),
        };
        match read.and_then(|text| Pins::read(&text).map_err(|fault| fault.to_string())) {
            Ok(pins) => Ok(Some(PinsFile { name, pins })),
            Err(why) => Err((name, why)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_of_the_page_whose_name_they_have() {
        assert_eq!(page_of(Path::new("a/x.md.pins.toml")), Some("a/x.md".into()));
        for other in ["a/x.toml", "a/.pins.toml", "pins.toml", ".."] {
            assert_eq!(page_of(Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn one_file_is_of_one_page() {
        let file = Some(Path::new("p.toml"));
        let pages = |names: &[&str]| names.iter().map(|name| Source::Path(name.into())).collect::<Vec<_>>();
        assert!(matches!(Taken::of(file, false, &pages(&["a"])), Ok(Taken::Named(_))));
        assert!(matches!(Taken::of(file, false, &[Source::StandardInput]), Ok(Taken::Named(_))));
        for several in [pages(&["a", "b"]), pages(&["/"])] {
            assert!(
                Taken::of(file, false, &several).is_err_and(|error| error.to_string().contains("hint: "))
            );
        }
        assert!(matches!(Taken::of(None, true, &pages(&["a"])), Ok(Taken::None)));
        assert!(Taken::Beside.read(None).unwrap().is_none());
        let missing = Taken::Named("/nowhere/p".into()).read(None).err().unwrap();
        assert_eq!(missing, ("/nowhere/p".to_owned(), "there is no such file".to_owned()));
    }
}
