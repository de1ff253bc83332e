//! Which devices commands name, and which outputs were of: M5, M11.

use super::loads::{Load, commands, loads};
use crate::finding::{Finding, Severity};
use crate::import::Said;
use crate::import::command::Command;
use crate::import::fio::{Disk, Fio};
use crate::page::{Page, Spot};
use crate::rule::{Evidence, Rule, Sink};

/// M5.
pub const DISKS: Rule = Rule {
    id: "M5",
    name: "outputs are of the devices that commands name",
    severity: Severity::Ambiguous,
    holds: "the disks whose statistics fio prints are the device that filename= of the command before it names; the disks under a volume that is \
            mounted where it ran are those that vgcreate or pvcreate name",
    silent: "of links (/dev/disk/by-id), volumes and scripts, where a command or sentence of the page names the disk of the output, and unless the \
             mount point is told and used",
    check: disks,
};

/// M11.
pub const MADE: Rule = Rule {
    id: "M11",
    name: "what is measured is made by a command of the page",
    severity: Severity::Ambiguous,
    holds: "on a page that shows how arrays and volumes are made, each that is measured or built upon is among them: the group of lvcreate, the md \
            device and volume of filename=",
    silent: "of pages that show no such command of another one, and of devices that need none",
    check: made,
};

/// More groups, arrays or disks are a script's.
const MOST: usize = 50;

/// The disk of `/dev/nvme0n1p1`: `nvme0n1`; `None` of what is no plain disk.
fn disk_of(path: &str) -> Option<&str> {
    let name = path.strip_prefix("/dev/").unwrap_or(path);
    let letters = |text: &str| text.bytes().take_while(u8::is_ascii_lowercase).count();
    if let Some(rest) = name.strip_prefix("nvme") {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let controller = digits(rest);
        let space = rest.get(controller..)?.strip_prefix('n')?;
        let end = 4 + controller + 1 + digits(space);
        return (controller > 0 && digits(space) > 0).then(|| &name[..end]);
    }
    let head =
        ["xvd", "sd", "vd", "hd"].iter().find_map(|head| Some((head.len(), name.strip_prefix(head)?)))?;
    let end = letters(head.1);
    let rest = head.1.get(end..)?;
    ((1..=2).contains(&end) && rest.bytes().all(|byte| byte.is_ascii_digit())).then(|| &name[..head.0 + end])
}

/// The disks of an output that stand on no other.
fn leaves(fio: &Fio) -> Vec<&Disk> {
    fio.disks.iter().filter(|disk| !disk.aggregates).collect()
}

fn disks(evidence: &Evidence, sink: &mut Sink) {
    by_filename(evidence, sink);
    by_volume(evidence, sink);
}

fn by_filename(evidence: &Evidence, sink: &mut Sink) {
    let loads = loads(evidence);
    let mut told: Vec<Spot> = Vec::new();
    let mut own: &[Load] = &[];
    for (at, output) in evidence.outputs.iter().enumerate() {
        let from = loads.partition_point(|load| load.output < at);
        let of_output = &loads[from..loads.partition_point(|load| load.output <= at)];
        if !of_output.is_empty() {
            own = of_output;
        }
        let Said::Fio(fio) = &output.said else { continue };
        let job = fio.jobs.first().map_or("", |job| job.name.as_str());
        let mut named = own.iter().filter(|load| load.name == job);
        let (Some(load), None) = (named.next(), named.next()) else { continue };
        let Some(files) = load.entry(&["filename"]).filter(|_| !load.is_template()) else { continue };
        let named: Option<Vec<&str>> = files.value.as_deref().unwrap_or("").split(':').map(disk_of).collect();
        let Some(named) =
            named.filter(|_| files.value.as_deref().is_some_and(|value| value.starts_with("/dev/")))
        else {
            continue;
        };
        let leaves = leaves(fio);
        let other = leaves.iter().find(|disk| disk_of(&disk.name).is_some_and(|name| !named.contains(&name)));
        // A drive with several paths has one under another name.
        let sibling = |disk: &Disk| disk.name.starts_with("nvme") && disk.name.contains('c');
        let Some(other) = other.filter(|disk| !sibling(disk) && leaves.len() == named.len()) else {
            continue;
        };
        if named.iter().any(|name| leaves.iter().any(|disk| disk.name == *name))
            || told.last() == Some(&files.spot)
        {
            continue;
        }
        let elsewhere = |fio: &Fio| {
            fio.disks.iter().any(|disk| disk_of(&disk.name).is_some_and(|name| named.contains(&name)))
        };
        // A command that is shown once for several devices is of one of them.
        if told.len() >= MOST || evidence.fio().any(elsewhere) {
            continue;
        }
        told.push(files.spot);
        let message = format!(
            "the command has {}, its output in line {} the disk {}: the output is of another device",
            evidence.page.quote(files.spot),
            evidence.page.number(other.line),
            other.name
        );
        sink.finds(
            Finding::new("M5", Severity::Ambiguous, files.spot, message)
                .against([Spot::new(other.line, 0..0)]),
        );
    }
}

