use super::*;
use crate::number::Unit;

fn tables(text: &str) -> Vec<Table> {
    scan(&Page::new("p", text), &[]).tables
}

fn one(text: &str) -> Table {
    let mut tables = tables(text);
    assert_eq!(tables.len(), 1, "{text}\n{tables:?}");
    tables.remove(0)
}

/// Its heads and rows: `corner|head|head`, `label|figure (share) +more|-`.
fn shown(table: &Table) -> Vec<String> {
    let value = |one: Quantity| one.figure.value.to_string();
    let cell = |cell: &Option<Cell>| {
        let Some(cell) = cell else { return "-".into() };
        let share = cell.share.as_deref().map(|share| format!(" ({})", value(*share)));
        let more = cell.more.iter().map(|more| format!(" +{}", value(*more)));
        let first = cell.figure.map_or_else(|| "-".into(), value);
        std::iter::once(first).chain(share).chain(more).collect::<String>()
    };
    let line = |first: &str, cells: Vec<String>| format!("{first}|{}", cells.join("|"));
    let head = line(&table.corner, table.columns.iter().map(|column| column.head.clone()).collect());
    let rows = table.rows.iter().map(|row| line(&row.label, row.cells.iter().map(cell).collect()));
    std::iter::once(head).chain(rows).collect()
}

/// The one table of a text.
fn read(text: &str) -> Vec<String> {
    shown(&one(text))
}

/// A small table of every shape.
const EXAMPLES: [&str; ALL.len()] = [
    "| job | IOPS | BW |\n|---|---|---|\n| a | 26.5k | 102 MB/s |\n| b | 25k | 98 MB/s |\n",
    "<table>\n<tr><th>job<th>IOPS<th>BW</tr>\n<tr><td>a<td>26.5k<td>102 MB/s</tr>\n<tr><td>b<td>25k<td>98 MB/s</tr>\n</table>\n",
    "job\tIOPS\tBW\na\t26.5k\t102 MB/s\nb\t25k\t98 MB/s\n",
    "job;IOPS;BW\na;26.5k;102 MB/s\nb;25k;98 MB/s\n",
    "job  IOPS   BW\na    26.5k  102 MB/s\nb    25k    98 MB/s\n",
    "Drives\n\njob\n\nIOPS\n\nBW\n\na\n\n26.5k\n\n102 MB/s\n\nb\n\n25k\n\n98 MB/s\n",
];

#[test]
fn every_shape_reads_its_example() {
    for text in EXAMPLES {
        assert_eq!(read(text), ["job|IOPS|BW", "a|26500|102000000", "b|25000|98000000"], "{text}");
    }
}

#[test]
fn a_table_of_markdown_has_its_heading_labels_and_units() {
    let text = "### Network\n\nResults:\n\n| Source | Host | **VM**<br>(best) |\n|:---|---:|:--:|\n| Host | 9.25 Gbps (100%) | 9.4 Gbps (102%) |\n| `VM` | **9.3 Gbps** (101%) | - |\n";
    let table = one(text);
    let rows = ["Source|Host|VM (best)", "Host|9250000000 (100)|9400000000 (102)", "VM|9300000000 (101)|-"];
    assert_eq!(
        (shown(&table), table.title.as_deref()),
        (rows.map(str::to_string).to_vec(), Some("Network: Results"))
    );
    assert_eq!((table.lines, table.rows[1].line), (4..8, 7));
    let cell = table.rows[0].cells[1].as_ref().unwrap();
    let page = Page::new("p", text);
    assert_eq!(page.quote(cell.spot), "9.4 Gbps (102%)");
    assert_eq!(page.quote(cell.figure.unwrap().figure.spot), "9.4 Gbps");
    let links = "| drive | IOPS |\n|---|---|\n| [old](runs/4k-7.txt) | 700 |\n| **[new](a.md)** (flash) | 900 |\n| [x] (y | 5 |\n";
    assert_eq!(read(links)[1..], ["old|700", "new (flash)|900", "[x] (y|5"]);
}

