//! The kernel's list of mounts, as one mount namespace sees it. Lines that make no sense are left
//! out.

use std::path::PathBuf;

/// A line of mountinfo (proc_pid_mountinfo(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// `major:minor` of the file system. On btrfs and ZFS this is no device's number.
    pub devnum: String,
    pub point: PathBuf,
    pub options: String,
    /// Type of the file system.
    pub kind: String,
    /// Source of the mount: the path of a device, or a word such as `tmpfs`.
    pub source: String,
    /// Options of the file system.
    pub super_options: String,
}

/// Parses the mounts of one mountinfo, without malformed lines.
pub fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    // Optional fields end with a lone dash.
    let (before, after) = line.split_once(" - ")?;
    let before: Vec<&str> = before.split(' ').collect();
    let after: Vec<&str> = after.split(' ').collect();
    Some(Mount {
        devnum: (*before.get(2)?).to_owned(),
        point: PathBuf::from(unescape(before.get(4)?)),
        options: (*before.get(5)?).to_owned(),
        kind: (*after.first()?).to_owned(),
        source: unescape(after.get(1)?),
        super_options: after.get(2).unwrap_or(&"").to_string(),
    })
}

/// Decodes a text of the kernel, which writes blank, tab, newline and backslash as octal (`\040`).
pub fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let octal = (first == b'\\')
            .then(|| tail.get(..3))
            .flatten()
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(octal.unwrap_or(first));
        rest = if octal.is_some() { &tail[3..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_and_without_optional_fields() {
        let text = "36 35 98:0 /mnt1 /mnt\\040two rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n\
                    37 35 0:55 / /b rw - btrfs /dev/sdb rw\nnonsense\n";
        let mounts = parse(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!(
            (mounts[0].devnum.as_str(), mounts[0].point.to_str()),
            ("98:0", Some("/mnt two"))
        );
        assert_eq!((mounts[1].kind.as_str(), mounts[1].source.as_str()), ("btrfs", "/dev/sdb"));
    }

    #[test]
    fn a_lone_backslash_stays() {
        assert_eq!(unescape(r"a\b\134\9"), r"a\b\\9");
        assert_eq!(unescape(r"end\04"), r"end\04");
    }
}
