//! `cargo run --release -p iotax-audit-proof`: how many slips the audit finds, as the table of
//! docs/audit.md.

use iotax_audit_proof::slips::measure;
use std::path::Path;

fn main() {
    let measured = measure(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../audit/fixtures"));
    print!("{}", measured.table());
    println!("\n{} samples; wrong as they are: {}", measured.samples, measured.unslipped.len());
    measured.unslipped.iter().for_each(|one| println!("  {one}"));
}
