//! perftest: the bandwidth of RDMA reads or writes, by `ib_read_bw` and `ib_write_bw`. Connections
//! are made by rdma_cm, which finds the device by the address.

use super::iperf3::address_and_port;
use super::visit::{
    self, Tool, ToolReading, ToolRequest, ToolText, after_text, ask_program, bytes_direction,
    last_words, ns, parse_positive, version_after, whole_number,
};
use crate::{Argument, Definition, ProbeError, ProbeSpec, ProbeUnit};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

const WRITE: &str = "ib_write_bw";
const READ: &str = "ib_read_bw";

pub(super) const DEFINITION: Definition = Definition {
    name: "perftest",
    argument: Argument::Test(&[
        (WRITE, ProbeUnit::Bytes, "RDMA writes from here to the other end"),
        (READ, ProbeUnit::Bytes, "RDMA reads from the other end to here"),
    ]),
    unit: ProbeUnit::Bytes,
    subject: "perftest's transfer of 64 KiB",
    about: "Reads or writes the memory of the other end by RDMA, in transfers of 64 KiB.",
    relative: "tcp, without RDMA",
    program: Some((READ, "perftest")),
    shortest_slice_ns: 2_000_000_000,
    needs_peer: true,
    prepare: |spec| {
        let probe = visit::prepare(spec, &DEFINITION, tool_of(spec))?;
        check_device(Path::new(DEVICES))?;
        Ok(probe)
    },
};

/// Folder in which the kernel lists RDMA devices.
pub(super) const DEVICES: &str = "/sys/class/infiniband";

/// Checks that this place has an RDMA device.
///
/// # Errors
/// [`ProbeError::Unfit`] with what to do if it has none.
pub(super) fn check_device(devices: &Path) -> Result<(), ProbeError> {
    match fs::read_dir(devices).is_ok_and(|mut found| found.next().is_some()) {
        true => Ok(()),
        false => Err(ProbeError::Unfit(format!(
            "perftest needs an RDMA device, and {} lists none; hint: load the driver of the card, \
             or make a device in software (modprobe rdma_rxe; rdma link add rxe0 type rxe netdev \
             CARD), or leave the load out",
            devices.display()
        ))),
    }
}

const fn tool(program: &'static str) -> Tool {
    Tool {
        label: "perftest",
        program,
        version: |program| Ok(version_after("Version", &ask_program(program, &["--version"])?)),
        copies: false,
        arguments: |asked| {
            let [address, port] = address_and_port(asked.spec.peer);
            let seconds = asked.seconds().to_string();
            // -F: no complaint about the governor of the processors.
            let mut words = vec!["-R", "-F", "--report_gbits", "-D", &seconds, "-p", &port];
            let pairs = asked.spec.numjobs.to_string();
            words.extend(["-q", &pairs, &address]);
            words.into_iter().map(str::to_owned).collect()
        },
        expected: |asked| Duration::from_secs(asked.seconds() + 6),
        is_unanswered: |printed| {
            [&printed.stdout, &printed.stderr].iter().any(|text| text.contains(UNANSWERED))
        },
        read: read_perftest,
    }
}

/// Complaint about an end that does not listen: event 8 is RDMA_CM_EVENT_REJECTED.
const UNANSWERED: &str = "Unexpected CM event bl blka 8";

const WRITES: Tool = tool(WRITE);
const READS: Tool = tool(READ);

fn tool_of(spec: &ProbeSpec) -> &'static Tool {
    match spec.argument.as_deref() {
        Some(READ) => &READS,
        _ => &WRITES,
    }
}

/// Returns the command of the other end, which serves one run and ends with it.
pub(super) fn server(spec: &ProbeSpec, listen: SocketAddr) -> Vec<String> {
    let [_, port] = address_and_port(Some(listen));
    let pairs = spec.numjobs.to_string();
    [tool_of(spec).program, "-R", "-F", "-p", &port, "-q", &pairs].map(str::to_owned).into()
}

