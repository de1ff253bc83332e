//! Joins texts that differ only in numbers into one, with the range of each number. A number is a
//! word of its own, with a sign or punctuation at most: `vm0`, `6.1.0-56` and the like are names.

/// Returns true if both texts are equal except for numbers.
pub fn is_alike(one: &str, other: &str) -> bool {
    let (one, other) = (one.split(' '), other.split(' '));
    let same = |(one, other): (&str, &str)| {
        one == other
            || matches!((Number::parse_word(one), Number::parse_word(other)), (Some(a), Some(b)) if a.is_in_place_of(&b))
    };
    one.clone().count() == other.clone().count() && one.zip(other).all(same)
}

/// Joins texts that are alike ([`is_alike`]) into one, with the range of each number: `it moves by
/// +- 24 to 38 % from batch to batch`.
pub fn merge_texts(texts: &[&str]) -> String {
    let Some(first) = texts.first() else { return String::new() };
    let words: Vec<Vec<&str>> = texts.iter().map(|text| text.split(' ').collect()).collect();
    let at = |at: usize, word: &str| {
        let all: Vec<&str> = words.iter().filter_map(|words| words.get(at).copied()).collect();
        if all.iter().all(|one| *one == word) { word.to_owned() } else { range(&all) }
    };
    first.split(' ').enumerate().map(|(index, word)| at(index, word)).collect::<Vec<_>>().join(" ")
}

/// Groups texts that are alike, in the order of the first of each group. Each group holds the
/// indices of its texts.
pub fn grouped(texts: &[&str]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        match groups.iter_mut().find(|group| is_alike(texts[group[0]], text)) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups
}

fn range(words: &[&str]) -> String {
    let mut numbers: Vec<Number> =
        words.iter().filter_map(|word| Number::parse_word(word)).collect();
    numbers.sort_by(|a, b| a.value.total_cmp(&b.value));
    match (numbers.first(), numbers.last()) {
        (Some(least), Some(most)) => {
            format!("{}{} to {}{}", least.before, least.digits, most.digits, most.after)
        }
        _ => words.join(" or "),
    }
}

/// A word that is a number, with the punctuation around it.
struct Number<'a> {
    before: &'a str,
    digits: &'a str,
    after: &'a str,
    value: f64,
}

impl<'a> Number<'a> {
    fn parse_word(word: &'a str) -> Option<Number<'a>> {
        let from = word.find(|c: char| !"(".contains(c))?;
        let to = word.rfind(|c: char| !"),;:.".contains(c))? + 1;
        let digits = word.get(from..to)?;
        let is_plain = digits.chars().all(|c| c.is_ascii_digit() || "+-.,".contains(c));
        let value = digits.replace(',', "").parse().ok().filter(|_| is_plain)?;
        Some(Number { before: &word[..from], digits, after: &word[to..], value })
    }

    fn is_in_place_of(&self, other: &Number) -> bool {
        (self.before, self.after) == (other.before, other.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_may_differ() {
        assert!(is_alike(
            "it moves by +- 24 % (the poorest has 0)",
            "it moves by +- 8.5 % (the poorest has 12)"
        ));
        for (one, other) in
            [("guest vm0: waits", "guest vm1: waits"), ("6.1.0-56", "6.1.0-57"), ("a 1", "a 1 b")]
        {
            assert!(!is_alike(one, other), "{one} {other}");
        }
    }

    #[test]
    fn each_number_has_a_range_of_its_own() {
        let texts = ["by +0.52, of 2.6 % and 0.7 % (9)", "by +0.40, of 2.6 % and 2.1 % (11)"];
        assert_eq!(merge_texts(&texts), "by +0.40 to +0.52, of 2.6 % and 0.7 to 2.1 % (9 to 11)");
        assert_eq!(merge_texts(&["one 1"]), "one 1");
        assert_eq!(grouped(&["a 1", "b 1", "a 2"]), [vec![0, 2], vec![1]]);
    }
}
