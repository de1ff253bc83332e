use super::*;
use crate::number::Unit;
use proptest::prelude::*;

fn of(text: &str) -> (Page, Vec<Table>) {
    let page = Page::new("p", text);
    let tables = tables(&page, &[]);
    (page, tables)
}

fn one(text: &str) -> (Page, Table) {
    let (page, mut tables) = of(text);
    assert_eq!(tables.len(), 1, "{text}\n{tables:?}");
    (page, tables.remove(0))
}

fn heads(table: &Table) -> Vec<&str> {
    table.columns.iter().map(|column| column.head.as_str()).collect()
}

fn labels(table: &Table) -> Vec<&str> {
    table.rows.iter().map(|row| row.label.as_str()).collect()
}

fn figures(table: &Table) -> Vec<Vec<Option<f64>>> {
    let value =
        |cell: &Option<Cell>| cell.as_ref().and_then(|cell| cell.figure).map(|figure| figure.figure.value);
    table.rows.iter().map(|row| row.cells.iter().map(value).collect()).collect()
}

fn shares(table: &Table) -> Vec<Vec<Option<f64>>> {
    let value =
        |cell: &Option<Cell>| cell.as_ref().and_then(|cell| cell.share).map(|share| share.figure.value);
    table.rows.iter().map(|row| row.cells.iter().map(value).collect()).collect()
}

fn some(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().copied().map(Some).collect()
}

#[test]
fn a_label_is_what_its_link_shows() {
    let (_, table) = one(
        "| drive | IOPS |\n|---|---|\n| [old](runs/4k-7.txt) | 700 |\n| **[new](a.md)** (flash) | 900 |\n| [x] (y | 5 |\n",
    );
    assert_eq!(labels(&table), ["old", "new (flash)", "[x] (y"]);
}

#[test]
fn every_shape_reads_its_example() {
    for shape in ALL {
        let (_, table) = one(shape.example);
        assert!(table.rows.len() >= 2 && !shape.help.is_empty(), "{}: {table:?}", shape.name);
        assert!(figures(&table).iter().flatten().all(Option::is_some), "{}: {table:?}", shape.name);
    }
}

#[test]
fn a_table_of_markdown_has_its_heading_labels_and_units() {
    let text = "### Network\n\nResults:\n\n| Source | Host | **VM**<br>(best) |\n|:---|---:|:--:|\n| Host | 9.25 Gbps (100%) | 9.4 Gbps (102%) |\n| `VM` | **9.3 Gbps** (101%) | - |\n";
    let (page, table) = one(text);
    assert_eq!(table.title.as_deref(), Some("Network: Results"));
    assert_eq!(
        (table.corner.as_str(), heads(&table), labels(&table)),
        ("Source", vec!["Host", "VM (best)"], vec!["Host", "VM"])
    );
    assert_eq!(figures(&table), [some(&[9.25e9, 9.4e9]), vec![Some(9.3e9), None]]);
    assert_eq!(shares(&table)[0], some(&[100.0, 102.0]));
    assert_eq!((table.lines, table.rows[1].line), (4..8, 7));
    let cell = table.rows[0].cells[1].as_ref().unwrap();
    assert_eq!(page.quote(cell.spot), "9.4 Gbps (102%)");
    assert_eq!(page.quote(cell.figure.unwrap().figure.spot), "9.4 Gbps");
}

