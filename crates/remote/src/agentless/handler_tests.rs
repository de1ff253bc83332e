//! Tests what is made of the blocks that came back.

use super::*;

#[test]
fn neighbours_are_one_run_and_the_start_is_always_read() {
    let bytes = 1 << 30;
    let all = runs(bytes, &[0, 4096, 600 * 4096, 601 * 4096, 700 * 4096]);
    assert_eq!(all, [(0, 528), (600, 2), (700, 1), ((1 << 18) - 256, 256)]);
    assert_eq!(runs(5000, &[0]), [(0, 2)]);
    assert_eq!(runs(bytes + 512, &[]).last(), Some(&((1 << 18) - 256, 257)), "the whole end");
}

#[test]
fn blocks_come_back_to_their_places_or_are_refused() {
    let bytes = 401 * 4096 - 96;
    let runs = [(0, 2), (400, 1)];
    let content: Vec<u8> = (0..3 * 4096 - 96).map(|at| (at / 4096 + 1) as u8).collect();
    let copy = copy_of(bytes, &runs, &content).unwrap();
    let byte = |at: u64| {
        let mut byte = [9];
        copy.read_exact_at(&mut byte, at).unwrap();
        byte[0]
    };
    assert_eq!(
        [byte(0), byte(4096), byte(8192), byte(400 * 4096), byte(bytes - 1)],
        [1, 2, 0, 3, 3]
    );
    let short = copy_of(bytes, &runs, &content[1..]).unwrap_err().to_string();
    assert!(short.contains("could be read"), "{short}");
    let long = copy_of(bytes, &runs, &[&content[..], b"x"].concat()).unwrap_err().to_string();
    assert!(long.contains("1 bytes more"), "{long}");
}
