use super::*;

/// Each clause with how it puts its figures and what it is about.
fn shown(text: &str) -> String {
    let page = Page::new("p", text);
    let told = |clause: &Clause| {
        let Topic { read, write, random, sequential, size } = clause.topic;
        let words = [(read, "read"), (write, "write"), (random, "random"), (sequential, "sequential")];
        let words: Vec<&str> = words.into_iter().filter(|(says, _)| *says).map(|(_, word)| word).collect();
        let figures: Vec<&str> = clause.figures.iter().map(|one| page.quote(one.figure.spot)).collect();
        let at = clause.line + 1;
        format!("{at} {:?} {figures:?} {words:?} {size:?}: {}\n", clause.manner, clause.text(&page))
    };
    clauses(&page, &[]).iter().map(told).collect()
}

#[test]
fn every_sentence_is_read_as_was_checked() {
    crate::cases::hold("prose.txt", shown);
    let page = Page::new("p", "it has 5 % loss here\nit has 6 % loss here");
    assert_eq!(clauses(&page, std::slice::from_ref(&(0..1))).len(), 1, "lines of tables are taken");
}

#[test]
fn topics_cover_heads() {
    let write = topic("写性能");
    assert!(write.covers(&topic("写入 (Write)")) && !write.covers(&topic("读取 (Read)")));
    assert!(topic("random").covers(&topic("4K random read")));
    assert!(!topic("4KB sequential").covers(&topic("1MB sequential")));
    assert!(topic("anything").is_empty());
}