#[test]
fn two_lines_of_heads_and_rows_of_shares_are_joined() {
    let text = "| case | 4K | rand | 4K | seq |\n|  | IOPS | BW | IOPS | BW |\n|---|---|---|---|---|\n| host | 200 | 782KiB/s | 1000 | 1000MiB/s |\n| | (100%) | (100%) | (100%) | (100%) |\n| VM | 250 | 977KiB/s | 900 | 900MiB/s |\n| (cache=none) | (125%) | (125%) | (90%) | (90%) |\n";
    let (_, table) = one(text);
    assert_eq!(heads(&table), ["4K rand IOPS", "4K rand BW", "4K seq IOPS", "4K seq BW"]);
    assert_eq!(labels(&table), ["host", "VM (cache=none)"]);
    assert_eq!(shares(&table)[1], some(&[125.0, 125.0, 90.0, 90.0]));
    let cell = table.rows[0].cells[0].as_ref().unwrap();
    assert_eq!((cell.figure.unwrap().unit, cell.figure.unwrap().figure.value), (Unit::PerSecond, 200.0));
    let (_, table) = one(
        "| case | 4K | | 1M | |\n| | read | write | read | write |\n|---|---|---|---|---|\n| a | 1 | 2 | 3 | 4 |\n",
    );
    assert_eq!(
        heads(&table),
        ["4K read", "4K write", "1M read", "1M write"],
        "the upper ones go on to the right"
    );
}

#[test]
fn cells_between_pipes_need_no_line_of_dashes() {
    let text = "pvscsi | nvme | % of pvscsi | |\nwrite 4M qd=32 | 4600.5 МБ/с | 4590.25 МБ/с | 99.78% |\nread 4k jobs=16 | 558.50 МБ/с | 541.00 МБ/с | 96.87% |\n";
    let (_, table) = one(text);
    assert_eq!((table.corner.as_str(), heads(&table)), ("", vec!["pvscsi", "nvme", "% of pvscsi"]));
    assert_eq!(figures(&table)[0], some(&[4_600.5e6, 4_590.25e6, 99.78]));
    // One below the other, with the same heads.
    let text = "Drives\nA | Host | VM |\nwrite | 1820.5 MB/s | 1826.5 MB/s |\nread | 4518 MB/s | 4553.5 MB/s |\nB | Host | VM |\nwrite | 2811 MB/s | 2811 MB/s |\nread | 5822.5 MB/s | 5845 MB/s |\n";
    let (_, tables) = of(text);
    assert_eq!(tables.len(), 2);
    assert_eq!((tables[1].corner.as_str(), tables[1].title.as_deref()), ("B", Some("Drives")));
    assert_eq!(tables[1].lines, 4..7);
    // Without heads, where the figures say what they are.
    let (_, table) = one("Sender | 34.5 Gbits/sec |\nReceiver | 34.25 Gbits/sec |\n");
    assert_eq!((labels(&table), figures(&table)[1].clone()), (vec!["Sender", "Receiver"], some(&[34.25e9])));
}

#[test]
fn boxes_of_databases_and_consoles_are_tables() {
    let rows = "+------+-------+\n| job  | IOPS  |\n+------+-------+\n| read | 26.5k |\n| trim | 1,200 |\n+------+-------+\n";
    let drawn = "┌──────┬───────┐\n│ job  │ IOPS  │\n├──────┼───────┤\n│ read │ 26.5k │\n│ trim │ 1,200 │\n└──────┴───────┘\n";
    let psql = " job  | IOPS\n------+-------\n read | 26.5k\n trim | 1,200\n";
    for text in [rows, drawn, psql] {
        let (_, table) = one(text);
        assert_eq!((heads(&table), labels(&table)), (vec!["IOPS"], vec!["read", "trim"]), "{text}");
        assert_eq!(figures(&table), [some(&[26_500.0]), some(&[1_200.0])], "{text}");
    }
}

#[test]
fn two_tables_of_markdown_may_follow_each_other() {
    let (_, tables) = of("a | b\n--|--\nx | 1\nc | d\n--|--\ny | 2\n");
    assert_eq!(tables.len(), 2);
    assert_eq!((tables[0].rows.len(), tables[1].corner.as_str(), tables[1].lines.clone()), (1, "c", 3..6));
}

