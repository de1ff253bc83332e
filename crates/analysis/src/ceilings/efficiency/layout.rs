//! Layout of data over a stack's drives: the layer that joins them, its level and its redundancy. A
//! layout that gives no bound for the drives is refused with the reason.

use iotax_model::layer::layout::{Join, Joined};
use iotax_model::stack::{InState, LayerSpec, Medium, Stack};

pub use iotax_model::layer::layout::LayoutSpread;

#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Number of drives of the medium; with several arrays, of each.
    pub drives: u64,
    /// Number of arrays, all loaded at once.
    pub arrays: u64,
    pub spread: LayoutSpread,
    /// Number of lost drives; 0 for an array in the state in which it was set up.
    pub failed: u64,
    /// Name such as `RAID5`, `LVM stripe`; empty for drives that nothing joins.
    pub name: String,
}

impl Layout {
    /// Determines the layout of a stack. If nothing joins its drives, every I/O is one I/O of a
    /// drive.
    ///
    /// # Errors
    /// Returns the reason why the layout is not known: members that are files, drives that are
    /// joined twice or in an unknown way, or an array that is rebuilt.
    pub fn from_stack(stack: &Stack) -> Result<Layout, String> {
        let all = drives(&stack.medium)?;
        let Some((layer, join)) = known_join(stack) else {
            let plain = Layout::without_join(all);
            let unknown = || "it is not known how its layers lay data over the drives".to_owned();
            return is_joined(stack).then(unknown).map_or(Ok(plain), Err);
        };
        let again = stack
            .layers_with_members()
            .filter(|(layer, members)| *members > 1 && join_of(layer).is_some());
        if again.count() > 1 {
            return Err("the limit of layers that join parts of a joined device is not calculated"
                .to_owned());
        }
        let arrays = stack.medium.list_count() as u64;
        let drives = all / arrays;
        let Joined { spread, name, .. } = join(layer, drives)?;
        Ok(Layout { drives, arrays, spread, failed: lost_drives(stack)?, name })
    }

    /// Returns the layout of drives that nothing joins.
    pub fn without_join(drives: u64) -> Layout {
        let spread = LayoutSpread::Striped { over: drives };
        Layout { drives, arrays: 1, spread, failed: 0, name: String::new() }
    }

    pub fn all_drives(&self) -> u64 {
        self.drives * self.arrays
    }

    /// Returns the words `RAID5`, `RAID5 with 1 drive lost`, `2 x RAID5`.
    pub fn to_sentence(&self) -> String {
        let times = if self.arrays > 1 { format!("{} x ", self.arrays) } else { String::new() };
        match self.failed {
            0 => format!("{times}{}", self.name),
            1 => format!("{times}{} with 1 drive lost", self.name),
            many => format!("{times}{} with {many} drives lost", self.name),
        }
    }
}

/// Returns true if a layer joins several drives into one.
pub fn is_joined(stack: &Stack) -> bool {
    known_join(stack).is_some() || (is_of_many(stack) && stack.loaded_at_once().is_none())
}

/// Returns the layer that joins the drives; `None` if there is none, or if its layout is not known.
pub fn joining(stack: &Stack) -> Option<&LayerSpec> {
    known_join(stack).map(|(layer, _)| layer)
}

/// Returns the option that sets the stripe unit, and the unit in bytes: what is on one drive before
/// the next one follows. `None` if the layout is not known or has no such unit.
pub fn stripe_unit(stack: &Stack) -> Option<(&'static str, u64)> {
    let layout = Layout::from_stack(stack).ok()?;
    let (layer, join) = known_join(stack)?;
    join(layer, layout.drives).ok()?.unit
}

fn join_of(layer: &LayerSpec) -> Option<Join> {
    layer.catalog_entry()?.layout
}

fn known_join(stack: &Stack) -> Option<(&LayerSpec, Join)> {
    let found = stack.layers.iter().find_map(|layer| Some((layer, join_of(layer)?)));
    found.filter(|_| is_of_many(stack))
}

fn is_of_many(stack: &Stack) -> bool {
    matches!(stack.medium, Medium::Many { .. })
}

fn lost_drives(stack: &Stack) -> Result<u64, String> {
    let lost = stack.state.as_ref().map_or(Some(0), InState::lost_members);
    lost.map(u64::from).ok_or_else(|| "what a rebuild takes of its drives is not known".to_owned())
}

/// Returns the number of drives. Fails for several members with files among them, since these may
/// be on one drive.
fn drives(medium: &Medium) -> Result<u64, String> {
    let is_file = |member: &Medium| matches!(member, Medium::File { .. });
    match medium {
        Medium::Many { members, .. } if members.iter().any(is_file) => {
            Err("members that are files may lie on one drive".to_owned())
        }
        medium => Ok(medium.members().len() as u64),
    }
}
