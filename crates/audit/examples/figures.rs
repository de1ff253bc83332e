//! Prints a page with every figure that was read in brackets: `cargo run -p iotax-audit --example figures -- PAGE...`.

use iotax_audit::{container, import};

fn main() {
    for name in std::env::args().skip(1) {
        let bytes = std::fs::read(&name).expect("a readable file");
        for page in container::pages(&name, bytes) {
            let imported = import::scan(&page);
            let mut spots = Vec::new();
            for output in &imported.outputs {
                println!(
                    "# {} lines {}-{}",
                    output.format,
                    page.number(output.lines.start),
                    page.number(output.lines.end - 1)
                );
                output.said.figures(&mut |(_, _, figure)| spots.push(figure.spot));
            }
            spots.sort();
            for index in 0..page.len() {
                let mut line = page.line(index).to_owned();
                for spot in spots.iter().rev().filter(|spot| spot.index() == index) {
                    line.insert(spot.end as usize, '⟩');
                    line.insert(spot.start as usize, '⟨');
                }
                println!("{:5} {line}", page.number(index));
            }
            for unread in &imported.unread {
                println!("! lines {}-{}: {}", unread.line, unread.last, unread.why);
            }
        }
    }
}
