use super::*;
use crate::container::pages;
use crate::number::Unit;
use crate::table::{Cell, tables};
use proptest::prelude::*;

fn packed(parts: &[(&str, &str)]) -> Vec<u8> {
    crate::laws::packed(parts, zip::CompressionMethod::Deflated)
}

const WORKBOOK: &str = r#"<workbook xmlns:r="x"><sheets><sheet name="Sum &amp; all" sheetId="1" r:id="rId1"/><sheet name="Empty" sheetId="2" r:id="rId2"/></sheets></workbook>"#;
const RELS: &str = r#"<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Target="/xl/worksheets/sheet2.xml"/></Relationships>"#;
const STRINGS: &str = r#"<sst><si><t>Results of a run</t></si><si><t>case</t></si><si><r><t>MB</t></r><r><t>/s</t></r><rPh><t>no</t></rPh></si><si><t>share</t></si><si><t>read | 4k</t></si><si/></sst>"#;
const STYLES: &str = r##"<styleSheet><numFmts><numFmt numFmtId="164" formatCode="0.0&quot; MB/s&quot;"/></numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="10"/><xf numFmtId="164"/><xf numFmtId="14"/></cellXfs></styleSheet>"##;
const SHEET: &str = r#"<worksheet><sheetData>
<row r="1"><c r="A1" t="s"><v>0</v></c></row>
<row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2" t="s"><v>2</v></c><c r="C2" t="s"><v>3</v></c></row>
<row r="3"><c r="A3" t="s"><v>4</v></c><c r="B3" s="0"><f>1+1</f><v>103.25</v></c><c r="C3" s="1"><v>0.93871999999999995</v></c><c r="F3" t="inlineStr"><is><t>side</t></is></c></row>
<row r="4"><c r="A4" t="str"><v>write</v></c><c r="B4" s="2"><v>98.53</v></c><c r="C4" s="1"><v>0.9</v></c></row>
<row r="9"><c r="B9" s="3"><v>45394</v></c><c r="C9" t="b"><v>1</v></c><c r="D9" t="e"><v>#DIV/0!</v></c></row>
</sheetData><mergeCells count="1"><mergeCell ref="A1:C1"/></mergeCells></worksheet>"#;

fn workbook(sheet: &str) -> Vec<u8> {
    packed(&[
        ("xl/workbook.xml", WORKBOOK),
        ("xl/_rels/workbook.xml.rels", RELS),
        ("xl/sharedStrings.xml", STRINGS),
        ("xl/styles.xml", STYLES),
        ("xl/worksheets/sheet1.xml", sheet),
        ("xl/worksheets/sheet2.xml", "<worksheet><sheetData/></worksheet>"),
    ])
}

fn lines(page: &Page) -> Vec<(u32, &str)> {
    (0..page.len()).map(|at| (page.number(at), page.line(at))).collect()
}

#[test]
fn a_sheet_is_a_page_that_shows_what_its_cells_show() {
    let pages = pages("f.xlsx", workbook(SHEET));
    assert_eq!(
        (pages[0].name.as_str(), pages[1].name.as_str(), pages.len()),
        ("f.xlsx [Sum & all]", "f.xlsx [Empty]", 2)
    );
    assert_eq!(
        lines(&pages[0]),
        [
            (1, "Results of a run"),
            (2, "| case | MB/s | share |"),
            (3, "| read \\| 4k | 103.25 | 93.87% |"),
            (4, "| write | 98.5 MB/s | 90.00% |"),
            (4, ""),
            (3, "side"),
            (3, ""),
            (9, "| 2024-04-12 | TRUE | #DIV/0! |"),
        ]
    );
    let found = tables(&pages[0], &[]);
    assert_eq!(
        (found.len(), found[0].title.as_deref(), found[0].rows[0].label.as_str()),
        (1, Some("Results of a run"), "read | 4k")
    );
    let of = |cell: &Option<Cell>| {
        cell.as_ref().and_then(|cell| cell.figure).map(|figure| (figure.figure.value, figure.unit))
    };
    assert_eq!(of(&found[0].rows[0].cells[0]), Some((103.25e6, Unit::BytesPerSecond)));
    assert_eq!(of(&found[0].rows[1].cells[1]), Some((90.0, Unit::Percent)));
}