#[test]
fn one_cell_a_line_is_a_table_where_figures_come_regularly() {
    let cells = [
        "A page of prose that has nothing to do with it, longer than any cell would be, really.",
        "Speed of the drive in a guest and out of it",
        "VM",
        "Host",
        "VM/Host",
        "write IOPS",
        "629k",
        "670k",
        "93.9%",
        "read",
        "2732MB/s",
        "2752MB/s",
        "99.3%",
        "Prose again.",
    ];
    let (page, table) = one(&cells.join("\n\n"));
    assert_eq!(table.title.as_deref(), Some("Speed of the drive in a guest and out of it"));
    assert_eq!((heads(&table), labels(&table)), (vec!["VM", "Host", "VM/Host"], vec!["write IOPS", "read"]));
    assert_eq!(figures(&table), [some(&[629e3, 670e3, 93.9]), some(&[2_732e6, 2_752e6, 99.3])]);
    assert_eq!(
        table.rows[0].cells[0].as_ref().unwrap().figure.unwrap().unit,
        Unit::PerSecond,
        "its label says so"
    );
    assert_eq!((table.lines.start, page.line(table.lines.end - 1)), (4, "99.3%"));
    // With a corner, below a title.
    let cells = ["Drives", "Case", "VM", "Host", "write", "100", "110", "read", "200", "210", "end"];
    let (_, table) = one(&cells.join("\n\n"));
    assert_eq!(
        (table.title.as_deref(), table.corner.as_str(), heads(&table)),
        (Some("Drives"), "Case", vec!["VM", "Host"])
    );
    // A percentage where others have none: no column.
    let (_, none) = of("VM\n\nHost\n\nwrite\n\n100\n\n94%\n\nread\n\n200\n\n210\n");
    assert!(none.is_empty(), "{none:?}");
}

#[test]
fn spaces_make_columns_where_they_stand_below_each_other_or_are_counted() {
    let loose = "Read (读取) Write (写入) Bandwidth\nDirect (直通) 26.5k 25.5k 104MiB/s (109 MB/s)\nVirtual 20.5k 20.25k 80.1 MiB/s (84MB/s)\n";
    let (_, table) = one(loose);
    assert_eq!(heads(&table), ["Read (读取)", "Write (写入)", "Bandwidth"]);
    assert_eq!(labels(&table), ["Direct (直通)", "Virtual"]);
    assert_eq!(figures(&table)[1], some(&[20.5e3, 20.25e3, 80.1 * 1_048_576.0]));
    assert_eq!(table.rows[0].cells[2].as_ref().unwrap().more[0].figure.value, 109e6);
    let aligned = "Test case        Read IOPS   p99 (us)   State\n---------------  ---------   --------   -----\nhost, 4 jobs        26,500      118.5   good\nguest, 4 jobs       20,250      141.2   good\n---------------  ---------   --------   -----\n";
    let (_, table) = one(aligned);
    assert_eq!((table.corner.as_str(), heads(&table)), ("Test case", vec!["Read IOPS", "p99 (us)", "State"]));
    assert_eq!(labels(&table), ["host, 4 jobs", "guest, 4 jobs"]);
    assert_eq!(figures(&table)[0], vec![Some(26_500.0), Some(118_500.0), None]);
}

#[test]
fn files_of_fields_are_tables_in_the_style_of_their_columns() {
    let (_, table) =
        one("job;IOPS;\"MB/s\";note\nread;26.500;103,5;a\nwrite;1.025.500;98,25;b\ntrim;900;1.025,5;c\n");
    assert_eq!(figures(&table)[0], vec![Some(26_500.0), Some(103.5e6), None]);
    assert_eq!(figures(&table)[1], vec![Some(1_025_500.0), Some(98.25e6), None]);
    assert_eq!(figures(&table)[2], vec![Some(900.0), Some(1_025.5e6), None]);
    let (page, table) = one("# a comment\nname,iops,lat_us\n\"a, b\",100,2.5\nc,200,3.5\n");
    assert_eq!((labels(&table), figures(&table)[1].clone()), (vec!["a, b", "c"], some(&[200.0, 3.5])));
    assert_eq!(page.quote(table.rows[0].cells[0].as_ref().unwrap().spot), "100");
    let (_, table) = one("Results of a run\n\tHost\tVM\nread\t26.5k\t20.5k\nwrite\t25.5k\t20.25k\n");
    assert_eq!((table.title.as_deref(), heads(&table)), (Some("Results of a run"), vec!["Host", "VM"]));
    // What may be a thousand or a decimal is what another column tells.
    let (_, table) = one("job;share;IOPS\na;12,5;1.234\nb;13,5;2.345\n");
    assert_eq!(figures(&table), [vec![Some(12.5), Some(1_234.0)], vec![Some(13.5), Some(2_345.0)]]);
}

