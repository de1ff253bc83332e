//! Tests of tables with rows and columns, as a file has them.

use crate::scenario::check::{ScenarioRequest, from_path};
use crate::scenario::{ArticleTable, InputError, Scenario, TableNames, read_tables};

/// Two stacks, a grid of two more, and two loads.
const SCENARIO: &str = r#"
[stack.a]
text = "file:/x,size=1GiB"
[stack.b]
text = "file:/y,size=1GiB"
[stack.guest]
on = "b"
layers = ["vm(cache=[none,writeback])"]
[[workload]]
name = "reads"
rw = "randread"
[[workload]]
name = "mix"
rw = "randrw"
"#;

fn scenario(tables: &str) -> Result<Scenario, InputError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    std::fs::write(&file, format!("{SCENARIO}{tables}")).unwrap();
    from_path(&file, &ScenarioRequest::default())
}

fn table(text: &str) -> ArticleTable {
    scenario(text).unwrap_or_else(|error| panic!("{error}")).articles.remove(0)
}

fn names(heads: &[super::TableHead]) -> Vec<&str> {
    heads.iter().map(|head| head.name.as_str()).collect()
}

#[test]
fn a_cell_has_what_its_row_its_column_and_the_table_say() {
    let table = table(
        r#"
[[table]]
name = "x"
cells = { digits = 2, unit = "MB/s" }
rows = [{ name = "Reads, IOPS", load = "reads", metric = "iops", unit = "k", digits = 0 }, "mix"]
columns = [
    "a",
    { name = "B", stack = "b" },
    { name = "B/A", stack = "b", percent_of = "a", digits = 1, trim = true },
    "rated",
]
"#,
    );
    assert_eq!(names(&table.rows), ["Reads, IOPS", "mix"]);
    assert_eq!(names(&table.columns), ["a", "B", "B/A", "rated"]);
    assert_eq!(table.columns[2].percent_of, Some(0));
    let choice = table.choice_of(&table.rows[0], &table.columns[0]);
    assert_eq!(choice.figure_text(1_234_500.0, &choice.unit_of("1/s")), "1234k");
    assert_eq!(choice.stack.as_deref(), Some("a"));
    let choice = table.choice_of(&table.rows[1], &table.columns[1]);
    assert_eq!(choice.figure_text(2e6, &choice.unit_of("B/s")), "2.00 MB/s");
}

#[test]
fn an_axis_may_be_all_of_one_kind_and_axes_may_be_swapped() {
    let loads = "[table]\nrows = \"loads\"\ncolumns = \"stacks\"\n";
    let plain = table(loads);
    assert_eq!(plain.name, "table");
    assert_eq!(names(&plain.rows), ["reads", "mix"]);
    assert_eq!(names(&plain.columns)[..2], ["a", "b"]);
    let swapped = table(&format!("{loads}swap = true\n"));
    assert_eq!((&swapped.rows, &swapped.columns), (&plain.columns, &plain.rows));
    let grid = table(
        "[table]\nrows = [\"iops\"]\ncolumns = \"cache\"\ncells = { stack = \"guest\", load = \"mix\" }\n",
    );
    assert_eq!(names(&grid.columns), ["cache=none", "cache=writeback"]);
}

#[test]
fn the_share_of_a_row_or_a_column_may_be_asked_of_the_whole_table() {
    let of = |name: &str| {
        table(&format!("[table]\npercent_of = {name:?}\nrows = \"loads\"\ncolumns = \"stacks\"\n"))
    };
    let shares = |heads: &[super::TableHead]| heads.iter().all(|head| head.percent_of == Some(1));
    assert!(shares(&of("b").columns) && !shares(&of("b").rows));
    assert!(shares(&of("mix").rows) && !shares(&of("mix").columns));
}

