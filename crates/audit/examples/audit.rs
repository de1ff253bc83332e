//! Prints what does not hold in each page, a line each: `cargo run -p iotax-audit --example audit -- PAGE...`.

use iotax_audit::claim::Status;
use iotax_audit::{audit, container};

fn main() {
    for name in std::env::args().skip(1) {
        let bytes = std::fs::read(&name).expect("a readable file");
        for page in container::pages(&name, bytes) {
            let audited = audit::audit(page);
            println!(
                "# {}: {} outputs, {} tables",
                audited.page.name,
                audited.outputs.len(),
                audited.tables.len()
            );
            for status in Status::ALL {
                println!("  {}: {}", status.words(), audited.count(status));
            }
            for finding in &audited.findings {
                let line = audited.page.number(finding.spot.index());
                println!(
                    "  {}:{line} {} [{}] {:?} -> {:?}: {}",
                    name.rsplit('/').next().unwrap_or(""),
                    finding.rule,
                    finding.severity.word(),
                    finding.printed,
                    finding.recomputed,
                    finding.message
                );
            }
            for unread in &audited.unread {
                println!("  unread {}-{}: {}", unread.line, unread.last, unread.why);
            }
        }
    }
}
