//! Documents that show tables only.

use super::compared::conclusions;
use super::{Field, Item, bandwidths, field, heading, percents, rates, shape, value};
use crate::selfcheck::draft::{Draft, Form, Role};
use crate::selfcheck::guise::Guise;
use crate::selfcheck::pool;
use crate::selfcheck::random::Random;
use crate::selfcheck::shapes::{Grid, Shape};
use crate::selfcheck::words;

fn one(head: impl Into<String>) -> [String; 2] {
    [head.into(), String::new()]
}

/// Rows of systems, the base first; IOPS and bandwidth of every load; shares of the base in brackets or in rows of their own.
pub(super) fn matrix(draft: &mut Draft, random: &mut Random) {
    let tongue = draft.tongue;
    let field = field(tongue, 1, 2 + random.below(2), 0.0..0.1, random);
    let base = field.systems[0];
    let names: Vec<String> =
        (1..=4 + random.below(3)).map(|at| format!("{} {at}", variant(draft, at))).collect();
    let about = random.between(4.0, 30.0).round();
    let (rate, bandwidth, share) =
        (rates(tongue, random), bandwidths(tongue, random), percents(tongue, random));
    let (both, brackets, two) = (random.one_in(2), random.one_in(2), random.one_in(2));
    // Of losses that sentences speak of every share has a digit behind the point.
    let share = Guise { decimals: share.decimals.max(1), ..share };
    let style = random.below(words::LABELS);
    let mut grid = Grid { corner: String::new(), ..Grid::default() };
    for load in &field.loads {
        let label = words::label(tongue, load.0, load.1, style);
        for metric in if both { &["IOPS", "BW"][..] } else { &["IOPS"][..] } {
            grid.heads.push(match (two, both) {
                (true, _) => [label.clone(), (*metric).to_owned()],
                (false, _) => one(format!("{label} {metric}")),
            });
        }
    }
    let mut bases = Vec::new();
    for row in 0..=names.len() {
        let (mut cells, mut shares) = (Vec::new(), Vec::new());
        for (column, load) in field.loads.iter().enumerate() {
            let lost = if row == 0 { 0.0 } else { random.between(0.7, 1.5) * about / 100.0 };
            let iops = (field.iops[column][0] * (1.0 - lost)).floor();
            let mut ids = Vec::new();
            for metric in 0..=usize::from(both) {
                let (amount, guise) =
                    if metric == 0 { (iops, rate) } else { (iops * load.1 as f64, bandwidth) };
                let (mark, id) = draft.plant(
                    amount,
                    guise,
                    value(metric == 0, Some(load.1), (0, row, 2 * column + metric)),
                );
                let below = if row == 0 { id } else { bases[2 * column + metric] };
                if row == 0 {
                    bases.resize(2 * column + metric + 1, id);
                }
                let percent = Form::Share.of(amount, draft.figures[below].value);
                let whole =
                    Guise { decimals: if row == 0 { random.below(2) } else { share.decimals }, ..share };
                let (percent, _) =
                    draft.plant(percent, whole, Role::Ratio { form: Form::Share, above: id, below });
                if brackets {
                    cells.push(format!("{mark} ({percent})"));
                } else {
                    cells.push(mark);
                    shares.push(percent);
                }
                ids.push(id);
            }
            if let [rate, bandwidth] = ids.as_slice() {
                twins(draft, *rate, *bandwidth);
            }
        }
        let label = if row == 0 { base.to_owned() } else { names[row - 1].clone() };
        grid.rows.push((label, cells));
        if !brackets {
            grid.rows.push((String::new(), shares));
        }
    }
    heading(draft, 1);
    // Rows without a label need a shape that keeps empty cells.
    let shape = match shape(random) {
        Shape::Stacked | Shape::Spaced | Shape::Csv | Shape::Tabs if !brackets => Shape::Markdown,
        shape => shape,
    };
    draft.items.push(Item::Table { grid, shape });
    draft.line("");
    heading(draft, 3);
    let (mark, _) = draft.plant(about, Guise::new(1.0, 0, "%"), Role::About);
    let load = field.loads[0];
    let topic = words::topic(tongue, load.0, load.1);
    let text = words::about(tongue, base, &topic, &mark);
    draft.line(text);
}

fn twins(draft: &mut Draft, left: usize, right: usize) {
    for (id, other) in [(left, right), (right, left)] {
        if let Role::Value { twin, .. } = &mut draft.figures[id].role {
            *twin = Some(other);
        }
    }
}

/// What further systems are called.
fn variant(draft: &Draft, at: usize) -> &'static str {
    use crate::selfcheck::draft::Tongue;
    let of: [&str; 3] = match draft.tongue {
        Tongue::En => ["VM type", "image", "guest kind"],
        Tongue::Zh => ["虚拟机类型", "镜像类型", "规格"],
        Tongue::Ru => ["тип ВМ", "вариант", "образ"],
    };
    of[at % 3]
}