#[test]
fn lines_of_heads_and_rows_of_shares_are_joined() {
    let rule = "|---|---|---|---|---|\n";
    let body = "| host | 200 | 782KiB/s | 1000 | 1000MiB/s |\n| | (100%) | (100%) | (100%) | (100%) |\n| VM | 250 | 977KiB/s | 900 | 900MiB/s |\n| (cache=none) | (125%) | (125%) | (90%) | (90%) |\n";
    let table = one(&format!("| case | 4K | rand | 4K | seq |\n|  | IOPS | BW | IOPS | BW |\n{rule}{body}"));
    let rows = shown(&table);
    assert_eq!(rows[0], "case|4K rand IOPS|4K rand BW|4K seq IOPS|4K seq BW");
    assert_eq!(rows[2], "VM (cache=none)|250 (125)|1000448 (125)|900 (90)|943718400 (90)");
    assert_eq!(table.rows[0].cells[0].as_ref().unwrap().figure.unwrap().unit, Unit::PerSecond);
    // The upper ones go on to the right; Markdown allows the second only behind the rule.
    let row = "| a | 1 | 2 | 3 | 4 |\n";
    for (first, second, heads) in [
        (
            "| case | 4K | | 1M | |\n",
            "| | read | write | read | write |\n",
            "case|4K read|4K write|1M read|1M write",
        ),
        (
            "| | read | | write | |\n",
            "| | IOPS | BW | IOPS | BW |\n",
            "|read IOPS|read BW|write IOPS|write BW",
        ),
        (
            "| x | 4K | rand | 4K | seq |\n",
            "|  | IOPS | BW | IOPS | BW |\n",
            "x|4K rand IOPS|4K rand BW|4K seq IOPS|4K seq BW",
        ),
    ] {
        assert_eq!(read(&format!("{first}{rule}{second}{row}"))[0], heads);
        assert_eq!(read(&format!("{first}{second}{rule}{row}"))[0], heads);
    }
    assert_eq!(
        read(&format!("| x | 4K | rand | 4K | seq |\n{rule}| | fast | slow | old | new |\n{row}"))[0],
        "x|4K|rand|4K|seq",
        "nothing repeats"
    );
    // Shares of a row without a label need no brackets.
    let text = "| | 4k | 8k |\n|---|---|---|\n| host | 195 | 380 |\n|  | 100% | 100% |\n| VM | 182 | 351 |\n| CPU | 50% | 60% |\n";
    assert_eq!(read(text)[1..], ["host|195 (100)|380 (100)", "VM|182|351", "CPU|50|60"]);
}

#[test]
fn cells_between_pipes_need_no_line_of_dashes() {
    let text = "pvscsi | nvme | % of pvscsi | |\nwrite 4M qd=32 | 4600.5 МБ/с | 4590.25 МБ/с | 99.78% |\nread 4k jobs=16 | 558.50 МБ/с | 541.00 МБ/с | 96.87% |\n";
    assert_eq!(read(text)[..2], ["|pvscsi|nvme|% of pvscsi", "write 4M qd=32|4600500000|4590250000|99.78"]);
    // One below the other, with the same heads.
    let text = "Drives\nA | Host | VM |\nwrite | 1820.5 MB/s | 1826.5 MB/s |\nread | 4518 MB/s | 4553.5 MB/s |\nB | Host | VM |\nwrite | 2811 MB/s | 2811 MB/s |\nread | 5822.5 MB/s | 5845 MB/s |\n";
    let two = tables(text);
    assert_eq!((two.len(), two[1].corner.as_str(), two[1].title.as_deref()), (2, "B", Some("Drives")));
    assert_eq!(two[1].lines, 4..7);
    // Without heads, where the figures say what they are.
    assert_eq!(
        read("Sender | 34.5 Gbits/sec |\nReceiver | 34.25 Gbits/sec |\n")[1..],
        ["Sender|34500000000", "Receiver|34250000000"]
    );
    let empty = read(" | host | VM\n---|---|---\na | 1184 | 921\nb | 1383 | 1082\n");
    assert_eq!(empty, ["|host|VM", "a|1184|921", "b|1383|1082"], "a bare table may have an empty corner");
    assert_eq!(
        read(" | a | host | VM |\n |---|---|---|\n | x | 1184 | 921 |\n")[1],
        "x|1184|921",
        "outer pipes bound none"
    );
}

