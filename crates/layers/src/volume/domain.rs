//! `domain`: other settings of an existing virtual machine, which is the place of the load, while
//! the stack is up. The step runs on this host, which asks the machine's manager; the machine is
//! shut down and started.

use crate::{Claim, ExposedDevice, Layer, PlanContext};
use anyhow::{Context, Result, ensure};
use iotax_facts::place::Place;
use iotax_model::layer::LayerHelp;
use iotax_model::layer::domain::HELP;
use iotax_model::stack::LayerSpec;
use iotax_remote::hypervisor;
use iotax_steps::op::{ChangeMachine, Op};

pub struct Domain;

impl Layer for Domain {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    // Nobody else has the disk meanwhile. The guard need not give it away, since it stays where
    // it is.
    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Caches
    }

    fn reads_back(&self, op: &Op) -> Option<&'static str> {
        matches!(op, Op::ChangeMachine(_)).then_some("")
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let (place, path) = (&below.place, below.only_path(spec)?);
        let machine = context.machines.get(place).with_context(|| {
            let host = place.ssh_host().unwrap_or("vm1");
            format!(
                "{}: {place} is not declared as a virtual machine; hint: name it in the scenario: [place.NAME] ssh = \
                 \"{host}\" and libvirt = \"DOMAIN\", proxmox = VMID or esxi = \"NAME\"",
                spec.origin
            )
        })?;
        let vm = &machine.vm;
        if machine.may_change.is_none() {
            let lacking = format!(
                "{}: {vm} would be shut down, changed and started, and afterwards restored; hint: allow this with \
                 --change {vm}",
                spec.origin
            );
            if !context.consents_lacking.contains(&lacking) {
                context.consents_lacking.push(lacking);
            }
        }
        ensure!(
            !spec.options.is_empty(),
            "{}: nothing is changed; hint: write domain(cache=none)",
            spec.origin
        );
        let known = hypervisor::changeable(vm.manager);
        if let Some(option) = spec.options.keys().find(|option| !known.contains(&option.as_str())) {
            let (manager, known) = (vm.manager.manager_word(), known.join(", "));
            anyhow::bail!(
                "{}: {manager} has no {option} to change; hint: it has {known}",
                spec.origin
            );
        }
        let op = ChangeMachine {
            vm: vm.clone(),
            disk: machine.disk_at(path).cloned(),
            settings: spec.options.clone(),
            force: machine.may_change.unwrap_or(false),
            host: place.ssh_host().map(str::to_owned),
            before: None,
        };
        context.add_in(
            &Place::Host,
            "set the virtual machine for the visit",
            Op::ChangeMachine(op),
        );
        Ok(below.clone())
    }
}
