//! Helpers that tests of these layers share: made-up devices for layers to be set up on, and
//! options as people write them.

use crate::{ExposedDevice, Layer, PlanContext};
use anyhow::Result;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_facts::place::Place;
use iotax_load::Hold;
use iotax_model::layer as catalog;
use iotax_model::scenario::ast::OptionExpr;
use iotax_model::scenario::grammar::parse_layer;
use iotax_model::stack::LayerSpec;
use iotax_steps::step::Step;

/// Makes up `members` devices of `bytes` bytes each.
pub fn over(members: usize, bytes: u64) -> ExposedDevice {
    ExposedDevice {
        paths: (0..members)
            .map(|number| PathRef::Path(format!("/dev/nvme{number}n1").into()))
            .collect(),
        bytes,
        block: true,
        place: Place::Host,
        copies: Vec::new(),
        overlaid: false,
        apart: true,
        hold: Hold::default(),
        writable: true,
        unwritten: None,
        engine: None,
        arrays: Vec::new(),
        write_unit: None,
        read_back: Vec::new(),
        split: false,
        uneven: false,
    }
}

/// Returns a layer with these options, written like `striped,size=1GiB`.
pub fn spec(layer: &dyn Layer, options: &str) -> LayerSpec {
    let help = catalog::find_layer(layer.name()).expect("the layer is in the catalog");
    let parsed = parse_layer(&format!("{}({options})", layer.name())).expect("options parse");
    let named = |option: &OptionExpr| {
        let name = option.key.as_deref().or(help.positional).expect("a name");
        let known = help.option(name).expect("a known option");
        (known.name.to_owned(), known.check_value(&option.values[0]).expect("a fit value"))
    };
    LayerSpec {
        name: layer.name().to_owned(),
        options: parsed.options.iter().map(named).collect(),
        place: None,
        far: Vec::new(),
        copies: 1,
        tool: None,
        origin: "here".into(),
    }
}

/// Returns the device that the layer shows, and its steps.
pub fn planned(
    layer: &dyn Layer,
    below: &ExposedDevice,
    options: &str,
) -> Result<(ExposedDevice, Vec<Step>)> {
    let spec = spec(layer, options);
    let mut context = PlanContext::new(RunTag::of_none(), None, 1);
    context.writable = true;
    context.place = below.place.clone();
    let exposed = layer.plan(&spec, below, &mut context)?;
    Ok((exposed, context.steps))
}

/// Returns the error of a layer that cannot be planned.
pub fn refused(layer: &dyn Layer, below: &ExposedDevice, options: &str) -> String {
    planned(layer, below, options).expect_err(options).to_string()
}
