//! Ranges in names of hosts: `n[01:12]` of Ansible, `n[01-12,20]` of Slurm and pdsh.

/// Most hosts that one name may stand for.
const MOST: usize = 100_000;

/// Returns the names that `pattern` stands for, in order; the pattern itself if it has no range.
/// Numbers keep their leading zeros.
///
/// # Errors
/// Says which range is wrong, and how ranges are written.
pub(super) fn expand_range(pattern: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = pattern.split_once('[') else { return Ok(vec![pattern.to_owned()]) };
    let shape = || {
        format!(
            "\"{pattern}\" has a range that is not closed or not valid; hint: write n[1:9], n[01-12] or n[1-4,7]"
        )
    };
    let (inside, after) = rest.split_once(']').ok_or_else(shape)?;
    let mut names = Vec::new();
    for part in inside.split(',') {
        let (from, to) = part.split_once([':', '-']).unwrap_or((part, part));
        for middle in range_members(from.trim(), to.trim()).ok_or_else(shape)? {
            for end in expand_range(after)? {
                names.push(format!("{before}{middle}{end}"));
            }
            if names.len() > MOST {
                return Err(format!("\"{pattern}\" stands for more than {MOST} hosts"));
            }
        }
    }
    Ok(names)
}

fn range_members(from: &str, to: &str) -> Option<Vec<String>> {
    if let (Some(first), Some(last)) = (sole_letter(from), sole_letter(to)) {
        return (first <= last).then(|| (first..=last).map(String::from).collect());
    }
    let (first, last) = (from.parse::<u64>().ok()?, to.parse::<u64>().ok()?);
    let fits = first <= last && last - first < MOST as u64;
    let width = if from.starts_with('0') { from.len() } else { 0 };
    fits.then(|| (first..=last).map(|number| format!("{number:0width$}")).collect())
}

fn sole_letter(text: &str) -> Option<char> {
    let mut letters = text.chars();
    let letter = letters.next().filter(char::is_ascii_lowercase)?;
    letters.next().is_none().then_some(letter)
}
