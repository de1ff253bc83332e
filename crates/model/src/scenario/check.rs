//! Entry points of this folder. Stacks and options of the command line, a scenario file or a job
//! file become one checked [`Scenario`]. A request that cannot be measured as written is refused.

use super::article_toml::TableNames;
use super::bdev;
use super::draft::{Targets, WorkloadDraft, drafts_from_words};
use super::error::Origin;
use super::error::{COMMAND_LINE, Fault, InputError, TextFault, column_of, excerpt};
use super::jobfile::is_job_file;
use super::media::size_of;
use super::names::TakenNames;
use super::place::{self, PlaceSpec, StackNames};
use super::ruler::{self, RulerContext};
use super::stacks::{StackCell, cells_of};
use super::trims;
use super::values::{Dialect, parse_engine, parse_extent};
use super::verify;
use super::words::JobWords;
use super::{
    Consent, DurabilitySpec, Engine, Scenario, Workload, by_fio, durability, grammar, jobfile,
    measure, names, operator, probes, profile, published, remote, slo, states, sweep, table_wires,
    toml,
};
use crate::stack::{LayerRole, LayerSpec, Medium, Stack};
use crate::state::AskedState;
use iotax_load::{EngineName, Job};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Iodepths at which a bill is measured if no load is named.
pub const BILL_DEPTHS: [u32; 2] = [1, 32];

/// Options of the command line, apart from the stacks or the scenario file.
#[derive(Clone, Debug, Default)]
pub struct ScenarioRequest {
    pub bill: bool,
    /// `--baseline NAME`: the name of a stack, or its text.
    pub baseline: Option<String>,
    /// `--only NAME`: the stacks that are measured; empty for all.
    pub only: Vec<String>,
    /// fio's words: `("rw", "randread")`, ...; empty for the default load.
    pub words: Vec<(String, String)>,
    pub job_file: Option<PathBuf>,
    /// `--profile`: loads that others published, by name.
    pub profile: Option<String>,
    /// `--probe integer,copy(128MiB)`: probes of the places, which replace a load.
    pub probe: Option<String>,
    /// Keys of `[measure]`: `("budget", "60s")`, ...
    pub measure: Vec<(String, String)>,
    pub engine: Option<String>,
    pub destroy: Vec<String>,
    /// `--change`, each `libvirt:NAME` or `libvirt:NAME,force`.
    pub change: Vec<String>,
    pub max_written: Option<String>,
    pub states: Option<String>,
    /// `--lab drive_size=1GiB,memory=4GiB`: properties of the lab called `lab`.
    pub lab: Option<String>,
    /// `--vm vcpus=2,memory=1GiB`: properties of the guests called `vm`, `vm1`, `vm2`, ...
    pub vm: Option<String>,
    /// `--device`, each `NAME=MEDIUM`, which replaces what a scenario file declares.
    pub devices: Vec<String>,
    /// `--tool`: files that contain only `[tool.NAME]`.
    pub tools: Vec<PathBuf>,
    /// `--durability` with its value: `trials=5,kill=qemu`, or an empty text.
    pub durability: Option<String>,
}

/// Reads the arguments of `run` and `plan`: a scenario file, or stacks with or without a job file.
///
/// # Errors
/// Bad input, with its position.
pub fn from_arguments(
    arguments: &[String],
    request: &ScenarioRequest,
) -> Result<Scenario, InputError> {
    let (files, stacks): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|word| is_file_of_ours(word));
    let stacks: Vec<String> = stacks.into_iter().cloned().collect();
    match files.as_slice() {
        [] => from_stacks(&stacks, request),
        [file] if stacks.is_empty() => from_path(Path::new(file), request),
        [file] if is_job_file(Path::new(file)) && request.job_file.is_none() => from_stacks(
            &stacks,
            &ScenarioRequest { job_file: Some(PathBuf::from(file)), ..request.clone() },
        ),
        [file, ..] => {
            let why = format!("\"{file}\" beside other files or stacks");
            let fault = Fault::hint(why, "name one scenario.toml, or one job file and stacks");
            Err(InputError::new(COMMAND_LINE, fault))
        }
    }
}

/// Returns true if an argument is a scenario file (`.toml`) or a job file. Anything that contains
/// `|` or begins like a medium is a stack.
fn is_file_of_ours(word: &str) -> bool {
    let stack =
        ["name=", "cpu", "net:", "file:", "ssh:", "rbd:", "vhost-user:", "[", "each(", "/dev/"]
            .iter()
            .any(|start| word.trim_start().starts_with(start));
    !stack
        && !word.contains('|')
        && (is_job_file(Path::new(word))
            || Path::new(word).extension().is_some_and(|end| end == "toml"))
}

