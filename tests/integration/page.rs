//! The HTML page in a real browser: it renders, at desktop and phone width, with no console error,
//! nothing that sticks out of the page and no request to anywhere.

use crate::rig::{Rig, can_run};
use std::path::Path;
use std::process::{Command, Output};

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
fn reports_and_audits_render_in_chromium_without_errors() {
    if !can_run(&["chromium"]) {
        return;
    }
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let long = format!(
        "{file} | delay(us=50) | delay(us=60) | delay(us=70) | delay(us=80) | delay(us=90)"
    );
    let null = format!("{file} | null");
    rig.expect(
        0,
        &["run", &file, &null, &long, "--slice", "20ms", "--min-time", "1s", "--budget", "4s"],
    );
    rig.expect(0, &["report", "last", "--output", "page.html"]);
    renders(&rig, &rig.path("page.html"));
    behaves(&rig, &rig.path("page.html"));
    renders(&rig, &crate::audit::made(&rig));
}

fn renders(rig: &Rig, page: &Path) {
    let html = std::fs::read_to_string(page).unwrap();
    assert!(
        html.contains("content=\"default-src 'none'; img-src data:; "),
        "the page has a policy"
    );
    for outside in ["http://", "https://", "<link", "src="] {
        let allowed = html.matches("http://www.w3.org/2000/svg").count();
        let found = html.matches(outside).count() - if outside == "http://" { allowed } else { 0 };
        assert_eq!(found, 0, "the page has {outside}");
    }
    for width in [1280, 640, 390] {
        let found = sticking_out(rig, &html, width);
        assert_eq!(
            found,
            format!("{width}:"),
            "elements that stick out of the page or of their card"
        );
    }
    for width in [1200, 390] {
        let picture = rig.path(&format!("{width}.png"));
        let shot = format!("--screenshot={}", picture.display());
        let output = chromium(rig, page, &[&shot, &format!("--window-size={width},1600")]);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(!words.contains("CONSOLE"), "{words}");
        assert!(
            std::fs::metadata(&picture).is_ok_and(|meta| meta.len() > 5_000),
            "no picture: {words}"
        );
    }
}

fn chromium(rig: &Rig, page: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new("chromium");
    command
        .args(FLAGS)
        .arg(format!("--user-data-dir={}", rig.path("profile").display()))
        .args(flags);
    command.arg(format!("file://{}", page.display())).output().unwrap()
}

/// The page's width, and what reaches beyond the right edge of the page or of its card and is in
/// nothing that scrolls.
fn sticking_out(rig: &Rig, html: &str, width: u32) -> String {
    const SCRIPT: &str = r#"
        const text = one => { const range = document.createRange(); range.selectNodeContents(one); return range.getBoundingClientRect().right };
        const right = one => Math.max(one.getBoundingClientRect().right, text(one));
        const card = one => one.closest('section') ? one.closest('section').getBoundingClientRect().right : innerWidth;
        const beyond = one => right(one) > Math.min(innerWidth, card(one)) && !one.closest('.scroll, title, script') && !one.querySelector('.scroll');
        const found = [...document.querySelectorAll('body *')].filter(beyond).map(one => one.tagName + ' ' + one.textContent.slice(0, 60));
        tell(innerWidth + ':' + found.join(';'));
    "#;
    told_by_page(rig, html, width, SCRIPT)
}

