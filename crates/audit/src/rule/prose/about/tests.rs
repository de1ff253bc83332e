use crate::rule::testing::found;

fn page(sentence: &str) -> String {
    format!(
        "| case | 4KB random read | 4KB random write | 4KB sequential read | 4KB sequential write |\n|---|---|---|---|---|\n\
         | host | 1000 (100%) | 2000 (100%) | 22.1k (100%) | 24.5k (100%) |\n\
         | VM a | 950 (95%) | 1840 (92%) | 9458 (43%) | 6278 (26%) |\n\
         | VM b | 900 (90%) | 1860 (93%) | 11.5k (52%) | 7271 (30%) |\n\n{sentence}\n"
    )
}

#[test]
fn conclusions_about_some_cells_are_held_against_them() {
    assert_eq!(found(&page("Compared with the host, 4KB random has about 10% overhead."), "S2"), []);
    let told = found(&page("Compared with the host, 4KB sequential has about 10% overhead."), "S2");
    assert_eq!(told.len(), 1);
    assert!(told[0].message.contains("0 of the 4 cells"), "{}", told[0].message);
    assert_eq!(found(&page("4KB sequential has about 10% overhead."), "S2"), [], "against what is not said");
}

#[test]
fn half_is_held_against_the_cells() {
    assert_eq!(found(&page("4KB sequential gets half of the host."), "S2"), [], "two of four");
    assert_eq!(found(&page("4KB random gets half of the host."), "S2").len(), 1);
}