/// Two systems as rows, metrics as columns; losses in sentences.
pub(super) fn lying(draft: &mut Draft, random: &mut Random) {
    let tongue = draft.tongue;
    let lost = random.between(0.02, 0.4);
    let mut field = field(tongue, 2, 1, lost..lost * 1.1, random);
    // Of one run both ways are told.
    let bs = field.loads[0].1;
    let write = (field.iops[0][0] * random.between(0.4, 0.9)).floor();
    field.loads = vec![("randread", bs), ("randwrite", bs)];
    field.iops.push(vec![write, (write * (1.0 - lost)).floor()]);
    let both = random.one_in(2);
    let (rate, bandwidth) = (rates(tongue, random), bandwidths(tongue, random));
    let style = random.below(words::LABELS);
    let mut grid = Grid::default();
    for load in &field.loads {
        let label = words::label(tongue, load.0, load.1, style);
        grid.heads.push(one(format!("{label} IOPS")));
        if both {
            grid.heads.push(one(format!("{label} BW")));
        }
    }
    let mut values = vec![vec![0; 2]; 2];
    for (system, name) in field.systems.iter().enumerate() {
        let mut cells = Vec::new();
        for (at, load) in field.loads.iter().enumerate() {
            let iops = field.iops[at][system];
            let (mark, id) = draft.plant(iops, rate, value(true, Some(load.1), (0, system, 2 * at)));
            values[at][system] = id;
            cells.push(mark);
            if both {
                let amount = iops * load.1 as f64;
                let role = value(false, Some(load.1), (0, system, 2 * at + 1));
                let (mark, other) = draft.plant(amount, bandwidth, role);
                cells.push(mark);
                twins(draft, id, other);
            }
        }
        grid.rows.push(((*name).to_owned(), cells));
    }
    heading(draft, 1);
    let shape = shape(random);
    draft.items.push(Item::Table { grid, shape });
    draft.line("");
    heading(draft, 3);
    conclusions(draft, &field, &values, random);
}

/// Tables of several backends, and one of ratios against the first.
pub(super) fn across(draft: &mut Draft, random: &mut Random) {
    let tongue = draft.tongue;
    let field = field(tongue, 3, 4 + random.below(2), 0.03..0.35, random);
    let protocol = *random.pick(&["iSER", "iSCSI", "NVMe-oF"]);
    let backends = ["LVM", "mdadm", "ZFS"];
    let (bandwidth, share) = (bandwidths(tongue, random), percents(tongue, random));
    let style = random.below(words::LABELS);
    // Of two columns between spaces nobody knows that they are a table.
    let shape = *random.pick(&[Shape::Markdown, Shape::Bare, Shape::Html, Shape::Tabs]);
    let metric = bandwidth.unit.trim();
    let mut ids = vec![Vec::new(); backends.len()];
    heading(draft, 1);
    for (at, backend) in backends.iter().enumerate() {
        let mut grid =
            Grid { corner: format!("{backend} - {protocol}"), heads: vec![one(metric)], ..Grid::default() };
        for (row, load) in field.loads.iter().enumerate() {
            let amount = field.iops[row][at] * load.1 as f64;
            let (mark, id) = draft.plant(amount, bandwidth, value(false, Some(load.1), (at, row, 0)));
            ids[at].push(id);
            grid.rows.push((words::label(tongue, load.0, load.1, style), vec![mark]));
        }
        draft.items.push(Item::Table { grid, shape });
        draft.line("");
    }
    let mut grid = Grid { corner: protocol.to_owned(), heads: backends.map(one).to_vec(), ..Grid::default() };
    for (row, load) in field.loads.iter().enumerate() {
        let mut cells = Vec::new();
        for of in &ids {
            let (above, below) = (of[row], ids[0][row]);
            let value = Form::Share.of(draft.figures[above].value, draft.figures[below].value);
            cells.push(draft.plant(value, share, Role::Ratio { form: Form::Share, above, below }).0);
        }
        grid.rows.push((words::label(tongue, load.0, load.1, style), cells));
    }
    draft.items.push(Item::Table { grid, shape });
    draft.line("");
}

