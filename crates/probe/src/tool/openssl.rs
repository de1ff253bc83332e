//! `openssl speed`: one cipher or digest in blocks of 16 KiB, or signatures. Counts and times are
//! `+R:count:name:seconds` on standard error; `+F` lines on standard output end a whole run.

use super::visit::{
    self, Tool, ToolReading, ToolRequest, ToolText, ask, last_words, ns, number, shown, units,
    version_behind, whole_number,
};
use crate::{Argument, Definition, ProbeUnit};
use iotax_load::Direction;
use std::time::Duration;

const BLOCK: u64 = 16_384;
const SIGNATURES: ProbeUnit = ProbeUnit::Count("signatures");

pub(super) const DEFINITION: Definition = Definition {
    name: "openssl",
    argument: Argument::Test(&[
        (
            "aes-256-gcm",
            ProbeUnit::Bytes,
            "encryption with AES in hardware where the processor has it",
        ),
        ("aes-128-gcm", ProbeUnit::Bytes, "the same with shorter keys"),
        ("chacha20-poly1305", ProbeUnit::Bytes, "encryption in vector units"),
        ("sha256", ProbeUnit::Bytes, "a digest"),
        ("rsa2048", SIGNATURES, "signatures"),
        ("ecdsap256", SIGNATURES, "signatures"),
    ]),
    unit: ProbeUnit::Bytes,
    subject: "OpenSSL's work",
    about: "Encrypts, digests or signs in memory of its own, by wall time: bytes of one cipher, not of a disk or a network. OpenSSL's \
            own default is CPU time, which hides what a host takes away. Versions differ in their code for a processor.",
    relative: "integer, in slices",
    program: Some(("openssl", "openssl")),
    shortest_slice_ns: 1_000_000_000,
    needs_peer: false,
    prepare: |spec| visit::prepare(spec, &DEFINITION, &TOOL),
};

const TOOL: Tool = Tool {
    label: "OpenSSL",
    programs: &["openssl"],
    version: |program| Ok(version_behind("OpenSSL", &ask(program, &["version"])?)),
    copies: false,
    arguments: |asked| {
        let mut words = vec!["speed", "-mr", "-elapsed", "-seconds"];
        let (seconds, workers) = (asked.seconds().to_string(), asked.spec.numjobs.to_string());
        let block = BLOCK.to_string();
        words.push(&seconds);
        if asked.spec.numjobs > 1 {
            words.extend(["-multi", &workers]);
        }
        if signs(asked.test()).is_none() {
            words.extend(["-bytes", &block, "-evp"]);
        }
        words.push(asked.test());
        words.into_iter().map(str::to_owned).collect()
    },
    expected: |asked| Duration::from_secs(2 * asked.seconds() + 2),
    read,
};

/// Returns, for a test of signatures, the marks of its lines of signing and verifying, and its
/// bits.
fn signs(test: &str) -> Option<[&'static str; 3]> {
    match test {
        "rsa2048" => Some(["+R1", "+R2", "2048"]),
        "ecdsap256" => Some(["+R5", "+R6", "256"]),
        _ => None,
    }
}

fn read(asked: &ToolRequest, printed: &ToolText) -> Result<ToolReading, String> {
    let (test, workers) = (asked.test(), asked.spec.numjobs.max(1) as usize);
    if !printed.stdout.lines().any(|line| line.starts_with("+F")) {
        return Err(format!("no line \"+F\" at its end; its last line: {}", last_words(printed)));
    }
    let of = |kind: &str, name: &str| {
        let all = lines(printed, kind, name)?;
        match all.len() == workers {
            true => Ok(all),
            false => Err(format!("{} lines \"{kind}\" of {name} instead of {workers}", all.len())),
        }
    };
    match signs(test) {
        None => {
            let (ns, blocks) = over_one_time(&of("+R", test)?);
            let read = Direction { ios: blocks, bytes: blocks * BLOCK, ..Direction::default() };
            Ok(ToolReading { ns, read, ..ToolReading::default() })
        }
        Some([signing, verifying, bits]) => {
            let (ns, signed) = over_one_time(&of(signing, bits)?);
            // The program verifies too, which is other work: a sum of both would describe neither.
            of(verifying, bits)?;
            Ok(ToolReading { ns, read: units(signed), ..ToolReading::default() })
        }
    }
}

