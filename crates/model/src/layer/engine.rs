//! `engine`: chooses the load generator of the stack.

use super::OptionKind::Word;
use super::{Capability, LayerHelp, option};
use crate::stack::{Face, LayerRole};
use iotax_facts::need::program;
use iotax_load::engine;

/// fio, and every engine of iotax in the order of its table.
const GENERATORS: [&str; engine::ALL.len() + 1] = {
    let mut words = ["fio"; engine::ALL.len() + 1];
    let mut at = 0;
    while at < engine::ALL.len() {
        words[at + 1] = engine::ALL[at].word;
        at += 1;
    }
    words
};

pub const HELP: LayerHelp = LayerHelp {
    name: "engine",
    example: "file:/srv/x.img,size=4GiB | engine(fio)",
    options: &[option("name", Word(&GENERATORS))],
    positional: Some("name"),
    one_of: &["name"],
    role: LayerRole::Generator,
    below: Face::Any,
    gives: Face::Any,
    anywhere: true,
    capabilities: &[Capability::needing("fio", "engine fio", "/dev/x | engine(fio)")],
    requires: &[program!("fio", "for engine = \"fio\"", "fio", "fio", "fio 3 or newer")],
    programs: &["fio"],
    ..LayerHelp::PLAIN
};