#[test]
fn boxes_are_read_and_broken_rows_joined() {
    let plain = "+------+-------+\n| job  | IOPS  |\n+------+-------+\n| a    | 26.5k |\n| b    | 25k   |\n+------+-------+\n";
    let drawn = plain.replace('|', "│").replace('+', "├").replace('-', "─");
    for text in [plain, &drawn] {
        assert_eq!(read(text), ["job|IOPS", "a|26500", "b|25000"]);
    }
    assert_eq!(read("| job | IOPS | BW |\n|---|---|---|\n| a | 5 |\n6 MB/s |\n")[1], "a|5|6000000");
}

#[test]
fn words_between_spaces_are_counted_or_stand_below_their_heads() {
    let loose = "Read (读取) Write (写入) Bandwidth\nDirect (直通) 26.5k 25.5k 104MiB/s (109 MB/s)\nVirtual 20.5k 20.25k 80.1 MiB/s (84MB/s)\n";
    let rows = read(loose);
    assert_eq!(
        rows[..2],
        ["|Read (读取)|Write (写入)|Bandwidth", "Direct (直通)|26500|25500|109051904 +109000000"]
    );
    assert!(rows[2].starts_with("Virtual|20500|20250|"));
    let aligned = "Test case        Read IOPS   p99 (us)   State\n---------------  ---------   --------   -----\nhost, 4 jobs        26,500      118.5   good\nguest, 4 jobs       20,250      141.2   good\n---------------  ---------   --------   -----\n";
    assert_eq!(read(aligned)[..2], ["Test case|Read IOPS|p99 (us)|State", "host, 4 jobs|26500|118500|-"]);
    let results = "Results\n\nTest      Speed\n4K read   172.25 MB/s\n4K write  160.10 MB/s\n";
    assert_eq!(read(results)[1..], ["4K read|172250000", "4K write|160100000"]);
}

#[test]
fn files_of_fields_are_tables_in_the_style_of_their_columns() {
    let text = "job;IOPS;\"MB/s\";note\nread;26.500;103,5;a\nwrite;1.025.500;98,25;b\ntrim;900;1.025,5;c\n";
    assert_eq!(
        read(text)[1..],
        ["read|26500|103500000|-", "write|1025500|98250000|-", "trim|900|1025500000|-"]
    );
    let text = "# a comment\nname,iops,lat_us\n\"a, b\",100,2.5\nc,200,3.5\n";
    let table = one(text);
    assert_eq!(shown(&table)[1..], ["a, b|100|2.5", "c|200|3.5"]);
    assert_eq!(Page::new("p", text).quote(table.rows[0].cells[0].as_ref().unwrap().spot), "100");
    let table = one("Results of a run\n\tHost\tVM\nread\t26.5k\t20.5k\nwrite\t25.5k\t20.25k\n");
    assert_eq!((table.title.as_deref(), shown(&table)[0].as_str()), (Some("Results of a run"), "|Host|VM"));
    // What may be a thousand or a decimal is what another column tells.
    assert_eq!(read("job;share;IOPS\na;12,5;1.234\nb;13,5;2.345\n")[1..], ["a|12.5|1234", "b|13.5|2345"]);
    // One line of results below its head may be a sentence, but not in a fenced block.
    assert_eq!(read("```\njob;IOPS;MB/s\nrandread;26100;106,9\n```\n")[1], "randread|26100|106900000");
}

#[test]
fn a_decimal_comma_elsewhere_in_the_table_tells_that_points_group_thousands() {
    let read = |first: &str| {
        let rows = [first, "b | 184.200 | 121.600 | 34,0 %", "c | 980 | 870 | 11,2 %"];
        let rows = rows.map(|row| format!("| {row} |\n")).concat();
        let text = format!("| Last | Host (IOPS) | VM (IOPS) | Verlust |\n|---|---|---|---|\n{rows}");
        let scanned = scan(&Page::new("p", &text), &[]);
        (shown(&scanned.tables[0])[2].clone(), scanned.unread)
    };
    assert_eq!(read("a | 8.412 | 6.530 | 22,4 %"), ("b|184200|121600|34".to_string(), vec![]));
    // A point that is a decimal sign somewhere, and thousands without a point: nothing tells.
    for first in ["a | 8.412 | 6530.5 | 22,4 %", "a | 8412 | 6.530 | 22,4 %"] {
        let (row, unread) = read(first);
        assert!(row.starts_with("b|-|") && unread.len() == 1, "{first}");
        assert!(unread[0].why.contains("thousands or decimals"), "{}", unread[0].why);
    }
}

