//! The look of all charts: one style sheet in light and dark.

/// Colours of a chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChartTheme {
    /// Those that the reader's system prefers; only browsers know it.
    #[default]
    Auto,
    Light,
    Dark,
}

/// Names of the colours, and each in light and in dark.
const COLOURS: [(&str, &str, &str); 20] = [
    ("paper", "#ffffff", "#1b1f24"),
    ("ink", "#1d2126", "#e6e8ea"),
    ("soft", "#5d6570", "#9aa4ae"),
    ("line", "#c9c5bd", "#48515a"),
    ("grid", "#ece9e3", "#2b3138"),
    ("zone", "#e6ece6", "#273230"),
    ("level", "#c3ccd5", "#4c5966"),
    ("cost", "#b3401f", "#f0825c"),
    ("gain", "#1a7a4c", "#58c48f"),
    ("none", "#4a6378", "#8fb0c9"),
    ("open", "#8a6d1a", "#d9b64e"),
    ("s0", "#3b4754", "#c3ccd5"),
    ("s1", "#c8591f", "#f0885a"),
    ("s2", "#1f77a8", "#5fb3df"),
    ("s3", "#5f7f1f", "#a5c65a"),
    ("s4", "#8b4fa0", "#c592d6"),
    ("s5", "#a07c00", "#e0bd4a"),
    ("s6", "#0f7f78", "#4fc7bd"),
    ("s7", "#b8396f", "#f08fb6"),
    ("heat", "#1f5f8b", "#6cc0ee"),
];

/// Number of colours of lines; further lines have dashes as well.
pub(crate) const LINE_COLOURS: usize = 8;

/// Rules of the style sheet; `$name$` is a colour.
const RULES: &str = include_str!("chart.css");

/// Returns the style sheet in which a browser chooses the colours, or with those of the theme. Only
/// browsers know variables, so the others get each colour in its place.
pub(crate) fn style_sheet(theme: ChartTheme) -> String {
    let variables = |of: fn(&(&str, &str, &str)) -> String| -> String {
        format!("svg{{{}}}", COLOURS.iter().map(of).collect::<String>())
    };
    let mut rules = RULES.replace('\n', "");
    for (name, light, dark) in COLOURS {
        let colour = match theme {
            ChartTheme::Auto => format!("var(--{name})"),
            ChartTheme::Light => light.to_owned(),
            ChartTheme::Dark => dark.to_owned(),
        };
        rules = rules.replace(&format!("${name}$"), &colour);
    }
    if theme != ChartTheme::Auto {
        return rules;
    }
    let light = variables(|(name, light, _)| format!("--{name}:{light};"));
    let dark = variables(|(name, _, dark)| format!("--{name}:{dark};"));
    format!("{light}@media (prefers-color-scheme:dark){{{dark}}}{rules}")
}

/// Returns the rules for charts in a page, which decides between light and dark by its colour
/// scheme.
pub fn page_rules() -> String {
    let colours =
        COLOURS.map(|(name, light, dark)| format!("--{name}:light-dark({light},{dark});"));
    // As wide as the drawing, so that letters keep their size; the page lets it scroll.
    let own = format!(".chart{{width:100%;min-width:900px;height:auto;{}}}", colours.concat());
    // A page refers to nothing, not even to a pattern of its own, which only grids have.
    let rules = RULES.lines().filter(|rule| !rule.contains("url("));
    let rules = rules.map(|rule| format!(".chart {rule}")).collect::<String>();
    COLOURS.iter().fold(own + &rules, |rules, (name, ..)| {
        rules.replace(&format!("${name}$"), &format!("var(--{name})"))
    })
}

/// Returns the class of the line with this number: its colour, and its dashes if there are more
/// lines than colours.
pub(crate) fn line_class(number: usize) -> String {
    format!("s{} d{}", number % LINE_COLOURS, number / LINE_COLOURS % 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_of_the_rules_has_a_value_in_each_theme() {
        for theme in [ChartTheme::Auto, ChartTheme::Light, ChartTheme::Dark] {
            let sheet = style_sheet(theme);
            assert!(!sheet.contains('$'), "{theme:?}: {sheet}");
            assert_eq!(sheet.contains("var("), theme == ChartTheme::Auto);
        }
        assert_ne!(style_sheet(ChartTheme::Light), style_sheet(ChartTheme::Dark));
        assert_ne!(line_class(1), line_class(1 + LINE_COLOURS));
    }
}
