//! Prints every figure of each page with its system, workload, status and why: `cargo run -p iotax-audit --example claims -- PAGE...`.

use iotax_audit::{audit, claim, container};

fn main() {
    for name in std::env::args().skip(1) {
        let bytes = std::fs::read(&name).expect("a readable file");
        for page in container::pages(&name, bytes) {
            let audited = audit::audit(page);
            println!("# {}", audited.page.name);
            for one in claim::list::listed(&audited) {
                let (system, workload) = (one.system.as_deref(), one.workload.as_deref());
                println!(
                    "{}\t{}\t{}\t{}\t{:?}\t{}\t{}\t{}",
                    one.line,
                    one.printed,
                    system.unwrap_or("-"),
                    workload.unwrap_or("-"),
                    one.claim.metric,
                    one.claim.kind.word(),
                    one.claim.status.words(),
                    one.why
                );
            }
        }
    }
}
