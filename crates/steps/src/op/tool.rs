//! Makes a volume by an engine that iotax does not know, with the commands that a scenario gives
//! for it (`[tool.NAME]`). The journal has those commands, so that the volume is found and removed
//! without the scenario. iotax checks what the commands report: the volume must be found under a
//! name that carries the run's id, be at the expected path, be large enough, and not have existed
//! before.

use crate::operation::{Operation, Own, Undoing};
use crate::resource::{ManagedResource, ResourceChange};
use anyhow::{Context, Result, anyhow, bail, ensure};
use iotax_drivers::leftover::mark_descendants;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::refusal::{NotOurs, NothingMade};
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::threads::{self, ServingThread};
use iotax_drivers::tool::{output_within, settle, tool, trusted_program};
use iotax_drivers::vhost_user;
use iotax_drivers::wait::wait_until;
use iotax_facts::array::ArrayState;
use iotax_facts::tool::{
    Argv, CommandScope, DEVICE, EngineGives, MEMBER, MadePath, NAME, NUMBER, PART, PARTS, PCI,
    PlaceholderSlots, RUN, StateQuery, ToolCommands, expand_command, fill_slots,
};
use iotax_units::{shell, show_bytes};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::ops::ControlFlow;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

/// Most characters of a failed program's output that are shown.
const WORDS_SHOWN: usize = 2000;
/// Longest wait for the path that `make` created: a device's node or link (udev), a file or a
/// socket.
const APPEARS_WITHIN: Duration = Duration::from_secs(10);
/// Longest wait for the volume to disappear after all `undo` commands have succeeded.
const GOES_WITHIN: Duration = Duration::from_secs(30);
/// Pause between two checks of something that is not done yet: a removal or a rebuild.
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeByTool {
    pub tool: String,
    pub name: String,
    pub members: Vec<PathRef>,
    /// PCI addresses of the members, in their order, if a command needs them: the kernel may have
    /// no disks of these drives any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pci: Vec<String>,
    pub slots: PlaceholderSlots,
    /// Capacity in bytes that it must have at least.
    pub bytes: u64,
    pub commands: Box<ToolCommands>,
}

/// Makes a member of a [`MakeByTool`] fail, brings it back, or waits until all are whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeByTool {
    pub of: MakeByTool,
    pub change: ToolChange,
    /// Bytes that are written to a member that returns; 0 if unknown.
    #[serde(default)]
    pub bytes: u64,
}

/// Change of one member, which is counted from 0, or wait for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChange {
    Fails(usize),
    /// Brings the member back, so that it is rebuilt.
    Returns(usize),
    AwaitWhole,
}

impl MakeByTool {
    /// Returns the command lines of a list, with the members' `paths` filled in. A command that
    /// names a member is repeated for each member, or is there only for member `only`; one that
    /// names a part is repeated for each part.
    fn lines(&self, list: &[Argv], only: Option<usize>, paths: &[String]) -> Vec<Vec<String>> {
        let members: Vec<PlaceholderSlots> =
            paths.iter().enumerate().map(|(at, path)| self.member(at, path)).collect();
        let names: Vec<String> = members.iter().map(|slots| slots[MEMBER].clone()).collect();
        let times = |argv: &Argv| match CommandScope::in_argv(argv) {
            CommandScope::All => vec![self.named_slots()],
            CommandScope::Member => {
                let (from, to) = only.map_or((0, members.len()), |at| (at, at + 1));
                members.get(from..to).unwrap_or_default().to_vec()
            }
            CommandScope::Part => (0..self.part_count()).map(|part| self.part(part)).collect(),
        };
        let separator = self.commands.separator.as_deref();
        let of = |argv: &Argv| -> Vec<Vec<String>> {
            times(argv).iter().map(|slots| expand_command(argv, slots, &names, separator)).collect()
        };
        list.iter().flat_map(of).collect()
    }

    fn named_slots(&self) -> PlaceholderSlots {
        let mut slots = self.slots.clone();
        slots.insert(NAME.to_owned(), self.name.clone());
        slots
    }

