//! Stacks with something in them that no kernel has: a bdev of an SPDK target, an image of a Ceph cluster, a vhost-user
//! socket. Refuses layers that
//! cannot stand on one, and to load one; a layer that can is told the target's socket.

use super::error::{Fault, InputError};
use super::{LayerSpec, Medium, Stack};
use crate::layer::spdk::SOCKET;
use crate::layer::{Face, LayerHelp, Role, vm};

/// Something that no kernel has.
struct Foreign {
    face: Face,
    /// What it is.
    what: &'static str,
    /// What brings it to a kernel.
    hint: &'static str,
}

const FOREIGN: &[Foreign] = &[
    Foreign {
        face: Face::Bdev,
        what: "a bdev of SPDK",
        hint: "put a layer on it that brings it to a kernel, as nvmf(target=spdk) or vm(attach=vhost-user-blk)",
    },
    Foreign {
        face: Face::Rbd,
        what: "an image of Ceph",
        hint: "put a layer on it that brings it to a kernel, as vm or librbd",
    },
    Foreign {
        face: Face::VhostUser,
        what: "a vhost-user socket",
        hint: "put a guest on it: vm(attach=vhost-user-blk)",
    },
];

fn foreign(face: Face) -> Option<&'static Foreign> {
    FOREIGN.iter().find(|one| one.face == face)
}

/// What layers show that no kernel has, and the one of them that makes it (none: the medium itself is it); `None`: what they show is
/// a device or a file.
fn shown<'a>(medium: &Medium, layers: &'a [LayerSpec]) -> Option<(Option<&'a LayerSpec>, &'static Foreign)> {
    let face = |layer: &LayerSpec| layer.help().map_or(Face::Any, |help| help.gives);
    match layers.iter().rfind(|layer| face(layer) != Face::Any) {
        Some(layer) => Some((Some(layer), foreign(face(layer))?)),
        None => Some((None, foreign(medium.face())?)),
    }
}

/// What a medium is that no kernel has.
pub(super) fn what_is(medium: &Medium) -> Option<&'static str> {
    foreign(medium.face()).map(|foreign| foreign.what)
}

/// Whether layers on a medium end in what no kernel has.
pub fn ends_in_one(medium: &Medium, layers: &[LayerSpec]) -> bool {
    shown(medium, layers).is_some()
}

/// Whether layers end in an image of Ceph, which a client caches.
pub fn ends_in_image(medium: &Medium, layers: &[LayerSpec]) -> bool {
    shown(medium, layers).is_some_and(|(_, shown)| shown.face == Face::Rbd)
}

/// Whether layers end in a bdev, which its target shares out.
pub fn ends_in_bdev(medium: &Medium, layers: &[LayerSpec]) -> bool {
    shown(medium, layers).is_some_and(|(_, shown)| shown.face == Face::Bdev)
}

/// Whether a layer stands on such a thing and on nothing else.
fn stands_on(help: &LayerHelp) -> Option<&'static Foreign> {
    foreign(help.below)
}