/// Disks that commands which make volumes name.
fn members(command: &Command) -> impl Iterator<Item = (&str, Spot)> {
    command.words.iter().filter_map(|word| Some((disk_of(word.text.strip_prefix("/dev/")?)?, word.spot)))
}

fn by_volume(evidence: &Evidence, sink: &mut Sink) {
    let commands = commands(evidence);
    let groups: Vec<&Command> = commands
        .iter()
        .map(|(_, one)| *one)
        .filter(|one| matches!(one.program.as_str(), "vgcreate" | "pvcreate"))
        .collect();
    let Some(first) = groups.iter().find_map(|group| members(group).next()) else { return };
    let named: Vec<&str> =
        groups.iter().take(MOST).flat_map(|group| members(group)).map(|(disk, _)| disk).collect();
    let mut others: Vec<(&str, usize)> = Vec::new();
    for fio in evidence.fio().filter(|fio| !fio.disks.is_empty()) {
        let mapped = fio.disks.iter().any(|disk| disk.aggregates && disk.name.starts_with("dm-"));
        let leaves = leaves(fio);
        if !mapped || leaves.is_empty() || leaves.iter().any(|disk| named.contains(&disk.name.as_str())) {
            return;
        }
        for disk in leaves {
            if disk_of(&disk.name).is_none() || others.len() > MOST {
                return;
            }
            if !others.iter().any(|(name, _)| *name == disk.name) {
                others.push((&disk.name, disk.line));
            }
        }
    }
    let groups: Vec<&str> = groups
        .iter()
        .filter(|one| one.program == "vgcreate")
        .filter_map(|one| {
            one.words.iter().map(|word| word.text.as_str()).find(|word| !word.starts_with(['-', '/']))
        })
        .collect();
    let Some(last) = others.iter().map(|(_, line)| *line).max() else { return };
    if others.iter().any(|(name, _)| is_named(evidence, name)) || !mounted(evidence.page, &groups, last) {
        return;
    }
    let list: Vec<&str> = others.iter().map(|(name, _)| *name).collect();
    let message = format!(
        "the volume is made on {}, the outputs are of volumes on {}: the commands are not those of what was measured",
        first.0,
        list.join(" and ")
    );
    let spots = others.iter().map(|(_, line)| Spot::new(*line, 0..0));
    sink.finds(Finding::new("M5", Severity::Ambiguous, first.1, message).against(spots));
}

/// Whether a page names a disk outside fio's outputs.
fn is_named(evidence: &Evidence, disk: &str) -> bool {
    let finder = memchr::memmem::Finder::new(disk);
    let outputs = evidence.outputs.iter().filter(|output| !matches!(output.said, Said::Fio(_)));
    let others = outputs.flat_map(|output| output.lines.clone());
    evidence
        .lines_outside_outputs()
        .chain(others)
        .any(|line| finder.find(evidence.page.line(line).as_bytes()).is_some())
}

