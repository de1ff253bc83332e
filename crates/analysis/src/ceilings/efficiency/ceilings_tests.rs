//! Bounds on simulated machines, from what places report about drives, links and networks.

use super::*;
use crate::{RunData, findings, twin};
use iotax_facts::machine::{Cable, Network, PcieLink, TargetFacts};
use iotax_model::record::{Purpose, Slice};
use iotax_model::scenario::{Rating, rating};

fn on_a_drive(device: Device, change: impl FnOnce(&mut RunData)) -> RunData {
    let mut run = twin::bill();
    twin::on_a_drive(&mut run, device);
    change(&mut run);
    run
}

fn sequential(run: &mut RunData) {
    for workload in &mut run.start.scenario.workloads {
        for job in &mut workload.jobs {
            (job.rw, job.bs, job.percentage_random) = (iotax_load::Rw::Read, 128 << 10, 0);
        }
    }
}

/// Returns the drive in a slot of PCIe 3.0.
fn pro() -> Device {
    let mut device = twin::pro();
    device.pcie.as_mut().unwrap().speed = Some("8.0 GT/s PCIe".into());
    device
}

fn bounds(run: &RunData) -> Vec<(String, f64)> {
    let found = findings(run);
    let first = found.workloads[0].rows[0].stack.clone();
    let ours = found.workloads[0].efficiency.iter().filter(|one| one.stack == first);
    ours.map(|one| (one.by.word().to_owned(), one.could.value().unwrap())).collect()
}

