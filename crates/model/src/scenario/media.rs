//! Media of a stack, checked: files, devices here and on other machines, drives by name, or several
//! of them. Paths that could mean another file tomorrow are refused, and so are several media that
//! nothing joins.

use super::ast::{BaseExpr, LayerExpr, MediumExpr, OptionExpr};
use super::bdev;
use super::error::{Checked, Fault, TextFault, nearest};
use super::place::{self, StackNames};
use super::remote;
use super::stacks::known_layer;
use crate::layer::vm::{NET as NET_OPTION, TAP};
use crate::stack::{LoadIssuer, Medium, USUAL_CEPH_CONF};
use iotax_facts::place::{Place, is_of_the_kernel};
use iotax_units as units;
use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};

/// Medium that is no storage, on which a place's processors are probed.
const CPU: &str = "cpu";
/// Scheme for a network between two places.
const NET: &str = "net";

/// Returns the medium of a stack: a single one, or several that are joined or loaded separately.
/// `first` is the lowest layer.
///
/// # Errors
/// A medium is refused, the media cannot be combined, or nothing joins them.
pub(super) fn base_medium(
    base: &BaseExpr,
    names: &StackNames,
    first: Option<&LayerExpr>,
) -> Checked<Medium> {
    let joined = first.and_then(|layer| names.layer(&layer.name)).is_some_and(|help| help.joins);
    match base {
        BaseExpr::One(medium) => medium_of(medium, names),
        BaseExpr::Many(members) if !joined && members.len() > 1 => {
            let media = place::ranges(members)?;
            Err(not_joined(members, media.len(), first, names))
        }
        BaseExpr::Many(members) | BaseExpr::Each(members) => {
            let members = place::ranges(members)?;
            let media = members
                .iter()
                .map(|member| medium_of(member, names))
                .collect::<Checked<Vec<_>>>()?;
            no_member(&members, &media)?;
            distinct(&members, &media)?;
            can_begin_together(&members, &media, joined)?;
            Ok(<[Medium; 1]>::try_from(media)
                .map_or_else(|members| Medium::Many { members, groups: 1 }, |[medium]| medium))
        }
        BaseExpr::Groups(lists) => {
            let lists =
                lists.iter().map(|list| place::ranges(list)).collect::<Checked<Vec<_>>>()?;
            alike(&lists, first, joined)?;
            let (groups, members) = (lists.len(), lists.concat());
            let media = members
                .iter()
                .map(|member| medium_of(member, names))
                .collect::<Checked<Vec<_>>>()?;
            no_member(&members, &media)?;
            distinct(&members, &media)?;
            can_begin_together(&members, &media, true)?;
            Ok(Medium::Many { members: media, groups })
        }
    }
}

/// Checks that all lists have the same number of members, at least two, and that a layer joins each
/// list.
fn alike(lists: &[Vec<MediumExpr>], first: Option<&LayerExpr>, joined: bool) -> Checked<()> {
    let many = lists[0].len();
    if let Some(other) = lists.iter().find(|list| list.len() != many) {
        let why = format!(
            "one list has {many} members and another {}, but all lists must have the same number",
            other.len()
        );
        return Err(TextFault::new(
            span_of_members(other),
            Fault::hint(why, "write as many members in each list"),
        ));
    }
    if joined && many > 1 {
        return Ok(());
    }
    let why = match many {
        1 => "lists of one member need no layer that joins them",
        _ => "no layer joins the members of each list",
    };
    let hint = "write each([[a,b,c],[d,e,f]]) | mdraid(level=5), or each([a,b,c]) to load all of them as they are";
    let span = first.map_or_else(|| span_of_members(&lists.concat()), |layer| layer.span.clone());
    Err(TextFault::new(span, Fault::hint(why, hint)))
}

