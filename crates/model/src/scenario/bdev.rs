//! Stacks with a bdev of an SPDK target in them, which is no device of any kernel. Refuses layers that cannot stand on one, and
//! to load one; a layer that can is told the target's socket.

use super::error::{Fault, InputError};
use super::{LayerSpec, Stack};
use crate::layer::Face;
use crate::layer::spdk::SOCKET;

const HINT: &str =
    "put a layer on it that brings it to a kernel, as nvmf(target=spdk) or vm(attach=vhost-user-blk)";

/// The layer whose bdev the last of these layers shows; `None`: it shows something else.
fn shown(layers: &[LayerSpec]) -> Option<&LayerSpec> {
    let face = |layer: &LayerSpec| layer.help().map_or(Face::Any, |help| help.gives);
    layers.iter().rfind(|layer| face(layer) != Face::Any).filter(|layer| face(layer) == Face::Bdev)
}

/// Whether layers end in a bdev.
pub fn ends_in_one(layers: &[LayerSpec]) -> bool {
    shown(layers).is_some()
}

/// Checks a layer that is put on others, and tells it the target's socket where it is to stand on a bdev.
///
/// # Errors
/// When it cannot, or names another target.
pub(super) fn settle(below: &[LayerSpec], layer: &mut LayerSpec) -> Result<(), Fault> {
    let (Some(bdev), Some(help)) = (shown(below), layer.help()) else { return Ok(()) };
    if help.anywhere {
        return Ok(());
    }
    let Some((option, value)) = help.over_bdev else {
        let why = format!(
            "\"{}\" stands on a device of the kernel, and below it is a bdev of SPDK, which is none",
            layer.name
        );
        return Err(Fault::hint(why, HINT));
    };
    if layer.option(option) != Some(value) {
        let why = format!(
            "\"{}\" takes a bdev of SPDK, which is no device of the kernel, with {option}={value} only",
            layer.name
        );
        return Err(Fault::hint(why, format!("write {}({option}={value})", layer.name)));
    }
    if layer.options.contains_key("aio") {
        let hint = format!("write aio in {}(...)", bdev.name);
        return Err(Fault::hint("aio is of what opens files, and below is a bdev of SPDK", hint));
    }
    let Some(socket) = bdev.option("rpc") else { return Ok(()) };
    if help.option(SOCKET).is_none() {
        return Ok(());
    }
    match layer.options.insert(SOCKET.to_owned(), socket.to_owned()) {
        Some(other) if other != socket => {
            let why = format!("{SOCKET}={other} is another target than the bdev below is of ({socket})");
            Err(Fault::hint(why, format!("leave {SOCKET} out")))
        }
        _ => Ok(()),
    }
}

/// Whether something of a stack can be loaded.
///
/// # Errors
/// When it ends in a bdev, with the place of the layer that makes it.
pub(super) fn loadable(stack: &Stack) -> Result<(), InputError> {
    let Some(layer) = shown(&stack.layers) else { return Ok(()) };
    let fault = Fault::hint("a bdev of SPDK is no device of the kernel: nothing can load it", HINT);
    Err(InputError::new(layer.origin.clone(), fault))
}

/// What is said of a bill in which such prefixes have no line.
pub(super) fn note(left_out: &[Stack]) -> Option<String> {
    let texts: Vec<&str> = left_out.iter().map(|stack| stack.text.as_str()).collect();
    (!texts.is_empty()).then(|| {
        format!(
            "no line of the bill of its own: {}, as a bdev of SPDK cannot be loaded; the line of the layer above has both",
            texts.join(", ")
        )
    })
}