#[test]
fn a_drive_of_a_known_model_is_held_against_its_data_sheet_and_its_link() {
    let run = on_a_drive(pro(), sequential);
    let found = bounds(&run);
    let [(link, carried), (rated, read)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((link.as_str(), rated.as_str(), *read), ("link", "rated", 7e9));
    assert!(
        (3.7e9..3.8e9).contains(carried),
        "PCIe 3.0 x4, though the drive could do 4.0: {carried}"
    );
    let found = findings(&run);
    let of = |word: &str| {
        found.workloads[0]
            .efficiency
            .iter()
            .find(|one| one.by.word() == word)
            .unwrap()
            .sentence
            .clone()
    };
    assert!(
        of("link").ends_with(
            " of what the link of its drive can do at 128k sequential reads (PCIe 3.0 x4: 3151 MB/s to 3584 MB/s in practice; at the most)"
        ),
        "{}",
        of("link")
    );
    assert!(
        of("rated")
            .ends_with("(Samsung 980 PRO rated: Samsung, NVMe SSD 980 PRO data sheet, 2021)"),
        "{}",
        of("rated")
    );
}

#[test]
fn what_is_not_known_of_a_drive_is_no_ceiling() {
    let nothing = |device: Device, change: fn(&mut RunData)| {
        let run = on_a_drive(device, |run| {
            sequential(run);
            change(run);
        });
        bounds(&run).into_iter().map(|(by, _)| by).collect::<Vec<_>>()
    };
    let same = |_: &mut RunData| {};
    assert_eq!(nothing(pro(), same), ["link", "rated"]);
    let model = |model: &str| Device { model: Some(model.into()), pcie: None, ..pro() };
    assert!(nothing(model("QEMU NVMe Ctrl"), same).is_empty());
    assert!(
        nothing(Device { bytes: Some(800e9 as u64), pcie: None, ..pro() }, same).is_empty(),
        "no such size"
    );
    assert!(nothing(Device { model: None, pcie: None, ..pro() }, same).is_empty());
    // Links of emulated drives are made up, and so are those of a machine of which it is not known.
    let guest = |run: &mut RunData| run.places[0].facts.cpu.under_hypervisor = Some(true);
    assert_eq!(nothing(pro(), guest), ["rated"]);
    assert_eq!(nothing(pro(), |run| run.places[0].facts.cpu.under_hypervisor = None), ["rated"]);
    let odd = PcieLink { speed: Some("Unknown".into()), ..pro().pcie.unwrap() };
    assert_eq!(nothing(Device { pcie: Some(odd), ..pro() }, same), ["rated"]);
    // A file that was not there when its place was recorded is described by its folder.
    let file = |folder: &str| {
        let folder = PathBuf::from(folder);
        let mut run = on_a_drive(pro(), sequential);
        let medium = Medium::File { path: "/srv/x.img".into(), size: None, keep: false };
        run.start.scenario.stacks.iter_mut().for_each(|stack| stack.medium = medium.clone());
        run.places[0].facts.targets[0].path = folder;
        bounds(&run).len()
    };
    assert_eq!([file("/srv/x.img"), file("/srv"), file("/")], [2, 2, 0]);
    // With several drives in one, nobody can say which answered.
    let two = |run: &mut RunData| {
        run.places[0].facts.targets[0].devices.push(Device { name: "nvme2n1".into(), ..pro() });
    };
    assert!(nothing(pro(), two).is_empty());
    // A scenario's own rating counts alone.
    let own = |run: &mut RunData| {
        let mut rating = Rating { source: "a page".into(), ..Rating::default() };
        rating::set_rating_key(&mut rating, "read", "6000MB/s").unwrap();
        run.start.scenario.rating = Some(Box::new(rating));
    };
    let run = on_a_drive(pro(), |run| {
        sequential(run);
        own(run);
    });
    assert_eq!(bounds(&run)[1], ("rated".to_owned(), 6e9));
}

#[test]
fn a_link_is_told_under_loads_of_bytes_and_where_a_stack_comes_near_it() {
    let by = |run: &RunData| bounds(run).into_iter().map(|(by, _)| by).collect::<Vec<_>>();
    let random = on_a_drive(pro(), |_| {});
    assert_eq!(by(&random), ["rated"]);
    let narrow =
        PcieLink { speed: Some("2.5 GT/s PCIe".into()), width: Some(1), ..pro().pcie.unwrap() };
    let rate = findings(&random).workloads[0].rows[0].iops.value().unwrap() * 4096.0;
    let narrow = on_a_drive(Device { pcie: Some(narrow), ..pro() }, |_| {});
    let most = 250e6 * 512.0 / 532.0;
    assert_eq!(by(&narrow).contains(&"link".to_owned()), rate / most >= OF_LINK, "{rate}");
}

#[test]
fn reads_and_writes_have_a_way_each_unless_the_link_is_half_duplex() {
    let mixed = |device: Device| {
        let run = on_a_drive(Device { model: None, ..device }, |run| {
            sequential(run);
            for job in
                run.start.scenario.workloads.iter_mut().flat_map(|workload| &mut workload.jobs)
            {
                (job.rw, job.rwmixread) = (Rw::Rw, 50);
            }
        });
        let found = findings(&run).workloads.remove(0).efficiency;
        let link = found.into_iter().find(|one| one.by.word() == "link").unwrap();
        let directions: Vec<f64> =
            link.directions.iter().map(|one| one.could.value().unwrap()).collect();
        (link.could.value().unwrap(), directions)
    };
    let near = |(whole, directions): (f64, Vec<f64>), way: f64, times: f64| {
        assert!((whole / (times * way) - 1.0).abs() < 1e-6, "{whole}");
        assert!(
            directions.len() == 2 && directions.iter().all(|one| (one / way - 1.0).abs() < 1e-6)
        );
    };
    // 7.876923077 Gb/s of data a lane, of which the largest packets leave 0.962406015.
    near(mixed(pro()), 4.0 * 7.876_923_077e9 / 8.0 * 0.962_406_015, 2.0);
    let cable = |kind: &str, speed: &str| {
        let cable = Cable { kind: kind.into(), speed: speed.into(), lanes: 1 };
        mixed(Device { pcie: None, cable: Some(cable), ..pro() })
    };
    near(cable("sas", "12.0 Gbit"), 9.6e9 / 8.0 * 0.97, 2.0);
    near(cable("sata", "6.0 Gbps"), 4.8e9 / 8.0 * 0.99, 1.0);
    near(cable("usb", "480"), 0.48e9 / 8.0 * 0.888, 1.0);
    near(cable("usb", "5000"), 4e9 / 8.0 * 0.98, 2.0);
}

#[test]
fn a_users_ratings_count_and_disks_that_turn_have_none_for_random_ios() {
    let text = "[[drive]]\nname = \"Own 1\"\nmodels = [\"OWN1000*\"]\ninterface = \"PCIe 4.0 x4\"\nmedia = \"TLC\"\n\
         writes = \"burst\"\nsource = \"Own, data sheet, 2024\"\nsizes = [{ capacity = \"1TB\", read = \"5000MB/s\" }]\n";
    let own = Device { model: Some("OWN1000GTX".into()), pcie: None, ..pro() };
    let run = on_a_drive(own, |run| {
        sequential(run);
        run.ratings = run.ratings.with_user_file(text).unwrap();
    });
    assert_eq!(bounds(&run), [("rated".to_owned(), 5e9)]);
    let disk = Device {
        model: Some("ST16000NM001G-2KK103".into()),
        bytes: Some(16_000_900_661_248),
        rotational: Some(true),
        pcie: None,
        ..pro()
    };
    assert!(bounds(&on_a_drive(disk.clone(), |_| {})).is_empty());
    assert_eq!(bounds(&on_a_drive(disk, sequential)).len(), 1);
}

#[test]
fn drives_share_the_link_of_their_controller() {
    let many = |change: fn(usize, &mut Device)| {
        let mut run = twin::arrays();
        run.start.scenario.rating = None;
        let path = |at: usize| PathBuf::from(format!("/dev/sd{}", char::from(b'b' + at as u8)));
        let members = (0..5).map(|at| Medium::Device { path: path(at) }).collect();
        let medium = Medium::Many { members, groups: 1 };
        run.start.scenario.stacks.iter_mut().for_each(|stack| stack.medium = medium.clone());
        run.start.scenario.workloads[0].jobs[0].rw = iotax_load::Rw::Read;
        (
            run.start.scenario.workloads[0].jobs[0].bs,
            run.start.scenario.workloads[0].jobs[0].percentage_random,
        ) = (1 << 20, 0);
        let facts = &mut run.places[0].facts;
        facts.cpu.under_hypervisor = Some(false);
        facts.targets = (0..5)
            .map(|at| {
                let cable = Cable { kind: "sas".into(), speed: "12.0 Gbit".into(), lanes: 1 };
                let name = path(at).file_name().unwrap().to_str().unwrap().to_owned();
                let mut device = Device { name, model: None, cable: Some(cable), ..pro() };
                change(at, &mut device);
                TargetFacts { path: path(at), file_system: None, devices: vec![device] }
            })
            .collect();
        let found = findings(&run);
        let link = |one: &&Efficiency| one.stack == "raid5" && one.by.word() == "link";
        found.workloads[0]
            .efficiency
            .iter()
            .find(link)
            .map(|one| (one.rule.clone(), one.could.value().unwrap()))
    };
    let (rule, could) = many(|_, _| {}).unwrap();
    assert!(rule.contains("PCIe 3.0 x4 of 5 drives: 630 MB/s to 717 MB/s in practice"), "{rule}");
    // All five of flash read at once, parity passed over.
    assert!((3.7e9..3.8e9).contains(&could), "{could}");
    let (rule, could) = many(|_, device| device.pcie = None).unwrap();
    assert!(
        rule.contains("SAS 12 Gb/s: ") && (5.0 * 1.16e9..5.0 * 1.2e9).contains(&could),
        "{rule} {could}"
    );
    let unlike = |at: usize, device: &mut Device| {
        device.pcie = None;
        device.cable.as_mut().unwrap().lanes += u64::from(at == 3);
    };
    assert_eq!(many(unlike), None, "no two links are one");
}

#[test]
fn more_than_a_link_carries_or_a_tenth_above_a_rating_is_a_doubt() {
    let told = |device: Device, ratings: &str| {
        let run = on_a_drive(device, |run| {
            sequential(run);
            run.ratings = run.ratings.with_user_file(ratings).unwrap();
        });
        let found = findings(&run).workloads.remove(0);
        let rate = found.rows[0].iops.value().unwrap() * f64::from(128 << 10);
        (rate, found.efficiency.iter().find_map(excess_reason))
    };
    let own = Device { model: Some("OWN1000".into()), pcie: None, ..pro() };
    let (rate, none) = told(own.clone(), "");
    assert_eq!(none, None);
    let rated = |share: f64| {
        let text = format!(
            "[[drive]]\nname = \"Own 1\"\nmodels = [\"OWN1000\"]\ninterface = \"PCIe 6.0 x16\"\nmedia = \"TLC\"\n\
             writes = \"burst\"\nsource = \"Own, data sheet, 2024\"\nsizes = [{{ read = \"{:.0}MB/s\" }}]\n",
            rate * share / 1e6
        );
        told(own.clone(), &text).1
    };
    assert_eq!(rated(0.97), None);
    let words = rated(0.7).unwrap();
    assert!(words.contains(" of what its drives are rated at: something is cached, "), "{words}");
    let narrow =
        PcieLink { speed: Some("2.5 GT/s PCIe".into()), width: Some(1), ..pro().pcie.unwrap() };
    let (_, words) = told(Device { pcie: Some(narrow), ..pro() }, "");
    let words = words.unwrap();
    assert!(words.contains(" of what PCIe 1.0 x1 carries: something is cached, "), "{words}");
}

#[test]
fn a_network_is_that_of_its_slowest_card_that_is_one() {
    let run = |change: fn(&mut RunData)| {
        on_a_drive(Device { model: None, pcie: None, ..pro() }, |run| {
            sequential(run);
            let mut layer = twin::layer("nvmf", &[("transport", "tcp"), ("address", "10.1.2.3")]);
            layer.far = vec!["ssh:client".into()];
            run.start.scenario.stacks[0].layers = vec![layer];
            let network = |megabits| Network {
                address: [10, 1, 0, 0].into(),
                bits: 16,
                card: "eth1".into(),
                megabits,
                infiniband: false,
            };
            run.places[0].facts.networks = vec![network(Some(100_000))];
            let mut client = run.places[0].clone();
            client.place = "ssh:client".into();
            client.facts.networks = vec![network(Some(10_000))];
            run.places.push(client);
            change(run);
        })
    };
    let of = |change: fn(&mut RunData)| {
        let found = findings(&run(change)).workloads.remove(0);
        let all: Vec<Efficiency> =
            found.efficiency.into_iter().filter(|one| one.by.word() == "network").collect();
        all.into_iter()
            .map(|one| (one.by.bound_words().to_owned(), one.could.value().unwrap(), one.sentence))
            .next()
    };
    let (network, could, sentence) = of(|_| {}).unwrap();
    assert_eq!(network, "10GbE");
    assert!((1.23e9..1.25e9).contains(&could), "{could}");
    assert!(
        sentence.ends_with(
            " of what the network below it can do at 128k sequential reads (10GbE: 1157 MB/s to 1225 MB/s in practice; at the most)"
        ),
        "{sentence}"
    );
    let no_card = of(|run| run.places[1].facts.networks[0].megabits = None).unwrap();
    assert_eq!(no_card.0, "100GbE", "the other end is known");
    assert_eq!(
        of(|run| run
            .places
            .iter_mut()
            .for_each(|place| place.facts.cpu.under_hypervisor = Some(true))),
        None
    );
    assert_eq!(of(|run| run.start.scenario.stacks[0].layers[0].far.clear()), None);
    assert_eq!(
        of(|run| _ = run.start.scenario.stacks[0].layers[0]
            .options
            .insert("address".into(), "10.2.0.1".into())),
        None
    );
    // Half of a mix goes each way.
    let mixed = of(|run| {
        for job in run.start.scenario.workloads.iter_mut().flat_map(|workload| &mut workload.jobs) {
            (job.rw, job.rwmixread) = (iotax_load::Rw::Rw, 50);
        }
    });
    assert!((mixed.unwrap().1 / could - 2.0).abs() < 1e-9);
}

/// A drive of this host at another, over a network that TCP was measured on: reads at a known rate,
/// and what TCP received there.
fn over_a_network(change: impl FnOnce(&mut RunData)) -> Option<Efficiency> {
    let mut run = on_a_drive(Device { model: None, pcie: None, ..pro() }, sequential);
    let mut layer = twin::layer("nvmf", &[("transport", "tcp"), ("address", "10.1.2.3")]);
    layer.far = vec!["ssh:client".into()];
    let scenario = &mut run.start.scenario;
    scenario.bill = false;
    scenario.stacks.truncate(2);
    scenario.stacks[0].layers = vec![layer];
    let address = Some([10, 1, 2, 3].into());
    scenario.stacks[1].medium =
        Medium::Net { place: "ssh:client".into(), to: "host".into(), address, port: None };
    scenario.stacks[1].layers.clear();
    let (stored, net) = (scenario.stacks[0].name.clone(), scenario.stacks[1].name.clone());
    let load = scenario.workloads[0].name.clone();
    scenario.workloads.truncate(2);
    let before = std::mem::replace(&mut scenario.workloads[1].name, "tcp".into());
    scenario.workloads[1].jobs.clear();
    scenario.workloads[1].probe = iotax_probe::ProbeSpec::parse("tcp(receive)").ok();
    let ours = |stack: &str, workload: &str| {
        (stack == stored && workload == load) || (stack == net && workload == before)
    };
    run.slices.retain(|one| ours(&one.stack, &one.workload));
    run.workers.retain(|one| ours(&one.stack, &one.workload));
    for slice in run.slices.iter_mut().filter(|slice| slice.stack == net) {
        slice.workload = "tcp".into();
    }
    run.workers
        .iter_mut()
        .filter(|one| one.stack == net)
        .for_each(|one| one.workload = "tcp".into());
    let card = iotax_facts::machine::Network {
        address: [10, 1, 2, 3].into(),
        bits: 24,
        card: "eth1".into(),
        megabits: Some(10_000),
        infiniband: false,
    };
    run.places[0].facts.networks = vec![card];
    change(&mut run);
    let found = findings(&run).workloads.remove(0);
    let is_by = |word: &str| found.efficiency.iter().any(|one| one.by.word() == word);
    let crosses = !run.start.scenario.stacks[0].layers[0].far.is_empty();
    assert_eq!(
        is_by("network"),
        crosses && !is_by("measured link"),
        "the card's speed counts if nothing was measured"
    );
    assert!(
        found.comparisons.is_empty(),
        "the network is no baseline of the load, nor the other way round"
    );
    found.efficiency.into_iter().find(|one| one.by.word() == "measured link")
}

#[test]
fn tcp_between_the_same_places_is_a_ceiling_of_what_crosses_it() {
    let rate = |run: &RunData, stack: usize| {
        let found = findings(run);
        found.workloads[stack].rows[stack].bytes_per_s.value().unwrap()
    };
    let mut rates = None;
    let found = over_a_network(|run| rates = Some([rate(run, 0), rate(run, 1)])).unwrap();
    let [stored, carried] = rates.unwrap();
    assert!((found.could.value().unwrap() / carried - 1.0).abs() < 1e-9, "{found:?}");
    // Slices of the twin hold blocks of 4 KiB, whatever the load says.
    assert!(
        (found.share.value().unwrap() / (32.0 * stored / carried) - 1.0).abs() < 1e-9,
        "{found:?}"
    );
    assert!(found.share.bounds().is_some());
    assert!(found.sentence.contains("network between host and ssh:client: "), "{}", found.sentence);
    assert!(
        found.sentence.contains("(tcp(receive), 1 stream); this stack reaches "),
        "{}",
        found.sentence
    );
}

#[test]
fn tcp_between_other_places_or_in_the_other_direction_is_none() {
    let medium = |to: &str, address: [u8; 4]| Medium::Net {
        place: "ssh:client".into(),
        to: to.into(),
        address: Some(address.into()),
        port: None,
    };
    let with = |medium: Medium| over_a_network(|run| run.start.scenario.stacks[1].medium = medium);
    assert_eq!(with(medium("ssh:other", [10, 1, 2, 3])), None);
    assert_eq!(with(medium("host", [10, 9, 9, 9])), None, "another network of the same places");
    assert_eq!(over_a_network(|run| run.start.scenario.stacks[0].layers[0].far.clear()), None);
    let writes = |run: &mut RunData| {
        for slice in run.slices.iter_mut().filter(|slice| slice.workload == "tcp") {
            slice
                .samples
                .iter_mut()
                .for_each(|one| one.metric = one.metric.replace("read.", "write."));
        }
    };
    assert_eq!(over_a_network(writes), None, "sent, where the load reads");
    // Seen from the other end, data that is sent is data that is read.
    let turned = over_a_network(|run| {
        writes(run);
        run.start.scenario.stacks[1].medium = Medium::Net {
            place: "host".into(),
            to: "ssh:client".into(),
            address: None,
            port: None,
        };
    });
    assert!(turned.is_some());
}

#[test]
fn the_tools_of_networks_count_in_their_own_directions() {
    let with = |probe: &str| {
        over_a_network(|run| {
            let spec = iotax_probe::ProbeSpec::parse(probe).unwrap();
            run.start.scenario.workloads[1].probe = Some(spec);
        })
    };
    // The twin's slices have reads only, and the load reads: data arrives where the probe runs.
    let found = with("iperf3(reverse)").unwrap();
    assert!(found.sentence.contains("(iperf3(reverse), 1 stream)"), "{}", found.sentence);
    assert!(with("perftest(ib_read_bw)").is_some());
    for other in [
        "perftest(ib_write_bw)",
        "iperf3(tcp)",
        "iperf3(udp)",
        "iperf3(bidir)",
        "udp(receive)",
        "rr(tcp)",
    ] {
        assert_eq!(with(other), None, "{other}");
    }
}

#[test]
fn added_latency_is_held_against_the_networks_round_trip() {
    let said = |baseline_crosses: bool| {
        let mut run = twin::three_figures();
        let mut layer = twin::layer("nvmf", &[("transport", "tcp"), ("address", "10.1.2.3")]);
        layer.far = vec!["ssh:client".into()];
        let scenario = &mut run.start.scenario;
        if baseline_crosses {
            scenario.stacks[0].layers = vec![layer.clone()];
        }
        scenario.stacks[1].layers = vec![layer];
        let medium = Medium::Net {
            place: "ssh:client".into(),
            to: "host".into(),
            address: None,
            port: None,
        };
        let net = scenario.stacks[0].clone();
        scenario.stacks.push(iotax_model::stack::Stack {
            name: "net".into(),
            medium,
            layers: Vec::new(),
            ..net
        });
        let mut rr = scenario.workloads[0].clone();
        (rr.name, rr.jobs, rr.probe) =
            ("rr".into(), Vec::new(), iotax_probe::ProbeSpec::parse("rr").ok());
        scenario.workloads[0].jobs[0].iodepth = 1;
        scenario.workloads.push(rr);
        let first = scenario.stacks[0].name.clone();
        let plain =
            run.slices.iter().filter(|one| one.stack == first && one.purpose == Purpose::Plain);
        let trips =
            plain.map(|one| Slice { stack: "net".into(), workload: "rr".into(), ..one.clone() });
        let trips: Vec<Slice> = trips.collect();
        run.slices.extend(trips);
        findings(&run).workloads.remove(0).round_trips
    };
    let [sentence] = &said(false)[..] else { panic!("{:?}", said(false)) };
    assert!(sentence.contains(" more mean latency than "), "{sentence}");
    assert!(
        sentence.contains(" times a round trip of the network between host and ssh:client ("),
        "{sentence}"
    );
    assert_eq!(said(true), Vec::<String>::new(), "the baseline crosses it too");
}