/// Reads stacks in the one-line grammar, of which the first is the baseline.
///
/// # Errors
/// Bad input, with its position.
pub fn from_stacks(exprs: &[String], request: &ScenarioRequest) -> Result<Scenario, InputError> {
    if !request.devices.is_empty() {
        let fault =
            Fault::hint("cannot be combined with stacks", "write the device in the stack itself");
        return Err(Origin::command_line().error_at_key("device", fault));
    }
    let mut parts = ScenarioParts::new(COMMAND_LINE);
    let mut cells = Vec::new();
    parts.labs(request)?;
    if let Some(options) = &request.vm {
        let fault = |fault| Origin::command_line().error_at_key(place::GUEST, fault);
        parts.names.vm = place::guest_of(options, "--vm".to_owned()).map_err(fault)?;
    }
    for file in &request.tools {
        toml::read_tools(file, &mut parts.names, |why| {
            let fault = Fault::hint(why, "name a file of [tool.NAME] tables");
            Origin::command_line().error_at_key("tool", fault)
        })?;
    }
    let mut given: Vec<Option<String>> = Vec::new();
    for (index, text) in exprs.iter().enumerate() {
        let (name, text) = given_name(index + 1, text)?;
        let of_stack = command_line_cells(index + 1, &text, &parts.names)?;
        given.extend(match (name, of_stack.len()) {
            (Some(name), 2..) => {
                let suffixes = names::grid_suffixes(&of_stack).into_iter();
                suffixes.map(|suffix| Some(format!("{name} {suffix}"))).collect()
            }
            (name, many) => vec![name; many],
        });
        cells.extend(of_stack);
    }
    let names = names::names_beside(&cells, &given);
    parts.scenario.stacks =
        cells.into_iter().zip(names).map(|(cell, name)| cell.into_stack(name, false)).collect();
    parts.apply(request)?;
    parts.scenario()
}

/// Splits `name=WORD` off the start of a stack, and leaves blanks in its place, so that columns of
/// errors stay right.
///
/// # Errors
/// The name has signs that a name must not have, or no stack follows.
fn given_name(number: usize, text: &str) -> Result<(Option<String>, String), InputError> {
    let Some(rest) = text.trim_start().strip_prefix("name=") else {
        return Ok((None, text.to_owned()));
    };
    let place = format!("command line, stack {number}");
    let example = "write \"name=fast file:/srv/x.img | loop\"";
    let Some((name, stack)) = rest.split_once(char::is_whitespace) else {
        return Err(InputError::new(place, Fault::hint("a name without a stack", example)));
    };
    toml::plain_name(name).map_err(|fault| InputError::new(place, fault))?;
    let blanks = text.chars().count() - stack.chars().count();
    Ok((Some(name.to_owned()), format!("{:blanks$}{stack}", "")))
}

fn command_line_cells(
    number: usize,
    text: &str,
    names: &StackNames,
) -> Result<Vec<StackCell>, InputError> {
    let place = format!("command line, stack {number}");
    let fault = |fault: TextFault| InputError {
        column: Some(column_of(text, fault.span.start)),
        excerpt: Some(excerpt(text, &fault.span).into()),
        ..InputError::new(&place, fault.fault)
    };
    let expr = grammar::parse(text).map_err(fault)?;
    cells_of(&expr, names, &|byte| format!("{place}, column {}", column_of(text, byte)))
        .map_err(fault)
}

/// Reads a scenario file. A job file alone names no target, so it is refused with a hint at what to
/// add.
///
/// # Errors
/// Bad input, with its position.
pub fn from_path(path: &Path, request: &ScenarioRequest) -> Result<Scenario, InputError> {
    if is_job_file(path) {
        jobfile::read_job_file(path)?;
        let hint = format!("name one: {} file:/srv/x.img,size=4GiB", path.display());
        let fault = Fault::hint("a job file says what I/O to issue, and no stack is named", hint);
        return Err(InputError::new(path.display().to_string(), fault));
    }
    let beside = [
        ("lab", request.lab.is_some(), "write [place.lab] in the file"),
        (place::GUEST, request.vm.is_some(), "write [place.vm1] vm = \"vcpus=2\" in the file"),
        ("tool", !request.tools.is_empty(), "write tools = [\"FILE\"] in the file"),
    ];
    if let Some((option, _, hint)) = beside.into_iter().find(|(_, is_written, _)| *is_written) {
        return Err(Origin::command_line()
            .error_at_key(option, Fault::hint("cannot be combined with a scenario file", hint)));
    }
    let mut parts = toml::read_scenario(path, &request.devices)?;
    parts.apply(request)?;
    parts.scenario()
}

/// Returns every prefix of a stack, beginning with the bare medium. If a layer joins several media,
/// the first prefix is `each([..])` of them: the most that the joined stack could deliver.
pub fn expand_bill(stack: &Stack) -> Vec<Stack> {
    let prefix = |length: usize| StackCell {
        medium: stack.medium.clone(),
        layers: stack.layers[..length].to_vec(),
    };
    let cells: Vec<StackCell> = (0..=stack.layers.len()).map(prefix).collect();
    let names = names::names_of(&cells);
    cells.into_iter().zip(names).map(|(cell, name)| cell.into_stack(name, false)).collect()
}

/// Checks of a device that `unseen=` waives, because a host without an agent cannot make them.
const UNSEEN: &[&str] = &["open", "exclusive", "content"];

/// Parses `serial=X,wipe=gpt`; `wipe` and `unseen` may be written several times.
///
/// # Errors
/// There is no serial, more than one, or a path in its place; a key or a check is unknown; or a
/// part is not key=value.
pub fn parse_consent(text: &str) -> Result<Consent, Fault> {
    let example = "write serial=S4EVNX0N,wipe=gpt";
    let mut serial = None;
    let (mut wipe, mut unseen) = (Vec::new(), Vec::new());
    for part in text.split(',') {
        match part.trim().split_once('=') {
            Some((_, "")) => return Err(Fault::hint(format!("\"{part}\" has no value"), example)),
            Some(("serial" | "wwn", value)) if serial.is_none() => serial = Some(value.to_owned()),
            Some(("serial" | "wwn", _)) => {
                return Err(Fault::hint(
                    "two serials in one consent",
                    "write one consent a device",
                ));
            }
            Some(("wipe", value)) => wipe.push(value.to_owned()),
            Some(("unseen", value)) if UNSEEN.contains(&value) => unseen.push(value.to_owned()),
            Some(("unseen", value)) => return Err(Fault::unknown("check", value, UNSEEN)),
            Some((key, _)) => {
                return Err(Fault::unknown(
                    "key of a consent",
                    key,
                    &["serial", "wwn", "wipe", "unseen"],
                ));
            }
            None if part.starts_with('/') => return Err(path_for_serial(part)),
            None => return Err(Fault::hint(format!("\"{part}\" is not key=value"), example)),
        }
    }
    match serial {
        Some(serial) if serial.starts_with('/') => Err(path_for_serial(&serial)),
        Some(serial) => Ok(Consent { serial, wipe, unseen }),
        None => Err(Fault::hint("no serial number or WWN", example)),
    }
}