#[test]
fn refused_articles() {
    let axes = "columns = [\"a\", \"b\"]\nrows = [\"reads\"]\n";
    let texts = [
        "[table]\ncolumns = [\"a\"]\n".to_owned(),
        "[table]\ncolumns = [\"a\"]\nrows = [\"raeds\"]\n".to_owned(),
        "[table]\ncolumns = [\"a\"]\nrows = []\n".to_owned(),
        "[table]\ncolumns = \"stack\"\nrows = \"loads\"\n".to_owned(),
        "[table]\ncolumns = [{ stack = \"c\" }]\nrows = \"loads\"\n".to_owned(),
        "[table]\ncolumns = [{ stack = \"guest\" }]\nrows = \"loads\"\n".to_owned(),
        "[table]\ncolumns = [\"a\", \"guest\"]\nrows = \"loads\"\n".to_owned(),
        "[table]\ncolumns = [\"a\"]\nrows = [{ load = \"reads\", metirc = \"iops\" }]\n".to_owned(),
        "[table]\ncolumns = [\"a\"]\nrows = [{ load = \"reads\", metric = \"ipos\" }]\n".to_owned(),
        "[table]\ncolumns = [\"a\"]\nrows = [{ load = \"reads\", metric = \"write iops\" }]\n"
            .to_owned(),
        "[table]\ncolumns = [\"a\"]\nrows = [{ load = \"mix\", metric = \"mean\" }]\n".to_owned(),
        "[table]\ncolumns = [\"a\"]\nrows = [{ load = \"mix\", metric = \"iops\", unit = \"us\" }]\n"
            .to_owned(),
        "[table]\ncolumns = [\"a\"]\nrows = [\"b\"]\n".to_owned(),
        "[table]\ncolumns = [\"a\"]\nrows = [\"iops\"]\n".to_owned(),
        "[table]\ncolumns = [{ stack = \"a\", run = 2 }]\nrows = \"loads\"\n".to_owned(),
        format!("[table]\n{axes}percent_of = \"c\"\n"),
        format!("[table]\n{axes}colour = \"red\"\n"),
        format!("[[table]]\nname = \"x\"\n{axes}[[table]]\nname = \"x\"\n{axes}"),
        format!("[[table]]\nname = \"x\"\n{axes}[[table]]\n{axes}"),
        "[table]\ncolumns = { a = \"b\" }\nrows = \"loads\"\n".to_owned(),
        "[table]\nstacks = [\"a\", \"b\"]\ntitle = \"x\"\n".to_owned(),
        "table = 3\n".to_owned(),
    ];
    let mut all = String::new();
    for text in texts {
        let error = match text.starts_with("table") {
            true => {
                let folder = tempfile::tempdir().unwrap();
                let file = folder.path().join("x.toml");
                std::fs::write(&file, format!("{text}{SCENARIO}")).unwrap();
                from_path(&file, &ScenarioRequest::default()).unwrap_err()
            }
            false => scenario(&text).unwrap_err(),
        };
        let said = error.to_string();
        let (_, said) = said.split_once("x.toml").unwrap();
        all += &format!("{text}    x.toml{said}\n");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_file_of_tables_is_read_for_stored_runs() {
    let stored = scenario("").unwrap();
    let runs = TableNames::of_runs(&[&stored, &stored]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.toml");
    let read = |text: &str| {
        std::fs::write(&file, text).unwrap();
        read_tables(&file, &runs)
    };
    let tables = read(
        "[[table]]\nname = \"one\"\nrows = \"loads\"\ncolumns = [{ stack = \"a\", run = 2 }]\n\
         [[table]]\nstacks = [\"a\", \"b\"]\npercent_of = \"a\"\n",
    );
    let tables = tables.unwrap_or_else(|error| panic!("{error}"));
    let [short, one] = tables.as_slice() else { panic!("{tables:?}") };
    assert_eq!(names(&short.columns), ["a", "b", "b, % of a"]);
    assert_eq!(names(&short.rows), ["reads", "mix"]);
    assert_eq!(one.columns[0].cells.run, Some(2));
    let refused = read("[[table]]\nname = \"one\"\nrows = \"loads\"\ncolumns = [\"c\"]\n");
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("t.toml:4:") && said.contains("key \"columns\""), "{said}");
    assert!(read("x = 1\n").unwrap_err().to_string().contains("no table in it"));
    let none = read_tables(&folder.path().join("none"), &runs).unwrap_err().to_string();
    assert!(none.contains("cannot read the tables"), "{none}");
}