/// A click on a head sorts, tables are copied and saved, the theme and the place are in the address.
fn behaves(rig: &Rig, page: &Path) {
    const SCRIPT: &str = r#"
        const done = [];
        const check = (what, holds) => done.push((holds ? 'ok ' : 'NOT ') + what);
        const click = (text, from = document) => [...from.querySelectorAll('button')].find(one => one.textContent === text).click();
        const table = [...document.querySelectorAll('.scroll > table')].find(one => one.tHead.textContent.includes('IOPS'));
        const heads = [...table.tHead.rows[0].cells];
        const column = heads.findIndex(one => one.textContent === 'IOPS');
        const values = () => [...table.tBodies[0].rows].map(row => parseFloat(row.cells[column].textContent));
        const before = values();
        heads[column].querySelector('button').click();
        const up = values();
        check('up', heads[column].getAttribute('aria-sort') === 'ascending' && up.length === before.length && up.length > 2);
        heads[column].querySelector('button').click();
        check('down', heads[column].getAttribute('aria-sort') === 'descending' && '' + values() === '' + [...up].reverse());
        let saved = null;
        URL.createObjectURL = blob => { saved = blob; return 'data:,' };
        URL.revokeObjectURL = () => {};
        HTMLAnchorElement.prototype.click = () => {};
        click('CSV', table.parentElement.nextElementSibling);
        const svg = [...document.querySelectorAll('button')].find(one => one.textContent === 'SVG');
        let copied = '';
        document.execCommand = () => { copied = document.querySelector('textarea').value; return true };
        const theme = () => document.documentElement.dataset.theme || 'auto';
        click('theme: auto');
        check('light', theme() === 'light' && location.hash.includes('theme=light'));
        click('theme: light');
        check('dark', theme() === 'dark' && getComputedStyle(document.documentElement).colorScheme === 'dark');
        const link = document.querySelector('.contents a');
        link.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }));
        check('place', location.hash.startsWith(link.getAttribute('href') + ';theme=dark'));
        saved.text().then(async csv => {
            check('csv', csv.split('\n').length === before.length + 2 && csv.includes(',IOPS,'));
            if (svg) { svg.click(); check('svg', (await saved.text()).startsWith('<svg')); }
            click('copy', table.parentElement.nextElementSibling);
            setTimeout(() => { check('copy', copied.startsWith('| stack | IOPS |')); tell(done.join(',')) }, 200);
        });
    "#;
    let html = std::fs::read_to_string(page).unwrap();
    let told = told_by_page(rig, &html, 1280, SCRIPT);
    assert!(!told.contains("NOT ") && told.matches("ok ").count() >= 7, "{told}");
}

/// What a script says in the page. It is in a frame, as a window is never narrower than 500 pixels;
/// the page's own policy would not let it run.
fn told_by_page(rig: &Rig, html: &str, width: u32, script: &str) -> String {
    let (page, frame) = (rig.path("measured.html"), rig.path("frame.html"));
    let policy = html.split("<meta http-equiv=").nth(1).unwrap().split('>').next().unwrap();
    let open = html.replace(&format!("<meta http-equiv={policy}>"), "");
    let script = format!(
        "<script>(() => {{ const tell = text => parent.postMessage(text, '*'); try {{ {script} }} catch (error) \
         {{ tell('NOT ' + error.stack) }} }})()</script></body>"
    );
    std::fs::write(&page, open.replace("</body>", &script)).unwrap();
    let hears =
        "onmessage = message => { document.getElementById('found').textContent = message.data }";
    let around = format!(
        "<p id=\"found\"></p><script>{hears}</script><iframe src=\"measured.html\" width=\"{width}\" height=\"900\" \
         style=\"border: 0\"></iframe>"
    );
    std::fs::write(&frame, around).unwrap();
    let flags = ["--window-size=1400,1600", "--virtual-time-budget=5000", "--dump-dom"];
    // Virtual time does not wait for another process of Chromium, which a busy machine delays.
    for _ in 0..5 {
        let output = chromium(rig, &frame, &flags);
        let dom = String::from_utf8_lossy(&output.stdout);
        let after =
            dom.split_once("<p id=\"found\">").and_then(|(_, rest)| rest.split_once("</p>"));
        let (answer, _) = after.unwrap_or_else(|| panic!("no frame: {dom}"));
        if !answer.is_empty() {
            return answer.to_owned();
        }
    }
    panic!("the page gives no answer");
}
