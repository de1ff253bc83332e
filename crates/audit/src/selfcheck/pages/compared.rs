//! Documents that show outputs.

use super::{Field, bandwidths, heading, load, of_engine, percents, rates, shape, show};
use crate::selfcheck::draft::{Draft, Dress, Form, Role};
use crate::selfcheck::pool::{self, Run};
use crate::selfcheck::random::Random;
use crate::selfcheck::shapes::Grid;
use crate::selfcheck::words;

const DRESSES: [Dress; 5] = [Dress::Plain, Dress::Numbered, Dress::Fenced, Dress::Fenced, Dress::Prompt];

/// Runs of two engines of the same loads: two systems.
fn shown(draft: &Draft, random: &mut Random) -> Field {
    let mut engines = ["libaio", "io_uring"];
    random.shuffle(&mut engines);
    let [base, other] = engines.map(of_engine);
    let pair = |run: &&'static Run| {
        let twin = other.iter().find(|twin| load(twin) == load(run))?;
        Some(vec![*run, *twin])
    };
    let mut runs: Vec<Vec<&Run>> = base.iter().filter_map(pair).collect();
    random.shuffle(&mut runs);
    runs.truncate(3 + random.below(2));
    let mut systems = words::systems(draft.tongue, random);
    systems.truncate(2);
    Field {
        systems,
        loads: runs.iter().map(|pair| load(pair[0])).collect(),
        iops: runs.iter().map(|pair| pair.iter().map(|run| run.iops(0)).collect()).collect(),
        runs,
    }
}

/// Two systems, their outputs, a table, conclusions.
pub(super) fn compared(draft: &mut Draft, random: &mut Random) {
    let field = shown(draft, random);
    heading(draft, 2);
    let dress = *random.pick(&DRESSES);
    let mut items = Vec::new();
    for (load, runs) in field.loads.iter().zip(&field.runs) {
        let mut pair = Vec::new();
        for (system, run) in field.systems.iter().zip(runs) {
            let label = words::label(draft.tongue, load.0, load.1, 0);
            draft.line(format!("### {label}, {system}"));
            draft.line("");
            pair.push(show(draft, run.output, dress));
            draft.line("");
        }
        items.push(pair);
    }
    heading(draft, 1);
    let values = table(draft, &field, &items, random);
    heading(draft, 3);
    conclusions(draft, &field, &values, random);
}

/// The table of a field whose outputs are shown: a value a system, and one ratio; gives the ids of the values.
fn table(draft: &mut Draft, field: &Field, items: &[Vec<usize>], random: &mut Random) -> Vec<Vec<usize>> {
    let tongue = draft.tongue;
    let style = random.below(words::LABELS);
    let copied = random.one_in(2);
    let by_rate = random.one_in(2);
    let own = if by_rate { rates(tongue, random) } else { bandwidths(tongue, random) };
    let share = percents(tongue, random);
    let form = if random.one_in(2) { Form::Share } else { Form::Loss };
    let [base, name] = [field.systems[0], field.systems[1]];
    let unit = if by_rate && (copied || !own.unit.contains("IOPS")) { " IOPS" } else { "" };
    let heads = [name, base].map(|system| [format!("{system}{unit}"), String::new()]);
    let ratio = [words::ratio_head(tongue, form, name, base, random), String::new()];
    let mut grid = Grid { heads: [heads.to_vec(), vec![ratio]].concat(), ..Grid::default() };
    let mut values = Vec::new();
    for (row, ((load, runs), items)) in field.loads.iter().zip(&field.runs).zip(items).enumerate() {
        let mut cells = Vec::new();
        let mut ids = vec![0; 2];
        for (column, system) in [1usize, 0].into_iter().enumerate() {
            let run = runs[system];
            let role = Role::Value {
                copied: copied.then_some((items[system], 0)),
                rate: by_rate,
                twin: None,
                bs: Some(load.1),
                cell: (0, row, column),
            };
            let value = if by_rate { run.iops(0) } else { run.bandwidth(0) };
            let text = match (copied, by_rate) {
                (true, true) => run.ways[0].iops_text.to_owned(),
                (true, false) => run.ways[0].bandwidth_text.to_owned(),
                _ => own.show(value),
            };
            let (mark, id) = draft.plant_text(text, value, own, role);
            cells.push(mark);
            ids[system] = id;
        }
        let (above, below) = (ids[1], ids[0]);
        let value = form.of(draft.figures[above].value, draft.figures[below].value);
        cells.push(draft.plant(value, share, Role::Ratio { form, above, below }).0);
        grid.rows.push((words::label(tongue, load.0, load.1, style), cells));
        values.push(ids);
    }
    let shape = shape(random);
    draft.items.push(super::Item::Table { grid, shape });
    draft.line("");
    values
}

/// A sentence or two on loads of two systems.
pub(super) fn conclusions(draft: &mut Draft, field: &Field, values: &[Vec<usize>], random: &mut Random) {
    let tongue = draft.tongue;
    let guise = percents(tongue, random);
    for (load, ids) in field.loads.iter().zip(values).take(1 + random.below(2)) {
        let [base, other] = [ids[0], ids[1]].map(|id| draft.figures[id].value);
        let form = match (random.below(2), other < base) {
            (0, _) => Form::Share,
            (_, true) => Form::Loss,
            (_, false) => Form::Gain,
        };
        let role = Role::Said { form, above: ids[1], below: ids[0] };
        let (mark, _) = draft.plant(form.of(other, base), guise, role);
        let topic = words::topic(tongue, load.0, load.1);
        let text = words::said(tongue, form, [field.systems[1], field.systems[0]], &topic, &mark, random);
        draft.line(text);
        draft.line("");
    }
}

/// Outputs of tools that are seldom seen, a heading over each.
pub(super) fn tools(draft: &mut Draft, random: &mut Random) {
    let mut outputs: Vec<&pool::Output> = pool::TOOLS.iter().collect();
    random.shuffle(&mut outputs);
    for output in &outputs[..1 + random.below(3)] {
        let tool = output.name.split('/').next().unwrap_or("");
        draft.line(format!("## {tool}"));
        draft.line("");
        let dress = *random.pick(&[Dress::Plain, Dress::Fenced]);
        let lines = output.text.trim_end().lines().map(str::to_owned).collect();
        draft.items.push(super::Item::Raw { run: None, command: String::new(), lines, dress });
        draft.line("");
    }
}

/// Outputs with a few words.
pub(super) fn raw(draft: &mut Draft, random: &mut Random) {
    heading(draft, 2);
    let dress = *random.pick(&DRESSES);
    for _ in 0..1 + random.below(4) {
        let output = random.below(pool::ALL.len());
        let line = *random.pick(words::noise(draft.tongue));
        draft.line(line);
        draft.line("");
        show(draft, output, dress);
        draft.line("");
    }
}