#[test]
fn a_table_of_html_may_stand_in_markdown() {
    let text = "# Drives\n\nSome words.\n\n<table>\n <thead>\n <tr><th rowspan=2>Case</th><th colspan=\"2\">VM</th></tr>\n <tr><th>IOPS</th><th>MB/s</th></tr>\n </thead>\n <tr>\n  <td>read</td>\n  <td>\n   26.5k\n  </td>\n  <td><b>103.5</b> (93%)</td>\n </tr>\n <tr><td>write<td>25.5k<td>99.5</tr>\n</table>\nmore\n";
    let (page, table) = one(text);
    assert_eq!((table.corner.as_str(), heads(&table)), ("Case", vec!["VM IOPS", "VM MB/s"]));
    assert_eq!(figures(&table), [some(&[26_500.0, 103.5e6]), some(&[25_500.0, 99.5e6])]);
    assert_eq!(
        (table.title.as_deref(), table.rows[0].cells[1].as_ref().unwrap().share.unwrap().figure.value),
        (Some("Drives"), 93.0)
    );
    assert_eq!(page.quote(table.rows[0].cells[0].as_ref().unwrap().figure.unwrap().figure.spot), "26.5k");
}

#[test]
fn tables_in_fences_are_read_and_taken_lines_are_not() {
    let text = "## Case\n```\n| a | b |\n|---|---|\n| x | 5 |\n```\n";
    assert_eq!(one(text).1.title.as_deref(), Some("Case"));
    let page = Page::new("p", text);
    assert!(tables(&page, std::slice::from_ref(&(2..5))).is_empty());
    assert!(tables(&page, std::slice::from_ref(&(3..4))).is_empty());
}

#[test]
fn a_bare_table_may_have_an_empty_corner() {
    let (_, table) = one(" | host | VM\n---|---|---\na | 1184 | 921\nb | 1383 | 1082\n");
    assert_eq!((heads(&table), labels(&table)), (vec!["host", "VM"], vec!["a", "b"]));
    assert_eq!(figures(&table)[1], some(&[1383.0, 1082.0]));
    let (_, table) = one(" | a | host | VM |\n |---|---|---|\n | x | 1184 | 921 |\n");
    assert_eq!((table.corner.as_str(), labels(&table)), ("a", vec!["x"]), "outer pipes bound none");
}

#[test]
fn results_in_the_first_column_are_no_labels() {
    let (_, table) = one("| IOPS | MB/s |\n|---|---|\n| 100 | 4.5 |\n| 200 | 9 |\n");
    assert_eq!((table.corner.as_str(), heads(&table)), ("", vec!["IOPS", "MB/s"]));
    assert_eq!(figures(&table)[1], some(&[200.0, 9e6]));
    let (_, table) = one(
        "| MB/s | host | VM |\n|---|---|---|\n| 4k | 324 MB/s | 290 MB/s |\n| 1M | 424 MB/s | 420 MB/s |\n",
    );
    assert_eq!((table.corner.as_str(), labels(&table)), ("MB/s", vec!["4k", "1M"]), "sizes are labels");
    let (_, table) = one("| jobs | MB/s |\n|---|---|\n| 1 | 4.5 |\n| 2 | 9 |\n");
    assert_eq!((table.corner.as_str(), labels(&table)), ("jobs", vec!["1", "2"]));
}

