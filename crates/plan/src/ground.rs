//! Plans the steps of a checked scenario. The files under test come first and stay up for the whole
//! run. Then each set of stacks has the steps that bring it up and remove it with every visit. An
//! identical prefix is one instance. Nothing is performed here.

use super::kept::leads_away;
use super::prefixes::must_write;
use super::set_plan::{BackEnd, LabPlan, PlanBounds, PlanGround, SetPlan};
use super::sets::StackSet;
use super::unwritten::{UnwrittenStack, unwritten_of_set};
use super::{passes, transitions, trial_room, write_unit};
use anyhow::{Context, Result};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_facts::place::Place;
use iotax_host::guard::marker;
use iotax_layers::guest::lab::{LabDrive, LabWish};
use iotax_layers::guest::network::{GuestNetwork, lab_addresses};
use iotax_layers::{
    ExistingMachine, ExposedDevice, FirstWrites, PlanContext, guest, layer_of, medium,
    readback_owner,
};
use iotax_model::scenario::place::drive_name;
use iotax_model::scenario::{LabSpec, Scenario};
use iotax_model::stack::{HandedDisk, LayerRole, LayerSpec, Medium, Stack};
use iotax_qemu::command_line::Memory;
use iotax_qemu::disk::overlay_folder;
use iotax_steps::op::{Op, WipeSignatures};
use iotax_steps::step::Step;
use iotax_units::exit::Failed;
use iotax_units::is_unknown;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// Parts of a set that are planned.
#[derive(Default)]
struct PlannedParts {
    /// What each medium with the layers on it shows, by their text.
    exposed: BTreeMap<String, ExposedDevice>,
    back_end: Option<BackEnd>,
}

/// Up to which layer a stack is planned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlanDepth {
    /// Up to and including the guest; the whole stack if it has none.
    Guests,
    Top,
}

