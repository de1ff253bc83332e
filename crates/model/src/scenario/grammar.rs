//! The parser of the one-line grammar (docs/stack-grammar.md). It knows the notation of stacks, not
//! which layers and options exist. An error has the bytes at fault, what was expected there and a
//! hint; the parser never panics.

use super::ast::{BaseExpr, LayerEnds, LayerExpr, MediumExpr, OptionExpr, StackExpr};
use super::error::{Fault, TextFault};
use std::fmt;
use std::ops::Range;

/// Largest N of a layer's `xN`; a larger one is surely a typing error.
pub(super) const MOST_COPIES: u32 = 256;

type ParsedStack<T> = Result<T, TextFault>;

/// Parses `BASE | LAYER | LAYER`.
///
/// # Errors
/// Returns the first position that does not fit the grammar.
pub fn parse(text: &str) -> ParsedStack<StackExpr> {
    let mut scan = Scan { text, at: 0 };
    let base = scan.base()?;
    let mut layers = Vec::new();
    while scan.bar() {
        layers.push(scan.layer()?);
    }
    scan.expect_end("\"|\" or the end", layers.last())?;
    Ok(StackExpr { base, layers })
}

/// Parses one `LAYER`, an entry of `layers = [...]` in TOML.
///
/// # Errors
/// Returns the first position that does not fit the grammar.
pub fn parse_layer(text: &str) -> ParsedStack<LayerExpr> {
    let mut scan = Scan { text, at: 0 };
    let layer = scan.layer()?;
    if scan.bar() {
        let fault = Fault::hint(
            "one layer an entry",
            "write layers = [\"loop\", \"fs(xfs)\"], from the bottom up",
        );
        return Err(scan.fault_here(fault));
    }
    scan.expect_end("the end of the layer", Some(&layer))?;
    Ok(layer)
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn base(&mut self) -> ParsedStack<BaseExpr> {
        self.blanks();
        if self.peek() == Some('[') {
            let mut lists = [self.parse_members()?];
            self.placed(&mut lists)?;
            return Ok(BaseExpr::Many(lists.concat()));
        }
        let mut ahead = Scan { text: self.text, at: self.at };
        if ahead.name() == "each" && ahead.after_blanks('(') {
            self.at = ahead.at;
            return self.each();
        }
        self.medium(false).map(BaseExpr::One)
    }

    fn each(&mut self) -> ParsedStack<BaseExpr> {
        self.blanks();
        if self.peek() != Some('[') {
            return Err(
                self.expected("\"[\" and a list of media", Some("write each([/dev/sda,/dev/sdb])"))
            );
        }
        let mut ahead = Scan { text: self.text, at: self.at };
        ahead.take_sign('[');
        let of_lists = ahead.after_blanks('[');
        let mut lists = if of_lists { self.lists()? } else { vec![self.parse_members()?] };
        if !self.after_blanks(')') {
            return Err(self.expected("\")\" at the end of each(...)", None));
        }
        if of_lists {
            return self.placed(&mut lists).map(|()| BaseExpr::Groups(lists));
        }
        self.placed(&mut lists)?;
        Ok(BaseExpr::Each(lists.concat()))
    }

    fn lists(&mut self) -> ParsedStack<Vec<Vec<MediumExpr>>> {
        self.take_sign('[');
        let mut lists = Vec::new();
        loop {
            self.blanks();
            if self.peek() != Some('[') {
                return Err(
                    self.expected("\"[\" and a list of media", Some("write each([[a,b],[c,d]])"))
                );
            }
            lists.push(self.parse_members()?);
            if self.after_blanks(']') {
                return Ok(lists);
            }
            if !self.after_blanks(',') {
                return Err(self.expected("\",\" or \"]\" after a list", None));
            }
        }
    }

    fn parse_members(&mut self) -> ParsedStack<Vec<MediumExpr>> {
        self.take_sign('[');
        let mut members = vec![self.medium(true)?];
        loop {
            if self.after_blanks(']') {
                return Ok(members);
            }
            if !self.after_blanks(',') {
                return Err(self.expected("\",\" or \"]\" after a medium", None));
            }
            members.push(self.medium(true)?);
        }
    }

    /// Parses a place after the lists, and applies it to the members that name none.
    fn placed(&mut self, lists: &mut [Vec<MediumExpr>]) -> ParsedStack<()> {
        if let Some(place) = self.medium_place()? {
            let without = lists.iter_mut().flatten().filter(|member| member.place.is_none());
            without.for_each(|member| member.place = Some(place.clone()));
        }
        Ok(())
    }

    /// Parses a medium. In a list, a comma without a `key=` after it begins the next medium.
    fn medium(&mut self, in_list: bool) -> ParsedStack<MediumExpr> {
        self.blanks();
        let start = self.at;
        let scheme = self.scheme();
        let body = self.parse_bare_word(
            "a medium",
            "write /dev/NAME, file:/PATH,size=SIZE or ssh:HOST:/PATH",
        )?;
        let mut options = Vec::new();
        while self.option_follows(in_list) {
            options.push(self.keyed_option()?);
        }
        let end = self.at;
        let place = self.medium_place()?;
        let end = if place.is_some() { self.at } else { end };
        Ok(MediumExpr { scheme, body, options, place, span: start..end })
    }

    fn scheme(&mut self) -> Option<String> {
        let mut ahead = Scan { text: self.text, at: self.at };
        let name = ahead.name().to_owned();
        if name.is_empty() || !ahead.take_sign(':') {
            return None;
        }
        self.at = ahead.at;
        Some(name)
    }

    fn option_follows(&mut self, in_list: bool) -> bool {
        let mut ahead = Scan { text: self.text, at: self.at };
        if !ahead.after_blanks(',') {
            return false;
        }
        ahead.blanks();
        let option_begins = ahead.at;
        let keyed = !ahead.name().is_empty() && ahead.after_blanks('=');
        if keyed || !in_list {
            self.at = option_begins;
        }
        keyed || !in_list
    }

    fn keyed_option(&mut self) -> ParsedStack<OptionExpr> {
        let start = self.at;
        let option = self.option()?;
        if option.key.is_none() {
            let fault = Fault::hint(
                format!("expected key=value after \",\", found \"{}\"", option.values.join(",")),
                "write several media as [a,b]",
            );
            return Err(TextFault::new(start..self.at, fault));
        }
        Ok(option)
    }

    /// Parses the place of a medium, `@PLACE`; `None`: there is none. A blank must be between a
    /// medium and its place, since `user@host` is part of a medium.
    fn medium_place(&mut self) -> ParsedStack<Option<String>> {
        let mut ahead = Scan { text: self.text, at: self.at };
        ahead.blanks();
        if !ahead.take_sign('@') {
            return Ok(None);
        }
        self.at = ahead.at;
        self.place_name().map(Some)
    }

    fn layer(&mut self) -> ParsedStack<LayerExpr> {
        self.blanks();
        let start = self.at;
        let name = self.name().to_owned();
        if name.is_empty() {
            return Err(self.expected(
                "the name of a layer",
                Some("write for example \"| loop\" or \"| fs(xfs)\""),
            ));
        }
        let options = if self.after_blanks('(') { self.options()? } else { Vec::new() };
        let mut end = self.at;
        let place = self.layer_place()?;
        if place.is_some() {
            end = self.at;
        }
        let fanout = self.fanout()?;
        if fanout.is_some() {
            end = self.at;
        }
        Ok(LayerExpr { name, options, place, fanout, span: start..end })
    }

    fn options(&mut self) -> ParsedStack<Vec<OptionExpr>> {
        let mut options = Vec::new();
        if self.after_blanks(')') {
            return Ok(options);
        }
        loop {
            self.blanks();
            options.push(self.option()?);
            if self.after_blanks(')') {
                return Ok(options);
            }
            if !self.after_blanks(',') {
                return Err(self.expected("\",\" or \")\" after an option", None));
            }
        }
    }

    fn option(&mut self) -> ParsedStack<OptionExpr> {
        let start = self.at;
        let mut ahead = Scan { text: self.text, at: start };
        let key = ahead.name().to_owned();
        if key.is_empty() || !ahead.after_blanks('=') {
            let word = self.parse_bare_word("an option", "write key=value or a lone word")?;
            return Ok(OptionExpr { key: None, values: vec![word], span: start..self.at });
        }
        self.at = ahead.at;
        self.blanks();
        let values =
            if self.take_sign('[') { self.grid(&key)? } else { vec![self.parse_value(&key)?] };
        Ok(OptionExpr { key: Some(key), values, span: start..self.at })
    }

    fn grid(&mut self, key: &str) -> ParsedStack<Vec<String>> {
        let mut values = Vec::new();
        loop {
            self.blanks();
            values.push(self.parse_value(key)?);
            if self.after_blanks(']') {
                return Ok(values);
            }
            if !self.after_blanks(',') {
                return Err(self.expected("\",\" or \"]\" in a grid of values", None));
            }
        }
    }

    fn parse_value(&mut self, key: &str) -> ParsedStack<String> {
        self.parse_bare_word(
            &format!("a value for \"{key}\""),
            "put \"...\" around a value with blanks or brackets",
        )
    }

    fn layer_place(&mut self) -> ParsedStack<Option<LayerEnds>> {
        if !self.after_blanks('@') {
            return Ok(None);
        }
        let near = self.place_name()?;
        let far = if self.after_blanks('>') { self.far_places()? } else { Vec::new() };
        Ok(Some(LayerEnds { near, far }))
    }

    /// Parses the place at the far end of a fabric, or a list of them.
    fn far_places(&mut self) -> ParsedStack<Vec<MediumExpr>> {
        self.after_blanks('@');
        if !self.after_blanks('[') {
            return Ok(vec![self.far_place()?]);
        }
        let mut places = Vec::new();
        loop {
            self.blanks();
            places.push(self.far_place()?);
            if self.after_blanks(']') {
                return Ok(places);
            }
            if !self.after_blanks(',') {
                return Err(self.expected("\",\" or \"]\" after a place", None));
            }
        }
    }

    fn far_place(&mut self) -> ParsedStack<MediumExpr> {
        let start = self.at;
        let body = self.place_name()?;
        let span = start..self.at;
        Ok(MediumExpr { scheme: None, body, options: Vec::new(), place: None, span })
    }

    /// Parses the name of a place, or `ssh:HOST`.
    fn place_name(&mut self) -> ParsedStack<String> {
        let start = self.at;
        let name = self.name().to_owned();
        if name == "ssh" && self.take_sign(':') {
            let rest = self.rest();
            let end = rest.find(|c| ends_word(c) || c == '>').unwrap_or(rest.len());
            self.at += end;
            if end > 0 {
                return Ok(self.text[start..self.at].to_owned());
            }
            return Err(self.expected("a host after \"@ssh:\"", Some("write @ssh:HOST")));
        }
        if name.is_empty() {
            return Err(self.expected("the name of a place after \"@\"", Some("write @host")));
        }
        Ok(name)
    }

    fn fanout(&mut self) -> ParsedStack<Option<u32>> {
        let mut ahead = Scan { text: self.text, at: self.at };
        ahead.blanks();
        let start = ahead.at;
        let word = ahead.name();
        let Some(digits) = word.strip_prefix('x') else {
            return Ok(None);
        };
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Ok(None);
        }
        match digits.parse() {
            Ok(count @ 1..=MOST_COPIES) => {
                self.at = ahead.at;
                Ok(Some(count))
            }
            _ => Err(TextFault::new(
                start..ahead.at,
                Fault::new(format!("a fan-out is x1 to x{MOST_COPIES}, found \"{word}\"")),
            )),
        }
    }

    /// Parses a quoted text, or everything up to a blank or a sign of the grammar.
    fn parse_bare_word(&mut self, what: &str, hint: &str) -> ParsedStack<String> {
        if self.peek() == Some('"') {
            return self.quoted();
        }
        let rest = self.rest();
        let end = rest.find(ends_word).unwrap_or(rest.len());
        if end == 0 || rest.starts_with('@') {
            return Err(self.expected(what, Some(hint)));
        }
        let word = rest[..end].to_owned();
        self.at += end;
        if self.peek() == Some('"') {
            let fault = Fault::hint(
                "a quote in the middle of a word",
                "put the quotes around the whole word",
            );
            return Err(self.fault_here(fault));
        }
        Ok(word)
    }

    fn quoted(&mut self) -> ParsedStack<String> {
        let start = self.at;
        let mut word = String::new();
        let mut signs = self.text[start..].char_indices().skip(1);
        while let Some((at, sign)) = signs.next() {
            match sign {
                '"' => {
                    self.at = start + at + 1;
                    return Ok(word);
                }
                '\\' => match signs.next() {
                    Some((_, escaped @ ('"' | '\\'))) => word.push(escaped),
                    _ => return Err(escape_fault(start + at)),
                },
                _ => word.push(sign),
            }
        }
        let fault = Fault::hint("a quote that is never closed", "close it with \"");
        Err(TextFault::new(start..self.text.len(), fault))
    }

    fn name(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.find(|c| !is_name_sign(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn bar(&mut self) -> bool {
        self.after_blanks('|')
    }

    fn expect_end(&mut self, wanted: &str, last: Option<&LayerExpr>) -> ParsedStack<()> {
        self.blanks();
        let hint = last.and_then(|layer| self.options_outside(layer));
        match self.peek() {
            None => Ok(()),
            Some(_) if hint.is_some() => Err(self.expected(wanted, hint.as_deref())),
            Some('@') => {
                Err(self.expected(wanted, Some("a place is written before xN: \"vm @host x8\"")))
            }
            Some(',') => Err(self.expected(wanted, Some("write several media as [a,b]"))),
            Some(_) => Err(self.expected(wanted, Some("put \"|\" between layers"))),
        }
    }

    /// Returns a hint if options follow a layer outside of its brackets, as QEMU and fio write
    /// theirs.
    fn options_outside(&self, layer: &LayerExpr) -> Option<String> {
        let mut ahead = Scan { text: self.text, at: self.at };
        if ahead.name().is_empty() || !ahead.after_blanks('=') {
            return None;
        }
        let rest = self.rest().split('|').next().unwrap_or_default();
        let options =
            rest.split([' ', ',']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(",");
        Some(match layer.options.is_empty() {
            true => format!("did you mean {}({options})?", layer.name),
            false => format!("write {options} within the brackets of {}(...)", layer.name),
        })
    }

    fn expected(&self, what: &str, hint: Option<&str>) -> TextFault {
        let why = format!("expected {what}, found {}", self.describe_found());
        self.fault_here(Fault { why, hint: hint.map(str::to_owned) })
    }

    fn describe_found(&self) -> String {
        match self.peek() {
            None => "the end".to_owned(),
            Some(_) => format!("{:?}", &self.text[self.span_here()]),
        }
    }

    fn fault_here(&self, fault: Fault) -> TextFault {
        TextFault::new(self.span_here(), fault)
    }

    /// Returns the span of the word that begins here, or of a single sign.
    fn span_here(&self) -> Range<usize> {
        let rest = self.rest();
        let word = rest.find(ends_word).unwrap_or(rest.len());
        let sign = rest.chars().next().map_or(0, char::len_utf8);
        self.at..self.at + word.max(sign)
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take_sign(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(sign);
        if found {
            self.at += sign.len_utf8();
        }
        found
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Skips blanks and takes `sign`; takes nothing and returns false if another sign follows.
    fn after_blanks(&mut self, sign: char) -> bool {
        let before = self.at;
        self.blanks();
        let found = self.take_sign(sign);
        if !found {
            self.at = before;
        }
        found
    }
}

fn escape_fault(at: usize) -> TextFault {
    let fault =
        Fault::hint("a \"\\\" in quotes can only precede \" or \\", "write \\\\ for a backslash");
    TextFault::new(at..at + 1, fault)
}

fn is_name_sign(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, ',' | '|' | '[' | ']' | '(' | ')' | '"')
}

/// Returns a word as the grammar reads it: in quotes if it is empty or contains a sign of the
/// grammar or one of `also`.
pub fn quote(word: &str, also: &[char]) -> String {
    let bare = !word.is_empty()
        && !word.starts_with('@')
        && !word.contains(|c: char| ends_word(c) || c == '\\' || also.contains(&c));
    if bare {
        word.to_owned()
    } else {
        format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

impl fmt::Display for StackExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.base)?;
        self.layers.iter().try_for_each(|layer| write!(f, " | {layer}"))
    }
}

impl fmt::Display for BaseExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BaseExpr::One(medium) => write!(f, "{medium}"),
            BaseExpr::Many(members) => write!(f, "[{}]", join_with_commas(members)),
            BaseExpr::Each(members) => write!(f, "each([{}])", join_with_commas(members)),
            BaseExpr::Groups(lists) => {
                let lists: Vec<String> =
                    lists.iter().map(|list| format!("[{}]", join_with_commas(list))).collect();
                write!(f, "each([{}])", lists.join(","))
            }
        }
    }
}

