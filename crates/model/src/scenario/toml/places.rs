//! `[place.NAME]`: hosts, labs, and statements about places.

use super::super::error::{Fault, InputError};
use super::super::place::{self, LabSpec, PlaceSpec, StackNames};
use super::super::remote;
use super::{TomlSource, Word, WordTable, plain_name};
use ::toml::Spanned;
use iotax_facts::place::Place;
use iotax_facts::vm::PlaceDescription;
use std::collections::BTreeMap;
use std::ops::Range;

impl TomlSource<'_> {
    /// Returns the lab that always exists, and the declared places.
    pub(super) fn read_places(
        &self,
        wire: &BTreeMap<String, Spanned<WordTable>>,
    ) -> Result<StackNames, InputError> {
        let mut names = StackNames::default();
        for (name, words) in wire {
            plain_name(name).map_err(|fault| self.fault(&words.span(), fault))?;
            let (spec, described) = self.read_place(name, words)?;
            let place = match &spec {
                Some(PlaceSpec::Ssh(host)) => Place::Ssh(host.clone()),
                _ => Place::from(name.as_str()),
            };
            names.places.extend(spec.map(|spec| (name.clone(), spec)));
            if described == PlaceDescription::default() {
                continue;
            }
            if names.described.insert(place.clone(), described).is_some() {
                let fault = Fault::hint(
                    format!("{place} is described twice"),
                    "describe it under one name",
                );
                return Err(self.fault(&words.span(), fault));
            }
        }
        Ok(names)
    }

    /// Returns a declared place and what is said about it. It is a host if it has the key `ssh` or
    /// that of a manager of virtual machines, a guest without a disk if it has `vm`, otherwise a
    /// lab. `None`: it is this host, which needs no declaration and can only have facts.
    fn read_place(
        &self,
        name: &str,
        words: &Spanned<WordTable>,
    ) -> Result<(Option<PlaceSpec>, PlaceDescription), InputError> {
        let known = [place::LAB_KEYS, place::HOST_KEYS, &[place::GUEST]].concat();
        let (mut values, mut facts) = (BTreeMap::new(), BTreeMap::new());
        for (key, word) in &words.get_ref().0 {
            match key.get_ref().as_str() {
                place::FACTS => facts = self.parse_facts(word)?,
                other if known.contains(&other) => {
                    values.insert(other, (key.span(), self.single_word(word)?));
                }
                _ => return Err(self.unknown_key(key, &known)),
            }
        }
        if Place::from(name).is_host() && values.is_empty() && !facts.is_empty() {
            return Ok((None, PlaceDescription { facts, vm: None }));
        }
        if Place::from(name).is_host() {
            let fault = Fault::hint(
                "\"host\" is this host",
                "choose another name; [place.host] can only have `facts`",
            );
            return Err(self.fault(&words.span(), fault));
        }
        if let Some((span, options)) = values.remove(place::GUEST) {
            if let Some((key, (span, _))) = values.first_key_value() {
                let hint =
                    "a guest of the run has all its options in `vm`, in the words of vm(...)";
                return Err(self
                    .origin(span)
                    .error_at_key(key, Fault::hint("cannot be combined with \"vm\"", hint)));
            }
            let guest = place::guest_of(options.get_ref(), format!("[place.{name}]"));
            let guest =
                guest.map_err(|fault| self.origin(&span).error_at_key(place::GUEST, fault))?;
            return Ok((Some(PlaceSpec::Guest(guest)), PlaceDescription { facts, vm: None }));
        }
        let texts =
            values.iter().map(|(key, (_, value))| (*key, value.get_ref().as_str())).collect();
        let vm = place::vm_of(&texts).map_err(|(key, fault)| {
            self.fault(&values.get(key).map_or(words.span(), |(_, value)| value.span()), fault)
        })?;
        let host_key = place::HOST_KEYS.iter().find(|key| values.contains_key(*key));
        let Some(host_key) = host_key else {
            let mut lab = LabSpec::default();
            for (key, (_, value)) in &values {
                lab.set_lab_key(key, value.get_ref())
                    .map_err(|fault| self.fault(&value.span(), fault))?;
            }
            return Ok((Some(PlaceSpec::Lab(lab)), PlaceDescription { facts, vm }));
        };
        if let Some((key, (span, _))) = values.iter().find(|(key, _)| place::LAB_KEYS.contains(key))
        {
            let fault = Fault::hint(
                format!("cannot be combined with \"{host_key}\""),
                "an existing host has its own settings; remove this",
            );
            return Err(self.origin(span).error_at_key(key, fault));
        }
        let host = match values.get("ssh") {
            Some((_, host)) => {
                remote::check_host(host.get_ref())
                    .map_err(|fault| self.fault(&host.span(), fault))?;
                host.get_ref().clone()
            }
            None => name.to_owned(),
        };
        Ok((Some(PlaceSpec::Ssh(host)), PlaceDescription { facts, vm }))
    }

    /// Returns the facts about a place that the user states, as a table or as a list of `KEY:
    /// TEXT`.
    fn parse_facts(&self, word: &Spanned<Word>) -> Result<BTreeMap<String, String>, InputError> {
        let mut facts = BTreeMap::new();
        let mut add = |key: &str, value: &str, span: &Range<usize>| {
            place::add_fact(&mut facts, key, value).map_err(|fault| self.fault(span, fault))
        };
        match word.get_ref() {
            Word::One(_) => {
                return Err(self.fault(&word.span(), Fault::from_clause(place::FACTS_FORM)));
            }
            Word::Many(list) => {
                for one in list {
                    let text = self.single_word(one)?;
                    let (key, value) = text.get_ref().split_once(':').ok_or_else(|| {
                        self.fault(&one.span(), Fault::from_clause(place::FACTS_FORM))
                    })?;
                    add(key, value, &one.span())?;
                }
            }
            Word::Table(words) => {
                for (key, value) in &words.0 {
                    add(key.get_ref(), self.single_word(value)?.get_ref(), &value.span())?;
                }
            }
        }
        Ok(facts)
    }
}
