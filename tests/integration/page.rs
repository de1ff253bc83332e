//! The HTML page in a real browser: it renders, at desktop and phone width, with no console error, nothing that sticks out
//! of the page and no request to anywhere.

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
    let long = format!("{file} | delay(us=50) | delay(us=60) | delay(us=70) | delay(us=80) | delay(us=90)");
    let null = format!("{file} | null");
    rig.expect(0, &["run", &file, &null, &long, "--slice", "20ms", "--min-time", "1s", "--budget", "4s"]);
    let page = rig.path("page.html");
    rig.expect(0, &["report", "last", "--format", "html", "--output", page.to_str().unwrap()]);
    let html = std::fs::read_to_string(&page).unwrap();
    for outside in ["http://", "https://", "<link", "src="] {
        let allowed = html.matches("http://www.w3.org/2000/svg").count();
        let found = html.matches(outside).count() - if outside == "http://" { allowed } else { 0 };
        assert_eq!(found, 0, "the page has {outside}");
    }
    for width in [1280, 640, 390] {
        let found = sticking_out(&rig, &html, width);
        assert_eq!(found, format!("{width}:"), "elements that are wider than the page");
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

/// The browser's width, and what reaches beyond the page's right edge and is in nothing that scrolls. The script is the test's; a page
/// of ours has none.
fn sticking_out(rig: &Rig, html: &str, width: u32) -> String {
    const SCRIPT: &str = r#"<script>
        const beyond = one => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.scroll table');
        const found = [...document.querySelectorAll('body *')].filter(beyond).map(one => one.tagName + ' ' + one.textContent.slice(0, 60));
        document.body.outerHTML = '<body><p id="found">' + innerWidth + ':' + found.join(';') + '</p></body>';
    </script>"#;
    let page = rig.path("measured.html");
    std::fs::write(&page, html.replace("</html>", &format!("{SCRIPT}</html>"))).unwrap();
    let output = Command::new("chromium")
        .args(FLAGS)
        .arg(format!("--user-data-dir={}", rig.path("profile").display()))
        .arg(format!("--window-size={width},1600"))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let found = dom.split_once("<p id=\"found\">").and_then(|(_, rest)| rest.split_once("</p>"));
    found.unwrap_or_else(|| panic!("no answer: {dom}")).0.to_owned()
}
