//! The one form of sentence that is checked: "from A to B, P %", with both ends and their change
//! next to each other and no further figure. With looser forms, only one finding in six was right
//! on pages that others published.

use super::words::{CHANGES, FROM, GAIN, GLUE, LOSS, OF_OTHERS, SETTINGS, TIMES, TO, is, says};
use super::{DerivedLink, LinkEnds, LinkForm, LinkReason, comparable, is_ratio};
use crate::number::{NumberHedge, NumberUnit, Quantity};
use crate::page::AuditedPage;
use crate::prose::Sentence;

pub(super) fn links(page: &AuditedPage, sentences: &[Sentence]) -> Vec<DerivedLink> {
    sentences.iter().filter_map(|sentence| link(page.line_text(sentence.line), sentence)).collect()
}

fn link(line: &str, sentence: &Sentence) -> Option<DerivedLink> {
    let [one, two, three] = <[Quantity; 3]>::try_from(sentence.figures.as_slice()).ok()?;
    let (first, second, derived, is_last) = match [one, two, three].each_ref().map(is_ratio) {
        [false, false, true] => (one, two, three, true),
        [true, false, false] => (two, three, one, false),
        _ => return None,
    };
    let text = line.get(sentence.bytes.clone())?;
    let between = |left: &Quantity, right: &Quantity| {
        line.get(left.figure.spot.end as usize..right.figure.spot.start as usize)
    };
    let glue = if is_last { between(&second, &derived)? } else { between(&derived, &first)? };
    let plain = |one: &Quantity| one.hedge == NumberHedge::Plain && one.figure.low > 0.0;
    let sound = plain(&first)
        && plain(&second)
        && matches!(derived.hedge, NumberHedge::Plain | NumberHedge::About)
        && is_change(line, sentence, &first, between(&first, &second)?)
        && is_glue(glue)
        && ends_after(line, sentence, if is_last { &derived } else { &second })
        && !says(text, OF_OTHERS | SETTINGS);
    sound.then_some(())?;
    let pairs: Vec<[Quantity; 2]> = alike(first, second);
    let pairs = pairs.into_iter().filter(|pair| is_result(pair, text));
    let pairs: Vec<[Quantity; 2]> = pairs.collect();
    let readings = pairs.iter().flat_map(|pair| readings(pair, derived));
    let ends = readings
        .into_iter()
        .find(LinkEnds::gives_printed)
        .or_else(|| Some(meant(pairs.first()?, derived)))?;
    let of = line.get(first.figure.spot.start as usize..second.figure.spot.end as usize)?;
    let names = [String::new(), String::new()];
    Some(DerivedLink { ends, why: LinkReason::Told, of: format!("the change of {of}"), names })
}

/// Returns true if the text between two figures, and the word before the first, say that the first
/// changed into the second.
fn is_change(line: &str, sentence: &Sentence, first: &Quantity, between: &str) -> bool {
    let between = between.trim().to_lowercase();
    let before =
        line.get(sentence.bytes.start..first.figure.spot.start as usize).unwrap_or("").trim_end();
    let arrow = matches!(between.as_str(), "->" | "→" | "=>" | "-->" | "⇒" | "➜" | "➡");
    arrow
        || is(&between, TO) && last_word(before).is_some_and(|word| is(&word.to_lowercase(), FROM))
}

/// Returns true if only words of a change follow a figure, up to the next bracket or punctuation
/// mark.
fn ends_after(line: &str, sentence: &Sentence, last: &Quantity) -> bool {
    let after = line.get(last.figure.spot.end as usize..sentence.bytes.end).unwrap_or("");
    let ends = [')', ']', ',', ';', ':', '，', '）', '。', '(', '、'];
    is_glue(after.split(ends).next().unwrap_or(""))
}

/// Returns true if a text has only words for a change, linking words, and signs.
fn is_glue(text: &str) -> bool {
    let lower = text.to_lowercase();
    let signs =
        |letter: char| letter.is_whitespace() || "()[]=~≈+-−–—→,:，：（）*_`".contains(letter);
    lower
        .split(signs)
        .filter(|word| !word.is_empty())
        .all(|word| is(word, GLUE | CHANGES | LOSS | GAIN))
}

/// Returns the last word of a text; in Chinese the last character.
fn last_word(text: &str) -> Option<&str> {
    let last = text.chars().next_back().filter(|last| last.is_alphabetic())?;
    let is_sign = last as u32 > 0x2e80;
    let word = text.rsplit(|letter: char| !letter.is_alphabetic()).next().unwrap_or("");
    text.get(text.len() - if is_sign { last.len_utf8() } else { word.len() }..)
}

/// Returns true if a pair of figures is a result: rates are, times if the sentence says what took
/// them, and plain numbers from 2100 on that are no powers of two with a prefix (sizes).
fn is_result(pair: &[Quantity; 2], sentence: &str) -> bool {
    let is_size = |one: &Quantity| {
        one.scale > 1.0
            && one.decimals == 0
            && ((one.figure.value / one.scale) as u64).is_power_of_two()
    };
    comparable(&pair[0], &pair[1])
        && match pair[0].unit {
            NumberUnit::Bare => pair.iter().all(|one| one.figure.value >= 2100.0 && !is_size(one)),
            NumberUnit::Nanoseconds => says(sentence, TIMES),
            unit => unit.is_rate(),
        }
}

