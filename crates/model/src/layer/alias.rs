//! Suggestions for words that other tools use for layers and their values (mdadm, LVM, ZFS, QEMU,
//! the kernel). Each layer lists its own. They appear only in errors and are never accepted as
//! input.

use super::{ALL, LayerHelp, OptionKind};

/// Returns the spelling to suggest for a word that is no layer: `mdraid(level=5)` for `raid5`.
pub fn suggest_layer(word: &str) -> Option<&'static str> {
    find_spelling(ALL.iter().flat_map(|help| help.elsewhere), word)
}

/// Returns the spelling to suggest for a value that this layer does not accept but another tool or
/// layer uses: `iscsi(iser)` for `rdma`.
pub fn suggest_value(help: &LayerHelp, word: &str) -> Option<&'static str> {
    find_spelling(help.values_elsewhere, word)
}

fn find_spelling(
    words: impl IntoIterator<Item = &'static (&'static str, &'static str)>,
    word: &str,
) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    words.into_iter().find(|(known, _)| *known == word).map(|(_, write)| *write)
}

/// Returns the spelling to suggest for a lone word, as in `mdraid(5)` or `mdraid(raid5)`, that is a
/// value of exactly one of the layer's options: `mdraid(level=5)`.
pub fn lone_word(help: &LayerHelp, word: &str) -> Option<String> {
    let takes = |word: &str| {
        let of_words =
            help.options.iter().filter(|option| matches!(option.kind, OptionKind::Word(_)));
        let mut fit = of_words.filter(|option| option.check_value(word).is_ok());
        let only = fit.next().filter(|_| fit.next().is_none())?;
        Some(format!("{}({}={word})", help.name, only.name))
    };
    takes(word).or_else(|| takes(word.strip_prefix("raid")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::find_layer;
    use crate::scenario::grammar::parse_layer;

    /// Returns a layer with options that fit.
    fn is_taken(write: &str) {
        let layer = parse_layer(write).unwrap_or_else(|fault| panic!("{}", fault.show(write)));
        let help = find_layer(&layer.name).unwrap_or_else(|| panic!("{write} is no layer"));
        for option in &layer.options {
            let name = option.key.as_deref().or(help.positional).expect(write);
            let option_def = help.option(name).unwrap_or_else(|| panic!("{write}: {name}"));
            assert_eq!(
                option_def.check_value(&option.values[0]).as_deref(),
                Ok(option.values[0].as_str()),
                "{write}"
            );
        }
    }

    #[test]
    fn every_alias_is_no_word_of_ours_and_leads_to_a_layer() {
        let words: Vec<_> = ALL.iter().flat_map(|help| help.elsewhere).collect();
        assert!(words.len() > 20);
        for (at, (word, write)) in words.iter().enumerate() {
            assert!(find_layer(word).is_none(), "{word} is a layer");
            assert!(words[..at].iter().all(|(other, _)| other != word), "{word} stands twice");
            is_taken(write);
        }
        for help in ALL {
            for (word, write) in help.values_elsewhere {
                let positional =
                    help.positional.and_then(|name| help.option(name)).expect(help.name);
                assert!(positional.check_value(word).is_err(), "{} takes {word}", help.name);
                is_taken(write);
            }
        }
    }

    #[test]
    fn a_lone_word_is_the_value_of_the_one_option_that_takes_it() {
        let of = |name, word| lone_word(find_layer(name).unwrap(), word);
        assert_eq!(of("mdraid", "5").as_deref(), Some("mdraid(level=5)"));
        assert_eq!(of("mdraid", "raid10").as_deref(), Some("mdraid(level=10)"));
        assert_eq!(of("vm", "writeback").as_deref(), Some("vm(cache=writeback)"));
        assert_eq!(of("vm", "off"), None, "several take it");
        assert_eq!(of("mdraid", "7"), None);
    }
}