impl PlanGround<'_> {
    /// Plans the steps that make and fill the files under test. Each file is made once, however
    /// many stacks have it as a member.
    ///
    /// # Errors
    /// When a list of media has a list in it.
    pub fn media(&self) -> Result<Vec<Step>> {
        let mut context = self.context()?;
        let mut seen = HashSet::new();
        for (index, stack) in self.scenario.stacks.iter().enumerate() {
            let all = stack.medium.members().iter().zip(&self.found[index]);
            // All stacks of a member have the same equal files.
            let fresh: Vec<_> = all.filter(|(member, _)| seen.insert(*member)).collect();
            if fresh.is_empty() {
                continue;
            }
            for sibling in self.layout.siblings_of(index) {
                for (member, found) in &fresh {
                    medium::plan_member(member, found, sibling, &mut context)
                        .map_err(|error| Failed::input(format!("{}: {error:#}", stack.text)))?;
                }
            }
        }
        Ok(context.steps)
    }

    /// Plans the labs with their drives.
    ///
    /// # Errors
    /// Bad input: QEMU would not accept a lab. An unmet need: there is no image of a lab.
    pub fn labs(&self) -> Result<LabPlan> {
        let mut context = self.context()?;
        let mut plan = LabPlan::default();
        // The labs make the network in which everything else has them.
        let addresses = std::mem::take(&mut context.lab_addresses);
        let mut network = match &self.guest_parts {
            Some(parts) if !addresses.is_empty() => {
                Some(GuestNetwork::plan_network(&parts.routes, "the labs", &mut context)?)
            }
            _ => None,
        };
        for (place, spec) in &self.scenario.labs {
            let parts = self
                .guest_parts
                .as_ref()
                .with_context(|| format!("@{place}: no parts for a lab"))?;
            let network = network.as_mut().filter(|_| addresses.contains_key(place));
            let wish = lab_wish(place, spec, parts, &self.tag)?;
            plan.guests.push(guest::lab::plan_lab(&mut context, parts, &wish, network)?);
        }
        plan.steps = context.steps;
        Ok(plan)
    }

    /// Plans one set. `visit` decides which of several equal files each stack is on.
    ///
    /// # Errors
    /// Bad input when a layer cannot be set up on what is below it.
    pub fn plan_set(&self, set: &StackSet, visit: u32) -> Result<SetPlan> {
        let mut context = self.context()?;
        let mut made = PlannedParts::default();
        for index in &set.stacks {
            self.stack(*index, visit, PlanDepth::Guests, &mut context, &mut made)?;
        }
        let back_end = made.back_end.take().filter(|_| self.may_stay_up(set));
        let below_guests = context.steps.len();
        guest::finish(&mut context)?;
        let in_guests = context.steps.len();
        let whole = |index: &usize| {
            Ok((*index, self.stack(*index, visit, PlanDepth::Top, &mut context, &mut made)?))
        };
        let targets = set.stacks.iter().map(whole).collect::<Result<_>>()?;
        let bottom = |index: &usize| {
            let sibling = self.layout.sibling_in(*index, visit);
            Ok((*index, self.bottom(&self.scenario.stacks[*index], *index, sibling, &context)?))
        };
        let media = set.stacks.iter().map(bottom).collect::<Result<_>>()?;
        let PlanContext { steps, guests, consents_lacking, .. } = context;
        Ok(SetPlan {
            steps,
            below_guests,
            in_guests,
            guests,
            targets,
            media,
            consents_lacking,
            back_end,
        })
    }

    /// Returns the steps that rewrite, before a set is set up, what layers of an earlier visit or
    /// run have zeroed or discarded in iotax's own files below the stacks of the set. There are
    /// none for durability trials, nor if the load trims or writes data of a special kind: such
    /// files are filled completely when they are made.
    ///
    /// # Errors
    /// An unmet need: no network is left for labs.
    pub fn restored_media(&self, set: &StackSet, visit: u32) -> Result<Vec<Step>> {
        let mut context = self.context()?;
        if self.scenario.durability.is_some() || context.trims || !context.data.is_unique() {
            return Ok(Vec::new());
        }
        let mut seen = HashSet::new();
        for index in &set.stacks {
            let (stack, found) = (&self.scenario.stacks[*index], &self.found[*index]);
            for (member, found) in stack.medium.members().iter().zip(found) {
                let sibling = self.layout.sibling_in(*index, visit);
                let Some((place, path)) = medium::made_file(member, sibling) else { continue };
                if seen.insert((place.clone(), path.clone())) {
                    let fill = context.fill_of(&place, &path, found.bytes);
                    context.add_in(
                        &place,
                        "rewrite the discarded parts of the file",
                        Op::FillFile(fill),
                    );
                }
            }
        }
        Ok(context.steps)
    }

    /// Returns the changes that the run would make to others' devices without their consent, one
    /// sentence each. `plan` shows them, `run` refuses.
    ///
    /// # Errors
    /// As [`PlanGround::plan_set`].
    pub fn consents_lacking(&self) -> Result<Vec<String>> {
        let mut lacking = Vec::new();
        for set in &self.layout.sets {
            lacking.extend(self.plan_set(set, 0)?.consents_lacking);
        }
        lacking.sort();
        lacking.dedup();
        Ok(lacking)
    }

    /// Returns the bounds of the run, and refuses what can be refused before anything is made: jobs
    /// larger than the smallest stack; files, lab drives, overlays or guests without enough room;
    /// device names that may change; durability trials without enough room; and writes of the
    /// set-up beyond `max_written`.
    ///
    /// # Errors
    /// The first refusal; as [`PlanGround::plan_set`].
    pub fn bounds(&self) -> Result<PlanBounds> {
        let (region, parts) = self.region()?;
        check_fit(self.scenario, region / parts)?;
        let media = self.media()?;
        check_room(&media)?;
        self.check_labs()?;
        self.check_overlays(&media, region)?;
        self.check_guests()?;
        self.check_names()?;
        let left_to_write = self.left_to_write(&media, region)?;
        if let Some(spec) = &self.scenario.durability {
            trial_room::check_room(spec, self, region, left_to_write)?;
        }
        Ok(PlanBounds { region, left_to_write })
    }

    /// Refuses temporary overlays without enough room. Overlays take whatever is written, and QEMU
    /// stops a guest whose overlay has no room. The bytes that the system in an image writes on its
    /// own account are not known and do not count.
    fn check_overlays(&self, media: &[Step], region: u64) -> Result<()> {
        let Some(parts) = &self.guest_parts else { return Ok(()) };
        let folder = overlay_folder(std::env::var_os("TMPDIR").map(PathBuf::from), parts.qemu);
        for set in &self.layout.sets {
            let guests = self.plan_set(set, 0)?.guests;
            let disks = guests.iter().flat_map(|guest| &guest.disks).filter(|disk| disk.snapshot);
            let most = reach(self.scenario, region);
            let overlays: Vec<(PathBuf, u64)> = disks
                .map(|disk| (folder.join("overlay"), most.min(disk.bytes.unwrap_or(most))))
                .filter(|(_, bytes)| *bytes > 0 && !is_unknown(*bytes))
                .collect();
            if !overlays.is_empty() {
                // Files that are made may be there, too.
                marker::check_room_of_all(&[overlays, made(media)].concat()).with_context(|| {
                    let folder = folder.display();
                    format!("no room in {folder} for the overlays of snapshot=on; hint: TMPDIR=/another/folder, or a smaller size of the jobs")
                })?;
            }
        }
        Ok(())
    }

    /// Refuses labs whose drives do not fit. Labs are up next to everything else, and their drives
    /// are files of the run's folder, which grow to their full size.
    fn check_labs(&self) -> Result<()> {
        let drives = |(place, spec): (&Place, &LabSpec)| {
            let file = self.tag.run_dir.join(place.to_string());
            (0..spec.drives.unwrap_or(0))
                .map(move |_| (file.clone(), spec.drive_size))
                .collect::<Vec<_>>()
        };
        let files: Vec<(PathBuf, u64)> = self.scenario.labs.iter().flat_map(drives).collect();
        match self.tag.run_dir.is_dir() {
            true => marker::check_room_of_all(&files)
                .context("the drives of a lab do not fit in the run's folder"),
            false => Ok(()),
        }
    }

    /// Checks that the guests of each set fit on this machine, since all of them are up at once.
    /// The set with the most memory comes first: a user who makes room for it need not hear of the
    /// others.
    fn check_guests(&self) -> Result<()> {
        let Some(parts) = &self.guest_parts else { return Ok(()) };
        let guests = |set| Ok(self.plan_set(set, 0)?.guests);
        let mut sets = self.layout.sets.iter().map(guests).collect::<Result<Vec<_>>>()?;
        sets.sort_by_key(|guests| {
            Reverse(guests.iter().map(|guest| guest.memory.bytes).sum::<u64>())
        });
        sets.iter().try_for_each(|guests| Ok(parts.room.check_guests_fit(guests)?))
    }

    /// Refuses names such as /dev/nvme0n1 if a set gives several drives to guests at once. Drives
    /// that come back from guests get the lowest free names in whatever order they come, so such a
    /// name may then be another drive's.
    fn check_names(&self) -> Result<()> {
        for set in &self.layout.sets {
            let steps = self.plan_set(set, 0)?.steps;
            let taken = steps.iter().filter(|step| matches!(step.op, Op::PassThrough(_))).count();
            if taken > 1 {
                self.scenario
                    .stacks
                    .iter()
                    .try_for_each(|stack| self.check_names_of(stack, taken))?;
            }
        }
        Ok(())
    }

    fn check_names_of(&self, stack: &Stack, taken: usize) -> Result<()> {
        let dealt_out =
            |path: &Path| path.to_str().is_some_and(|path| path.starts_with("/dev/nvme"));
        for member in stack.medium.members() {
            let Medium::Device { path } = member else { continue };
            if dealt_out(path) {
                return Err(Failed::input(format!(
                    "{}: guests have {taken} drives at one time, and when they come back the kernel may give {} to another; \
                     hint: {}",
                    stack.text,
                    path.display(),
                    self.name_that_stays(path)
                ))
                .into());
            }
        }
        Ok(())
    }

    fn name_that_stays(&self, path: &Path) -> String {
        let mut drives = self.guest_parts.iter().flat_map(|parts| &parts.drives);
        let drive = drives.find(|drive| drive.paths.iter().any(|known| known == path));
        let known = drive
            .and_then(|drive| drive.paths.iter().find(|path| path.starts_with("/dev/disk/by-id")));
        known.map_or_else(
            || "name it by /dev/disk/by-id/...".to_owned(),
            |known| known.display().to_string(),
        )
    }

    /// Returns warnings about the guests that a stack loads at one time.
    ///
    /// # Errors
    /// As [`PlanGround::plan_set`].
    pub fn guest_warnings(&self) -> Result<Vec<String>> {
        let Some(parts) = &self.guest_parts else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for set in &self.layout.sets {
            let plan = self.plan_set(set, 0)?;
            for (_, exposed) in &plan.targets {
                let loaded = plan.guests.iter().filter(|guest| exposed.is_in(&guest.place));
                found.extend(parts.room.warnings(&loaded.collect::<Vec<_>>()));
            }
        }
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// Returns the steps that bring the stacks of a set from the state of the previous set, whose
    /// index is `after`, into their own, each with the stack's index.
    ///
    /// # Errors
    /// As [`PlanGround::plan_set`]; when a layer has no steps between these states.
    pub fn into_state(&self, set: &StackSet, after: usize) -> Result<Vec<(usize, Vec<Step>)>> {
        let sets = &self.layout.sets;
        let first =
            std::iter::successors(Some(after), |set| sets[*set].after).last().unwrap_or(after);
        transitions::steps_into(self.scenario, &self.plan_set(&sets[first], 0)?, &set.stacks)
    }

    /// Returns the bytes that `max_written` leaves for the load; `None`: it is not set, or a size
    /// is not known yet. The files under test count, too, as do those on file systems and the first
    /// writes with every visit. Refuses a set-up that alone exceeds `max_written`.
    fn left_to_write(&self, media: &[Step], region: u64) -> Result<Option<u64>> {
        let Some(most) = self.scenario.max_written else { return Ok(None) };
        // The check is repeated when all hosts have reported their sizes.
        if self.found.iter().flatten().any(|found| is_unknown(found.bytes)) {
            return Ok(None);
        }
        let mut bytes = filled(media) + passes::passes_bytes(self)?;
        // Durability trials bring up what is below the guest only once.
        let visits = match self.scenario.durability {
            Some(_) => 1,
            None => u64::from(self.layout.visits_of_a_set(&self.scenario.measure)),
        };
        let followed = self.followers()?;
        // Further states of a set are on the same data, except for members that are rebuilt.
        for (at, set) in self.layout.sets.iter().enumerate() {
            if let Some(after) = set.after {
                let steps = self.into_state(set, after)?.into_iter().flat_map(|(_, steps)| steps);
                bytes += visits * filled(&steps.collect::<Vec<_>>());
                continue;
            }
            let plan = self.plan_set(set, 0)?;
            let first = unwritten_of_set(&plan.targets, region, self.scenario);
            let first: u64 = first.iter().map(UnwrittenStack::total_written).sum();
            if followed[at] == at {
                bytes += visits * (filled(&plan.steps) + first);
            }
        }
        if bytes > most {
            return Err(Failed::input(format!(
                "setting up alone writes {}, and max_written allows {}; hint: smaller files, or a larger max_written",
                iotax_units::show_bytes(bytes),
                iotax_units::show_bytes(most)
            ))
            .into());
        }
        Ok(Some(most - bytes))
    }

    /// Returns the bytes that every stack offers, and the largest number of guests side by side
    /// that share them.
    ///
    /// # Errors
    /// As [`PlanGround::plan_set`]; a load that a stack does not take.
    pub fn region(&self) -> Result<(u64, u64)> {
        let (mut least, mut parts) = (u64::MAX, 1);
        for set in &self.layout.sets {
            for (index, exposed) in self.plan_set(set, 0)?.targets {
                write_unit::check_write_unit(
                    self.scenario,
                    &self.scenario.stacks[index],
                    &exposed,
                )?;
                // Guests side by side share the region.
                least = least.min(exposed.bytes * exposed.part_count());
                parts = parts.max(exposed.part_count());
            }
        }
        Ok((least, parts))
    }

    fn stack(
        &self,
        index: usize,
        visit: u32,
        upto: PlanDepth,
        context: &mut PlanContext,
        made: &mut PlannedParts,
    ) -> Result<ExposedDevice> {
        let stack = &self.scenario.stacks[index];
        let sibling = self.layout.sibling_in(index, visit);
        let mut key =
            format!("{:?} {sibling:?} {}", stack.medium, if stack.own { index + 1 } else { 0 });
        context.writable = self.scenario.writes() || must_write(stack, 0);
        context.own = stack.own.then_some(index);
        if upto == PlanDepth::Guests {
            for place in stack.places() {
                if let Some(spec) = self.scenario.guests.get(&place) {
                    guest::draft_named_guest(context, &place.to_string(), spec)?;
                }
            }
        }
        // The files themselves are up already: only the device that they show is needed here.
        let exposed = self.bottom(stack, index, sibling, context)?;
        if made.exposed.insert(format!("given up {:?}", stack.medium), exposed.clone()).is_none() {
            self.wipe(stack, index, &exposed, context);
        }
        let guest =
            stack.layers.iter().position(|spec| spec.has_role(LayerRole::Guest)).map(|at| at + 1);
        let depth = if upto == PlanDepth::Guests { guest } else { None };
        let (mut lots, mut stays_up) = (lots(stack, exposed), true);
        for (depth, spec) in
            stack.layers.iter().enumerate().take(depth.unwrap_or(stack.layers.len()))
        {
            key = format!("{key} | {}", spec.key());
            context.initiators = self.initiators_of(stack, depth);
            context.visit_name = format!("s{index}v{visit}");
            if spec.has_role(LayerRole::Guest) || spec.far.len() > 1 {
                // Guests and clients share the products of all lists.
                lots = vec![gathered(lots)?];
            }
            for (at, lot) in lots.iter_mut().enumerate() {
                let key = if at == 0 { key.clone() } else { format!("{key}, list {at}") };
                *lot = match made.exposed.get(&key) {
                    Some(lot) => lot.clone(),
                    None => self.layer(spec, lot, index, depth, context)?,
                };
                made.exposed.insert(key, lot.clone());
            }
            stays_up &= !leads_away(spec);
            if stays_up && upto == PlanDepth::Guests {
                made.back_end = Some(BackEnd {
                    key: key.clone(),
                    steps: context.steps.len(),
                    unwritten: lots.iter().any(|lot| lot.unwritten.is_some()),
                });
            }
        }
        let exposed = gathered(lots)?;
        context.initiators.clear();
        match (self.scenario.operator_of(stack), stack.by_hand.is_empty()) {
            (Some(operator), false) => {
                Ok(handed(stack, operator.size, self.scenario.writes(), exposed))
            }
            _ => Ok(exposed),
        }
    }

    /// Returns the names that a person connects to the layer at this depth of the stack.
    fn initiators_of(&self, stack: &Stack, depth: usize) -> Vec<String> {
        let operator = self.scenario.operator_of(stack).filter(|_| depth + 1 == stack.layers.len());
        operator.map(|operator| operator.initiators.clone()).unwrap_or_default()
    }

    /// Plans the removal of signatures (file systems, partition tables) from the members that a
    /// layer is set up on; the user has consented to it.
    fn wipe(
        &self,
        stack: &Stack,
        index: usize,
        exposed: &ExposedDevice,
        context: &mut PlanContext,
    ) {
        let writes =
            |spec: &LayerSpec| layer_of(spec).is_some_and(|layer| layer.writes_below(spec));
        if !stack.layers.iter().any(writes) {
            return;
        }
        for (device, found) in exposed.paths.iter().zip(&self.found[index]) {
            if !found.block || found.signatures.is_empty() {
                continue;
            }
            let (device, names) = (device.clone(), found.signatures.clone());
            let wipe = WipeSignatures { device, names };
            context.add_in(&exposed.place, "take off what was given up", Op::WipeSignatures(wipe));
        }
    }

    fn bottom(
        &self,
        stack: &Stack,
        index: usize,
        sibling: Option<usize>,
        context: &PlanContext,
    ) -> Result<ExposedDevice> {
        medium::plan_bottom(&stack.medium, &self.found[index], sibling, context)
            .map_err(|error| Failed::input(format!("{}: {error:#}", stack.text)).into())
    }

    fn layer(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        index: usize,
        depth: usize,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let layer = layer_of(spec)
            .with_context(|| format!("{}: unknown layer \"{}\"", spec.origin, spec.name))?;
        context.place = below.place.clone();
        // A layer is made once for all stacks that share it.
        let above = self.layout.above[index][depth + 1];
        (context.set_up_above, context.writable) = (above.set_up, above.writes);
        context.ways_above = above.ways.max(1);
        let before = context.steps.len();
        let shown = write_unit::check_above(spec, layer.writes_below(spec), below)
            .and_then(|()| layer.plan(spec, below, context))
            .map_err(|error| Failed::input(format!("{error:#}")))?;
        let its_own =
            context.steps[before..].iter().filter(|step| readback_owner(&step.op).is_some());
        let read_back =
            below.read_back.iter().copied().chain(its_own.map(|step| step.id)).collect();
        Ok(ExposedDevice { read_back, ..shown })
    }

    fn machines(&self) -> BTreeMap<Place, ExistingMachine> {
        let mut machines = BTreeMap::new();
        for (place, described) in &self.scenario.described {
            let Some(vm) = &described.vm else { continue };
            let may_change = self.scenario.changes.get(&vm.to_string()).copied();
            machines.insert(
                place.clone(),
                ExistingMachine { vm: vm.clone(), may_change, disks: Vec::new() },
            );
        }
        for (stack, found) in self.scenario.stacks.iter().zip(self.found) {
            for (medium, found) in stack.medium.members().iter().zip(found) {
                let (Medium::Remote { path, .. }, Some(disk)) = (medium, &found.disk) else {
                    continue;
                };
                if let Some(machine) = machines.get_mut(&medium.place()) {
                    machine.disks.push((PathRef::Path(path.clone()), disk.clone()));
                }
            }
        }
        machines
    }

    fn context(&self) -> Result<PlanContext> {
        let seed = self.scenario.measure.seed;
        let mut context = PlanContext::new(self.tag.clone(), self.guest_parts.clone(), seed);
        context.data = self.scenario.data();
        context.trims = self.scenario.trims();
        context.machines = self.machines();
        context.names = self.scenario.guests.keys().map(Place::to_string).collect();
        if let Some(parts) = &self.guest_parts {
            let labs = networked_labs(self.scenario).into_iter();
            context.lab_addresses = lab_addresses(labs, &parts.routes, &self.tag.run_id)?;
        }
        Ok(context)
    }
}

