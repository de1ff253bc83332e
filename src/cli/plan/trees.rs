//! The stacks of a plan as trees: layers below each other from the bottom up, each layer that
//! stacks have in common once, with the options that differ from their defaults.

use super::View;
use super::brief::label;
use iotax_model::scenario::Scenario;
use iotax_model::stack::{LayerSpec, Stack};
use iotax_units::harmless::escape_line;
use std::collections::BTreeSet;

/// A medium or layer, what is on it, and the stacks that end with it.
#[derive(Default)]
struct TreeNode {
    text: String,
    /// Key by which stacks share the layer: with all written options.
    key: String,
    stacks: Vec<String>,
    above: Vec<TreeNode>,
}

/// Length from which the options of a layer are shown only the first time.
const LONG: usize = 30;

/// Returns a line for each layer, below a line that says how the stacks are measured (`order`).
pub fn stack_lines(view: &View, scenario: &Scenario, order: &str) -> String {
    let mut root = TreeNode::default();
    for (index, stack) in scenario.stacks.iter().enumerate() {
        let is_baseline = index == scenario.baseline && scenario.stacks.len() > 1;
        let name = if is_baseline { format!("{} *", stack.name) } else { stack.name.clone() };
        root.add(stack, index, name);
    }
    let baseline = if scenario.stacks.len() > 1 { "; * is the baseline" } else { "" };
    let names = scenario.stacks.iter().map(|stack| escape_line(&stack.name).chars().count() + 2);
    let column = names.max().unwrap_or(0).min(view.width / 3);
    let mut lines = TreeLines { view, column, shown: BTreeSet::new(), text: String::new() };
    root.above.iter().for_each(|node| lines.add(node, 0));
    let head = view.paragraph(&label("Stacks"), &format!("{order}{baseline}"));
    format!("\n{head}{}", lines.text)
}

impl TreeNode {
    fn add(&mut self, stack: &Stack, index: usize, name: String) {
        let layers = stack.layers.iter().map(|spec| (plain_text(spec), spec.layer_text()));
        let upper: String =
            stack.layers.iter().map(|spec| format!(" | {}", spec.layer_text())).collect();
        let medium = stack.text.strip_suffix(upper.as_str()).unwrap_or(&stack.text).to_owned();
        // A stack with `own = true` shares nothing.
        let first = if stack.own { format!("{index} {medium}") } else { medium.clone() };
        let mut node = self;
        let medium = ranged(&medium).unwrap_or(medium);
        for (text, key) in std::iter::once((medium, first)).chain(layers) {
            let at = node.above.iter().position(|known| known.key == key);
            let at = at.unwrap_or_else(|| {
                node.above.push(TreeNode { text, key, ..TreeNode::default() });
                node.above.len() - 1
            });
            node = &mut node.above[at];
        }
        node.stacks.push(name);
    }
}

/// Writes a list of media whose names count up by one as `[A0,...,A5]`; `None`: it is no such list.
fn ranged(text: &str) -> Option<String> {
    let (list, rest) = text.strip_prefix('[')?.split_once(']')?;
    let members: Vec<&str> = list.split(',').collect();
    let [first, .., last] = members[..] else { return None };
    let is_digit = |c: char| c.is_ascii_digit();
    // One of the numbers in the name counts; the others stay.
    let counts_from = |at: usize| {
        let (stem, digits) = first.split_at(at);
        let end = digits.find(|c| !is_digit(c)).unwrap_or(digits.len());
        let count = digits[..end].parse::<u32>().ok()?;
        let is_next = |(number, name): (usize, &&str)| {
            let next = count.checked_add(number as u32);
            next.is_some_and(|next| **name == format!("{stem}{next}{}", &digits[end..]))
        };
        members.iter().enumerate().all(is_next).then_some(())
    };
    let mut numbers = first
        .match_indices(is_digit)
        .map(|(at, _)| at)
        .filter(|at| !first[..*at].ends_with(is_digit));
    let counts_up = members.len() > 3 && numbers.any(|at| counts_from(at).is_some());
    counts_up.then(|| format!("[{first},...,{last}]{rest}"))
}

/// Returns a layer as the grammar writes it, without options that are written as their defaults.
fn plain_text(spec: &LayerSpec) -> String {
    let differs = |key: &String, value: &String| {
        let help = spec.catalog_entry();
        let is_main = help.is_some_and(|help| help.positional == Some(key.as_str()));
        let default = help.and_then(|help| help.option(key)?.default);
        is_main || default != Some(value.as_str())
    };
    let mut plain = spec.clone();
    plain.options.retain(|key, value| differs(key, value));
    plain.layer_text()
}