#[test]
fn the_unit_of_a_label_is_that_of_its_row_where_the_head_says_nothing_else() {
    let (_, table) = one(
        "| case | host | VM | VM/host (%) |\n|---|---|---|---|\n| Speed (Gbps) | 9.25 (100%) | 8.5 | 92 |\n| IOPS | 12k | 11k | 91.7 |\n",
    );
    assert_eq!(figures(&table), [some(&[9.25e9, 8.5e9, 92.0]), some(&[12e3, 11e3, 91.7])]);
    let units: Vec<Unit> =
        table.rows[1].cells.iter().flatten().map(|cell| cell.figure.unwrap().unit).collect();
    assert_eq!(units, [Unit::PerSecond, Unit::PerSecond, Unit::Percent]);
    let (_, table) = one("| case | MB/s |\n|---|---|\n| read IOPS | 9 |\n");
    assert_eq!(
        table.rows[0].cells[0].as_ref().unwrap().figure.unwrap().unit,
        Unit::Bare,
        "they contradict each other"
    );
}

#[test]
fn prose_settings_code_and_outputs_are_no_tables() {
    for text in [
        "The drive does 500 MB/s in the host and 450 MB/s in the guest.\nThe other does 600 MB/s in the host and 550 MB/s in the guest.\n",
        "Host:  alpha\nCores:  8\nRAM:  64 GB\nDisks:  12\n",
        "Host alpha\nCores 8\nRAM 64\n",
        "CPU | EPYC 7302 | 16\n",
        "ps aux | grep fio | wc -l\ncat /proc/cpuinfo | grep MHz | head -5\n",
        "let a = b | 5;\nlet c = d | 6;\n",
        "total        used        free\n",
        "8 vCPU, 16 GB, 100 GB\n16 vCPU, 32 GB, 200 GB\n32 vCPU, 64 GB, 400 GB\n",
        "     |  1.00th=[   48],  5.00th=[   51], 10.00th=[   53], 20.00th=[   55],\n     | 30.00th=[   57], 40.00th=[   59], 50.00th=[   65], 60.00th=[   74],\n",
        "1. one\n2. two\n3. three\n",
        "Home | About | Contact\nNews | Blog | Shop\n",
        "RAM | 64 GB\nDisk | 100 GB\n",
        "500, 1234, 0, 4096\n1000, 1235, 0, 4096\n1500, 1236, 0, 4096\n",
        "Updated\n\n2021\n\n5 stars\n\n12\n\nForks\n\n7\n\nIssues\n\n3\n",
        "One day, in May, it rained.\nTwo days, in June, it snowed.\nThree days, in July, it hailed.\n",
        "[global]\nbs=4k\nnumjobs=4\nsize=32G\n",
        "Title\n---\ntext\n",
        "+--+--+\n| 1| 2|\n+--+--+\n| 3| 4|\n+--+--+\n",
        "self.assertEqual(min(1, 2), 1)\nself.assertEqual(min(2, 3), 2)\nself.assertEqual(min(3, 5), 3)\n",
        "# inf /  0 =  inf\n# 5 /  5 =  1\n# 7 /  7 =  1\n",
    ] {
        let (_, tables) = of(text);
        assert!(tables.is_empty(), "{text}\n{tables:?}");
    }
}

#[test]
fn a_log_of_many_lines_is_listed_and_not_read() {
    let mut text = String::from("| time | IOPS |\n|---|---|\n");
    (0..MOST_ROWS + 1).for_each(|at| text.push_str(&format!("| {at} | {at} |\n")));
    let page = Page::new("p", text);
    let scanned = scan(&page, &[]);
    assert!(scanned.tables.is_empty());
    assert_eq!((scanned.unread[0].line, scanned.unread[0].last as usize), (1, MOST_ROWS + 3));
    let ragged = format!("|{}\n|{}\n{}", " a |".repeat(200), "---|".repeat(200), "| b |\n".repeat(9_000));
    assert!(scan(&Page::new("p", ragged), &[]).unread[0].why.contains("shorter"));
}