/// Returns the two figures in one unit: `100 to 115 MB/s`, `100 to 115k IOPS`. A first figure
/// without a unit is returned with the prefix of the second and without.
fn alike(first: Quantity, second: Quantity) -> Vec<[Quantity; 2]> {
    let given = |bare: Quantity, other: &Quantity, scale: f64| Quantity {
        figure: bare.figure.scaled(scale),
        unit: other.unit,
        scale: other.scale,
        base: other.base,
        ..bare
    };
    if first.unit != NumberUnit::Bare || second.unit == NumberUnit::Bare {
        return vec![[first, second]];
    }
    let scales = if first.scale == 1.0 { [second.scale, 1.0] } else { [1.0, 1.0] };
    scales.map(|scale| [given(first, &second, scale), second]).into()
}

/// Returns every way to compute the change. The base is the first end; for times and multiples also
/// the second.
fn readings([first, second]: &[Quantity; 2], derived: Quantity) -> Vec<LinkEnds> {
    let ends = |form, numerator, denominator| LinkEnds { derived, form, numerator, denominator };
    let turned = first.unit == NumberUnit::Nanoseconds || derived.unit == NumberUnit::Times;
    let forms = LinkForm::ALL.into_iter().flat_map(|form| {
        let back = turned.then(|| ends(form, *first, *second));
        [Some(ends(form, *second, *first)), back].into_iter().flatten()
    });
    forms.collect()
}

/// Returns the reading for a printed figure that no reading gives: the change relative to the first
/// end.
fn meant([first, second]: &[Quantity; 2], derived: Quantity) -> LinkEnds {
    let grew = second.figure.value > first.figure.value;
    let form = match (derived.unit, grew || derived.figure.value < 0.0) {
        (NumberUnit::Times, _) => LinkForm::Multiple,
        (_, true) => LinkForm::Gain,
        (_, false) => LinkForm::Loss,
    };
    LinkEnds { derived, form, numerator: *second, denominator: *first }
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    fn recomputed(sentence: &str) -> Vec<String> {
        let of_rule = |rule: &&str| found(&format!("{sentence}\n"), rule);
        ["T1", "N4", "N6", "N7"].iter().flat_map(of_rule).map(|one| one.recomputed).collect()
    }

    #[test]
    fn a_change_beside_its_two_ends_is_computed_again() {
        for (sentence, expected) in [
            ("Random writes fell from 25.99k to 20.39k IOPS (18.4 %).", "21.5 %"),
            ("Writes drop from 25990 IOPS to 20390 IOPS, a loss of 18.4 %.", "21.5 %"),
            ("Throughput went from 100 to 150 MB/s, a 33 % improvement", "50 %"),
            ("Latency: 120 us -> 90 us (-40%)", "-25%"),
            ("Bandwidth 100 MB/s → 400 MB/s (2.0x)", "4.0x"),
            ("Скорость выросла с 100 до 150 МБ/с (на 33 %).", "50 %"),
        ] {
            assert_eq!(recomputed(sentence), [expected], "{sentence}");
        }
    }

    #[test]
    fn a_change_that_its_ends_give_holds() {
        for sentence in [
            "Random writes fell from 25.99k to 20.39k IOPS (21.5 %).",
            "The mean time went from 120 us to 100 us, 20 % faster.",
            "Writes: 100k -> 312k IOPS (3.1x)",
            "IOPS went from 900 to 1.8k IOPS (100 %).",
        ] {
            assert_eq!(recomputed(sentence), [""; 0], "{sentence}");
            let audited =
                crate::audit::audit(crate::page::AuditedPage::new("p", format!("{sentence}\n")));
            assert_eq!(audited.links.len(), 1, "{sentence}");
        }
    }

    #[test]
    fn looser_sentences_accuse_nobody() {
        for sentence in [
            "Virtual disks lose 18.4 % of writes.",
            "It is 25 % slower (90 vs 100 MB/s).",
            "The host does 520 MB/s and the VM 480 MB/s, a loss of 15 %.",
            "The VM reads 480 MB/s, which is 15 % slower than the host's 520 MB/s.",
            "Throughput went from 100 to 150 MB/s, 33 % more compared to 2 nodes.",
            "Throughput went from 100 to 150 MB/s, 33 % compared to the host.",
            "Throughput went from 100 to 150 MB/s at 3X replication, a 33 % gain.",
            "Of 25/50/100 GbE it takes 22 %.",
            "It lasts 1 to 2 years, 22 % longer.",
            "Throughput went from 100 to 150 MB/s while CPU use fell by 8 %.",
            "Going from 4k to 64k blocks is 15 % faster.",
            "Raising the limit from 100 MB/s to 200 MB/s is a 15 % improvement.",
            "It does 100 to 150 MB/s (8 % slower).",
            "From 2019 to 2024 it fell by 15 %.",
            "It went from 100 MB/s to 150 MB/s (up to 80 % faster).",
        ] {
            assert_eq!(recomputed(sentence), [""; 0], "{sentence}");
        }
    }
}