fn path_for_serial(path: &str) -> Fault {
    Fault::hint(
        format!("{path} is a path, and a path may be another disk tomorrow"),
        "name the serial number or WWN, as iotax doctor lists it: serial=X",
    )
}

/// Parts of a scenario from the files and the options, before it is checked as a whole.
#[derive(Default)]
pub(super) struct ScenarioParts {
    pub scenario: Scenario,
    pub baseline: Option<(Origin, String)>,
    pub names: StackNames,
    pub states: Vec<AskedState>,
    pub states_origin: Origin,
    pub drafts: Vec<WorkloadDraft>,
    sweeps: TakenNames,
    pub measure_origins: BTreeMap<String, Origin>,
    pub published: Option<published::PublishedDraft>,
    pub tables: table_wires::TableDrafts,
    /// Engine of workloads that name none.
    pub engine: Option<Engine>,
}

impl ScenarioParts {
    pub(super) fn new(source: &str) -> Self {
        ScenarioParts { scenario: Scenario::of_nothing(source, None), ..ScenarioParts::default() }
    }

    /// Adds the workloads of one job, which may be the points of one sweep. If another sweep has
    /// the same name, a number is added to this one's.
    pub(super) fn add_drafts(&mut self, mut drafts: Vec<WorkloadDraft>) {
        let mut points = drafts.iter_mut().filter_map(|draft| draft.sweep.as_mut()).peekable();
        if let Some(name) = points.peek().map(|point| self.sweeps.take_name(&point.sweep)) {
            points.for_each(|point| point.sweep.clone_from(&name));
        }
        self.drafts.extend(drafts);
    }

    /// Applies the options of the command line, which take precedence over the file.
    fn apply(&mut self, request: &ScenarioRequest) -> Result<(), InputError> {
        let origin = Origin::command_line();
        self.scenario.bill |= request.bill;
        self.keep_only(&request.only)?;
        if let Some(name) = &request.baseline {
            self.baseline = Some((origin.clone(), name.clone()));
        }
        self.load(request)?;
        if let Some(words) = &request.states {
            self.states =
                states::parse(words).map_err(|fault| origin.error_at_key("states", fault))?;
            self.states_origin = origin.clone();
        }
        for (key, word) in &request.measure {
            measure::set_measure_key(&mut self.scenario.measure, key, word)
                .map_err(|fault| origin.error_at_key(key, fault))?;
            self.measure_origins.insert(key.clone(), origin.clone());
        }
        for text in &request.destroy {
            self.scenario
                .consent
                .push(parse_consent(text).map_err(|fault| origin.error_at_key("destroy", fault))?);
        }
        for text in &request.change {
            let (vm, force) =
                place::parse_change(text).map_err(|fault| origin.error_at_key("change", fault))?;
            self.scenario.changes.insert(vm, force);
        }
        if let Some(text) = &request.durability {
            let given = durability::parse(text)
                .map_err(|fault| origin.error_at_key("durability", fault))?;
            // Without words of its own the option leaves the settings of the file.
            if !text.trim().is_empty() || self.scenario.durability.is_none() {
                self.scenario.durability = Some(Box::new(given));
            }
        }
        if let Some(word) = &request.max_written {
            self.scenario.max_written =
                Some(size_of(word).map_err(|fault| origin.error_at_key("max_written", fault))?);
        }
        self.refuse_unheeded(request)
    }

    /// Refuses options of the command line that have no effect on the scenario.
    fn refuse_unheeded(&self, request: &ScenarioRequest) -> Result<(), InputError> {
        let guests = place::guests_of(&self.scenario.stacks, &self.names);
        let labs = place::labs_of(&self.scenario.stacks, &self.names);
        let by_tool = self
            .scenario
            .stacks
            .iter()
            .flat_map(|stack| &stack.layers)
            .any(|layer| layer.tool.is_some());
        let vms = self.names.described.values().filter_map(|known| known.vm.as_ref());
        let vms: Vec<String> =
            vms.map(|vm| format!("{}:{}", vm.manager.manager_word(), vm.name)).collect();
        let other_vm = request
            .change
            .iter()
            .any(|vm| !vms.iter().any(|it| it == vm.trim_end_matches(",force")));
        let probes =
            !self.drafts.is_empty() && self.drafts.iter().all(|draft| draft.probe.is_some());
        let key = |key: &str| probes && request.measure.iter().any(|(known, _)| known == key);
        let refuse = |option: &str, why: &str, hint: &str| {
            let fault = Fault::hint(format!("has no effect: {why}"), hint);
            Err(Origin::command_line().error_at_key(option, fault))
        };
        let of_guest =
            "write \"... | vm(vcpus=2)\" in the stack, or load it in a guest: \"cpu @vm\"";
        let out = "leave it out";
        match request {
            it if it.vm.is_some() && guests.is_empty() => {
                refuse(place::GUEST, "no stack is loaded in a place vm", of_guest)
            }
            it if it.lab.is_some() && labs.is_empty() => {
                refuse("lab", "no stack is in the lab", "name its drives, such as \"nvme0 @lab\"")
            }
            it if !it.tools.is_empty() && !by_tool => {
                refuse("tool", "no stack has a layer of a [tool.NAME]", out)
            }
            _ if other_vm => {
                refuse("change", "no place of the scenario is that virtual machine", out)
            }
            it if it.engine.is_some() && probes => refuse("engine", "a probe has no engine", out),
            _ if key(ruler::KEY) => refuse(ruler::KEY, "fio runs no probe", out),
            _ if key("matched_rate") => refuse("matched_rate", "a probe has no matched rate", out),
            _ => Ok(()),
        }
    }