/// Refuses a bdev, a Ceph image or a vhost-user socket as one of several members: it can neither be
/// joined nor loaded beside others.
fn no_member(members: &[MediumExpr], media: &[Medium]) -> Checked<()> {
    match media
        .iter()
        .position(|medium| medium.foreign_name().is_some())
        .filter(|_| media.len() > 1)
    {
        Some(at) => {
            let what = bdev::what_is(&media[at]).unwrap_or_default();
            let fault = Fault::hint(
                format!("\"{}\" is {what}, which cannot be one of several media", members[at].body),
                "name it alone",
            );
            Err(TextFault::new(members[at].span.clone(), fault))
        }
        None => Ok(()),
    }
}

fn distinct(members: &[MediumExpr], media: &[Medium]) -> Checked<()> {
    let mut seen = HashSet::new();
    for (i, medium) in media.iter().enumerate() {
        if !medium.locations().all(|location| seen.insert(location)) {
            let fault = Fault::new(format!("\"{}\" is listed twice", members[i].body));
            return Err(TextFault::new(members[i].span.clone(), fault));
        }
    }
    Ok(())
}

/// Checks the places of members. A layer that joins its members needs them in one place. Those of
/// `each([..])` may be in several (this host, hosts over SSH, labs), as every slice begins there at
/// the same time.
fn can_begin_together(members: &[MediumExpr], media: &[Medium], joined: bool) -> Checked<()> {
    let place = |medium: &Medium| match medium.place() {
        Place::Host => "on this host".to_owned(),
        there => format!("on {there}"),
    };
    let elsewhere = |medium: &Medium| medium.place() != media[0].place();
    let Some(at) = media.iter().position(elsewhere).filter(|_| joined) else {
        return of_our_own(members, media);
    };
    let (expr, first) = (&members[at], &members[0]);
    let why = format!(
        "\"{}\" is {} and \"{}\" is {}: members in different places cannot be joined",
        expr.body,
        place(&media[at]),
        first.body,
        place(&media[0]),
    );
    Err(TextFault::new(
        expr.span.clone(),
        Fault::hint(why, "use members that are all in one place"),
    ))
}

/// Refuses fio over ssh beside other places. Its start and end are known only as exactly as the
/// time that ssh takes, so iotax could not check that it ran together with the others.
fn of_our_own(members: &[MediumExpr], media: &[Medium]) -> Checked<()> {
    let several = media.iter().any(|medium| medium.place() != media[0].place());
    let Some(at) = media.iter().position(|medium| several && medium.agent() == LoadIssuer::Fio)
    else {
        return Ok(());
    };
    let why = format!(
        "\"{}\" is loaded by the fio there (agent=fio), which cannot be given the start time that all hosts share",
        members[at].body
    );
    Err(TextFault::new(
        members[at].span.clone(),
        Fault::hint(why, "leave agent=fio out: iotax is copied there"),
    ))
}

/// Returns the fault that nothing joins the members or, if the layer above is unknown, that fault.
fn not_joined(
    members: &[MediumExpr],
    count: usize,
    first: Option<&LayerExpr>,
    names: &StackNames,
) -> TextFault {
    let all_at_once = "name one medium, or write each([..]) to load all of them at once";
    let Some(layer) = first else {
        let fault =
            Fault::hint(format!("{count} media without a layer that joins them"), all_at_once);
        return TextFault::new(span_of_members(members), fault);
    };
    match known_layer(layer, names) {
        Err(fault) => fault,
        Ok(help) => {
            let why = format!("\"{}\" takes one device below it, got {count}", help.name);
            let hint = if help.anywhere { all_at_once } else { "name one medium" };
            TextFault::new(layer.span.clone(), Fault::hint(why, hint))
        }
    }
}

fn span_of_members(members: &[MediumExpr]) -> std::ops::Range<usize> {
    let start = members.first().map_or(0, |member| member.span.start);
    start..members.last().map_or(start, |member| member.span.end)
}