#[test]
fn labels_merged_over_rows_are_those_of_each() {
    let sheet = r#"<worksheet><sheetData><row r="1"><c r="A1" t="str"><v>case</v></c><c r="B1" t="str"><v>IOPS</v></c></row><row r="2"><c r="A2" t="str"><v>host</v></c><c r="B2"><v>1</v></c></row><row r="3"><c r="B3"><v>2</v></c></row></sheetData><mergeCells><mergeCell ref="A2:A3"/><mergeCell ref="x"/><mergeCell ref="B9:B1048576"/></mergeCells></worksheet>"#;
    let pages = pages("f", workbook(sheet));
    assert_eq!(pages[0].line(2), "| host | 2 |");
}

const CONTENT: &str = r#"<office:document-content><office:body><office:spreadsheet><table:table table:name="One">
<table:table-row table:number-rows-repeated="3"><table:table-cell table:number-columns-repeated="1024"/></table:table-row>
<table:table-row><table:table-cell office:value-type="string"><text:p>case</text:p></table:table-cell><table:table-cell office:value-type="string"><office:annotation><text:p>note</text:p></office:annotation><text:p>MB/s</text:p></table:table-cell><table:table-cell><text:p>share</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16000"/></table:table-row>
<table:table-row><table:table-cell><text:p>read<text:s/>4k</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="103.254"><text:p>103,25</text:p></table:table-cell><table:table-cell office:value-type="percentage" office:value="0.938"><text:p>93,8 %</text:p></table:table-cell></table:table-row>
<table:table-row table:number-rows-repeated="2"><table:table-cell><text:p>a &amp; b</text:p></table:table-cell><table:table-cell table:number-columns-repeated="2" office:value-type="float" office:value="7"/></table:table-row>
<table:table-row table:number-rows-repeated="1048570"><table:table-cell/></table:table-row>
</table:table></office:spreadsheet></office:body></office:document-content>"#;

#[test]
fn open_documents_show_what_they_hold() {
    let pages = pages(
        "f.ods",
        packed(&[("mimetype", "application/vnd.oasis.opendocument.spreadsheet"), ("content.xml", CONTENT)]),
    );
    assert_eq!(
        lines(&pages[0]),
        [
            (4, "| case | MB/s | share |"),
            (5, "| read 4k | 103,25 | 93,8 % |"),
            (6, "| a & b | 7 | 7 |"),
            (7, "| a & b | 7 | 7 |"),
        ]
    );
    let found = tables(&pages[0], &[]);
    assert_eq!(found[0].rows[0].cells[0].as_ref().unwrap().figure.unwrap().figure.value, 103.25e6);
}

#[test]
fn what_is_no_workbook_or_a_broken_one_says_so() {
    let why = |bytes: Vec<u8>| {
        let pages = pages("f", bytes);
        assert_eq!((pages.len(), pages[0].len()), (1, 0));
        pages[0].unread[0].why.clone()
    };
    assert!(why(packed(&[("a.txt", "x")])).contains("no workbook"));
    assert!(why(b"PK\x03\x04 and no more".to_vec()).contains("broken zip"));
    assert!(why(OLD.to_vec()).contains("hint: save it as .xlsx"));
    assert!(why(packed(&[("content.xml", "<a><b></a")])).contains("content.xml"));
    let pages = pages("f", workbook(&SHEET[..SHEET.find("0.9387").unwrap()]));
    assert_eq!(
        (pages[0].line(1), pages[0].unread[0].line),
        ("| case | MB/s | share |", 3),
        "as far as it goes"
    );
}