    fn member(&self, at: usize, path: &str) -> PlaceholderSlots {
        let mut slots = self.named_slots();
        slots.insert(NUMBER.to_owned(), at.to_string());
        slots.insert(DEVICE.to_owned(), path.to_owned());
        slots.extend(self.pci.get(at).map(|address| (PCI.to_owned(), address.clone())));
        let called =
            self.commands.member.as_ref().and_then(|template| fill_slots(template, &slots));
        slots.insert(MEMBER.to_owned(), called.unwrap_or_else(|| path.to_owned()));
        slots
    }

    fn part(&self, part: usize) -> PlaceholderSlots {
        let mut slots = self.named_slots();
        slots.insert(PART.to_owned(), part.to_string());
        slots
    }

    fn part_count(&self) -> usize {
        self.slots.get(PARTS).and_then(|parts| parts.parse().ok()).unwrap_or(1)
    }

    /// Returns the path of a part, counted from 0; `None` if only the output of `find` shows it.
    pub fn path_of(&self, part: usize) -> Option<PathBuf> {
        match &self.commands.path {
            MadePath::Fixed(template) => fill_slots(template, &self.part(part)).map(PathBuf::from),
            MadePath::Pointer(_) => None,
        }
    }

    fn shown_script(&self, list: &[Argv], only: Option<usize>) -> String {
        self.shown_lines(list, only).iter().map(shell::quote_line).collect::<Vec<_>>().join(" && ")
    }

    fn shown_lines(&self, list: &[Argv], only: Option<usize>) -> Vec<Vec<String>> {
        let members: Vec<String> = self.members.iter().map(PathRef::to_string).collect();
        self.lines(list, only, &members)
    }

    /// Returns all command lines for people, each list with its key in the scenario, `make` first.
    pub fn shown_commands(&self) -> Vec<(&'static str, Vec<Vec<String>>)> {
        let commands = &self.commands;
        let state: Vec<Argv> = commands.state.iter().map(|query| query.command.clone()).collect();
        let settings: Vec<Argv> =
            commands.settings.iter().map(|query| query.command.clone()).collect();
        let all = [
            ("make", &commands.make),
            ("find", &commands.find),
            ("undo", &commands.undo),
            ("fail", &commands.fail),
            ("return", &commands.bring_back),
            ("state", &state),
            ("settings", &settings),
        ];
        all.into_iter().map(|(key, list)| (key, self.shown_lines(list, None))).collect()
    }

    fn paths(&self) -> Result<Vec<String>> {
        let path = |member: &PathRef| {
            let path = member.resolved_path()?;
            path.to_str().map(str::to_owned).context("a device whose path is not UTF-8")
        };
        self.members.iter().map(path).collect()
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(self.commands.limit)
    }

    fn long_limit(&self) -> Duration {
        Duration::from_secs(self.commands.long_limit)
    }

    fn output(&self, key: &str, words: &[String], limit: Duration) -> Result<Output> {
        let of = || format!("[tool.{}] {key}", self.tool);
        let (program, arguments) = words.split_first().context("a command without a program")?;
        let mut command = tool(trusted_program(program).with_context(of)?, arguments);
        if !self.commands.daemon {
            mark_descendants(&mut command);
        }
        output_within(&mut command, limit, None).with_context(of)
    }