struct TreeLines<'a> {
    view: &'a View,
    /// Width of the column with the names of stacks.
    column: usize,
    /// Layers whose options were shown.
    shown: BTreeSet<String>,
    text: String,
}

impl TreeLines<'_> {
    /// Returns the layer; its options only the first time if they are long.
    fn node_text(&mut self, node: &TreeNode) -> String {
        let is_known = !self.shown.insert(node.text.clone());
        match node.text.split_once('(') {
            Some((name, rest)) if is_known && rest.chars().count() > LONG => {
                format!("{name}(as above)")
            }
            _ => node.text.clone(),
        }
    }

    fn add(&mut self, node: &TreeNode, depth: usize) {
        let (mut node, mut text) = (node, self.node_text(node));
        // Layers that nothing branches off from share a line, if they fit.
        while let ([], [above]) = (node.stacks.as_slice(), node.above.as_slice()) {
            let longer = format!("{text} | {}", above.text);
            let room = self.view.width.saturating_sub(self.column + 4 + 2 * depth);
            if longer.chars().count() > room {
                break;
            }
            text = format!("{text} | {}", self.node_text(above));
            node = above;
        }
        let names = escape_line(&node.stacks.join(", "));
        // A longer name gets a line of its own.
        let fits = names.chars().count() <= self.column;
        if !fits {
            self.text += &format!("  {names}\n");
        }
        let names = if fits { names } else { String::new() };
        let first =
            format!("  {names:<width$}  {:indent$}", "", width = self.column, indent = 2 * depth);
        self.text += &broken_after_commas(&first, &escape_line(&text), self.view.width);
        node.above.iter().for_each(|above| self.add(above, depth + 1));
    }
}

/// Returns a line after its first column, with breaks after commas where it is too wide.
fn broken_after_commas(first: &str, text: &str, width: usize) -> String {
    let indent = " ".repeat(first.chars().count() + 2);
    let (mut lines, mut line) = (String::new(), first.to_owned());
    for piece in text.split_inclusive(',') {
        if line.trim() != first.trim() && line.chars().count() + piece.chars().count() > width {
            lines += &format!("{}\n", line.trim_end());
            line.clone_from(&indent);
        }
        line += piece;
    }
    lines + line.trim_end() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_model::scenario::check::{ScenarioRequest, from_arguments};

    #[test]
    fn layers_that_stacks_have_in_common_are_shown_once() {
        let array = "[nvme0,nvme1] @lab | mdraid(level=0,chunk=512KiB)";
        let iscsi = "iscsi(emulate-3pc=true,emulate-tpu=true,emulate-caw=true,emulate-tpws=true,is-nonrot=true)";
        let stacks = [
            format!("{array} | {iscsi}"),
            format!("{array} | nvmf(transport=tcp) | split(8)"),
            format!("[nvme0,nvme1] @lab | lvm(type=striped,stripes=2) | {iscsi}"),
            "file:/srv/x.img,size=1GiB".to_owned(),
            "file:/srv/x.img,size=1GiB | loop".to_owned(),
        ];
        let scenario = from_arguments(&stacks, &ScenarioRequest::default()).unwrap();
        let text = stack_lines(&View { width: 80, ..View::default() }, &scenario, "in turn");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn commas_are_the_only_places_of_a_break() {
        let text = broken_after_commas("  ", "name(a=1,b=2,c=3)", 14);
        assert_eq!(text, "  name(a=1,\n    b=2,c=3)\n");
        assert_eq!(broken_after_commas("x ", "/srv/a, b.img", 80), "x /srv/a, b.img\n");
    }

    #[test]
    fn media_that_count_up_in_one_number_are_a_range() {
        let same = |text: &str| ranged(text).unwrap_or_else(|| "as it is".to_owned());
        assert_eq!(same("[nvme0n1,nvme1n1,nvme2n1,nvme3n1] @st"), "[nvme0n1,...,nvme3n1] @st");
        assert_eq!(
            same("[vm98:/dev/b,vm99:/dev/b,vm100:/dev/b,vm101:/dev/b]"),
            "[vm98:/dev/b,...,vm101:/dev/b]"
        );
        for other in [
            "[nvme0n1,nvme1n1,nvme2n1]",
            "[nvme0n1,nvme0n2,nvme2n1,nvme3n1]",
            "[nvme0n1,nvme2n1,nvme3n1,nvme4n1]",
            "[x4294967295,x1,x2,x3]",
            "each([[a0,a1,a2,a3],[b0,b1,b2,b3]])",
            "[a,b,c,d]",
        ] {
            assert_eq!(same(other), "as it is", "{other}");
        }
    }
}
