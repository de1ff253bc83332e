//! Sound outputs, damaged.

/// One damage: what is done, and where.
pub type Damage = (u8, usize, usize);

/// A text with damages: cut, lines swapped, lost, doubled, bytes flipped, lines joined.
pub fn damaged(text: &[u8], damages: &[Damage]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for (kind, first, second) in damages {
        if bytes.is_empty() {
            break;
        }
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let (at, line, other) = (first % bytes.len(), first % lines.len(), second % lines.len());
        let mut changed = lines.clone();
        match kind % 6 {
            0 => bytes.truncate(at),
            1 => bytes[at] = b" 0123456789.,;:[]{}\"-%xG"[second % 24],
            2 => {
                changed.swap(line, other);
                bytes = changed.join(&b'\n');
            }
            3 => {
                changed.remove(line);
                bytes = changed.join(&b'\n');
            }
            4 => {
                changed.insert(other, lines[line]);
                bytes = changed.join(&b'\n');
            }
            _ => {
                bytes.remove(at);
            }
        }
    }
    bytes
}
