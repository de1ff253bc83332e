use super::*;

fn tables(text: &str) -> Vec<PageTable> {
    scan(&AuditedPage::new("p", text), &[]).tables
}

/// What is read of a text: of each table its title and lines, its heads, its rows with every figure
/// as it is there and as it is meant (a share in brackets, further ones after `+`); then what
/// is not read.
fn shown(text: &str) -> String {
    let page = AuditedPage::new("p", text);
    let scanned = scan(&page, &[]);
    let value = |one: &Quantity| {
        format!("{}={} {:?}", page.quote(one.figure.spot), one.figure.value, one.unit)
    };
    let cell = |cell: &Option<TableCell>| {
        let Some(cell) = cell else { return "-".into() };
        let share = cell.share.iter().map(|share| format!(" ({})", value(share)));
        let more = cell.more.iter().map(|more| format!(" +{}", value(more)));
        let first =
            cell.figure.map_or_else(|| format!("\"{}\"", page.quote(cell.spot)), |one| value(&one));
        std::iter::once(first).chain(share).chain(more).collect::<String>()
    };
    let table = |table: &PageTable| {
        let heads = table.heads.iter().map(|head| format!(" | {head}"));
        let heads: String = std::iter::once(table.corner.clone()).chain(heads).collect();
        let row = |row: &TableRow| {
            let cells: Vec<String> = row.cells.iter().map(cell).collect();
            format!("{} {} | {}\n", page.line_number(row.line), row.label, cells.join(" | "))
        };
        let (title, lines) = (table.title.as_deref().unwrap_or("no title"), &table.lines);
        format!(
            "{title}: {} to {}\n{heads}\n{}",
            lines.start + 1,
            lines.end,
            table.rows.iter().map(row).collect::<String>()
        )
    };
    let unread = scanned.unread.iter().map(|unread| format!("unread: {}\n", unread.why));
    scanned.tables.iter().map(table).chain(unread).collect()
}

#[test]
fn every_text_is_read_as_was_checked() {
    crate::testing::hold("tables.txt", shown);
}

#[test]
fn taken_lines_are_not_read() {
    let text = "## Case\n```\n| a | b |\n|---|---|\n| x | 5 |\n```\n";
    for taken in [2..5, 3..4] {
        assert!(scan(&AuditedPage::new("p", text), &[taken]).tables.is_empty());
    }
}

#[test]
fn a_log_is_refused_in_plain_words_and_ends_where_the_next_table_begins() {
    let rows = 3 * MOST_ROWS;
    let log = format!("| time | IOPS |\n|---|---|\n{}", "| 4k | 123 |\n".repeat(rows));
    let next = "| job | IOPS |\n|---|---|\n| a | 7 |\n| b | 8 |\n";
    for (between, first) in
        [("", 2 + rows), ("|---|---|---|\n", 3 + rows), ("\ntext\n\n", 5 + rows)]
    {
        let scanned = scan(&AuditedPage::new("p", format!("{log}{between}{next}")), &[]);
        let UnreadRange { line, last, why } = &scanned.unread[0];
        assert_eq!(
            why,
            "a table of 30,000 rows is a log, not results: more than 10,000 rows are not read; summarise it, or pass the rows that matter"
        );
        assert_eq!((*line, scanned.refused.len()), (1, 1), "{between}");
        assert!((2 + rows..first + 1).contains(&(*last as usize)), "{last}");
        assert_eq!((scanned.tables.len(), scanned.tables[0].lines.start), (1, first), "{between}");
        assert_eq!(scanned.tables[0].rows.len(), 2);
    }
    let ragged =
        format!("|{}\n|{}\n{}", " a |".repeat(200), "---|".repeat(200), "| b |\n".repeat(9_000));
    assert!(scan(&AuditedPage::new("p", ragged), &[]).unread[0].why.contains("shorter"));
    let wide =
        format!("|{}\n|{}\n|{}\n", " a |".repeat(300), "---|".repeat(300), " 5 |".repeat(300));
    assert!(scan(&AuditedPage::new("p", wide), &[]).unread[0].why.contains("300 columns"));
}

#[test]
fn nobody_reads_the_lines_of_a_log() {
    let row = "| it is 20 % faster on a Samsung SSD 990 PRO than before, with 4k reads | 123\n";
    let text = format!("a | IOPS\n---|---\n{}\nIt is 20 % faster.\n", row.repeat(MOST_ROWS + 1));
    let audited = crate::audit::audit(AuditedPage::new("p", text));
    assert!(audited.unread[0].why.contains("is a log"));
    let lines: Vec<usize> = audited.claims.iter().map(|claim| claim.spot.index()).collect();
    assert_eq!(lines, [MOST_ROWS + 4]);
    assert_eq!((audited.page.line_text(7), audited.page.line_number(7)), ("", 8));
}

#[test]
fn long_and_equal_lines_take_time_as_they_are_long() {
    // Each would take minutes where a reader looks at all that follows from every line.
    let lines = "a 5 6^| a^<table>^a, b, c^a\tb^5\n\nx\n^x\n\n5\n^10x  20x  foo^+-+^| a | 5 |^a | 5^(((((^~ 1 2 3 (^````^# 5";
    for line in lines.split('^') {
        tables(&format!("{line}\n").repeat(50_000));
    }
    tables(&format!("| a | b |\n|---|---|\n{}", "| a |\n".repeat(50_000)));
    for part in ["|", "5 ", "<table", "(", "5,", "a\t", "-", "# ", "|-", "1."] {
        tables(&part.repeat(1 << 18));
    }
}