#[test]
fn a_bomb_is_not_unpacked() {
    let mut parts = Parts::open(workbook(&format!("{SHEET}{}", " ".repeat(100_000)))).unwrap();
    parts.left = 50_000;
    assert!(parts.sheets().err().unwrap().contains("unpacks to more than"));
    // One cell in each corner, and all that may be repeated.
    let corners = r#"<worksheet><sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row></sheetData></worksheet>"#;
    assert_eq!(lines(&pages("f", workbook(corners))[0]), [(1, "1"), (1, ""), (1_048_576, "2")]);
    let cell = r#"<table:table-row table:number-rows-repeated="1000000"><table:table-cell table:number-columns-repeated="16384" office:value="1"/></table:table-row>"#;
    let content = format!("<table:table table:name=\"x\">{}</table:table>", cell.repeat(50));
    let pages = pages("f", packed(&[("content.xml", &content)]));
    assert!(pages[0].unread[0].why.contains("cells: the rest is not read"));
    assert!(pages[0].text().len() < 70 << 20);
}

#[test]
fn a_workbook_of_one_sheet_over_and_over_is_read_up_to_a_bound() {
    let entries = r#"<sheet name="x" sheetId="1" r:id="rId1"/>"#.repeat(5000);
    let workbook = format!("<workbook xmlns:r=\"x\"><sheets>{entries}</sheets></workbook>");
    let sheet = r#"<worksheet><sheetData><row><c><v>5</v></c></row></sheetData></worksheet>"#;
    let pages = pages(
        "f",
        packed(&[
            ("xl/workbook.xml", &workbook),
            ("xl/_rels/workbook.xml.rels", RELS),
            ("xl/worksheets/sheet1.xml", sheet),
        ]),
    );
    assert_eq!(pages.len(), 1000);
    assert!(pages[999].unread[0].why.contains("more than 1000 sheets"));
}

proptest! {
    #[test]
    fn a_broken_workbook_makes_no_panic(
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u8..3, any::<u8>()), 1..8),
        inside in any::<bool>(),
    ) {
        let broken = |mut bytes: Vec<u8>| {
            for (from, to, kind, byte) in &cuts {
                if bytes.is_empty() {
                    break;
                }
                let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
                match kind {
                    0 => drop(bytes.drain(from.min(to)..from.max(to).min(from.min(to) + 40))),
                    1 => bytes.swap(from, to),
                    _ => bytes[from] = *byte,
                }
            }
            bytes
        };
        let text = |text: &str| String::from_utf8_lossy(&broken(text.as_bytes().to_vec())).into_owned();
        let files = if inside {
            [workbook(&text(SHEET)), packed(&[("content.xml", &text(CONTENT))])]
        } else {
            [broken(workbook(SHEET)), broken(packed(&[("content.xml", CONTENT)]))]
        };
        for page in files.into_iter().flat_map(|bytes| pages("f", bytes)) {
            tables(&page, &[]);
        }
    }
}

#[test]
fn formulas_without_results_are_told() {
    let row = |row: u32, share: &str| {
        format!(
            r#"<row r="{row}"><c r="A{row}"><v>3200</v></c><c r="B{row}"><f>A{row}/2</f>{share}</c></row>"#
        )
    };
    let sheet = |rows: &[String]| format!("<worksheet><sheetData>{}</sheetData></worksheet>", rows.concat());
    let computed = pages("f", workbook(&sheet(&[row(1, "<v>1600</v>"), row(2, "<v>1600</v>")])));
    assert!(computed[0].unread.is_empty() && computed[0].line(0).contains("1600"));
    let left_out = pages("f", workbook(&sheet(&[row(1, "<v>1600</v>"), row(2, ""), row(3, "<v></v>")])));
    let [told] = left_out[0].unread.as_slice() else { panic!("{:?}", left_out[0].unread) };
    assert!(told.line == 2 && told.why.contains("2 formulas without their results"), "{told:?}");
}
