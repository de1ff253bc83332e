//! Charts as PNG, drawn from their SVG with the fonts of this machine.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::Arc;

/// Reason why a chart cannot be drawn as PNG.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    #[error(
        "a PNG needs a font, and this machine has none; install one \
         (apt-get install fonts-dejavu-core), or write SVG: -o x.svg"
    )]
    NoFont,
    #[error("the chart cannot be drawn as PNG: {0}; write SVG instead: -o x.svg")]
    Failed(String),
}

/// Pixels of the image for one of the chart, as screens have them today.
const SCALE: f32 = 2.0;
/// Fonts without serifs, the first that is there is taken.
const FAMILIES: [&str; 5] = ["DejaVu Sans", "Noto Sans", "Liberation Sans", "Open Sans", "Roboto"];

/// Returns the chart of an SVG with plain colours as PNG.
///
/// # Errors
/// The machine has no font, or the image is too large for its memory.
pub fn render_png(svg: &str) -> Result<Vec<u8>, PngError> {
    let mut fonts = fontdb::Database::new();
    fonts.load_system_fonts();
    draw_with(fonts, svg)
}

fn draw_with(mut fonts: fontdb::Database, svg: &str) -> Result<Vec<u8>, PngError> {
    let is_there = |name: &&str| {
        let family = [fontdb::Family::Name(name)];
        fonts.query(&fontdb::Query { families: &family, ..fontdb::Query::default() }).is_some()
    };
    let known = FAMILIES.into_iter().find(is_there).map(str::to_owned);
    let any = || fonts.faces().find_map(|face| Some(face.families.first()?.0.clone()));
    let family = known.or_else(any).ok_or(PngError::NoFont)?;
    fonts.set_sans_serif_family(family.clone());
    let options = Options { font_family: family, fontdb: Arc::new(fonts), ..Options::default() };
    let failed = |error: &dyn std::fmt::Display| PngError::Failed(error.to_string());
    let tree = Tree::from_str(svg, &options).map_err(|error| failed(&error))?;
    let size = tree.size().to_int_size();
    let scaled = size.scale_by(SCALE).ok_or_else(|| failed(&"it is too large"))?;
    let mut image =
        Pixmap::new(scaled.width(), scaled.height()).ok_or_else(|| failed(&"it is too large"))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut image.as_mut());
    image.encode_png().map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_font_the_package_is_named() {
        let error = draw_with(fontdb::Database::new(), "<svg/>").unwrap_err().to_string();
        assert!(error.contains("fonts-dejavu-core"), "{error}");
    }
}
