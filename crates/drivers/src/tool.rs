//! Runs programs of the system for steps: with explicit arguments, in the C locale, without input
//! from a terminal, and within a time limit. Ctrl-C in a terminal does not reach them, because
//! something half made is worse than something made.

use super::leftover;
use crate::refusal::NotOurs;

use anyhow::{Context, Result, anyhow, bail};
use iotax_host::probe::{QUIET_LVM, program_path};
use iotax_sys::child;
use iotax_sys::owner::other_writer;
use iotax_units::shell;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Runs a command to its end and returns its standard output.
///
/// # Errors
/// If it cannot be run, does not end in time, or fails: then with its standard error.
pub fn run_tool(command: &mut Command) -> Result<String> {
    checked_output(&typed(command), output(command)?)
}

/// Time limit of a command that only asks: it answers by then, or waits for a device that does not.
const ASKS_WITHIN: Duration = Duration::from_secs(120);
/// Time limit of a command that changes something: it may first have to write what others left in
/// memory.
const CHANGES_WITHIN: Duration = Duration::from_secs(15 * 60);
/// Time limit of a command that writes more the larger a drive is: mkfs.ext4 all inode tables (1.5
/// % of it), LVM what a cache has not written back.
const WRITES_WITHIN: Duration = Duration::from_secs(4 * 3600);

/// Arguments with which a program changes something; the empty string if it never does. A program
/// that is not listed may change something with any arguments.
const CHANGING: &[(&str, &str)] = &[
    (
        "lvm",
        "pvcreate pvremove vgcreate vgremove vgreduce vgchange vgextend lvcreate lvremove lvconvert lvchange",
    ),
    ("mdadm", "--create --stop --zero-superblock --manage --fail --remove --add"),
    (
        "zpool",
        "create destroy add attach detach replace offline online labelclear set import export",
    ),
    ("zfs", "create destroy set"),
    ("dmsetup", "create remove reload resume suspend"),
    ("iscsiadm", "new update delete --login --logout"),
    ("rbd", "map unmap"),
    ("zdb", ""),
    ("blkid", ""),
    ("sfdisk", "--quiet"),
];

fn changes(program: &str, words: &[&str]) -> bool {
    let known = CHANGING.iter().find(|(name, _)| *name == program);
    known.is_none_or(|(_, changing)| {
        words.iter().any(|word| changing.split(' ').any(|known| known == *word))
    })
}

/// Checks that only root and this user can have written a file, the folders above it and the links
/// on its path. The error says that the file `what` (`is not used`), as another user could have
/// `why` (`changed it`).
///
/// # Errors
/// [`NotOurs`] if another user can write to one of them. Fails too if one cannot be looked at.
pub fn nobody_else_can_write(path: &Path, what: &str, why: &str) -> Result<()> {
    let shown = path.display();
    match other_writer(path).with_context(|| format!("cannot look at {shown}"))? {
        None => Ok(()),
        Some(found) => bail!(NotOurs(format!(
            "{shown} {what}: another user could have {why} ({found}); hint: let root, or the user that iotax runs as, own \
             it, and nobody else write to it"
        ))),
    }
}

/// Returns the path of a program, after checking that only root and this user can have written it.
///
/// # Errors
/// When it is not installed, or [`NotOurs`] if another user can have changed it.
pub fn trusted_program(name: &str) -> Result<PathBuf> {
    let path = if name.starts_with('/') { Some(PathBuf::from(name)) } else { program_path(name) };
    let path =
        path.filter(|path| path.exists()).with_context(|| format!("{name} is not installed"))?;
    nobody_else_can_write(&path, "is not run", "changed it")?;
    Ok(path)
}