/// Returns the labs at the ends of fabrics that lead from one place to another.
fn networked_labs(scenario: &Scenario) -> BTreeSet<&Place> {
    let layers = scenario.stacks.iter().flat_map(Stack::layers_in_places);
    let ends = layers.flat_map(|(spec, near)| {
        let leads = spec.far.iter().any(|far| *far != near);
        std::iter::once(near).chain(spec.far.clone()).filter(move |_| leads).collect::<Vec<_>>()
    });
    let ends: BTreeSet<Place> = ends.collect();
    scenario.labs.keys().filter(|lab| ends.contains(lab)).collect()
}

/// Splits the bottom of a stack into the lists on which equal layers are made.
fn lots(stack: &Stack, bottom: ExposedDevice) -> Vec<ExposedDevice> {
    let groups = stack.medium.list_count();
    if groups == 1 || stack.layers.iter().all(LayerSpec::works_anywhere) {
        return vec![bottom];
    }
    let lists = bottom.paths.chunks(bottom.paths.len() / groups);
    lists.map(|paths| ExposedDevice { paths: paths.to_vec(), ..bottom.clone() }).collect()
}

/// Returns the disks that a person makes of what a stack shows. If the load writes, they are
/// written once first, since nothing is known of what was on them.
fn handed(stack: &Stack, size: u64, writes: bool, exposed: ExposedDevice) -> ExposedDevice {
    let place = stack.by_hand[0].place.clone();
    let path = |disk: &HandedDisk| PathRef::Path(disk.path.clone());
    let (here, elsewhere): (Vec<&HandedDisk>, Vec<_>) =
        stack.by_hand.iter().partition(|disk| disk.place == place);
    ExposedDevice {
        paths: here.into_iter().map(path).collect(),
        bytes: size,
        block: true,
        place,
        copies: elsewhere.into_iter().map(|disk| (disk.place.clone(), path(disk))).collect(),
        split: true,
        apart: false,
        overlaid: false,
        writable: writes,
        unwritten: exposed.unwritten.or(Some(FirstWrites::InOrder)).filter(|_| writes),
        ..exposed
    }
}