    /// Removes the stacks that `--only` does not name, a baseline that is among them, and `[table]`
    /// and `[published]`, which need all stacks.
    fn keep_only(&mut self, only: &[String]) -> Result<(), InputError> {
        if only.is_empty() {
            return Ok(());
        }
        let known: Vec<&str> =
            self.scenario.stacks.iter().map(|stack| stack.name.as_str()).collect();
        if let Some(name) =
            only.iter().find(|name| !self.scenario.stacks.iter().any(|stack| stack.is_called(name)))
        {
            return Err(
                Origin::command_line().error_at_key("only", Fault::unknown("stack", name, &known))
            );
        }
        let is_kept = |stack: &Stack| only.iter().any(|name| stack.is_called(name));
        let is_of_all = |name: &str| {
            self.scenario.stacks.iter().any(|stack| stack.is_called(name) && !is_kept(stack))
        };
        self.baseline = self.baseline.take().filter(|(_, name)| !is_of_all(name));
        self.scenario.stacks.retain(is_kept);
        let of_all = [
            ("[table]", !std::mem::take(&mut self.tables).is_empty()),
            ("[published]", self.published.take().is_some()),
        ];
        for (what, _) in of_all.into_iter().filter(|(_, is_there)| *is_there) {
            self.scenario.notes.push(format!(
                "{what} is left out: it needs all stacks, and --only selects some of them"
            ));
        }
        Ok(())
    }

