//! Measures the audit on documents of its own: `cargo run --release -p iotax-audit --example selfcheck -- [SOUND SLIPPED SEED]`. A
//! page of a seed: `... page SEED KIND`, `... slip SEED NAME`.

use iotax_audit::selfcheck::draft::Kind;
use iotax_audit::selfcheck::{Plan, measure, measure::slipped, pages, slips};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, or: u64| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(or);
    match words.first().map(String::as_str) {
        Some("page") => {
            let named = |kind: &Kind| words.get(2).is_none_or(|word| kind.word() == word);
            let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(named).collect();
            print!("{}", pages::sound(number(1, 1), &kinds).written().text);
        }
        Some("slip") => {
            let slip = slips::all().find(|slip| Some(&slip.name.to_owned()) == words.get(2)).expect("a slip");
            let (_, slipped) = slipped(slip, number(1, 1)).expect("a document");
            eprintln!("{:?}", slipped.lines);
            print!("{}", slipped.written.text);
        }
        _ => {
            let plan = Plan { sound: number(0, 1000), slipped: number(1, 1000), seed: number(2, 1) };
            print!("{}", measure(plan).text());
        }
    }
}