/// Merges the products of all lists into parts of one device.
fn gathered(lots: Vec<ExposedDevice>) -> Result<ExposedDevice> {
    let gather = |mut all: ExposedDevice, one: ExposedDevice| {
        all.uneven |= all.bytes != one.bytes || one.uneven;
        all.bytes = all.bytes.min(one.bytes);
        all.paths.extend(one.paths);
        all.arrays.extend(one.arrays);
        all.read_back.extend(one.read_back);
        ExposedDevice { split: true, ..all }
    };
    lots.into_iter().reduce(gather).context("a stack of nothing")
}

fn lab_wish(
    place: &Place,
    spec: &LabSpec,
    parts: &guest::GuestParts,
    tag: &RunTag,
) -> Result<LabWish> {
    let drive = |number| {
        let name = drive_name(number);
        LabDrive {
            file: tag.run_dir.join(format!("{place}-{name}.img")),
            name,
            bytes: spec.drive_size,
        }
    };
    let root_image = parts.lab_image.clone();
    Ok(LabWish {
        place: place.clone(),
        origin: format!("the lab @{place}"),
        drives: (0..spec.drives.unwrap_or(0)).map(drive).collect(),
        vcpus: spec.vcpus,
        memory: Memory::plain_memory(spec.memory),
        root_image: root_image
            .ok_or_else(|| Failed::need("there is no image of a lab; hint: iotax lab build"))?,
    })
}