/// Reads the only row below the head of the columns: the size of a transfer, their number, and the
/// peak and average rate in Gbit/s. The peak is 0 in a run of a given time.
fn read_perftest(asked: &ToolRequest, printed: &ToolText) -> Result<ToolReading, String> {
    let head = after_text(&printed.stdout, "#bytes")?;
    if !head.contains("BW average[Gb/sec]") {
        return Err(format!("other columns than expected: \"{}\"", head.trim()));
    }
    let below = printed.stdout.lines().skip_while(|line| !line.contains("#bytes")).skip(1);
    let is_row = |line: &&str| line.trim_start().starts_with(|sign: char| sign.is_ascii_digit());
    let row = below.filter(is_row).collect::<Vec<_>>();
    let [row] = row[..] else {
        return Err(format!("{} rows; its last line: {}", row.len(), last_words(printed)));
    };
    let fields: Vec<&str> = row.split_whitespace().collect();
    let [bytes, transfers, _, average, _] = fields[..] else {
        return Err(format!("a row of other columns: \"{}\"", row.trim()));
    };
    let moved = whole_number(bytes, row)?.saturating_mul(whole_number(transfers, row)?);
    if moved == 0 {
        let seconds = asked.seconds();
        return Err(format!("no transfer ended within {seconds} s; hint: take a longer --slice"));
    }
    let seconds = moved as f64 * 8.0 / (parse_positive(average, row)? * 1e9);
    // perftest leaves out a quarter of the run, in whole seconds, at each end. Another time is
    // another rule of computing the rate.
    let asked_s = asked.seconds() as f64;
    let counted_s = (asked.seconds() - 2 * (asked.seconds() / 4)) as f64;
    if !(counted_s / 2.0..=asked_s * 2.0).contains(&seconds) {
        return Err(format!(
            "{transfers} transfers at {average} Gbit/s take {seconds:.1} s, in a run of {asked_s} s"
        ));
    }
    Ok(ToolReading { ns: ns(seconds), read: bytes_direction(moved), ..ToolReading::default() })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{read_sample, reads};
    use super::*;

    const SAMPLE: &str = include_str!("samples/perftest-6.06-read.txt");

    #[test]
    fn transfers_and_the_time_that_they_took_are_read() {
        let reading = read_sample("perftest(ib_read_bw)", &READS, SAMPLE, "").unwrap();
        assert_eq!(reading.read.bytes, 176 * 65_536);
        assert!((reading.ns as f64 / 2.022e9 - 1.0).abs() < 1e-3, "{}", reading.ns);
        assert_eq!(reading.write.ios, 0);
    }

    #[test]
    fn what_is_cut_off_or_of_other_units_is_an_error() {
        let why = |text: &str| reads("perftest", &WRITES, text, "").unwrap_err();
        assert!(why(&SAMPLE[..SAMPLE.len() / 2]).contains("no line \"#bytes\""));
        let row = SAMPLE.find("\n 65536").unwrap();
        assert!(why(&SAMPLE[..row]).contains("0 rows"));
        assert!(why(&SAMPLE.replace("Gb/sec", "MB/sec")).contains("other columns"));
        let none = SAMPLE.replace("176 ", "0 ").replace("0.045634", "0.000000");
        assert!(why(&none).contains("no transfer ended within 2 s"), "{}", why(&none));
        assert!(why(&SAMPLE.replace("0.045634", "0.000000")).contains("is not a number above 0"));
        assert!(why(&SAMPLE.replace("0.045634", "4.563400")).contains("take 0.0 s"));
    }

    #[test]
    fn a_place_without_a_device_is_told_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let why = check_device(folder.path()).unwrap_err().to_string();
        assert!(why.contains("lists none; hint: load the driver"), "{why}");
        assert!(check_device(&folder.path().join("absent")).is_err());
        fs::create_dir(folder.path().join("mlx5_0")).unwrap();
        check_device(folder.path()).unwrap();
    }

    #[test]
    fn both_ends_are_commands_of_the_same_program() {
        let spec = ProbeSpec {
            numjobs: 3,
            peer: Some(([10, 9, 0, 1], 18600).into()),
            ..ProbeSpec::parse("perftest(ib_read_bw)").unwrap()
        };
        let asked = ToolRequest { spec: &spec, program: READ.as_ref(), ns: 2_000_000_000 };
        assert_eq!(
            (READS.arguments)(&asked).join(" "),
            "-R -F --report_gbits -D 2 -p 18600 -q 3 10.9.0.1"
        );
        let listen = ([10, 9, 0, 1], 18600).into();
        assert_eq!(server(&spec, listen).join(" "), "ib_read_bw -R -F -p 18600 -q 3");
        assert_eq!(server(&ProbeSpec::parse("perftest").unwrap(), listen)[0], "ib_write_bw");
    }
}