/// Checks a single medium, as written or by the name of a device.
///
/// # Errors
/// The place, scheme or name is unknown, a path is not absolute, or an option does not apply.
pub fn medium_of(expr: &MediumExpr, names: &StackNames) -> Checked<Medium> {
    let at = |fault| TextFault::new(expr.span.clone(), fault);
    match expr.place.as_ref().map(|word| names.resolve_place(word)).transpose().map_err(at)? {
        Some(place) if is_cpu(expr) => return cpu_medium(expr, place),
        Some(place) if expr.scheme.as_deref() == Some(NET) => {
            return net_medium(expr, place, names);
        }
        Some(Place::Guest(lab)) => return names.lab_drive(&lab, expr),
        Some(Place::Ssh(host)) => return medium_on(expr, &host),
        Some(Place::Host) | None => {}
    }
    match expr.scheme.as_deref() {
        Some("file") => file_medium(expr),
        Some("ssh") => remote::medium(expr),
        Some(NET) => net_medium(expr, Place::Host, names),
        Some("rbd") => rbd_medium(expr),
        Some("vhost-user") => {
            medium_options(expr, &[])?;
            Ok(Medium::VhostUser { path: absolute(expr, &expr.body)? })
        }
        Some(other) => {
            Err(at(Fault::unknown("medium", other, &["file", "ssh", "net", "rbd", "vhost-user"])))
        }
        None if is_cpu(expr) => cpu_medium(expr, Place::Host),
        None if expr.body.starts_with('/') => device_medium(expr),
        None => named_medium(expr, names),
    }
}

fn is_cpu(expr: &MediumExpr) -> bool {
    expr.scheme.is_none() && expr.body == CPU
}

fn cpu_medium(expr: &MediumExpr, place: Place) -> Checked<Medium> {
    medium_options(expr, &[])?;
    Ok(Medium::Cpu { place })
}

fn net_medium(expr: &MediumExpr, place: Place, names: &StackNames) -> Checked<Medium> {
    let options = medium_options(expr, &["address", "port"])?;
    let to = names
        .resolve_place(&expr.body)
        .map_err(|fault| TextFault::new(expr.span.clone(), fault))?;
    check_ends(&place, &to, names).map_err(|fault| TextFault::new(expr.span.clone(), fault))?;
    let no = |option: &OptionExpr, what: &str| {
        let why = format!("\"{}\" is not {what}", option.values.join(","));
        TextFault::new(option.span.clone(), Fault::new(why))
    };
    let address = options.get("address").map(|option| {
        option.values.concat().parse::<IpAddr>().map_err(|_| no(option, "an IPv4 or IPv6 address"))
    });
    let port = options.get("port").map(|option| match option.values.concat().parse::<u16>() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(no(option, "a port from 1 to 65535")),
    });
    let (address, port) = (address.transpose()?, port.transpose()?);
    Ok(Medium::Net { place, to, address, port })
}

/// Checks a network of which one end is a guest. The guest must have a network, and the other end
/// must be this host or another guest.
fn check_ends(place: &Place, to: &Place, names: &StackNames) -> Result<(), Fault> {
    let Some(guest) = [place, to].into_iter().find(|end| end.is_guest()) else { return Ok(()) };
    let refuse = |why: String, hint: &str| Err(Fault::hint(why, hint));
    for end in [place, to].into_iter().filter(|end| end.is_guest()) {
        match names.guest(end) {
            None => {
                return refuse(
                    format!("\"{end}\" is a lab, which has no network"),
                    "write vm1 for a guest with one",
                );
            }
            Some(spec) if spec.option(NET_OPTION) != Some(TAP) => {
                return refuse(
                    format!("the guest \"{end}\" has no network"),
                    "leave net=none out of its options",
                );
            }
            Some(_) => {}
        }
    }
    match (place, to) {
        (Place::Ssh(_), _) | (_, Place::Ssh(_)) => refuse(
            format!("the network of the guest \"{guest}\" leads to this host and no further"),
            "name host or another guest: net:host @vm1, net:vm2 @vm1",
        ),
        _ if place == to => refuse(
            format!("\"{guest}\" is both ends"),
            "name two places: net:host @vm1, net:vm2 @vm1",
        ),
        _ => Ok(()),
    }
}