/// Checks that each job's region fits the smallest stack: all are measured on the same bytes.
fn check_fit(scenario: &Scenario, region: u64) -> Result<()> {
    for job in scenario.workloads.iter().flat_map(|workload| &workload.jobs) {
        let wanted = job.last_offset().saturating_add(job.size.unwrap_or(job.bs));
        if wanted > region {
            return Err(Failed::input(format!(
                "job \"{}\" wants {}, but the smallest of the compared stacks offers {}; hint: a smaller size, or a larger file",
                job.name,
                iotax_units::show_bytes(wanted),
                iotax_units::show_bytes(region)
            ))
            .into());
        }
    }
    Ok(())
}

fn check_room(media: &[Step]) -> Result<()> {
    marker::check_room_of_all(&made(media))
}

fn made(media: &[Step]) -> Vec<(PathBuf, u64)> {
    let made = |step: &Step| match &step.op {
        Op::MakeFile(file) if step.place.is_host() && !file.path.exists() => {
            Some((file.path.clone(), file.bytes))
        }
        _ => None,
    };
    media.iter().filter_map(made).collect()
}

fn reach(scenario: &Scenario, region: u64) -> u64 {
    if scenario.durability.is_some() {
        return region;
    }
    let jobs =
        scenario.workloads.iter().flat_map(|workload| &workload.jobs).filter(|job| job.rw.writes());
    let ends =
        jobs.map(|job| job.size.map_or(region, |size| job.last_offset().saturating_add(size)));
    ends.max().unwrap_or(0).min(region)
}

/// Returns the bytes that steps write by filling files, and by first syncs and rebuilds of arrays.
pub fn filled(steps: &[Step]) -> u64 {
    steps.iter().map(|step| step.op.bytes_filled() + step.op.bytes_below()).sum()
}

#[cfg(test)]
#[path = "ground_tests.rs"]
mod tests;
