use crate::rule::testing::found;

#[test]
fn a_setting_that_is_said_to_help_is_counted() {
    let table = "| case | 4KB read | 4KB write |\n|---|---|---|\n| cache=none | 1054 | 552 |\n| cache=none,queues=4 | 1152 | 368 |\n\
        | cache=writeback | 978 | 10.7k |\n| cache=writeback,queues=4 | 1071 | 15.1k |\n\n";
    let told = found(&format!("{table}Writeback improves write performance.\n"), "S3");
    assert_eq!(told, [], "it does");
    let told = found(&format!("{table}Multiqueue improves write performance.\n"), "S3");
    assert_eq!(told.len(), 1);
    assert!(told[0].message.contains("1 of 2 pairs"), "{}", told[0].message);
    assert_eq!(found(&format!("{table}A new kernel improves write performance.\n"), "S3"), []);
}