#[test]
fn a_log_ends_where_the_next_table_begins_and_its_rows_are_counted() {
    let rows = 3 * MOST_ROWS;
    let log = format!("| time | IOPS |\n|---|---|\n{}", "| 4k | 123 |\n".repeat(rows));
    let next = "| job | IOPS |\n|---|---|\n| a | 7 |\n| b | 8 |\n";
    for (between, first) in [("", 2 + rows), ("|---|---|---|\n", 3 + rows), ("\ntext\n\n", 5 + rows)] {
        let page = Page::new("p", format!("{log}{between}{next}"));
        let scanned = scan(&page, &[]);
        let Unread { line, last, why } = &scanned.unread[0];
        assert!(why.starts_with(&format!("a table of {rows} rows is a log")), "{why}");
        assert_eq!((*line, scanned.refused.len()), (1, 1), "{between}");
        assert!((2 + rows..first + 1).contains(&(*last as usize)), "{last}");
        assert_eq!((scanned.tables.len(), scanned.tables[0].lines.start), (1, first), "{between}");
        assert_eq!(scanned.tables[0].rows.len(), 2);
    }
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
    let many = 50_000;
    for line in [
        "a 5 6",
        "| a",
        "<table>",
        "a, b, c",
        "a\tb",
        "5\n\nx\n",
        "x\n\n5\n",
        "10x  20x  foo",
        "+-+",
        "| a | 5 |",
        "a | 5",
        "(((((",
        "~ 1 2 3 (",
        "````",
        "# 5",
    ] {
        of(&format!("{line}\n").repeat(many));
    }
    for part in ["|", "5 ", "<table", "(", "5,", "a\t", "-", "# ", "|-", "1."] {
        of(&part.repeat(1 << 18));
    }
}

/// A page of every shape.
fn all_shapes() -> String {
    ALL.iter().map(|shape| format!("## {}\n\n{}\n", shape.name, shape.example)).collect()
}

proptest! {
    #[test]
    fn a_broken_page_makes_no_panic_and_no_figure_that_does_not_stand_there(
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u8..4, any::<char>()), 1..8)
    ) {
        let mut text: Vec<char> = all_shapes().chars().collect();
        for (from, to, kind, letter) in cuts {
            if text.is_empty() {
                break;
            }
            let (from, to) = (from.index(text.len()), to.index(text.len()));
            match kind {
                0 => drop(text.drain(from.min(to)..from.max(to).min(from.min(to) + 60))),
                1 => text.swap(from, to),
                2 => text[from] = letter,
                _ => text.insert(from, ['|', '\n', '5', '<', '\t', '(', ' '][to % 7]),
            }
        }
        let page = Page::new("p", text.into_iter().collect::<String>());
        let _ = tables(&page, &[]);
    }
}

#[test]
fn shares_of_a_row_without_label_are_of_the_row_above_it_though_no_bracket_is_around_them() {
    let (_, table) = one(
        "| | 4k | 8k |\n|---|---|---|\n| host | 195 | 380 |\n|  | 100% | 100% |\n| VM | 182 | 351 |\n| | 93% | 92% |\n",
    );
    assert_eq!(labels(&table), ["host", "VM"]);
    assert_eq!(shares(&table)[1], some(&[93.0, 92.0]));
    let (_, named) = one("| | 4k | 8k |\n|---|---|---|\n| host | 195 | 380 |\n| CPU | 50% | 60% |\n");
    assert_eq!(labels(&named), ["host", "CPU"], "a row with a label of its own");
}

#[test]
fn a_second_line_of_heads_may_stand_behind_the_rule_of_markdown() {
    let (_, table) = one(
        "| | read | | write | |\n|---|---|---|---|---|\n| | IOPS | BW | IOPS | BW |\n| 4k | 26000 | 106 | 20000 | 82 |\n",
    );
    assert_eq!(heads(&table), ["read IOPS", "read BW", "write IOPS", "write BW"]);
    assert_eq!(labels(&table), ["4k"]);
    let (_, words) = one("| | read | write |\n|---|---|---|\n| | good | bad |\n| 4k | 26000 | 20000 |\n");
    assert_eq!(heads(&words), ["read", "write"], "each head stands over one column");
}

