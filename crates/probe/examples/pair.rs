//! The network pair by hand, between two processes:
//!
//! ```text
//! pair serve 10.0.0.2 [PORT]          shows ADDRESS and TOKEN; ends with its standard input
//! pair PROBE ADDRESS TOKEN [slices=20] [ms=50] [jobs=1] [rate=BYTES] [cpus=0,1]
//! pair path IP                        facts of the path, JSON
//! ```
//! PROBE is `tcp(both)`, `udp(small-send)`, `rr`, ...
#![forbid(unsafe_code)]

use iotax_load::{SliceBound, SliceResult, SliceSpec, cpu_list};
use iotax_probe::net::{ProbeServer, path};
use iotax_probe::{Exchange, ProbeSpec, prepare};
use std::error::Error;
use std::io::Read;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", ip] => serve(ip, None),
        ["serve", ip, port] => serve(ip, Some(port.parse()?)),
        ["path", ip] => {
            println!("{}", serde_json::to_string_pretty(&path::facts(ip.parse()?)?)?);
            Ok(())
        }
        [probe, peer, token, ref options @ ..] => measure(probe, peer, token, options),
        _ => Err("usage: pair serve IP [PORT] | pair PROBE ADDRESS TOKEN [slices=] [ms=] [jobs=] [rate=] [cpus=] | pair path IP".into()),
    }
}

fn serve(ip: &str, port: Option<u16>) -> Result<(), Box<dyn Error>> {
    let server = ProbeServer::listen(ip.parse()?, port)?;
    println!("{} {}", server.address(), server.token());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn measure(probe: &str, peer: &str, token: &str, options: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut spec = ProbeSpec::parse(probe)?;
    (spec.peer, spec.token) = (Some(peer.parse()?), Some(token.to_owned()));
    let (mut slices, mut ms) = (20, 50);
    for option in options {
        match option.split_once('=') {
            Some(("slices", value)) => slices = value.parse()?,
            Some(("ms", value)) => ms = value.parse()?,
            Some(("jobs", value)) => spec.numjobs = value.parse()?,
            Some(("rate", value)) => spec.rate = Some(value.parse()?),
            Some(("cpus", value)) => spec.cpus_allowed = cpu_list(value)?,
            _ => {
                return Err(format!(
                    "\"{option}\" is not known: slices=, ms=, jobs=, rate=, cpus="
                )
                .into());
            }
        }
    }
    let mut probe = prepare(&spec)?;
    for _ in 0..slices {
        let result = probe.run_probe_slice(&SliceSpec::starting_now(
            SliceBound::Time { ns: ms * 1_000_000 },
            10_000_000,
            false,
        ))?;
        print_slice(&result, &probe.last_exchange().unwrap_or_default());
    }
    Ok(())
}

fn print_slice(result: &SliceResult, exchange: &Exchange) {
    let seconds = result.window_ns as f64 / 1e9;
    let gigabits = |bytes: u64| bytes as f64 * 8e-9 / seconds;
    print!(
        "read {:.3} Gbit/s {:.0}/s write {:.3} Gbit/s {:.0}/s",
        gigabits(result.read.bytes),
        result.read.ios as f64 / seconds,
        gigabits(result.write.bytes),
        result.write.ios as f64 / seconds
    );
    let latency = &result.read.latency;
    let us = |q| latency.percentile(q).unwrap_or(0) as f64 / 1e3;
    if !latency.is_empty() {
        let mean = latency.mean().unwrap_or(0.0) / 1e3;
        print!(
            " | mean {mean:.1} p50 {:.1} p99 {:.1} p99.9 {:.1} us",
            us(0.5),
            us(0.99),
            us(0.999)
        );
    }
    for (name, way) in [("to", &exchange.to_peer), ("from", &exchange.from_peer)] {
        if let Some(way) = way {
            print!(" | {name} peer: sent {} lost {} again {}", way.sent, way.lost, way.retransmits);
        }
    }
    println!(
        " | discarded {:.1} ms drain {:.1} ms cpu {:.1} ms there {:.1} ms",
        result.discarded_ns as f64 / 1e6,
        result.drain_ns as f64 / 1e6,
        (result.cpu_user_ns + result.cpu_system_ns) as f64 / 1e6,
        (exchange.peer_cpu_user_ns + exchange.peer_cpu_system_ns) as f64 / 1e6
    );
}
