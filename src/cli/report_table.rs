//! `iotax report --table`: a table in the form of an article, by its name in the scenario of a run
//! or from a file, with the figures of one stored run or several.

use super::output::page;
use super::report::{OutputArgs, ReportArgs, stored_runs};
use anyhow::Result;
use iotax_analysis::article_tables;
use iotax_export::{ExportedRun, write_tables};
use iotax_model::scenario::error::{Fault, Origin};
use iotax_model::scenario::{ArticleTable, Scenario, TableNames, TableSpec, read_tables};
use iotax_report::article::{self, ArticleReport};
use iotax_store::OpenedRun;
use iotax_units::distinct;
use iotax_units::exit::Failed;
use std::io::Write;
use std::path::Path;

/// The form of a workbook, in which every table is a sheet.
const WORKBOOK: &str = "xlsx";

/// Prints the tables that `word` names, or writes them to the file that was named.
///
/// # Errors
/// There is no such table, its file is invalid, a run cannot be read, or the form has no tables.
pub fn print_tables(
    word: &str,
    opened: &[OpenedRun],
    output: &OutputArgs,
    given: &ReportArgs,
) -> Result<()> {
    let form = output.format();
    let renderer = article::by_name(form);
    if renderer.is_none() && form != WORKBOOK {
        let known: Vec<&str> = article::ALL.iter().map(|one| one.name).chain([WORKBOOK]).collect();
        let fault = Fault::unknown("form of a table", form, &known);
        return Err(Failed::from(Origin::command_line().error_at_key("--format", fault)).into());
    }
    let runs = stored_runs(opened, given)?;
    let found: Vec<_> = runs.iter().map(|run| (&run.data, &run.findings)).collect();
    let tables = article_tables(&found, &named_tables(word, &runs)?);
    let Some(renderer) = renderer else {
        return output.write_bytes(&|out: &mut dyn Write| write_tables(&tables, out));
    };
    let findings: Vec<_> = runs.iter().map(|run| &run.findings).collect();
    let report = ArticleReport::of_runs(&findings, tables);
    output.write_page(&page(), &|page| (renderer.render)(&report, page))
}

/// Returns the table of this name, or the tables of the file.
fn named_tables(word: &str, runs: &[ExportedRun]) -> Result<Vec<ArticleTable>> {
    let scenarios: Vec<&Scenario> = runs.iter().map(|run| &run.data.start.scenario).collect();
    let short = scenarios.iter().filter_map(|one| one.table.as_deref());
    let articles = scenarios.iter().flat_map(|one| one.articles.iter().cloned());
    let mut known: Vec<ArticleTable> =
        articles.chain(short.flat_map(TableSpec::articles)).collect();
    if let Some(at) = known.iter().position(|table| table.name == word) {
        return Ok(vec![known.swap_remove(at)]);
    }
    let path = Path::new(word);
    if path.exists() || path.extension().is_some_and(|ending| ending == "toml") {
        let tables = read_tables(path, &TableNames::of_runs(&scenarios));
        return Ok(tables.map_err(Failed::from)?);
    }
    let names: Vec<&str> = distinct(known.iter().map(|table| table.name.as_str()));
    let fault = match names.is_empty() {
        true => Fault::hint(
            format!("there is no file \"{word}\", and the scenario of the run has no tables"),
            "write [[table]] into a file, docs/tables.md says how: --table FILE.toml",
        ),
        false => Fault::unknown("table", word, &names),
    };
    Err(Failed::from(Origin::command_line().error_at_key("--table", fault)).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_analysis::{findings, twin};

    #[test]
    fn a_table_has_a_name_in_the_scenario_or_is_in_a_file() {
        let data = twin::tables();
        let runs = [ExportedRun { findings: findings(&data), data }];
        let named = |word: &str| named_tables(word, &runs);
        assert_eq!(named("backends").unwrap()[0].title.as_deref(), Some("Backends by iSER"));
        let short = named("NVMe-oF").unwrap();
        assert_eq!(short[0].columns.len(), 3, "two stacks, and the share of one: {short:?}");
        let error = named("backend").unwrap_err().to_string();
        assert!(error.contains("key \"--table\": unknown table \"backend\""), "{error}");
        assert!(error.contains("did you mean \"backends\"?"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.toml");
        std::fs::write(&file, "[table]\nrows = \"loads\"\ncolumns = [\"lvm-isre\"]\n").unwrap();
        let error = named(file.to_str().unwrap()).unwrap_err().to_string();
        assert!(error.contains("t.toml:3:12: key \"columns\"") && error.contains("lvm-iser"));
        std::fs::write(&file, "[table]\nrows = \"loads\"\ncolumns = \"stacks\"\n").unwrap();
        assert_eq!(named(file.to_str().unwrap()).unwrap()[0].columns.len(), 5);
        let mut none = twin::bill();
        none.start.scenario.articles.clear();
        let runs = [ExportedRun { findings: findings(&none), data: none }];
        let error = named_tables("x", &runs).unwrap_err().to_string();
        assert!(error.contains("has no tables") && error.contains("docs/tables.md"), "{error}");
    }
}