/// Checks a layer that is put on others, and tells it the target's socket where it is to stand on a bdev.
///
/// # Errors
/// When it cannot, or names another target.
pub(super) fn settle(medium: &Medium, below: &[LayerSpec], layer: &mut LayerSpec) -> Result<(), Fault> {
    let Some(help) = layer.help() else { return Ok(()) };
    let top = below.iter().rfind(|layer| layer.help().is_some_and(|help| help.gives != Face::Any));
    if let Some(top) = top.filter(|top| top.help().is_some_and(|help| help.gives == Face::Client)) {
        return match help.role {
            Role::Null => Ok(()),
            _ => Err(Fault::hint(
                format!(
                    "\"{}\" stands on nothing here: fio reaches what \"{}\" names as a client itself",
                    layer.name, top.name
                ),
                format!("leave one of them out, or write librbd for {}, which gives a file", top.name),
            )),
        };
    }
    let shown = shown(medium, below);
    if let Some(only) = stands_on(help) {
        return match shown.is_some_and(|(_, shown)| shown.face == only.face) {
            true => Ok(()),
            false => Err(Fault::hint(
                format!("\"{}\" stands on {} only", layer.name, only.what),
                format!("write for example {}", help.example),
            )),
        };
    }
    let Some((from, Foreign { face, what, hint })) = shown else {
        return match layer.options.get(vm::SOCKET).filter(|_| help.role == Role::Guest) {
            Some(path) => Err(Fault::hint(
                format!("{} names a vhost-user socket, and below is a device or a file", vm::SOCKET),
                format!("write vhost-user:{path} | {}(attach=vhost-user-blk)", layer.name),
            )),
            None => Ok(()),
        };
    };
    if help.anywhere {
        return Ok(());
    }
    let Some((_, option, values)) = help.over.iter().find(|(over, ..)| over == face) else {
        let why = format!(
            "\"{}\" stands on a device of the kernel, and below it is {what}, which is none",
            layer.name
        );
        return Err(Fault::hint(why, *hint));
    };
    if !layer.option(option).is_some_and(|value| values.contains(&value)) {
        let why = format!(
            "\"{}\" takes {what}, which is no device of the kernel, with {option}={} only",
            layer.name,
            values.join(" or ")
        );
        return Err(Fault::hint(why, format!("write {}({option}={})", layer.name, values[0])));
    }
    if layer.options.contains_key("aio") {
        let hint = match from.filter(|from| from.option("aio").is_some()) {
            Some(from) => format!("write aio in {}(...)", from.name),
            None => "leave aio out".to_owned(),
        };
        return Err(Fault::hint(format!("aio is of what opens files, and below is {what}"), hint));
    }
    if *face == Face::VhostUser && layer.copies > 1 && super::stacks::parts(below).is_none() {
        return Err(Fault::hint(
            format!("a socket serves one guest, and there are {} of \"{}\"", layer.copies, layer.name),
            "put one guest on it, or an engine below that makes a socket for each",
        ));
    }
    let rpc = from.filter(|_| *face == Face::Bdev).and_then(|from| from.option("rpc")).map(str::to_owned);
    let served =
        (*face == Face::VhostUser).then(|| from.map_or_else(|| medium.text(), |from| from.name.clone()));
    let names = [(SOCKET, "a target of SPDK", rpc), (vm::SOCKET, "a vhost-user socket", served)];
    names.into_iter().try_for_each(|(option, of, value)| settle_option(layer, option, (of, what), value))
}

/// Tells a layer whose socket is below it, in an option that nobody needs to write.
fn settle_option(
    layer: &mut LayerSpec,
    option: &str,
    (of, what): (&str, &str),
    value: Option<String>,
) -> Result<(), Fault> {
    let refuse = |why| Err(Fault::hint(why, format!("leave {option} out")));
    match (value, layer.options.get(option)) {
        (None, Some(_)) => refuse(format!("{option} names {of}, and below is {what}")),
        (Some(value), Some(other)) if *other != value => {
            refuse(format!("{option}={other} is another socket than that of {what} below ({value})"))
        }
        (Some(value), _) if layer.help().is_some_and(|help| help.option(option).is_some()) => {
            layer.options.insert(option.to_owned(), value);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Whether something of a stack can be loaded.
///
/// # Errors
/// When it ends in what no kernel has, with the place of the layer that makes it.
pub(super) fn loadable(stack: &Stack) -> Result<(), InputError> {
    let Some((layer, shown)) = shown(&stack.medium, &stack.layers) else { return Ok(()) };
    let fault =
        Fault::hint(format!("{} is no device of the kernel: nothing can load it", shown.what), shown.hint);
    Err(InputError::new(layer.map_or(&stack.text, |layer| &layer.origin).clone(), fault))
}

/// What is said of a bill in which such prefixes have no line.
pub(super) fn note(left_out: &[Stack]) -> Option<String> {
    let texts: Vec<&str> = left_out.iter().map(|stack| stack.text.as_str()).collect();
    let first = left_out.first()?;
    let (_, shown) = shown(&first.medium, &first.layers)?;
    Some(format!(
        "no line of the bill of its own: {}, as {} cannot be loaded; the line of the layer above has both",
        texts.join(", "),
        shown.what
    ))
}