impl fmt::Display for MediumExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without a scheme, "a:b" would be read as one and "a=b" as an option.
        match &self.scheme {
            Some(scheme) => write!(f, "{scheme}:{}", quote(&self.body, &[]))?,
            None if self.body.starts_with('/') => write!(f, "{}", quote(&self.body, &[]))?,
            None => write!(f, "{}", quote(&self.body, &[':', '=']))?,
        }
        self.options.iter().try_for_each(|option| write!(f, ",{option}"))?;
        self.place.as_ref().map_or(Ok(()), |place| write!(f, " @{place}"))
    }
}

impl fmt::Display for LayerExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if !self.options.is_empty() {
            write!(f, "({})", join_with_commas(&self.options))?;
        }
        if let Some(LayerEnds { near, far }) = &self.place {
            let far: Vec<&String> = far.iter().map(|place| &place.body).collect();
            write!(f, " @{near}{}", far_text(&far))?;
        }
        self.fanout.map_or(Ok(()), |count| write!(f, " x{count}"))
    }
}

/// Formats the far end of a layer: nothing, `>@B`, or `>@[B,C]`.
pub(super) fn far_text<T: fmt::Display>(far: &[T]) -> String {
    let names: Vec<String> = far.iter().map(T::to_string).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!(">@{one}"),
        several => format!(">@[{}]", several.join(",")),
    }
}

