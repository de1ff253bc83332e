//! Stacks with storage that is neither a file nor a kernel's device: an SPDK bdev, a Ceph image or
//! a vhost-user socket. Layers that cannot use such storage are refused, and so is a load directly
//! on it. A layer that can use it gets its socket.

use super::error::{Fault, InputError};
use crate::layer::spdk::SOCKET;
use crate::layer::{LayerHelp, vm};
use crate::stack::{Face, LayerRole};
use crate::stack::{LayerSpec, Medium, Stack};

struct Foreign {
    face: Face,
    what: &'static str,
    hint: &'static str,
}

const FOREIGN: &[Foreign] = &[
    Foreign {
        face: Face::Bdev,
        what: "an SPDK bdev",
        hint: "add \"| nvmf(target=spdk)\" (a block device) or \"| vm(attach=vhost-user-blk)\" (a guest's disk)",
    },
    Foreign {
        face: Face::Rbd,
        what: "an RBD image",
        hint: "add \"| librbd\" (a file on this host), \"| krbd\" (a block device of its kernel) or \"| vm\" (a guest's disk)",
    },
    Foreign {
        face: Face::VhostUser,
        what: "a vhost-user socket",
        hint: "add \"| vm(attach=vhost-user-blk)\" (a guest's disk)",
    },
];

fn foreign(face: Face) -> Option<&'static Foreign> {
    FOREIGN.iter().find(|one| one.face == face)
}

/// Returns what the layers provide at the top if it is neither a file nor a kernel's device, with
/// the layer that makes it (`None`: it is the medium itself). The whole is `None` for a device or a
/// file.
fn exposed_foreign<'a>(
    medium: &Medium,
    layers: &'a [LayerSpec],
) -> Option<(Option<&'a LayerSpec>, &'static Foreign)> {
    let face = |layer: &LayerSpec| layer.catalog_entry().map_or(Face::Any, |help| help.gives);
    match layers.iter().rfind(|layer| face(layer) != Face::Any) {
        Some(layer) => Some((Some(layer), foreign(face(layer))?)),
        None => Some((None, foreign(medium.face())?)),
    }
}

/// Returns what a medium is, such as "an RBD image", if it is neither a file nor a kernel's device.
pub(super) fn what_is(medium: &Medium) -> Option<&'static str> {
    foreign(medium.face()).map(|foreign| foreign.what)
}

/// Returns true if the top of the layers is neither a file nor a kernel's device.
pub fn ends_in_one(medium: &Medium, layers: &[LayerSpec]) -> bool {
    exposed_foreign(medium, layers).is_some()
}

/// Returns true if the top of the layers is a Ceph image, which its clients cache.
pub fn ends_in_image(medium: &Medium, layers: &[LayerSpec]) -> bool {
    exposed_foreign(medium, layers).is_some_and(|(_, shown)| shown.face == Face::Rbd)
}

/// Returns true if the top of the layers is an SPDK bdev.
pub fn ends_in_bdev(medium: &Medium, layers: &[LayerSpec]) -> bool {
    exposed_foreign(medium, layers).is_some_and(|(_, shown)| shown.face == Face::Bdev)
}

/// Returns the only storage that a layer accepts below it, if that is not a file or a kernel's
/// device.
fn stands_on(help: &LayerHelp) -> Option<&'static Foreign> {
    foreign(help.below)
}