/// Returns (count, nanoseconds) of each worker: `+R:255811:AES-256-GCM:0.980000`.
fn lines(printed: &ToolText, kind: &str, name: &str) -> Result<Vec<(u64, u64)>, String> {
    let mut all = Vec::new();
    for line in printed.stderr.lines() {
        match line.split(':').collect::<Vec<_>>()[..] {
            [found, count, what, seconds] if found == kind && what.eq_ignore_ascii_case(name) => {
                all.push((whole_number(count, line)?, ns(number(seconds, line)?)));
            }
            [found, ..] if found == kind => {
                return Err(format!("{} is not of {name}", shown(line)));
            }
            _ => {}
        }
    }
    Ok(all)
}

/// Returns the longest time, and what all workers would have made in it at their rates.
fn over_one_time(all: &[(u64, u64)]) -> (u64, u64) {
    let longest = all.iter().map(|(_, ns)| *ns).max().unwrap_or(0);
    let made = all.iter().map(|(count, ns)| *count as f64 * longest as f64 / *ns as f64);
    (longest, made.sum::<f64>().round() as u64)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{read_sample, reads};
    use super::*;

    // Short enough to be here: OpenSSL 3.0.22 on our machine.
    const AES: [&str; 2] = [
        "+H:16384\n+F:25:AES-128-GCM:4861739008.00\n",
        "+DT:AES-128-GCM:1:16384\n+R:296737:AES-128-GCM:1.000000\n",
    ];
    const RSA: [&str; 2] = [
        "+F2:2:2048:2915.000000:51945.000000\n",
        "+DTP:2048:private:rsa:1\n+R1:2915:2048:1.00\n+DTP:2048:public:rsa:1\n+R2:51945:2048:1.00\n",
    ];

    #[test]
    fn blocks_and_signatures_are_counted() {
        let reading = read_sample("openssl(aes-128-gcm)", &TOOL, AES[0], AES[1]).unwrap();
        assert_eq!((reading.ns, reading.read.ios), (1_000_000_000, 296_737));
        assert_eq!(reading.read.bytes, 296_737 * 16_384);
        let reading = read_sample("openssl(rsa2048)", &TOOL, RSA[0], RSA[1]).unwrap();
        assert_eq!((reading.ns, reading.read.ios, reading.write.ios), (1_000_000_000, 2915, 0));
    }

    #[test]
    fn workers_are_added_up_over_the_longest_time() {
        assert_eq!(
            over_one_time(&[(100, 1_000_000_000), (50, 2_000_000_000)]),
            (2_000_000_000, 250)
        );
    }

    #[test]
    fn what_is_cut_off_or_of_other_words_is_an_error() {
        let why = reads("openssl(aes-128-gcm)", &TOOL, "", AES[1]).unwrap_err();
        assert!(why.contains("no line \"+F\""), "{why}");
        let why = reads("openssl(aes-128-gcm)", &TOOL, AES[0], "").unwrap_err();
        assert!(why.contains("0 lines \"+R\" of aes-128-gcm instead of 1"), "{why}");
        let why = reads("openssl(sha256)", &TOOL, AES[0], AES[1]).unwrap_err();
        assert!(why.contains("is not of sha256"), "{why}");
        let why = reads("openssl(rsa2048)", &TOOL, RSA[0], &RSA[1].replace(":1.00\n", ":0.00\n"))
            .unwrap_err();
        assert!(why.contains("is not a number above 0"), "{why}");
    }
}