/// Drives that are nominally equal, a table each.
pub(super) fn replicas(draft: &mut Draft, random: &mut Random) {
    let tongue = draft.tongue;
    let field = field(tongue, 1, 3 + random.below(2), 0.0..0.1, random);
    let (rate, bandwidth) = (rates(tongue, random), bandwidths(tongue, random));
    let style = random.below(words::LABELS);
    let shape = *random.pick(&[Shape::Markdown, Shape::Bare, Shape::Html, Shape::Spaced]);
    let serial = 100 + random.below(800);
    heading(draft, 1);
    for drive in 0..4 + random.below(4) {
        let mut grid = Grid {
            corner: format!("SSD ({:04})", serial + 731 * drive),
            heads: vec![one("IOPS"), one(bandwidth.unit.trim())],
            ..Grid::default()
        };
        for (row, load) in field.loads.iter().enumerate() {
            let iops = (field.iops[row][0] * random.between(0.97, 1.03)).floor();
            let (left, rated) = draft.plant(iops, rate, value(true, Some(load.1), (drive, row, 0)));
            let role = value(false, Some(load.1), (drive, row, 1));
            let (right, moved) = draft.plant(iops * load.1 as f64, bandwidth, role);
            twins(draft, rated, moved);
            grid.rows.push((words::label(tongue, load.0, load.1, style), vec![left, right]));
        }
        draft.items.push(Item::Table { grid, shape });
        draft.line("");
    }
}

/// Sizes of blocks, IOPS and bandwidth of one system, then the bandwidths of two that are close.
pub(super) fn sizes(draft: &mut Draft, random: &mut Random) {
    let tongue = draft.tongue;
    let apart = random.between(0.01, 0.12);
    let field = field(tongue, 2, 1, 0.0..apart, random);
    let [base, name] = [field.systems[0], field.systems[1]];
    let (rate, bandwidth) = (rates(tongue, random), bandwidths(tongue, random));
    let sizes: Vec<u64> =
        [4u64, 8, 16, 32, 64, 128, 256].into_iter().take(4 + random.below(4)).map(|kb| kb << 10).collect();
    let first = field.iops[0][0];
    let label = |bs: u64| words::size(bs, false);
    let mut grid =
        Grid { corner: "bs".into(), heads: vec![one("IOPS"), one(bandwidth.unit.trim())], ..Grid::default() };
    let mut other = Grid {
        corner: if random.one_in(3) { bandwidth.unit.trim().to_owned() } else { "bs".into() },
        heads: vec![one(base), one(name)],
        ..Grid::default()
    };
    let mut widest: f64 = 0.0;
    for (row, bs) in sizes.iter().enumerate() {
        let iops = (first / (1.0 + row as f64 * random.between(0.4, 0.9))).floor();
        let (left, rated) = draft.plant(iops, rate, value(true, Some(*bs), (0, row, 0)));
        let (right, moved) = draft.plant(iops * *bs as f64, bandwidth, value(false, Some(*bs), (0, row, 1)));
        twins(draft, rated, moved);
        grid.rows.push((label(*bs), vec![left, right]));
        let ratio = 1.0 - random.between(-apart, apart);
        widest = widest.max((ratio - 1.0).abs()).max((1.0 / ratio - 1.0).abs());
        let own = draft.plant(iops * *bs as f64, bandwidth, value(false, Some(*bs), (1, row, 0))).0;
        let twin = draft.plant(ratio * iops * *bs as f64, bandwidth, value(false, Some(*bs), (1, row, 1))).0;
        other.rows.push((label(*bs), vec![own, twin]));
    }
    heading(draft, 1);
    let drawn = shape(random);
    draft.items.push(Item::Table { grid, shape: drawn });
    draft.line("");
    let band = (100.0 * widest).ceil();
    let (mark, _) = draft.plant(band, Guise::new(1.0, 0, " %"), Role::Band { widest: 100.0 * widest });
    draft.line(words::within(tongue, [name, base], &mark));
    draft.line("");
    let drawn = shape(random);
    draft.items.push(Item::Table { grid: other, shape: drawn });
    draft.line("");
}