/// Returns the command for a program and its arguments, in the C locale and without input. Looks
/// for the program also in folders of system administration, which a user's `PATH` may lack.
pub fn tool(
    program: impl AsRef<Path>,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Command {
    let program = program.as_ref();
    let mut command = Command::new(program_path(program).unwrap_or_else(|| program.to_owned()));
    command.args(arguments).env("LC_ALL", "C").envs(QUIET_LVM).stdin(Stdio::null());
    command
}

/// Shows a command as a person would type it: without its environment, and without the folder of a
/// program.
pub(super) fn typed(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words: Vec<_> =
        std::iter::once(program).chain(command.get_args()).map(OsStr::to_string_lossy).collect();
    shell::quote_line(&words)
}

/// Runs a program to its end, however it ends, within the time limit for what it does.
///
/// # Errors
/// When it cannot be run, or does not end: then it was killed.
pub(super) fn output(command: &mut Command) -> Result<Output> {
    let limit = limit_of(command);
    output_within(command, limit, None)
}

fn limit_of(command: &Command) -> Duration {
    let program =
        Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    let words: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match program.as_ref() {
        name if name.starts_with("mkfs.") => WRITES_WITHIN,
        "lvm" if words.iter().any(|word| ["lvcreate", "lvremove", "vgremove"].contains(word)) => {
            WRITES_WITHIN
        }
        name if changes(name, &words) => CHANGES_WITHIN,
        _ => ASKS_WITHIN,
    }
}

/// Runs a program as [`output`] does, within `limit` and with `script` on its standard input.
///
/// # Errors
/// As [`output`].
pub fn output_within(
    command: &mut Command,
    limit: Duration,
    script: Option<&str>,
) -> Result<Output> {
    let shown = typed(command);
    command.stdin(leftover::marked_input(script.unwrap_or_default())?);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn().with_context(|| format!("cannot run {shown}"))?;
    let ended = child::run_within(child, limit).context("cannot wait for a program")?;
    let output = ended.output(limit).map_err(|why| anyhow!("{shown} {why}"))?;
    Ok(output)
}

/// Runs a program to its end with a script on its standard input; returns its standard output.
///
/// # Errors
/// If it cannot be run, does not end in time, or fails: then with its standard error.
pub(super) fn run_with(mut command: Command, script: &str) -> Result<String> {
    let limit = limit_of(&command);
    checked_output(&typed(&command), output_within(&mut command, limit, Some(script))?)
}

pub(super) fn run_within(mut command: Command, limit: Duration) -> Result<String> {
    checked_output(&typed(&command), output_within(&mut command, limit, None)?)
}

/// Returns the standard output of a program that has ended.
///
/// # Errors
/// If it failed: its name, `shown`, and its standard error.
pub fn checked_output(shown: &str, output: Output) -> Result<String> {
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("{shown} failed ({}): {}", output.status, words.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Loads those of the modules that are not loaded. The kernel would load some of them itself, but
/// not where its modprobe is another than ours (a container).
///
/// # Errors
/// When there is no such module, or modprobe refuses.
pub fn load_modules(modules: &[&str]) -> Result<()> {
    let is_loaded =
        |module: &&&str| Path::new("/sys/module").join(module.replace('-', "_")).exists();
    let lacking: Vec<&str> = modules.iter().filter(|module| !is_loaded(module)).copied().collect();
    match lacking.is_empty() {
        true => Ok(()),
        false => run_tool(&mut tool("modprobe", ["-a"].into_iter().chain(lacking))).map(drop),
    }
}

/// Waits up to 30 s for udev, if there is one, to handle all events of devices: it opens devices
/// that have changed, and a device that is open cannot be removed.
pub fn settle() {
    let _ = output(&mut tool("udevadm", ["settle", "--timeout=30"]));
}

/// Combines the results of independent acts: one failure does not hold up the others, and all
/// failures are reported.
///
/// # Errors
/// The first failure, with those after it as its context.
pub fn all_of(results: Vec<Result<()>>) -> Result<()> {
    let mut failed = results.into_iter().filter_map(Result::err);
    let Some(first) = failed.next() else { return Ok(()) };
    let others: Vec<String> = failed.map(|error| format!("{error:#}")).collect();
    match others.is_empty() {
        true => Err(first),
        false => Err(first.context(format!("{}; and", others.join("; ")))),
    }
}

/// Returns a GUID in capitals that is derived from the text, and so the same for the same text.
pub fn guid(text: &str) -> String {
    let word = |salt: u8| crc32fast::hash(format!("{salt} {text}").as_bytes());
    let (a, b, c, d) = (word(0), word(1), word(2), word(3));
    // Bits of version 4, as a random one has.
    let (b, c) = (b & 0xffff_0fff | 0x4000, c & 0x3fff_ffff | 0x8000_0000);
    format!("{a:08X}-{:04X}-{:04X}-{:04X}-{:04X}{d:08X}", b >> 16, b & 0xffff, c >> 16, c & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;
    use crate::wait::wait_until;
    use std::time::Instant;

    #[test]
    fn a_script_is_read_and_what_fails_has_its_words() {
        assert_eq!(run_with(tool("cat", ["-"]), "label: gpt\n").unwrap(), "label: gpt\n");
        let error = run_with(tool("ls", ["/there is none"]), "").unwrap_err().to_string();
        assert!(
            error.contains("failed (exit status: 2)") && error.contains("No such file"),
            "{error}"
        );
    }

    #[test]
    fn what_does_not_end_is_killed_with_all_that_it_started_and_the_error_says_so() {
        let limit = Duration::from_millis(300);
        let folder = tempfile::tempdir().unwrap();
        let (tag, began) =
            (format!("{}", 100_000 + std::process::id()), folder.path().join("began"));
        let script = format!("sleep {tag} & echo > {}; wait", began.display());
        let mut hangs = tool("sh", ["-c", &script]);
        let error = output_within(&mut hangs, limit, None).unwrap_err().to_string();
        let sleeps = || process::processes(|words| words == ["sleep", &tag]).unwrap();
        assert!(began.exists());
        wait_until(Duration::from_secs(5), || sleeps().is_empty()).unwrap();
        assert!(error.contains("did not end within 0.3 s and was killed; hint: "), "{error}");
        let all = [
            tool("mkfs.ext4", ["-q"]),
            tool("lvm", ["vgremove", "x"]),
            tool("zpool", ["create", "x"]),
            tool("zpool", ["list"]),
        ];
        let limits = [WRITES_WITHIN, WRITES_WITHIN, CHANGES_WITHIN, ASKS_WITHIN];
        assert_eq!(all.map(|command| limit_of(&command)), limits);
    }

    #[test]
    fn a_tool_has_a_group_of_its_own_so_that_ctrl_c_is_for_iotax() {
        let told = output(&mut tool("cat", ["/proc/self/stat"])).unwrap().stdout;
        let told = String::from_utf8(told).unwrap();
        let fields: Vec<&str> = told.rsplit_once(") ").unwrap().1.split(' ').collect();
        let pid = told.split(' ').next().unwrap();
        assert_eq!(fields[2], pid, "its group is its own");
    }

    #[test]
    fn much_is_read_from_both_pipes() {
        let mut talks =
            tool("sh", ["-c", "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; exit 3"]);
        let told = output(&mut talks).unwrap();
        assert_eq!(
            (told.stdout.len(), told.stderr.len(), told.status.code()),
            (300_000, 300_000, Some(3))
        );
    }

    #[test]
    fn who_leaves_a_daemon_with_its_output_is_not_waited_for_and_who_never_stops_is_named() {
        let start = Instant::now();
        let leaves = tool("sh", ["-c", "sleep 300 & echo $!"]);
        let daemon = run_within(leaves, WRITES_WITHIN).unwrap();
        assert!(start.elapsed() < Duration::from_secs(60));
        let pid = daemon.trim().parse().ok().and_then(rustix::process::Pid::from_raw).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it runs still");
        let error = run_tool(&mut tool("yes", ["a"])).unwrap_err().to_string();
        assert!(
            error.starts_with("yes a wrote more than 16 MiB and was killed; hint: "),
            "{error}"
        );
    }

    #[test]
    fn a_guid_is_that_of_its_text() {
        let one = guid("20260101-120000-a1b2 part0");
        assert_eq!(one, guid("20260101-120000-a1b2 part0"));
        assert_ne!(one, guid("20260101-120000-a1b2 part1"));
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert!(one.split('-').nth(2).unwrap().starts_with('4'), "{one}");
    }
}