#[test]
fn a_table_of_html_may_stand_in_markdown() {
    let text = "# Drives\n\nSome words.\n\n<table>\n <thead>\n <tr><th rowspan=2>Case</th><th colspan=\"2\">VM</th></tr>\n <tr><th>IOPS</th><th>MB/s</th></tr>\n </thead>\n <tr>\n  <td>read</td>\n  <td>\n   26.5k\n  </td>\n  <td><b>103.5</b> (93%)</td>\n </tr>\n <tr><td>write<td>25.5k<td>99.5</tr>\n</table>\nmore\n";
    let table = one(text);
    assert_eq!(shown(&table), ["Case|VM IOPS|VM MB/s", "read|26500|103500000 (93)", "write|25500|99500000"]);
    let figure = table.rows[0].cells[0].as_ref().unwrap().figure.unwrap().figure;
    assert_eq!((Page::new("p", text).quote(figure.spot), table.title.as_deref()), ("26.5k", Some("Drives")));
}

#[test]
fn tables_in_fences_are_read_and_taken_lines_are_not() {
    let text = "## Case\n```\n| a | b |\n|---|---|\n| x | 5 |\n```\n";
    assert_eq!(one(text).title.as_deref(), Some("Case"));
    for taken in [2..5, 3..4] {
        assert!(scan(&Page::new("p", text), &[taken]).tables.is_empty());
    }
}

#[test]
fn results_in_the_first_column_are_no_labels() {
    let of = |rows: &str| read(&rows.replacen('\n', "\n|---|---|\n", 1));
    assert_eq!(
        of("| IOPS | MB/s |\n| 100 | 4.5 |\n| 200 | 9 |\n"),
        ["|IOPS|MB/s", "|100|4500000", "|200|9000000"]
    );
    let sizes = "| MB/s | host |\n| 4k | 324 MB/s |\n| 1M | 424 MB/s |\n";
    assert_eq!(of(sizes), ["MB/s|host", "4k|324000000", "1M|424000000"], "sizes are labels");
    assert_eq!(of("| jobs | MB/s |\n| 1 | 4.5 |\n| 2 | 9 |\n")[1..], ["1|4500000", "2|9000000"]);
}

#[test]
fn a_row_that_lost_its_label_to_the_one_above_is_pushed_back() {
    let text = "| size | jobs | IOPS | MB/s |\n|---|---|---|---|\n| small files | 1 | 5 IOPS | 7 MB/s |\n| 2 | 6 IOPS | 8 MB/s | |\n";
    assert_eq!(read(text)[1..], ["small files|1|5|7000000", "small files|2|6|8000000"]);
}

#[test]
fn the_unit_of_a_label_is_that_of_its_row_where_the_head_says_nothing_else() {
    let text = "| case | host | VM | VM/host (%) |\n|---|---|---|---|\n| Speed (Gbps) | 9.25 (100%) | 8.5 | 92 |\n| IOPS | 12k | 11k | 91.7 |\n";
    let table = one(text);
    assert_eq!(shown(&table)[1..], ["Speed (Gbps)|9250000000 (100)|8500000000|92", "IOPS|12000|11000|91.7"]);
    let units = |table: &Table| -> Vec<Unit> {
        table.rows.last().unwrap().cells.iter().flatten().map(|cell| cell.figure.unwrap().unit).collect()
    };
    assert_eq!(units(&table), [Unit::PerSecond, Unit::PerSecond, Unit::Percent]);
    let contrary = one("| case | MB/s |\n|---|---|\n| read IOPS | 9 |\n");
    assert_eq!(units(&contrary), [Unit::Bare], "they contradict each other");
    // The head says what stands in the bracket behind a figure with a unit.
    let table =
        one("| disk | 4k (IOPS) |\n|---|---|\n| a | 24.34 MB/s (6086) |\n| b | 24.39 MB/s (6099) |\n");
    assert_eq!(table.rows[0].cells[0].as_ref().unwrap().more[0].unit, Unit::PerSecond);
}

