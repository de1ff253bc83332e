//! The HTML page in a real browser: it renders, at desktop and phone width, with no console error
//! and no request to anywhere.

use crate::rig::{Rig, can, has};
use std::process::Command;

const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--v=0",
];

#[test]
fn renders_in_chromium_without_errors() {
    if !can("chromium", has("chromium")) {
        return;
    }
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let args =
        ["run", &file, &format!("{file} | null"), "--slice", "20ms", "--min-time", "1s", "--budget", "2s"];
    rig.expect(0, &args);
    let page = rig.path("page.html");
    rig.expect(0, &["report", "last", "--format", "html", "--output", page.to_str().unwrap()]);
    let html = std::fs::read_to_string(&page).unwrap();
    for outside in ["http://", "https://", "<link", "src="] {
        let allowed = html.matches("http://www.w3.org/2000/svg").count();
        let found = html.matches(outside).count() - if outside == "http://" { allowed } else { 0 };
        assert_eq!(found, 0, "the page has {outside}");
    }
    for width in [1200, 390] {
        let picture = rig.path(&format!("{width}.png"));
        let output = Command::new("chromium")
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", rig.path("profile").display()))
            .arg(format!("--screenshot={}", picture.display()))
            .arg(format!("--window-size={width},1600"))
            .arg(format!("file://{}", page.display()))
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(!words.contains("CONSOLE"), "{words}");
        assert!(std::fs::metadata(&picture).is_ok_and(|meta| meta.len() > 5_000), "no picture: {words}");
    }
}
