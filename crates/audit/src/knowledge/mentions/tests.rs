use super::*;
use crate::knowledge::ratings::known;
use crate::knowledge::size_text;

fn of(text: &str) -> Mentions {
    let page = Page::new("p", text);
    Mentions::of(&page, 0..page.len(), known())
}

fn shown(text: &str) -> String {
    let of_link = |named: &NamedLink| {
        let name = named.link.map_or_else(|| format!("PCIe {:?}", named.generation), Link::name);
        format!("{} x {name}", named.count)
    };
    let of_drive = |named: &NamedDrive| {
        let name = &known().drives()[named.drive].name;
        format!("{} x {name} of {}", named.count, named.capacity.map_or("any size".to_owned(), size_text))
    };
    let of_line = |line: &str| {
        let found = of(line);
        let names: Vec<String> =
            found.links.iter().map(of_link).chain(found.drives.iter().map(of_drive)).collect();
        format!("{}\n", names.join("; "))
    };
    let only = of(text).only_drive_link().map(|(link, _)| format!("only {}\n", link.name()));
    text.lines().map(of_line).chain(only).collect()
}

#[test]
fn links_and_drives_are_read_as_people_write_them() {
    crate::cases::hold("names.txt", shown);
    let large = of(&format!("PCIe 3.0 x4 {}\n", "x".repeat(5000)).repeat(300));
    assert!(large.too_large && large.links.is_empty(), "no article");
}