/// Checks whether a layer can be put on others. Sets the option that names the socket below, if
/// what is below is an SPDK bdev or a vhost-user socket.
///
/// # Errors
/// The layer cannot use what is below it, or not with these options; several guests share one
/// socket; or an option names another socket.
pub(super) fn settle_layer(
    medium: &Medium,
    below: &[LayerSpec],
    layer: &mut LayerSpec,
) -> Result<(), Fault> {
    let Some(help) = layer.catalog_entry() else { return Ok(()) };
    let top = below
        .iter()
        .rfind(|layer| layer.catalog_entry().is_some_and(|help| help.gives != Face::Any));
    if let Some(top) =
        top.filter(|top| top.catalog_entry().is_some_and(|help| help.gives == Face::Client))
    {
        return match help.role {
            LayerRole::Null => Ok(()),
            _ => Err(Fault::hint(
                format!(
                    "\"{}\" has no device here: fio itself is the client that reaches what \"{}\" names",
                    layer.name, top.name
                ),
                format!(
                    "leave one of them out, or write librbd instead of {}, which provides a file",
                    top.name
                ),
            )),
        };
    }
    let shown = exposed_foreign(medium, below);
    if let Some(only) = stands_on(help) {
        return match shown.is_some_and(|(_, shown)| shown.face == only.face) {
            true => Ok(()),
            false => Err(Fault::hint(
                format!("\"{}\" requires {}", layer.name, only.what),
                format!("write for example {}", help.example),
            )),
        };
    }
    let Some((from, Foreign { face, what, hint })) = shown else {
        return match layer.options.get(vm::SOCKET).filter(|_| help.role == LayerRole::Guest) {
            Some(path) => Err(Fault::hint(
                format!(
                    "{} names a vhost-user socket, but below is a device or a file",
                    vm::SOCKET
                ),
                format!("write vhost-user:{path} | {}(attach=vhost-user-blk)", layer.name),
            )),
            None => Ok(()),
        };
    };
    if help.anywhere {
        return Ok(());
    }
    let Some((_, option, values)) = help.over.iter().find(|(over, ..)| over == face) else {
        let below = from.map_or_else(
            || format!("{} is {what}", medium.medium_text()),
            |from| format!("{} provides {what}", from.name),
        );
        let why = format!("\"{}\" requires a block device, but {below}", layer.name);
        return Err(Fault::hint(why, *hint));
    };
    if !layer.option(option).is_some_and(|value| values.contains(&value)) {
        let why =
            format!("\"{}\" takes {what} only with {option}={}", layer.name, values.join(" or "));
        return Err(Fault::hint(why, format!("write {}({option}={})", layer.name, values[0])));
    }
    if layer.options.contains_key("aio") {
        let hint = match from.filter(|from| from.option("aio").is_some()) {
            Some(from) => format!("write aio in {}(...)", from.name),
            None => "remove aio=".to_owned(),
        };
        return Err(Fault::hint(format!("aio= does not apply to {what}"), hint));
    }
    let sockets = medium.list_count() as u64;
    if *face == Face::VhostUser
        && u64::from(layer.copies) > sockets
        && super::stacks::split_parts(below).is_none()
    {
        return Err(Fault::hint(
            format!(
                "a socket serves one guest, but there are {} of \"{}\"",
                layer.copies, layer.name
            ),
            "use one guest, or an engine below that creates a socket for each",
        ));
    }
    let rpc =
        from.filter(|_| *face == Face::Bdev).and_then(|from| from.option("rpc")).map(str::to_owned);
    let served = (*face == Face::VhostUser)
        .then(|| from.map_or_else(|| medium.medium_text(), |from| from.name.clone()));
    let names = [(SOCKET, "an SPDK target", rpc), (vm::SOCKET, "a vhost-user socket", served)];
    names
        .into_iter()
        .try_for_each(|(option, of, value)| settle_option(layer, option, of, what, value))
}

/// Sets the option that names the socket below a layer, if the layer has it. Refuses one that the
/// user wrote where there is no such socket or another.
fn settle_option(
    layer: &mut LayerSpec,
    option: &str,
    of: &str,
    what: &str,
    value: Option<String>,
) -> Result<(), Fault> {
    let refuse = |why| Err(Fault::hint(why, format!("leave {option} out")));
    match (value, layer.options.get(option)) {
        (None, Some(_)) => refuse(format!("{option} names {of}, but below is {what}")),
        (Some(value), Some(other)) if *other != value => {
            refuse(format!("{option}={other} is not the socket of {what} below ({value})"))
        }
        (Some(value), _)
            if layer.catalog_entry().is_some_and(|help| help.option(option).is_some()) =>
        {
            layer.options.insert(option.to_owned(), value);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Checks that a stack can be loaded.
///
/// # Errors
/// The top of the stack is neither a file nor a kernel's device. The error has the position of the
/// layer that makes it.
pub(super) fn loadable(stack: &Stack) -> Result<(), InputError> {
    let Some((layer, shown)) = exposed_foreign(&stack.medium, &stack.layers) else { return Ok(()) };
    let fault = Fault::hint(
        format!("{} is not a block device, so it cannot be measured directly", shown.what),
        shown.hint,
    );
    Err(InputError::new(layer.map_or(&stack.text, |layer| &layer.origin).clone(), fault))
}

/// Returns the note that a bill has no line for these prefixes, because they cannot be loaded;
/// `None` if there are none.
pub(super) fn note_left_out(left_out: &[Stack]) -> Option<String> {
    let texts: Vec<&str> = left_out.iter().map(|stack| stack.text.as_str()).collect();
    let first = left_out.first()?;
    let (_, shown) = exposed_foreign(&first.medium, &first.layers)?;
    Some(format!(
        "no separate line in the bill: {}, because {} cannot be measured directly; the line of the layer above has \
         both",
        texts.join(", "),
        shown.what
    ))
}
