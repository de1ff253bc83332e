//! Made-up parts of scenarios, for tests.

use crate::scenario::check::{ScenarioRequest, from_arguments};
use crate::stack::{LayerSpec, Medium, Stack};

/// Returns the stack that a text in the one-line grammar describes.
pub fn stack(text: &str) -> Stack {
    from_arguments(&[text.to_owned()], &ScenarioRequest::default())
        .expect("a stack")
        .stacks
        .remove(0)
}

/// Returns a layer as the grammar would read it.
pub fn layer(name: &str, options: &[(&str, &str)]) -> LayerSpec {
    LayerSpec {
        name: name.into(),
        options: options
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        place: None,
        far: Vec::new(),
        copies: 1,
        tool: None,
        origin: "a test".into(),
    }
}

/// Returns that many drives of a lab as one medium.
pub fn drives(many: usize) -> Medium {
    let drive = |at| Medium::Drive { place: "lab".into(), name: format!("nvme{at}") };
    Medium::Many { members: (0..many).map(drive).collect(), groups: 1 }
}