/// Returns the medium `/dev/nvme1n1 @ssh:HOST`, which equals `ssh:HOST:/dev/nvme1n1`.
fn medium_on(expr: &MediumExpr, host: &str) -> Checked<Medium> {
    match expr.scheme.as_deref() {
        None | Some("file") if expr.body.starts_with('/') => {
            let body = format!("{host}:{}", expr.body);
            remote::medium(&MediumExpr {
                scheme: Some("ssh".into()),
                body,
                place: None,
                ..expr.clone()
            })
        }
        _ => {
            let fault = Fault::hint(
                format!("\"{}\" is no path on ssh:{host}", expr.body),
                format!("write /dev/NAME @ssh:{host}"),
            );
            Err(TextFault::new(expr.span.clone(), fault))
        }
    }
}

fn file_medium(expr: &MediumExpr) -> Checked<Medium> {
    let path = absolute(expr, &expr.body)?;
    if is_device_path(&path) {
        let fault = Fault::hint(
            format!("{} is a device, not a file", expr.body),
            "write it without \"file:\"",
        );
        return Err(TextFault::new(expr.span.clone(), fault));
    }
    let options = medium_options(expr, &["size", "keep"])?;
    let keep = options.get("keep").map_or(Ok(false), |option| flag(option))?;
    let size = options.get("size").map(|option| size_option(option)).transpose()?;
    Ok(Medium::File { path, size, keep })
}

fn rbd_medium(expr: &MediumExpr) -> Checked<Medium> {
    let at = |fault| Err(TextFault::new(expr.span.clone(), fault));
    medium_options(expr, &[])?;
    let (name, conf) = expr.body.split_once('@').unwrap_or((&expr.body, USUAL_CEPH_CONF));
    let is_plain = |word: &str| {
        let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
        word.chars().all(is_sign)
            && word.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
    };
    match name.split_once('/').filter(|(pool, image)| is_plain(pool) && is_plain(image)) {
        Some((pool, image)) => {
            let conf = absolute(expr, conf)?;
            Ok(Medium::Rbd { pool: pool.to_owned(), image: image.to_owned(), conf })
        }
        None => at(Fault::hint(
            format!("\"{name}\" is no image of a pool, of letters, digits, -, _ and ."),
            "write rbd:POOL/IMAGE, or rbd:POOL/IMAGE@/path/ceph.conf",
        )),
    }
}

fn device_medium(expr: &MediumExpr) -> Checked<Medium> {
    let path = absolute(expr, &expr.body)?;
    if !is_device_path(&path) {
        // A file that exists has its size.
        let size = if path.is_file() { "" } else { ",size=4GiB" };
        let hint = format!("write file:{}{size} for a file", expr.body);
        let fault = Fault::hint(format!("{} is not below /dev", expr.body), hint);
        return Err(TextFault::new(expr.span.clone(), fault));
    }
    if let Some(option) = expr.options.first() {
        let fault = Fault::hint(
            format!("a device takes no option, got \"{option}\""),
            "a device is used whole",
        );
        return Err(TextFault::new(option.span.clone(), fault));
    }
    Ok(Medium::Device { path })
}