#[test]
fn a_label_and_a_result_are_a_table_and_settings_are_none() {
    let (_, table) = one("Results\n\nTest      Speed\n4K read   172.26 MB/s\n4K write  160.10 MB/s\n");
    assert_eq!(figures(&table), [some(&[172.26e6]), some(&[160.1e6])]);
    assert_eq!(of("Results\n\nName      Value\ncores     16\nmemory    64 GB\n").1, []);
}

#[test]
fn one_line_of_results_below_its_head_is_a_table_in_a_fenced_block() {
    let (_, table) = one("```\njob;IOPS;MB/s\nrandread;26100;106,9\n```\n");
    assert_eq!(figures(&table), [some(&[26_100.0, 106.9e6])]);
    assert_eq!(of("```\na;b;c\n1;2;3\n```\n").1, [], "nothing of results");
    assert_eq!(of("job;IOPS;MB/s\nrandread;26100;106,9\n\n").1, [], "a sentence may look like that");
}

#[test]
fn the_head_says_what_stands_in_the_bracket_behind_a_figure_with_a_unit() {
    let (_, table) =
        one("| disk | 4k (IOPS) |\n|---|---|\n| a | 24.34 MB/s (6086) |\n| b | 24.39 MB/s (6099) |\n");
    let cell = table.rows[0].cells[0].as_ref().unwrap();
    assert_eq!(cell.figure.unwrap().unit, Unit::BytesPerSecond);
    assert_eq!((cell.more[0].unit, cell.more[0].figure.value), (Unit::PerSecond, 6086.0));
}

#[test]
fn a_decimal_comma_elsewhere_in_the_table_tells_that_points_group_thousands() {
    let read = |rows: [&str; 3]| {
        let rows = rows.map(|row| format!("| {row} |\n")).concat();
        let text = format!("| Last | Host (IOPS) | VM (IOPS) | Verlust |\n|---|---|---|---|\n{rows}");
        let scanned = scan(&Page::new("p", &text), &[]);
        let hosts = scanned.tables[0].rows.iter();
        let hosts: Vec<Option<f64>> =
            hosts.map(|row| Some(row.cells[0].as_ref()?.figure?.figure.value)).collect();
        (hosts, scanned.unread.into_iter().map(|one| (one.line, one.last, one.why)).collect::<Vec<_>>())
    };
    let last = ["b | 184.200 | 121.600 | 34,0 %", "c | 980 | 870 | 11,2 %"];
    let (hosts, unread) = read(["a | 8.412 | 6.530 | 22,4 %", last[0], last[1]]);
    assert_eq!((hosts, unread.len()), (vec![Some(8_412.0), Some(184_200.0), Some(980.0)], 0));
    // A point that is a decimal sign somewhere, and thousands without a point: nothing tells.
    for first in ["a | 8.412 | 6530.5 | 22,4 %", "a | 8412 | 6.530 | 22,4 %"] {
        let (hosts, unread) = read([first, last[0], last[1]]);
        assert_eq!(hosts[1], None, "{first}");
        assert_eq!(unread.len(), 1, "{first}");
        assert!(unread[0].2.contains("thousands or decimals"), "{}", unread[0].2);
    }
}

#[test]
fn two_cells_above_a_second_line_of_heads_that_repeats_are_of_both_columns() {
    let text = "| case | 4K | rand | 4K | seq |\n|---|---|---|---|---|\n|  | IOPS | BW | IOPS | BW |\n| host | 210 | 840KiB/s | 1100 | 4400KiB/s |\n";
    let (_, table) = one(text);
    assert_eq!(heads(&table), ["4K rand IOPS", "4K rand BW", "4K seq IOPS", "4K seq BW"]);
    assert_eq!(labels(&table), ["host"]);
    let (_, table) = one(&text.replace("| IOPS | BW | IOPS | BW |", "| fast | slow | old | new |"));
    assert_eq!(heads(&table), ["4K", "rand", "4K", "seq"], "nothing repeats");
}