    /// Runs one command and returns its standard output. Fails if the command does.
    fn run_checked(&self, key: &str, words: &[String], limit: Duration) -> Result<String> {
        let output = self.output(key, words, limit)?;
        ensure!(
            output.status.success(),
            "[tool.{}] {key}: {} failed ({}): {}",
            self.tool,
            shell::quote_line(words),
            output.status,
            words_of(&output)
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn run_all(
        &self,
        key: &str,
        list: &[Argv],
        only: Option<usize>,
        limit: Duration,
    ) -> Result<()> {
        self.lines(list, only, &self.paths()?)
            .iter()
            .try_for_each(|line| self.run_checked(key, line, limit).map(drop))
    }

    /// Runs the command that asks for the state or the settings, and returns its standard output.
    fn query_output(&self, key: &str, argv: &Argv) -> Result<String> {
        let lines = self.lines(std::slice::from_ref(argv), None, &self.paths()?);
        self.run_checked(key, lines.first().context("a command without a program")?, self.limit())
    }

    /// Returns the output of the last `find` command, or `None` if none of these commands printed
    /// the volume's name.
    fn find_output(&self) -> Result<Option<String>> {
        self.check_named()?;
        let (mut named, mut last) = (false, String::new());
        for words in self.lines(&self.commands.find, None, &self.paths()?) {
            let output = self.output("find", &words, self.limit())?;
            let is_absent =
                output.status.code().is_some_and(|code| self.commands.absent.contains(&code));
            ensure!(
                output.status.success() || is_absent,
                "[tool.{}] find: {} failed ({}): {}; iotax cannot determine whether {} exists; hint: if this exit code \
                 means \"not found\", add it to the scenario: absent = [{}]",
                self.tool,
                shell::quote_line(&words),
                output.status,
                words_of(&output),
                self.name,
                output.status.code().map_or_else(|| "CODE".to_owned(), |code| code.to_string())
            );
            last = String::from_utf8_lossy(&output.stdout).into_owned();
            named |= !is_absent && is_named(&last, &self.name);
        }
        Ok(named.then_some(last))
    }

    /// Checks that each `undo` command that is not about a member has the name of this run's volume
    /// in its arguments: the journal alone is not trusted with what is removed.
    fn check_named(&self) -> Result<()> {
        let of_all: Vec<Argv> = self
            .commands
            .undo
            .iter()
            .filter(|argv| CommandScope::in_argv(argv) != CommandScope::Member)
            .cloned()
            .collect();
        for words in self.lines(&of_all, None, &[]) {
            if !words.iter().skip(1).any(|word| is_named(word, &self.name)) {
                let line = shell::quote_line(words);
                bail!(NotOurs(format!("not run: {line} does not contain {}", self.name)));
            }
        }
        Ok(())
    }

    fn check_before(&self) -> Result<()> {
        let trusted = self
            .commands
            .programs()
            .into_iter()
            .try_for_each(|name| trusted_program(name).map(drop));
        trusted.with_context(|| format!("[tool.{}]", self.tool))?;
        ensure!(
            self.find_output()?.is_none(),
            "[tool.{}] {} already exists, and this run did not create it",
            self.tool,
            self.name
        );
        for path in (0..self.part_count()).filter_map(|part| self.path_of(part)) {
            ensure!(fs::symlink_metadata(&path).is_err(), "{} already exists", path.display());
        }
        Ok(())
    }

    fn path(&self, found: &str, part: usize) -> Result<PathBuf> {
        match &self.commands.path {
            MadePath::Fixed(template) => self
                .path_of(part)
                .with_context(|| format!("{template} has a placeholder without a value")),
            MadePath::Pointer(pointer) => {
                let pointer = self.filled(pointer);
                let printed = pointed(found, &pointer)?;
                let path = printed.as_str().filter(|path| path.starts_with('/'));
                let path = path.with_context(|| {
                    format!("find printed no absolute path at {pointer}: {printed}")
                })?;
                Ok(PathBuf::from(path))
            }
        }
    }

    fn filled(&self, template: &str) -> String {
        fill_slots(template, &self.named_slots()).unwrap_or_default()
    }

    /// Checks what `make` created and returns its first path: a program that reports success may be
    /// wrong. `before` are the block devices from before it.
    fn check_made(&self, before: &BTreeMap<u64, Option<String>>) -> Result<StepOutput> {
        let parts = (0..self.part_count())
            .map(|part| self.made_part(before, part))
            .collect::<Result<Vec<_>>>()?;
        Ok(StepOutput::found_at(parts.into_iter().next().context("there was nothing to create")?))
    }

    fn made_part(&self, before: &BTreeMap<u64, Option<String>>, part: usize) -> Result<PathBuf> {
        let lies = |what: String| anyhow!("[tool.{}] make succeeded, but {what}", self.tool);
        let found = self.find_output()?.ok_or_else(|| {
            lies(format!("find does not print {}; hint: find must print {{name}}", self.name))
        })?;
        let path = self.path(&found, part).with_context(|| format!("[tool.{}] find", self.tool))?;
        let shown = path.display();
        settle();
        wait_until(APPEARS_WITHIN, || path.exists())
            .map_err(|_| lies(format!("there is no {shown}")))?;
        let meta = fs::metadata(&path).with_context(|| format!("cannot look at {shown}"))?;
        match self.commands.gives {
            EngineGives::Block => {
                ensure!(
                    meta.file_type().is_block_device(),
                    lies(format!("{shown} is not a block device"))
                );
                ensure!(
                    is_attached_since(before, meta.rdev()),
                    lies(format!("{shown} existed before and is not ours"))
                );
            }
            EngineGives::File => {
                let folder =
                    self.slots.get(RUN).map(Path::new).context("a run without a folder")?;
                let real =
                    path.canonicalize().with_context(|| format!("cannot look at {shown}"))?;
                let folder = folder.canonicalize().context("the run's folder is gone")?;
                ensure!(
                    meta.is_file() && real.starts_with(&folder),
                    lies(format!("{shown} is not a file in the run's folder"))
                );
            }
            EngineGives::VhostUser => {}
        }
        let bytes = match self.commands.gives {
            EngineGives::Block | EngineGives::File => size_of(&path)?,
            EngineGives::VhostUser => {
                let named = is_named(&shown.to_string(), &self.name);
                ensure!(named, lies(format!("{shown} is not the socket of {}", self.name)));
                vhost_user::query_socket(&path).map_err(|why| lies(format!("{why:#}")))?.bytes
            }
        };
        ensure!(
            bytes >= self.bytes,
            lies(format!(
                "{shown} has {}, less than the expected capacity of {}; hint: check what make created, and capacity in \
                 [tool.{}]; if the engine reserves a part of each member, raise reserve",
                show_bytes(bytes),
                show_bytes(self.bytes),
                self.tool
            ))
        );
        Ok(path)
    }

    /// Runs all `undo` commands, even if one fails, since what is half made lacks parts. Repeats
    /// them until `find` no longer finds the volume or a time limit is over, since one part may
    /// hold up the next.
    fn undo_all(&self, system: &mut RealSystem) -> Result<()> {
        self.check_named()?;
        let start = Instant::now();
        loop {
            let all = self.lines(&self.commands.undo, None, &self.paths()?);
            let results =
                all.iter().map(|words| self.run_checked("undo", words, self.long_limit()));
            let failed: Vec<String> =
                results.filter_map(Result::err).map(|error| format!("{error:#}")).collect();
            if self.find_output()?.is_none() {
                return Ok(());
            }
            let limit =
                if failed.is_empty() { self.limit().min(GOES_WITHIN) } else { self.limit() };
            let what = || format!("find of [tool.{}] no longer prints {}", self.tool, self.name);
            if system.is_given_up(start, limit, what) {
                let why = match failed.is_empty() {
                    true => {
                        ", although every undo command succeeded: find still prints it".to_owned()
                    }
                    false => format!(": {}", failed.join("; ")),
                };
                bail!("[tool.{}] {} still exists{why}", self.tool, self.name);
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn state_now(&self, query: &StateQuery) -> Result<ArrayState> {
        let output = self.query_output("state", &query.command)?;
        let state = state_of(query, &output, &|pointer| self.filled(pointer));
        state.with_context(|| format!("[tool.{}] state", self.tool))
    }
}

impl ManagedResource for MakeByTool {
    fn outlives_reboot(&self) -> bool {
        self.commands.survives
    }

    fn make_resource(&self, system: &mut RealSystem, tag: &RunTag) -> Result<StepOutput> {
        self.check_before().context(NothingMade)?;
        let before = block_devices();
        let made = self
            .run_all("make", &self.commands.make, None, self.long_limit())
            .and_then(|()| self.check_made(&before));
        // A caller that finds nothing would undo nothing, and `find` may not see a part that
        // exists.
        made.map_err(|error| {
            match system.await_leftovers(tag).and_then(|()| self.undo_all(system)) {
                Ok(()) => anyhow!("{error:#}; what it had created was undone"),
                Err(left) => error.context(format!("make failed, and undo failed too ({left:#})")),
            }
        })
    }

    fn find_resource(&self, tag: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        // `find` runs before it is known that what would be undone is ours.
        ensure!(
            tag.is_in(&self.name),
            NotOurs(format!("{} does not belong to run {}", self.name, tag.run_id))
        );
        Ok(self
            .find_output()?
            .map(|found| StepOutput { path: self.path(&found, 0).ok(), ..StepOutput::default() }))
    }

    fn remove_resource(&self, system: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        if matches!(self.find_output(), Ok(None)) {
            system.note(format!("{} of {} was gone already", self.name, self.tool));
        }
        self.undo_all(system)
    }

    fn resource_state(&self, _: &StepOutput) -> Result<Option<ArrayState>> {
        self.commands.state.as_ref().map(|query| self.state_now(query)).transpose()
    }

    /// Returns the threads of the process that listens on its socket: a target that existed before,
    /// or a daemon. Empty unless it gives a vhost-user socket at a fixed path.
    fn io_threads(&self, _: &StepOutput) -> Result<Vec<ServingThread>> {
        let socket = self.path_of(0).filter(|_| self.commands.gives == EngineGives::VhostUser);
        Ok(socket
            .and_then(|path| vhost_user::server(&path))
            .map_or_else(Vec::new, threads::of_target))
    }

    fn actual_settings(&self, _: &StepOutput) -> Result<ThingSettings> {
        let Some(query) = &self.commands.settings else { return Ok(ThingSettings::new()) };
        let output = self.query_output("settings", &query.command)?;
        if query.pointers.is_empty() {
            let lines = output.lines().filter_map(|line| line.split_once('='));
            return Ok(lines
                .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
                .collect());
        }
        let one = |(name, pointer): (&String, &String)| {
            let value = pointed(&output, &self.filled(pointer))?;
            Ok((name.clone(), without_quotes(&value)))
        };
        let settings: Result<ThingSettings> = query.pointers.iter().map(one).collect();
        settings.with_context(|| format!("[tool.{}] settings", self.tool))
    }
}

impl Operation for MakeByTool {
    fn describe(&self) -> String {
        self.shown_script(&self.commands.make, None)
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        let shown = self.shown_commands().into_iter().filter(|(key, _)| *key == "make");
        shown.flat_map(|(_, lines)| lines).map(shell::quote_line).collect()
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        self.members.iter_mut().collect()
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.name)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("removed", format!("{} of {}", self.name, self.tool)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        Some(self.shown_script(&self.commands.undo, None))
    }
}

impl ResourceChange for ChangeByTool {
    fn apply_change(&self, system: &mut RealSystem) -> Result<()> {
        let of = &self.of;
        let query = of.commands.state.as_ref().context("a tool without a state")?;
        let member = |at: usize| of.members.get(at).context("there is no such member");
        match self.change {
            ToolChange::Fails(at) => {
                of.run_all("fail", &of.commands.fail, Some(at), of.limit())?;
                let now = of.state_now(query)?;
                ensure!(
                    now != ArrayState::Healthy,
                    "[tool.{}] fail succeeded for {}, but the state is still {now}; hint: check fail and \
                     [tool.{}.state]",
                    of.tool,
                    member(at)?,
                    of.tool
                );
                Ok(())
            }
            ToolChange::Returns(at) => {
                of.run_all("return", &of.commands.bring_back, Some(at), of.long_limit())
            }
            ToolChange::AwaitWhole => await_whole(of, query, &mut system.synced()),
        }
    }
}

fn await_whole(
    of: &MakeByTool,
    query: &StateQuery,
    report: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<()> {
    let start = Instant::now();
    loop {
        let now = of.state_now(query)?;
        match now {
            ArrayState::Healthy => return Ok(()),
            ArrayState::Rebuilding { done, .. } | ArrayState::Syncing { done } => {
                if report(done).is_break() {
                    bail!("interrupted while {} is {now}", of.name);
                }
            }
            // A rebuild that has not begun yet is waited for, too.
            ArrayState::Degraded { .. } if start.elapsed() < of.limit() => {}
            _ => bail!("{} does not rebuild: its state is {now}", of.name),
        }
        ensure!(
            start.elapsed() < of.long_limit(),
            "{} is still {now} after {} s; hint: raise long_limit in [tool.{}]",
            of.name,
            of.commands.long_limit,
            of.tool
        );
        std::thread::sleep(PAUSE);
    }
}

impl Operation for ChangeByTool {
    fn describe(&self) -> String {
        match self.change {
            ToolChange::Fails(at) => self.of.shown_script(&self.of.commands.fail, Some(at)),
            ToolChange::Returns(at) => self.of.shown_script(&self.of.commands.bring_back, Some(at)),
            ToolChange::AwaitWhole => format!("wait until {} is healthy", self.of.name),
        }
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        self.of.input_paths()
    }
}

/// Returns true if the text contains the name, and no letter or digit follows it.
fn is_named(text: &str, name: &str) -> bool {
    let ends =
        |at: usize| !text[at + name.len()..].starts_with(|c: char| c.is_ascii_alphanumeric());
    !name.is_empty() && text.match_indices(name).any(|(at, _)| ends(at))
}

/// Returns the block devices with a size above 0, from device number to the kernel's disk sequence
/// number: another disk may get a device number that was freed, but has another sequence number.
fn block_devices() -> BTreeMap<u64, Option<String>> {
    let entries = fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
    let device = |entry: fs::DirEntry| {
        let read = |file: &str| fs::read_to_string(entry.path().join(file)).ok();
        let sectors: u64 = read("size")?.trim().parse().ok()?;
        let text = read("dev")?;
        let (major, minor) = text.trim().split_once(':')?;
        let number = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
        (sectors > 0).then(|| (number, read("diskseq")))
    };
    entries.filter_map(device).collect()
}

/// Returns true if the device number stood for no disk in `before`, or stands for another one by
/// now; false for a kernel without disk sequence numbers, which does not show the latter.
fn is_attached_since(before: &BTreeMap<u64, Option<String>>, number: u64) -> bool {
    match before.get(&number) {
        None => true,
        Some(None) => false,
        disk => block_devices().get(&number) != disk,
    }
}

fn size_of(path: &Path) -> Result<u64> {
    let size = File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0)));
    size.with_context(|| format!("cannot open {}", path.display()))
}

/// Returns the standard error and output of a failed program, shortened.
fn words_of(output: &Output) -> String {
    let pipes = [&output.stderr, &output.stdout]
        .map(|pipe| String::from_utf8_lossy(pipe).trim().to_owned());
    let words: Vec<String> = pipes.into_iter().filter(|words| !words.is_empty()).collect();
    match words.is_empty() {
        true => "it printed nothing".to_owned(),
        false => words.join("; ").chars().take(WORDS_SHOWN).collect(),
    }
}

fn pointed(text: &str, pointer: &str) -> Result<Value> {
    let json: Value = serde_json::from_str(text).with_context(|| {
        format!("the output is not JSON: {}", text.trim().chars().take(200).collect::<String>())
    })?;
    let found = pointer.split('/').skip(1).try_fold(&json, |value, segment| {
        match (value, segment.split_once('=')) {
            // In a list, picks the element in which that key has that value.
            (Value::Array(all), Some((key, wanted))) => {
                all.iter().find(|one| one.get(key).is_some_and(|v| without_quotes(v) == wanted))
            }
            _ => value.pointer(&format!("/{segment}")),
        }
    });
    found.cloned().with_context(|| format!("the output has no {pointer}: {json}"))
}

fn without_quotes(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the state that a program's output reports in the scenario's words. Of several words,
/// rebuilding counts first, then degraded, syncing and healthy; without any, the state is down.
fn state_of(query: &StateQuery, text: &str, fill: &dyn Fn(&str) -> String) -> Result<ArrayState> {
    let reported = match &query.pointer {
        Some(pointer) => without_quotes(&pointed(text, &fill(pointer))?),
        None => text.trim().to_owned(),
    };
    let words: BTreeSet<String> = reported
        .split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'))
        .map(str::to_lowercase)
        .collect();
    let has = |known: &[String]| known.iter().any(|word| words.contains(&word.to_lowercase()));
    let number = |pointer: &Option<String>| -> Result<Option<f64>> {
        let Some(pointer) = pointer else { return Ok(None) };
        let value = without_quotes(&pointed(text, &fill(pointer))?);
        let number = value.trim_end_matches('%').trim().parse();
        Ok(Some(number.with_context(|| format!("{pointer} is not a number: {value}"))?))
    };
    let missing =
        || Ok::<u32, anyhow::Error>(number(&query.missing)?.map_or(1, |missing| missing as u32));
    let done = || {
        Ok::<f64, anyhow::Error>(number(&query.progress)?.map_or(0.0, |percent| percent / 100.0))
    };
    Ok(if has(&query.rebuilding) {
        ArrayState::Rebuilding { missing: missing()?.max(1), done: done()? }
    } else if has(&query.degraded) {
        ArrayState::Degraded { missing: missing()?.max(1) }
    } else if has(&query.syncing) {
        ArrayState::Syncing { done: done()? }
    } else if has(&query.healthy) {
        ArrayState::Healthy
    } else {
        ArrayState::Down { word: reported.chars().take(200).collect() }
    })
}

#[cfg(test)]
#[path = "tool_tests.rs"]
mod tests;