/// Scores of processors and memory.
pub(super) fn overhead(draft: &mut Draft, random: &mut Random) {
    use crate::selfcheck::draft::Tongue;
    let tongue = draft.tongue;
    let mut systems = words::systems(tongue, random);
    systems.truncate(2);
    let [base, name] = [systems[0], systems[1]];
    let number = |file: &str, before: &str, behind: &str| {
        let text = pool::ALL.iter().find(|output| output.name == file).map_or("", |output| output.text);
        pool::between(text, before, behind)
            .and_then(|found| found.trim().parse::<f64>().ok())
            .unwrap_or(1000.0)
    };
    let mut tests = vec![
        ("CPU, 1 thread", number("sysbench-cpu-1.txt", "events per second:", "\n")),
        ("CPU, 2 threads", number("sysbench-cpu-2.txt", "events per second:", "\n")),
        ("memory", number("sysbench-memory-1.txt", "transferred (", " MiB")),
        ("memory copy", number("mbw-64.txt", "Copy: ", " MiB")),
        ("memory block copy", number("mbw-32.txt", "Copy: ", " MiB")),
    ];
    random.shuffle(&mut tests);
    tests.truncate(1 + random.below(5));
    let comma = tongue == Tongue::Ru && random.one_in(2);
    let score = Guise { comma, ..Guise::new(1.0, 1 + random.below(2), "") };
    let share = percents(tongue, random);
    let form = if random.one_in(3) { Form::Share } else { Form::Loss };
    let heads = vec![one(base), one(name), one(words::ratio_head(tongue, form, name, base, random))];
    let mut grid = Grid { corner: String::new(), heads, ..Grid::default() };
    for (row, (test, amount)) in tests.iter().enumerate() {
        let (left, below) = draft.plant(*amount, score, value(false, None, (0, row, 0)));
        let (right, above) =
            draft.plant(amount * random.between(0.75, 0.995), score, value(false, None, (0, row, 1)));
        let ratio = form.of(draft.figures[above].value, *amount);
        let percent = draft.plant(ratio, share, Role::Ratio { form, above, below }).0;
        grid.rows.push(((*test).to_owned(), vec![left, right, percent]));
    }
    heading(draft, 1);
    let shape = shape(random);
    draft.items.push(Item::Table { grid, shape });
    draft.line("");
}

/// Everyone with everyone.
pub(super) fn network(draft: &mut Draft, random: &mut Random) {
    use crate::selfcheck::draft::Tongue;
    let tongue = draft.tongue;
    let systems = words::systems(tongue, random);
    let count = 2 + random.below(2);
    let unit = match (tongue, random.below(3)) {
        (Tongue::Ru, 0) => " Гбит/с",
        (_, 1) => " Gbit/s",
        _ => " Gbps",
    };
    let comma = tongue == Tongue::Ru && unit == " Гбит/с";
    let rate = Guise { comma, ..Guise::new(1e9 / 8.0, 2, unit) };
    let share = percents(tongue, random);
    let most = random.between(8.0, 40.0) * 1e9 / 8.0;
    draft.line(words::network(tongue, 100));
    let mut grid =
        Grid { heads: systems[..count].iter().map(|name| one(*name)).collect(), ..Grid::default() };
    let mut base = 0;
    for (row, name) in systems[..count].iter().enumerate() {
        let mut cells = Vec::new();
        for column in 0..count {
            let amount = if row + column == 0 { most } else { most * random.between(0.6, 1.02) };
            let (mark, id) = draft.plant(amount, rate, value(false, None, (0, row, column)));
            if row + column == 0 {
                base = id;
            }
            let percent = Form::Share.of(amount, draft.figures[base].value);
            let guise = if row + column == 0 { Guise { decimals: 0, ..share } } else { share };
            let (percent, _) =
                draft.plant(percent, guise, Role::Ratio { form: Form::Share, above: id, below: base });
            cells.push(format!("{mark} ({percent})"));
        }
        grid.rows.push(((*name).to_owned(), cells));
    }
    heading(draft, 1);
    let shape = shape(random);
    draft.items.push(Item::Table { grid, shape });
    draft.line("");
}

/// Rows that differ in a setting.
pub(super) fn settings(draft: &mut Draft, random: &mut Random) {
    let tongue = draft.tongue;
    let field: Field = field(tongue, 2, 1, 0.05..0.2, random);
    let rate = rates(tongue, random);
    let loads = [("randread", 4096u64), ("randwrite", 4096)];
    let heads = loads.map(|load| one(format!("{} IOPS", words::label(tongue, load.0, load.1, 0)))).to_vec();
    let mut grid = Grid { heads, ..Grid::default() };
    let first = field.iops[0][1];
    for queues in [1, 4] {
        let plain = first * random.between(0.8, 1.2);
        for (at, cache) in ["none", "writeback"].into_iter().enumerate() {
            let up = if at == 0 { 1.0 } else { random.between(1.1, 2.0) };
            let row = grid.rows.len();
            let cells = (0..2)
                .map(|column| {
                    let amount = (plain * up * if column == 0 { 1.0 } else { 0.8 }).floor();
                    draft.plant(amount, rate, value(true, Some(4096), (0, row, column))).0
                })
                .collect();
            grid.rows.push((format!("{} cache={cache} queues={queues}", field.systems[1]), cells));
        }
    }
    heading(draft, 1);
    let shape = *random.pick(&[Shape::Markdown, Shape::Bare, Shape::Html, Shape::Tabs]);
    draft.items.push(Item::Table { grid, shape });
    draft.line("");
    heading(draft, 3);
    let way = if random.one_in(2) { "read" } else { "write" };
    draft.line(words::improves(tongue, way));
}