    /// Applies `--lab` to the lab called `lab`. This comes before the stacks, which name its
    /// drives.
    fn labs(&mut self, request: &ScenarioRequest) -> Result<(), InputError> {
        let Some(words) = &request.lab else { return Ok(()) };
        let Some(PlaceSpec::Lab(lab)) = self.names.places.get_mut(place::LAB) else {
            return Ok(());
        };
        for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let fault = |fault| Origin::command_line().error_at_key("lab", fault);
            let (key, value) = word.split_once('=').ok_or_else(|| {
                fault(Fault::hint(
                    format!("\"{word}\" is not key=value"),
                    "write drive_size=1GiB,memory=4GiB",
                ))
            })?;
            lab.set_lab_key(key, value).map_err(fault)?;
        }
        Ok(())
    }

    fn load(&mut self, request: &ScenarioRequest) -> Result<(), InputError> {
        let named = [
            !request.words.is_empty() && request.probe.is_none(),
            request.job_file.is_some(),
            request.profile.is_some(),
            request.probe.is_some(),
        ];
        let named = named.into_iter().filter(|named| *named).count();
        if let ([(key, size)], false) = (request.words.as_slice(), self.drafts.is_empty()) {
            if key == "size" && named == 1 {
                return self.size_of_all(size).and_then(|()| self.engine_of_all(request));
            }
        }
        if named > 1 || (named == 1 && !self.drafts.is_empty()) {
            let options: Vec<String> =
                request.words.iter().map(|(key, _)| format!("--{key}")).collect();
            let options = options.join(" ");
            let fault = match named == 1 && !options.is_empty() {
                true => Fault::hint(
                    format!("the scenario has its own workloads, so {options} cannot be given"),
                    format!(
                        "leave {options} out, or change a copy of the scenario; only --size can be combined with its workloads"
                    ),
                ),
                false => Fault::hint(
                    "workloads are given in two ways",
                    "use one way: a scenario, options such as --rw, or --profile",
                ),
            };
            return Err(InputError::new(COMMAND_LINE, fault));
        }
        if let Some(path) = &request.job_file {
            let file = jobfile::read_job_file(path)?;
            self.drafts = file.drafts;
            self.scenario.notes.extend(file.notes);
        } else if let Some(list) = &request.probe {
            self.drafts = probes::drafts(list, None, &request.words, &Origin::command_line())?;
        } else if let Some(name) = &request.profile {
            self.drafts = profile::drafts(name, &Origin::command_line())?;
        } else if !request.words.is_empty() {
            self.add_drafts(drafts_from_words(&request.words)?);
        }
        self.engine_of_all(request)
    }

    /// Applies `--size` to the loads of a scenario: all of them load that much of every stack.
    fn size_of_all(&mut self, word: &str) -> Result<(), InputError> {
        set_size(&mut self.drafts, word, &Origin::command_line())
    }

    fn engine_of_all(&mut self, request: &ScenarioRequest) -> Result<(), InputError> {
        let Some(word) = &request.engine else {
            return Ok(());
        };
        let engine = parse_engine(word)
            .map_err(|fault| Origin::command_line().error_at_key("engine", fault))?;
        self.engine = engine;
        self.drafts.iter_mut().for_each(|draft| draft.engine = engine);
        Ok(())
    }

    fn scenario(mut self) -> Result<Scenario, InputError> {
        self.settle_files()?;
        self.take_apart()?;
        self.scenario.stacks =
            states::expand(std::mem::take(&mut self.scenario.stacks), &self.states)
                .map_err(|fault| self.states_origin.error_at_key("states", fault))?;
        self.scenario.stacks.iter().try_for_each(bdev::loadable)?;
        remote::one_end_each(&self.scenario.stacks).map_err(|fault| self.error(fault))?;
        let baseline = self.baseline_index()?;
        if self.scenario.measure.fio_on_baseline {
            self.add_fio_on(baseline)?;
        }
        let mut workloads = match &self.scenario.durability {
            Some(spec) => {
                self.check_durability(spec)?;
                Vec::new()
            }
            None => self.workloads()?,
        };
        self.scenario.notes.extend(remote::one_engine(&self.scenario.stacks, &mut workloads));
        verify::check_verification(&self.scenario.stacks, &workloads)
            .map_err(|fault| self.error(fault).key("verify"))?;
        by_fio::check_fio_loads(&self.scenario.stacks, &workloads)
            .map_err(|fault| self.error(fault).key("engine"))?;
        let guests = place::guests_of(&self.scenario.stacks, &self.names);
        probes::check_probes(&self.scenario.stacks, &workloads, &guests)
            .map_err(|fault| self.error(fault).key("probe"))?;
        self.scenario.notes.extend(probes::note_network(&self.scenario.stacks, &workloads));
        let alone = [
            (self.scenario.bill, "a bill"),
            (self.scenario.durability.is_some(), "durability trials"),
        ];
        let alone = alone.into_iter().find(|(asked, _)| *asked).map(|(_, what)| what);
        operator::check_operators(&self.scenario.stacks, &self.scenario.operators, alone).map_err(
            |(stack, fault)| {
                let why = format!("[stack.{stack}]: {}", fault.why);
                self.error(Fault { why, ..fault }).key("operator")
            },
        )?;
        let published =
            self.published.as_ref().map(|draft| draft.settled(&self.scenario.stacks, &workloads));
        let published = published.transpose()?;
        let names = TableNames::of_scenario(&self.scenario.stacks, &workloads);
        let (table, articles) = self.tables.settled(&names)?;
        let writes = self.scenario.durability.is_some() || workloads.iter().any(Workload::writes);
        self.check_measure(&workloads, writes)?;
        let steady = self.scenario.measure.regime == super::Regime::Steady
            || self.scenario.measure.precondition.steady;
        let trims = trims::check_trim_run(&self.scenario.stacks, &workloads, steady);
        self.scenario.notes.extend(trims.map_err(|fault| self.error(fault).key("rw"))?);
        self.check_errors(&workloads)?;
        self.note_twins();
        self.note_choices();
        self.note_depth();
        self.note_data(&workloads);
        self.note_direct(&workloads);
        let labs = place::labs_of(&self.scenario.stacks, &self.names);
        Ok(Scenario {
            labs,
            guests,
            described: self.names.described,
            baseline,
            workloads,
            published: published.map(Box::new),
            table: table.map(Box::new),
            articles,
            ..self.scenario
        })
    }

    /// Checks that a scenario with durability trials asks for nothing that they do not do: a bill,
    /// a load, an engine, a key of `[measure]` other than the seed, or a stack on which nothing can
    /// be killed.
    fn check_durability(&self, spec: &DurabilitySpec) -> Result<(), InputError> {
        let refuse =
            |why: &str, hint: &str| Err(self.error(Fault::hint(why, hint)).key("durability"));
        if self.scenario.bill {
            return refuse(
                "a bill shows costs, and durability trials measure none",
                "run them one after the other",
            );
        }
        if !self.drafts.is_empty() || self.engine.is_some() {
            return refuse(
                "durability trials have a load of their own, and another one is named",
                "leave out workloads, job files, fio's words and engine",
            );
        }
        if let Some((key, origin)) =
            self.measure_origins.iter().find(|(key, _)| !durability::heeds(key))
        {
            let fault = Fault::hint(
                "has no effect on durability trials",
                "leave it out; trials, min_load and max_load of durability say how long they take",
            );
            return Err(origin.error_at_key(key, fault));
        }
        durability::check_trials(spec, &self.scenario.stacks)
            .map_err(|fault| self.error(fault).key("durability"))
    }

    /// Gives all media with one path the same settings, since they are one file: it is kept if any
    /// stack says so. Two different sizes are refused.
    fn settle_files(&mut self) -> Result<(), InputError> {
        let mut files: BTreeMap<(Option<String>, PathBuf), (Option<u64>, bool)> = BTreeMap::new();
        for (host, path, size, keep) in media(&self.scenario.stacks).filter_map(file_of) {
            let known = files.entry((host.cloned(), path.clone())).or_insert((size, keep));
            known.1 |= keep;
            if known.0 != size {
                let place = host.map(|host| format!("ssh:{host}:")).unwrap_or_default();
                let why = format!("{place}{} is given two sizes", path.display());
                return Err(
                    self.error(Fault::hint(why, "write the same size= wherever it is named"))
                );
            }
        }
        for medium in self.scenario.stacks.iter_mut().flat_map(|stack| stack.medium.members_mut()) {
            let at = file_of(medium).map(|(host, path, ..)| (host.cloned(), path.clone()));
            let kept = at.and_then(|at| files.get(&at)).is_some_and(|(_, kept)| *kept);
            if let Medium::File { keep, .. } | Medium::Remote { keep, .. } = medium {
                *keep = kept;
            }
        }
        Ok(())
    }

    fn take_apart(&mut self) -> Result<(), InputError> {
        if self.scenario.stacks.is_empty() {
            let hint = "name one, for example file:/srv/x.img,size=4GiB, or write [stack.NAME] in the scenario";
            return Err(self.error(Fault::hint("no stack is named", hint)));
        }
        if !self.scenario.bill {
            return Ok(());
        }
        match self.scenario.stacks.as_slice() {
            [stack] if stack.layers.is_empty() => Err(self.error(Fault::hint(
                "a bill of a bare medium has no lines",
                "put layers on it with \"|\"",
            ))),
            [stack] => {
                let prefixes = expand_bill(stack).into_iter();
                let (left_out, loaded): (Vec<Stack>, Vec<Stack>) = prefixes.partition(|prefix| {
                    prefix.text != stack.text && bdev::ends_in_one(&prefix.medium, &prefix.layers)
                });
                self.scenario.notes.extend(bdev::note_left_out(&left_out));
                self.scenario.stacks = loaded;
                Ok(())
            }
            several => {
                let fault = Fault::hint(
                    format!("a bill takes one stack apart, and there are {}", several.len()),
                    "name one stack without a grid, or compare them without a bill",
                );
                Err(self.error(fault))
            }
        }
    }

    /// Adds the baseline again, loaded by the installed fio, unless there is such a stack.
    fn add_fio_on(&mut self, baseline: usize) -> Result<(), InputError> {
        let jobs =
            self.drafts.iter().flat_map(|draft| &draft.jobs).map(|draft| &draft.job).collect();
        let beside = RulerContext {
            bill: self.scenario.bill,
            trials: self.scenario.durability.is_some(),
            jobs,
        };
        let cell = ruler::fio_on(&self.scenario.stacks[baseline], beside).map_err(|fault| {
            let origin = self.measure_origins.get(ruler::KEY).cloned();
            origin.unwrap_or_else(Origin::command_line).error_at_key(ruler::KEY, fault)
        })?;
        let mut taken = TakenNames::default();
        self.scenario.stacks.iter().for_each(|stack| taken.note_name(&stack.name));
        let name = taken.take_name(&format!("fio on {}", self.scenario.stacks[baseline].name));
        let text = cell.cell_text();
        if !self.scenario.stacks.iter().any(|known| known.text == text) {
            self.scenario.stacks.push(cell.into_stack(name, false));
        }
        Ok(())
    }

    fn error(&self, fault: Fault) -> InputError {
        InputError::new(self.scenario.source.clone(), fault)
    }

    fn baseline_index(&self) -> Result<usize, InputError> {
        let Some((origin, name)) = &self.baseline else {
            return Ok(0);
        };
        self.scenario.stacks.iter().position(|stack| stack.is_called(name)).ok_or_else(|| {
            let known: Vec<&str> =
                self.scenario.stacks.iter().map(|stack| stack.name.as_str()).collect();
            origin.error_at_key("baseline", Fault::unknown("stack", name, &known))
        })
    }

    fn workloads(&mut self) -> Result<Vec<Workload>, InputError> {
        if self.drafts.is_empty() {
            self.drafts = self.default_drafts()?;
        }
        let targets = targets(&self.scenario.stacks);
        let mut taken = TakenNames::default();
        let mut workloads = Vec::new();
        for draft in &self.drafts {
            let mut workload = draft.workload_on(targets)?;
            workload.name = taken.take_name(&workload.name);
            workloads.push(workload);
        }
        Ok(workloads)
    }

    /// Returns the default loads: 4k random reads at iodepth 1, and for a bill also at the second
    /// of [`BILL_DEPTHS`], unless the engine is sync. If all media are `cpu` or all are `net:`,
    /// they are probes instead.
    fn default_drafts(&mut self) -> Result<Vec<WorkloadDraft>, InputError> {
        if media(&self.scenario.stacks).all(|medium| matches!(medium, Medium::Cpu { .. })) {
            return probes::shipped(probes::MACHINE, &Origin::command_line());
        }
        if media(&self.scenario.stacks).all(|medium| matches!(medium, Medium::Net { .. })) {
            return probes::shipped(probes::NETWORK, &Origin::command_line());
        }
        let one = sweep::drafts(&JobWords::default(), None, self.engine)?;
        if !self.scenario.bill {
            return Ok(one);
        }
        if self.engine == Some(Engine::Native(EngineName::Sync)) {
            self.scenario.notes.push(
                "engine \"sync\" issues one I/O at a time: the bill has no rates at load".into(),
            );
            return Ok(one);
        }
        let [shallow, deep] = BILL_DEPTHS;
        self.scenario.notes.push(format!(
            "no load is named: the bill is measured with 4k random reads at iodepth {shallow} (microseconds an I/O) and at iodepth {deep} (rate and CPU time)"
        ));
        let at = |depth: u32| drafts_from_words(&[("iodepth".to_owned(), depth.to_string())]);
        let mut both = at(shallow)?;
        both.extend(at(deep)?);
        both.iter_mut().for_each(|draft| draft.engine = self.engine);
        Ok(both)
    }

    /// Gives a trace its time, which replaces budget and min_time.
    fn settle_trace(&mut self, workloads: &[Workload]) -> Result<(), InputError> {
        let Some(length_ns) = self.scenario.measure.trace_ns else { return Ok(()) };
        let several = "one stack under one load has a rate over time";
        let with =
            |key: &str| Fault::hint(format!("{key} has no effect on a trace"), "leave it out");
        let compared = ["budget", "min_time", "slice", "attaches", "visits", "regime"];
        let given = compared.into_iter().find(|key| self.measure_origins.contains_key(*key));
        let fault = match (self.scenario.stacks.len(), workloads.len(), given) {
            (1, 1, None) if !self.scenario.bill => {
                let measure = &mut self.scenario.measure;
                (measure.budget_ns, measure.min_time_ns) = (length_ns, length_ns);
                return Ok(());
            }
            (1, 1, Some(key)) => with(key),
            (1, 1, None) => with("bill"),
            (1, loads, _) => {
                Fault::hint(format!("{several}, and there are {loads} loads"), "one run for each")
            }
            (stacks, ..) => {
                Fault::hint(format!("{several}, and there are {stacks} stacks"), "one run for each")
            }
        };
        Err(match self.measure_origins.get(measure::TRACE) {
            Some(origin) => origin.error_at_key(measure::TRACE, fault),
            None => self.error(fault).key(measure::TRACE),
        })
    }

    fn check_measure(&mut self, workloads: &[Workload], writes: bool) -> Result<(), InputError> {
        self.settle_trace(workloads)?;
        let loads = workloads.len();
        let on_command_line =
            |key: &str| self.measure_origins.get(key) == Some(&Origin::command_line());
        let shared = on_command_line("budget") && loads > 1;
        if shared {
            self.scenario.measure.budget_ns /= loads as u64;
        }
        let least_ns = self.scenario.measure.min_time_ns;
        // A budget that the user names takes precedence over the default min_time, and one on the
        // command line over a file's min_time.
        let yields = !self.measure_origins.contains_key("min_time")
            || on_command_line("budget") && !on_command_line("min_time");
        if yields || shared {
            self.scenario.measure.min_time_ns = least_ns.min(self.scenario.measure.budget_ns);
        }
        if !yields && self.scenario.measure.min_time_ns < least_ns {
            let show = |ns: u64| iotax_units::show_ns(ns as f64);
            let (least, share) = (show(least_ns), show(self.scenario.measure.budget_ns));
            self.scenario.notes.push(format!(
                "min_time {least} is shortened to the budget, of which each of the {loads} loads gets {share}"
            ));
        }
        let given = |key: &str| self.measure_origins.contains_key(key);
        let checked = measure::check_measure_keys(
            &self.scenario.measure,
            if shared { loads as u64 } else { 1 },
        )
        .and_then(|()| {
            slo::check_levels(&self.scenario.measure.slo, workloads)
                .map_err(|fault| (slo::KEY, fault))
        })
        .and_then(|()| measure::check_writes(&self.scenario.measure, writes, given))
        .map_err(|(key, fault)| match self.measure_origins.get(key) {
            Some(origin) => origin.error_at_key(key, fault),
            None => self.error(fault).key(key),
        })?;
        self.scenario.notes.extend(checked);
        if self.scenario.measure.visits < measure::VISITS_FOR_A_VERDICT {
            self.scenario.notes.push(format!(
                "visits = {}: stacks that cannot be up together get no verdict from fewer than {}",
                self.scenario.measure.visits,
                measure::VISITS_FOR_A_VERDICT
            ));
        }
        Ok(())
    }

    /// Checks that all jobs of a workload have the same `continue_on_error`, and notes the
    /// workloads that have it.
    fn check_errors(&mut self, workloads: &[Workload]) -> Result<(), InputError> {
        for workload in
            workloads.iter().filter(|one| one.jobs.iter().any(|job| job.continue_on_error))
        {
            if let Some(job) = workload.jobs.iter().find(|job| !job.continue_on_error) {
                let why = format!(
                    "job \"{}\" ends the run when an I/O fails, and others of its workload go on",
                    job.name
                );
                let hint = "write the same continue_on_error for all jobs that run at once";
                return Err(self.error(Fault::hint(why, hint)).key("continue_on_error"));
            }
            self.scenario.notes.push(format!(
                "\"{}\" goes on where I/Os fail, as asked: they are counted, and its figures are of those that did not fail",
                workload.name
            ));
        }
        Ok(())
    }

    /// Notes which stacks are loaded on several members or in several guests at once, and thus have
    /// more I/Os in flight than others.
    fn note_depth(&mut self) {
        let mut names: BTreeMap<(usize, &str, &str), Vec<String>> = BTreeMap::new();
        for stack in &self.scenario.stacks {
            let in_guests = stack.layers.iter().any(|layer| layer.has_role(LayerRole::Guest));
            let what = match (stack.loaded_at_once(), stack.guests()) {
                _ if stack.far_clients() > 1 => {
                    (stack.target_count() as usize, "on", "disks of clients")
                }
                (Some(_), _) if in_guests => {
                    (stack.target_count() as usize, "on", "disks of guests")
                }
                (Some(parts), _) if stack.is_split() => (parts, "on", "parts"),
                (Some(members), _) => (members, "on", "members"),
                (None, 1) => continue,
                (None, guests) => (guests as usize, "in", "guests"),
            };
            names.entry(what).or_default().push(format!("\"{}\"", stack.name));
        }
        let stacks = self.scenario.stacks.len();
        self.scenario.notes.extend(names.into_iter().map(|((many, at, whose), names)| {
            let names = match names.len() {
                all if all == stacks && all > 2 => "every stack".to_owned(),
                _ => names.join(", "),
            };
            format!(
                "{names}: every job runs {at} all {many} {whose} at once, so {many} times the depth is in flight; the figures are those of all {whose} together"
            )
        }));
    }

    /// Notes whose data fill files and volumes, if workloads write data that compress differently.
    fn note_data(&mut self, workloads: &[Workload]) {
        let of = |job: &Job| (job.buffer_compress_percentage, job.dedupe_percentage);
        let jobs = workloads
            .iter()
            .flat_map(|workload| workload.jobs.iter().map(move |job| (workload, job)));
        let mut stated = jobs.filter(|(_, job)| !job.data().is_unique());
        let Some((first, kind)) = stated.next() else { return };
        let other = stated.find(|(_, job)| of(job) != of(kind));
        if let Some((other, _)) = other {
            self.scenario.notes.push(format!(
                "workloads write different kinds of data: files and volumes are filled with that of \"{}\" (buffer_compress_percentage={}, \
                 dedupe_percentage={}), also for \"{}\"",
                first.name, kind.buffer_compress_percentage, kind.dedupe_percentage, other.name
            ));
        }
    }

    /// Notes layers that only matter to buffered loads, if there are none.
    fn note_direct(&mut self, workloads: &[Workload]) {
        let jobs = || workloads.iter().flat_map(|workload| &workload.jobs);
        let is_guest = |layer: &LayerSpec| layer.has_role(LayerRole::Guest);
        let in_guest = self.scenario.stacks.iter().any(|stack| stack.layers.iter().any(is_guest));
        // A guest's disk may go through the host's page cache, whatever the load in it does.
        if in_guest || jobs().next().is_none() || jobs().any(|job| !job.direct) {
            return;
        }
        let layers = self.scenario.stacks.iter().flat_map(|stack| &stack.layers);
        let only_buffered =
            |layer: &&LayerSpec| layer.catalog_entry().is_some_and(|help| help.only_buffered);
        let names: BTreeSet<&str> =
            layers.filter(only_buffered).map(|layer| layer.name.as_str()).collect();
        self.scenario.notes.extend(names.into_iter().map(|name| {
            format!(
                "{name} changes only reads through a page cache, and every load is direct; \
                 hint: direct = false"
            )
        }));
    }

    /// Notes the effects of a stack's settings on its figures.
    fn note_choices(&mut self) {
        let notes = self
            .scenario
            .stacks
            .iter()
            .flat_map(|stack| stack.notes().map(|note| format!("\"{}\": {note}", stack.name)));
        let notes: Vec<String> = notes.collect();
        self.scenario.notes.extend(notes);
    }

    fn note_twins(&mut self) {
        let mut first: BTreeMap<&str, &str> = BTreeMap::new();
        for stack in &self.scenario.stacks {
            match first.entry(&stack.text) {
                Entry::Vacant(free) => drop(free.insert(&stack.name)),
                Entry::Occupied(twin) => self.scenario.notes.push(format!(
                    "\"{}\" and \"{}\" are the same stack: A against A",
                    twin.get(),
                    stack.name
                )),
            }
        }
    }
}