/// Whether a volume of one of the groups is mounted somewhere, and that place is gone to before line `until`.
fn mounted(page: &Page, groups: &[&str], until: usize) -> bool {
    let mut places: Vec<String> = Vec::new();
    for line in 0..until.min(page.len()) {
        let text = page.line(line);
        if text.len() > 1000 {
            continue;
        }
        let words: Vec<&str> =
            text.split([' ', '"', '\'', '\t', ';']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            let of_group = groups.iter().any(|group| {
                pair[0]
                    .strip_prefix("/dev/")
                    .is_some_and(|path| path.strip_prefix(*group).is_some_and(|rest| rest.starts_with('/')))
            });
            if of_group && pair[1].starts_with('/') && !pair[1].starts_with("/dev/") && pair[1].len() > 1 {
                places.push(pair[1].trim_end_matches('/').to_owned());
            }
        }
        let gone = |place: &String| {
            let cd = words.windows(2).any(|pair| pair[0] == "cd" && pair[1].trim_end_matches('/') == place);
            cd || text.contains(&format!("={place}/")) || text.contains(&format!("directory={place}"))
        };
        if places.len() < 100 && places.iter().any(gone) {
            return true;
        }
    }
    false
}

fn made(evidence: &Evidence, sink: &mut Sink) {
    let commands: Vec<&Command> = commands(evidence).into_iter().map(|(_, one)| one).collect();
    let of = |program: &'static str| commands.iter().filter(move |one| one.program == program);
    let text =
        |command: &Command| command.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let creates = |command: &&&Command| {
        command.words.iter().any(|word| ["--create", "-C", "create"].contains(&word.text.as_str()))
    };
    let arrays: Vec<String> = of("mdadm").filter(creates).take(MOST).map(|one| text(one)).collect();
    let others = arrays.len() + of("zpool").filter(creates).count();
    // A page that shows how the others are made shows all of it.
    if others > 0 && of("vgcreate").count() == 0 && !says(evidence.page, &["vgcreate", "vgs", "vgextend"]) {
        let volume = of("lvcreate").find_map(|one| Some((group(one)?, one.spot)));
        if let Some((group, spot)) = volume {
            let message = format!(
                "lvcreate takes from the group {group}, which no command of the page makes: which drives are in it is not told"
            );
            sink.finds(Finding::new("M11", Severity::Ambiguous, spot, message));
        }
    }
    let mut told: Vec<String> = Vec::new();
    for load in loads(evidence).iter().filter(|load| !load.is_template()) {
        let Some(entry) = load.entry(&["filename"]) else { continue };
        for path in entry.value.as_deref().unwrap_or("").split(':') {
            let array = path.strip_prefix("/dev/md").is_some_and(|rest| !rest.is_empty());
            let missing = array
                && !arrays.is_empty()
                && !arrays.iter().any(|one| one.split(' ').any(|word| word == path));
            if missing && told.len() < MOST && !told.iter().any(|one| one == path) {
                told.push(path.to_owned());
                let message =
                    format!("{path} is measured, and none of the commands that make arrays makes it");
                sink.finds(Finding::new("M11", Severity::Ambiguous, entry.spot, message));
            }
        }
    }
}

fn says(page: &Page, words: &[&str]) -> bool {
    words.iter().any(|word| memchr::memmem::find(page.text().as_bytes(), word.as_bytes()).is_some())
}

