//! DiskSpd's XML (`-Rxml`). A document that does not end is listed, nothing of it is read.

use super::{COLUMNS, DiskSpd, Span, Table, Target};
use crate::import::cut::exact;
use crate::import::sheet::{Sheet, named};
use crate::import::{Format, Found, Said};
use crate::number::{Figure, leading, rounded};
use crate::page::Page;
use roxmltree::{Document, Node};

pub(crate) const FORMAT: Format = Format {
    name: "DiskSpd XML",
    help: "DiskSpd's XML of any 2.x",
    example: include_str!("../../../fixtures/diskspd/mixed.xml"),
    begins: |line| line.trim_start().starts_with("<Results>"),
    read,
};

/// Bytes of a result with thousands of threads; more is no result.
const LARGEST: usize = 64 << 20;

fn read(page: &Page, line: usize) -> Option<Found> {
    let (bare, prefix) = page.bare(line);
    let from = page.offset(line) + prefix + (bare.len() - bare.trim_start().len());
    let rest = &page.text()[from..];
    // Up to where the next begins, so that many beginnings are not read over and over.
    let next = rest["<Results>".len()..].find("<Results>").map_or(rest.len(), |at| at + "<Results>".len());
    let rest = &rest[..next];
    if !rest.contains("<TimeSpan>") || rest.len() > LARGEST {
        return None;
    }
    let close = rest.find("</Results>").map(|close| close + "</Results>".len());
    let document = close.map_or(Err("it does not end".to_owned()), |close| {
        Document::parse(&rest[..close]).map_err(|error| error.to_string())
    });
    // Of a document that does not end the lines of markup.
    let markup = || (line + 1..).find(|at| !page.bare(*at).0.trim_start().starts_with('<'));
    let end = match close {
        Some(close) => page.spot_near(from + close - 1..from + close, line).index() + 1,
        None => markup()?,
    };
    match document {
        Ok(document) => {
            let said = Reader { page, from }.document(document.root_element());
            (!said.spans.is_empty()).then(|| Found::whole(Said::DiskSpd(Box::new(said)), end))
        }
        Err(why) => {
            let unread = vec![page.unread(line..end, format!("DiskSpd XML: {why}"))];
            Some(Found { said: Said::DiskSpd(Box::default()), end, unread })
        }
    }
}

struct Reader<'a> {
    page: &'a Page,
    from: usize,
}

fn child<'n, 'x>(node: Node<'n, 'x>, name: &str) -> Option<Node<'n, 'x>> {
    node.children().find(|child| child.has_tag_name(name))
}

fn all<'n, 'x: 'n>(node: Node<'n, 'x>, name: &'static str) -> impl Iterator<Item = Node<'n, 'x>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

fn text<'n>(node: Node<'n, '_>, name: &str) -> Option<&'n str> {
    child(node, name)?.text().map(str::trim)
}

fn whole(node: Node, name: &str) -> Option<u64> {
    text(node, name)?.parse().ok()
}

impl Reader<'_> {
    fn document(&self, root: Node) -> DiskSpd {
        let targets = root.descendants().filter(|node| node.has_tag_name("Targets"));
        let targets = targets.flat_map(|targets| all(targets, "Target")).map(target).collect();
        let spans = all(root, "TimeSpan").map(|span| self.span(span)).collect();
        DiskSpd { targets, spans }
    }

    /// The figure that an element's text is.
    fn figure(&self, node: Node, name: &str, scale: f64) -> Option<Figure> {
        let node = child(node, name)?.first_child().filter(Node::is_text)?;
        let written = node.text()?;
        let digits = written.trim();
        let start = self.from + node.range().start + (written.len() - written.trim_start().len());
        let (value, bytes, decimals) = leading(digits)?;
        let spot = self.page.spot(start..start + bytes);
        // Entities are written otherwise than they read.
        let alike = bytes == digits.len() && self.page.quote(spot) == digits;
        alike.then(|| {
            if decimals == 0 { exact(spot, value * scale) } else { rounded(spot, value, decimals, scale) }
        })
    }

    fn span(&self, node: Node) -> Span {
        let buckets = all(node, "Latency").flat_map(|latency| all(latency, "Bucket"));
        let mut tables: [Table; 3] = Default::default();
        let names = [["BytesCount", "IOCount"], ["ReadBytes", "ReadCount"], ["WriteBytes", "WriteCount"]];
        for target in all(node, "Thread").flat_map(|thread| all(thread, "Target")) {
            for (names, table) in names.iter().zip(&mut tables) {
                let [bytes, ios] = names.map(|name| self.figure(target, name, 1.0));
                let Some((bytes, ios)) = bytes.zip(ios) else { continue };
                let mut row = Sheet::new(bytes.spot.index(), None);
                for ((name, metric, unit, _), figure) in COLUMNS.iter().zip([bytes, ios]) {
                    row.add(*metric, named(name, unit, figure));
                }
                table.rows.push(row);
            }
        }
        Span {
            time: self.figure(node, "TestTimeSeconds", 1e9),
            threads: self.figure(node, "ThreadCount", 1.0),
            tables: tables.map(|table| (!table.rows.is_empty()).then_some(table)),
            tiles: buckets.filter_map(|bucket| self.tile(bucket)).collect(),
        }
    }

    fn tile(&self, bucket: Node) -> Option<(f64, [Option<Figure>; 3])> {
        let percent: f64 = text(bucket, "Percentile")?.parse().ok()?;
        let names = ["ReadMilliseconds", "WriteMilliseconds", "TotalMilliseconds"];
        let latency = names.map(|name| self.figure(bucket, name, 1e6));
        (percent.is_finite() && latency.iter().any(Option::is_some)).then_some((percent, latency))
    }
}

fn target(node: Node) -> Target {
    Target {
        block: whole(node, "BlockSize"),
        writes: text(node, "WriteRatio").and_then(|ratio| ratio.parse().ok()),
        random: text(node, "RandomAccess")
            .map(|word| word == "true")
            .or_else(|| child(node, "Random").is_some().then_some(true))
            .or_else(|| child(node, "StrideSize").is_some().then_some(false)),
        outstanding: whole(node, "RequestCount"),
    }
}