fn named_medium(expr: &MediumExpr, names: &StackNames) -> Checked<Medium> {
    let known: Vec<&str> = names.devices.keys().map(String::as_str).collect();
    let Some(medium) = names.devices.get(&expr.body) else {
        let near = nearest(&expr.body, &known).map(|near| format!("did you mean \"{near}\"? "));
        let near = near.or_else(|| {
            let blank = if expr.body.contains('@') { ", with a blank before \"@\"" } else { "" };
            names.drive_meant(&expr.body).map(|drive| format!("did you mean \"{drive}\"{blank}? "))
        });
        let near = near.or_else(|| {
            Path::new(&expr.body)
                .is_file()
                .then(|| "a job file's name ends in .fio, a scenario's in .toml; ".to_owned())
        });
        let hint = format!(
            "{}write /dev/NAME, file:/PATH,size=SIZE, nvme0 @lab (a drive of a lab) or ssh:HOST:/PATH, or declare [device.NAME] in a scenario file",
            near.unwrap_or_default()
        );
        let fault = Fault::hint(format!("\"{}\" is no medium", expr.body), hint);
        return Err(TextFault::new(expr.span.clone(), fault));
    };
    match expr.options.first() {
        None => Ok(medium.clone()),
        Some(option) => Err(TextFault::new(
            option.span.clone(),
            Fault::hint(
                format!("\"{}\" is declared elsewhere and takes no option here", expr.body),
                format!("write it in [device.{}]", expr.body),
            ),
        )),
    }
}

/// Checks that a path is absolute, without `..`, and not in a file system that the kernel makes up
/// (/proc). A relative one would mean another file in another folder, and `..` another one after a
/// rename.
pub(super) fn absolute(expr: &MediumExpr, path: &str) -> Checked<PathBuf> {
    let at = |fault| Err(TextFault::new(expr.span.clone(), fault));
    if path.contains('\0') {
        return at(Fault::new("a path with a zero byte"));
    }
    if !path.starts_with('/') {
        return at(Fault::hint(
            format!("\"{path}\" is not an absolute path"),
            format!("write it from the root: \"$PWD/{path}\""),
        ));
    }
    let plain = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if !plain || path.ends_with('/') {
        return at(Fault::hint(
            format!("\"{path}\" is not a plain path"),
            "write it without \"..\" and without a \"/\" at the end",
        ));
    }
    let path: PathBuf = Path::new(path).components().collect();
    match is_of_the_kernel(&path) {
        false => Ok(path),
        true => at(Fault::hint(
            format!("{} is no file on a drive: the kernel makes up what is in it", path.display()),
            "name a file on a drive, or a drive in /dev",
        )),
    }
}

/// Returns true for a path below /dev, but not below /dev/shm, which is a file system where anyone
/// may write files.
pub(super) fn is_device_path(path: &Path) -> bool {
    path.starts_with("/dev") && !path.starts_with("/dev/shm")
}

pub(super) fn medium_options<'a>(
    expr: &'a MediumExpr,
    known: &[&str],
) -> Checked<BTreeMap<&'a str, &'a OptionExpr>> {
    let mut found = BTreeMap::new();
    for option in &expr.options {
        let key = option.key.as_deref().unwrap_or_default();
        let fault = if !known.contains(&key) {
            Fault::unknown("option", key, known)
        } else if option.values.len() != 1 {
            Fault::hint(
                format!("\"{key}\" of a medium takes one value"),
                "write one stack for each",
            )
        } else if found.insert(key, option).is_some() {
            Fault::new(format!("\"{key}\" is written twice"))
        } else {
            continue;
        };
        return Err(TextFault::new(option.span.clone(), fault));
    }
    Ok(found)
}

pub(super) fn size_option(option: &OptionExpr) -> Checked<u64> {
    size_of(&option.values[0]).map_err(|fault| TextFault::new(option.span.clone(), fault))
}

/// Parses a size and returns bytes.
///
/// # Errors
/// The size has no unit, or is zero.
pub fn size_of(word: &str) -> Result<u64, Fault> {
    match units::parse_bytes(word) {
        Ok(0) => {
            Err(Fault::hint(format!("size \"{word}\" is nothing"), "write a size such as 4GiB"))
        }
        Ok(bytes) => Ok(bytes),
        Err(clause) => Err(Fault::from_clause(&clause)),
    }
}

pub(super) fn flag(option: &OptionExpr) -> Checked<bool> {
    match option.values[0].as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        other => {
            let why = format!("\"{other}\" is neither true nor false");
            Err(TextFault::new(option.span.clone(), Fault::new(why)))
        }
    }
}
