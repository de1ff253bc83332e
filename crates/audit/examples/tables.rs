//! Prints the tables of pages: `cargo run -p iotax-audit --example tables -- PAGE...`.

use iotax_audit::number::Quantity;
use iotax_audit::table::{Cell, Table};
use iotax_audit::{container, import, table};

fn main() -> std::io::Result<()> {
    for path in std::env::args().skip(1) {
        for page in container::pages(&path, std::fs::read(&path)?) {
            let taken: Vec<_> = import::scan(&page).outputs.into_iter().map(|output| output.lines).collect();
            let scanned = table::scan(&page, &taken);
            println!("== {} ({} lines, {} tables)", page.name, page.len(), scanned.tables.len());
            scanned.tables.iter().for_each(|table| print(&page, table));
            for unread in page.unread.iter().chain(&scanned.unread) {
                println!("unread {}-{}: {}", unread.line, unread.last, unread.why);
            }
        }
    }
    Ok(())
}

fn print(page: &iotax_audit::page::Page, table: &Table) {
    let (first, last) = (page.number(table.lines.start), page.number(table.lines.end.saturating_sub(1)));
    let (rows, columns) = (table.rows.len(), table.columns.len());
    let title = table.title.as_deref().unwrap_or("");
    println!("-- lines {first}-{last}: {rows} x {columns} \"{title}\"");
    let heads: Vec<&str> = table.columns.iter().map(|column| column.head.as_str()).collect();
    println!("   [{}] {}", table.corner, heads.join(" | "));
    for row in &table.rows {
        let cells: Vec<String> =
            row.cells.iter().map(|cell| cell.as_ref().map_or("-".into(), |cell| show(page, cell))).collect();
        println!("   {}: {}", row.label, cells.join(" | "));
    }
}

fn show(page: &iotax_audit::page::Page, cell: &Cell) -> String {
    let one =
        |mark: &str, quantity: &Quantity| format!("{mark}{:e} {:?}", quantity.figure.value, quantity.unit);
    let mut parts: Vec<String> = Vec::new();
    parts.extend(cell.figure.iter().map(|figure| one("", figure)));
    parts.extend(cell.share.iter().map(|share| one("share ", share)));
    parts.extend(cell.more.iter().map(|more| one("more ", more)));
    if parts.is_empty() { format!("'{}'", page.quote(cell.spot)) } else { parts.join(", ") }
}