/// The group of `lvcreate -i6 -I64 -l 100%VG -n name group`: the last word, where it stands alone.
fn group(command: &Command) -> Option<&str> {
    const ALONE: [&str; 8] = ["--thin", "-T", "--yes", "-y", "--verbose", "-v", "--test", "--contiguous"];
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let (last, before) = words.split_last()?;
    let before = before.last()?;
    let alone = !before.starts_with('-')
        || before.contains('=')
        || ALONE.contains(before)
        || (before.len() > 2 && !before.starts_with("--"));
    (!last.starts_with(['-', '/', '$']) && alone && !last.contains('%')).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::testing::found;

    #[test]
    fn partitions_are_of_their_disks() {
        let names = ["/dev/nvme0n1p1", "/dev/sda1", "vdb", "/dev/nvme10n2", "/dev/sdaa"].map(disk_of);
        assert_eq!(names, [Some("nvme0n1"), Some("sda"), Some("vdb"), Some("nvme10n2"), Some("sdaa")]);
        assert_eq!(
            ["/dev/md0", "/dev/disk/by-id/x", "/dev/mapper/a", "dm-0", "/dev/vg/lv", "nvme0", "sd"]
                .map(disk_of),
            [None; 7]
        );
    }

    fn page(device: &str) -> String {
        format!(
            "fio --name=a --rw=randread --bs=4k --filename={device}\n\n\
             a: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1\nfio-3.33\nStarting 1 process\n\
             a: (groupid=0, jobs=1): err= 0: pid=11: Tue Mar  5 10:00:00 2024\n  read: IOPS=10.0k, BW=39.1MiB/s (41.0MB/s)(2344MiB/60002msec)\n\n\
             Disk stats (read/write):\n  sdb: ios=600000/0, merge=0/0, ticks=58000/0, in_queue=58000, util=99.90%\n"
        )
    }

    #[test]
    fn outputs_of_other_disks_are_told() {
        assert_eq!(found(&page("/dev/sdc"), "M5").len(), 1);
        for device in
            ["/dev/sdb", "/dev/sdb1", "/dev/disk/by-id/x", "/dev/mapper/x", "/mnt/file", "$DEV", "/dev/md0"]
        {
            assert_eq!(found(&page(device), "M5"), [], "{device}");
        }
        let twice = format!(
            "{}{}",
            page("/dev/sdc").replace("  sdb: ios", "  sdc: ios"),
            page("x").split("\n\n").nth(1).unwrap()
        );
        assert_eq!(found(&twice, "M5"), [], "the same on another drive");
    }

    #[test]
    fn volumes_on_other_disks_are_told() {
        let volume = |disk: &str, way: &str| {
            let output = page("x").replace("--filename=x", "").replace(
                "  sdb: ios",
                "    dm-2: ios=600000/0, merge=0/0, ticks=58000/0, in_queue=58000, util=99.90%, aggrios=600000/0, aggrmerge=0/0, aggrticks=58000/0, aggrin_queue=58000, aggrutil=99.90%\n  sdb: ios",
            );
            format!(
                "vgcreate group /dev/{disk}\nlvcreate -l 100%FREE -n data group\nmount /dev/group/data /data\n{way}\n{output}"
            )
        };
        assert_eq!(found(&volume("vdb", "cd /data"), "M5").len(), 1);
        assert_eq!(found(&volume("sdb", "cd /data"), "M5"), []);
        assert_eq!(found(&volume("vdb", "cd /root"), "M5"), [], "it may have run elsewhere");
        assert_eq!(found(&volume("vdb", "in the guest it is sdb\ncd /data"), "M5"), []);
    }

    #[test]
    fn what_no_command_makes_is_told() {
        let md = "mdadm --create /dev/md0 --level=0 --raid-devices=2 /dev/sdb /dev/sdc\n";
        let lv = "lvcreate -i2 -I64 --type striped -l 100%VG -n one group\n";
        assert_eq!(found(&format!("{md}\n{lv}"), "M11").len(), 1);
        assert_eq!(found(&format!("{md}\nvgcreate group /dev/sdb /dev/sdc\n{lv}"), "M11"), []);
        assert_eq!(found(lv, "M11"), [], "nothing else is shown");
        let fio = |device: &str| {
            found(&format!("{md}\nfio --name=a --rw=read --bs=4k --filename={device}\n"), "M11").len()
        };
        assert_eq!([fio("/dev/md1"), fio("/dev/md0"), fio("/dev/sdb")], [1, 0, 0]);
    }
}