impl fmt::Display for OptionExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self.values.iter().map(|value| quote(value, &[])).collect();
        match (&self.key, values.as_slice()) {
            (None, _) => write!(f, "{}", quote(&self.values.join(","), &['='])),
            (Some(key), [value]) => write!(f, "{key}={value}"),
            (Some(key), _) => write!(f, "{key}=[{}]", values.join(",")),
        }
    }
}

fn join_with_commas(items: &[impl fmt::Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Spans differ between a text and its canonical form.
    fn spanless(mut stack: StackExpr) -> StackExpr {
        let media: Vec<&mut MediumExpr> = match &mut stack.base {
            BaseExpr::One(medium) => vec![medium],
            BaseExpr::Many(members) | BaseExpr::Each(members) => members.iter_mut().collect(),
            BaseExpr::Groups(lists) => lists.iter_mut().flatten().collect(),
        };
        for medium in media {
            medium.span = 0..0;
            medium.options.iter_mut().for_each(|option| option.span = 0..0);
        }
        for layer in &mut stack.layers {
            layer.span = 0..0;
            layer.options.iter_mut().for_each(|option| option.span = 0..0);
            let far = layer.place.iter_mut().flat_map(|ends| &mut ends.far);
            far.for_each(|place| place.span = 0..0);
        }
        stack
    }

    fn name() -> impl Strategy<Value = String> {
        "[A-Za-z0-9_.-]{1,6}"
    }

    fn keyed() -> impl Strategy<Value = OptionExpr> {
        (name(), proptest::collection::vec(".{0,5}", 1..3)).prop_map(|(key, values)| OptionExpr {
            key: Some(key),
            values,
            span: 0..0,
        })
    }

    fn option() -> impl Strategy<Value = OptionExpr> {
        let lone =
            ".{0,6}".prop_map(|word| OptionExpr { key: None, values: vec![word], span: 0..0 });
        prop_oneof![keyed(), lone]
    }

    fn medium() -> impl Strategy<Value = MediumExpr> {
        let place = proptest::option::of(name());
        let options = proptest::collection::vec(keyed(), 0..3);
        (proptest::option::of(name()), "[/a-z@=:| \"\\\\,]{0,3}.{0,8}", options, place).prop_map(
            |(scheme, body, options, place)| MediumExpr {
                scheme,
                body,
                options,
                place,
                span: 0..0,
            },
        )
    }

    fn far_place(body: String) -> MediumExpr {
        MediumExpr { scheme: None, body, options: Vec::new(), place: None, span: 0..0 }
    }

    fn layer() -> impl Strategy<Value = LayerExpr> {
        let far = proptest::collection::vec(name().prop_map(far_place), 0..3);
        let ends = (name(), far).prop_map(|(near, far)| LayerEnds { near, far });
        let place = proptest::option::of(ends);
        let options = proptest::collection::vec(option(), 0..4);
        (name(), options, place, proptest::option::of(1u32..=MOST_COPIES)).prop_map(
            |(name, options, place, fanout)| LayerExpr { name, options, place, fanout, span: 0..0 },
        )
    }

    fn stack() -> impl Strategy<Value = StackExpr> {
        let members = || proptest::collection::vec(medium(), 1..4);
        let base = prop_oneof![
            medium().prop_map(BaseExpr::One),
            members().prop_map(BaseExpr::Many),
            members().prop_map(BaseExpr::Each),
            proptest::collection::vec(members(), 1..3).prop_map(BaseExpr::Groups),
        ];
        (base, proptest::collection::vec(layer(), 0..4))
            .prop_map(|(base, layers)| StackExpr { base, layers })
    }

    proptest! {
        #[test]
        fn printed_stacks_parse_to_themselves(stack in stack()) {
            let text = stack.to_string();
            let parsed = parse(&text).map_err(|fault| TestCaseError::fail(fault.show(&text)))?;
            prop_assert_eq!(spanless(parsed), stack, "{}", text);
        }

        #[test]
        fn arbitrary_text_never_panics(text in any::<String>()) {
            if let Err(fault) = parse(&text) {
                prop_assert!(text.get(fault.span.clone()).is_some());
                fault.show(&text);
            }
        }

        #[test]
        fn text_of_the_grammars_own_signs_never_panics(text in "[\\[\\]()@>|,=x\"\\\\ /a0é:.]{0,40}") {
            if let Err(fault) = parse(&text) {
                prop_assert!(text.get(fault.span.clone()).is_some());
                fault.show(&text);
            }
        }
    }

    #[test]
    fn spans_are_those_of_the_text() {
        let text = "file:/srv/x.img,size=4GiB | vm(cache=[none,writeback], vcpus=2) @host x2";
        let stack = parse(text).unwrap();
        let layer = &stack.layers[0];
        assert_eq!(&text[layer.span.clone()], "vm(cache=[none,writeback], vcpus=2) @host x2");
        assert_eq!(&text[layer.options[1].span.clone()], "vcpus=2");
        let BaseExpr::One(medium) = &stack.base else { panic!("one medium") };
        assert_eq!(&text[medium.span.clone()], "file:/srv/x.img,size=4GiB");
        assert_eq!(&text[medium.options[0].span.clone()], "size=4GiB");
    }

    #[test]
    fn a_login_is_no_place() {
        let stack = parse("ssh:root@vm7:/dev/vda | null").unwrap();
        let BaseExpr::One(medium) = stack.base else { panic!("one medium") };
        assert_eq!((medium.body.as_str(), medium.place), ("root@vm7:/dev/vda", None));
    }
}