/// Returns the media of all stacks, each of several members by itself.
fn media(stacks: &[Stack]) -> impl Iterator<Item = &Medium> {
    stacks.iter().flat_map(|stack| stack.medium.members())
}

fn targets(stacks: &[Stack]) -> Targets {
    let sizes: Vec<Option<u64>> = media(stacks).map(declared_size).collect();
    Targets {
        smallest: sizes.iter().flatten().min().copied(),
        all_declared: sizes.iter().all(Option::is_some),
    }
}

/// Returns the SSH host of a file, its path, its size, and true if it is kept. `None`: the medium
/// is never a file.
fn file_of(medium: &Medium) -> Option<(Option<&String>, &PathBuf, Option<u64>, bool)> {
    match medium {
        Medium::File { path, size, keep } => Some((None, path, *size, *keep)),
        Medium::Remote { host, path, size, keep, .. } => Some((Some(host), path, *size, *keep)),
        Medium::Device { .. }
        | Medium::Drive { .. }
        | Medium::Cpu { .. }
        | Medium::Net { .. }
        | Medium::Rbd { .. }
        | Medium::VhostUser { .. }
        | Medium::Many { .. } => None,
    }
}

fn declared_size(medium: &Medium) -> Option<u64> {
    match medium {
        Medium::File { size, .. } | Medium::Remote { size, .. } => *size,
        Medium::Device { .. }
        | Medium::Drive { .. }
        | Medium::Cpu { .. }
        | Medium::Net { .. }
        | Medium::Rbd { .. }
        | Medium::VhostUser { .. }
        | Medium::Many { .. } => None,
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;

/// Sets the size of all jobs of loads that are not written in words of their own.
///
/// # Errors
/// The word is no size.
pub(super) fn set_size(
    drafts: &mut [WorkloadDraft],
    word: &str,
    origin: &Origin,
) -> Result<(), InputError> {
    let size =
        parse_extent(word, Dialect::Ours).map_err(|fault| origin.error_at_key("size", fault))?;
    for job in drafts.iter_mut().flat_map(|draft| &mut draft.jobs) {
        job.size = Some(size);
        job.size_origin = Some(origin.clone());
    }
    Ok(())
}

#[cfg(test)]
#[path = "shipped_tests.rs"]
mod shipped_tests;