#[test]
fn prose_settings_code_and_outputs_are_no_tables() {
    for text in [
        "The drive does 500 MB/s in the host and 450 MB/s in the guest.\nThe other does 600 MB/s in the host and 550 MB/s in the guest.\n",
        "Host:  alpha\nCores:  8\nRAM:  64 GB\nDisks:  12\n",
        "Name      Value\ncores     16\nmemory    64 GB\n",
        "ps aux | grep fio | wc -l\ncat /proc/cpuinfo | grep MHz | head -5\n",
        "let a = b | 5;\nlet c = d | 6;\n",
        "8 vCPU, 16 GB, 100 GB\n16 vCPU, 32 GB, 200 GB\n32 vCPU, 64 GB, 400 GB\n",
        "     |  1.00th=[   48],  5.00th=[   51], 10.00th=[   53], 20.00th=[   55],\n     | 30.00th=[   57], 40.00th=[   59], 50.00th=[   65], 60.00th=[   74],\n",
        "Home | About | Contact\nNews | Blog | Shop\n",
        "RAM | 64 GB\nDisk | 100 GB\n",
        "500, 1234, 0, 4096\n1000, 1235, 0, 4096\n1500, 1236, 0, 4096\n",
        "job;IOPS;MB/s\nrandread;26100;106,9\n\n",
        "```\na;b;c\n1;2;3\n```\n",
        "Updated\n\n2021\n\n5 stars\n\n12\n\nForks\n\n7\n\nIssues\n\n3\n",
        "One day, in May, it rained.\nTwo days, in June, it snowed.\nThree days, in July, it hailed.\n",
        "+--+--+\n| 1| 2|\n+--+--+\n| 3| 4|\n+--+--+\n",
        "self.assertEqual(min(1, 2), 1)\nself.assertEqual(min(2, 3), 2)\nself.assertEqual(min(3, 5), 3)\n",
        "# inf /  0 =  inf\n# 5 /  5 =  1\n# 7 /  7 =  1\n",
    ] {
        assert_eq!(tables(text), [], "{text}");
    }
}

#[test]
fn a_log_is_refused_in_plain_words_and_ends_where_the_next_table_begins() {
    let rows = 3 * MOST_ROWS;
    let log = format!("| time | IOPS |\n|---|---|\n{}", "| 4k | 123 |\n".repeat(rows));
    let next = "| job | IOPS |\n|---|---|\n| a | 7 |\n| b | 8 |\n";
    for (between, first) in [("", 2 + rows), ("|---|---|---|\n", 3 + rows), ("\ntext\n\n", 5 + rows)] {
        let scanned = scan(&Page::new("p", format!("{log}{between}{next}")), &[]);
        let Unread { line, last, why } = &scanned.unread[0];
        assert_eq!(
            why,
            "a table of 30,000 rows is a log, not results: more than 10,000 rows are not read; summarise it, or pass the rows that matter"
        );
        assert_eq!((*line, scanned.refused.len()), (1, 1), "{between}");
        assert!((2 + rows..first + 1).contains(&(*last as usize)), "{last}");
        assert_eq!((scanned.tables.len(), scanned.tables[0].lines.start), (1, first), "{between}");
        assert_eq!(scanned.tables[0].rows.len(), 2);
    }
    let fields = scan(&Page::new("p", format!("time,IOPS,lat\n{}", "1,2,3\n".repeat(rows))), &[]);
    assert!(fields.tables.is_empty() && fields.unread[0].why.contains("30,000 rows is a log"));
    let ragged = format!("|{}\n|{}\n{}", " a |".repeat(200), "---|".repeat(200), "| b |\n".repeat(9_000));
    assert!(scan(&Page::new("p", ragged), &[]).unread[0].why.contains("shorter"));
    let wide = format!("|{}\n|{}\n|{}\n", " a |".repeat(300), "---|".repeat(300), " 5 |".repeat(300));
    assert!(scan(&Page::new("p", wide), &[]).unread[0].why.contains("300 columns"));
}

#[test]
fn nobody_reads_the_lines_of_a_log() {
    let row = "| it is 20 % faster on a Samsung SSD 990 PRO than before, with 4k reads | 123\n";
    let text = format!("a | IOPS\n---|---\n{}\nIt is 20 % faster.\n", row.repeat(MOST_ROWS + 1));
    let audited = crate::audit::audit(Page::new("p", text));
    assert!(audited.unread[0].why.contains("is a log"));
    let lines: Vec<usize> = audited.clauses.iter().map(|clause| clause.line).collect();
    assert_eq!(lines, [MOST_ROWS + 4]);
    assert_eq!((audited.page.line(7), audited.page.number(7)), ("", 8));
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
