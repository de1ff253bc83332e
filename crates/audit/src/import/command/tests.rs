use super::*;

fn commands(text: &str) -> Vec<(Page, Command)> {
    let page = Page::new("p", text);
    let found = crate::import::scan(&page);
    let command = |said: &Said| match said {
        Said::Command(command) => Some((page.clone(), (**command).clone())),
        _ => None,
    };
    found.outputs.iter().filter_map(|output| command(&output.said)).collect()
}

fn only(text: &str) -> (Page, Command) {
    let mut all = commands(text);
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0)
}

#[test]
fn options_of_fio_are_read_in_all_guises() {
    let line = "fio -direct=1 -iodepth=32 --rw randwrite –ioengine=libaio --time_based --bs=4k -name='a b' /tmp/x.fio";
    let (page, fio) = only(line);
    assert_eq!(fio.program, "fio");
    let value = |key: &str| fio.option(key).unwrap_or("none").to_owned();
    assert_eq!(
        ["direct", "iodepth", "rw", "ioengine", "time_based", "bs", "name"].map(value),
        ["1", "32", "randwrite", "libaio", "1", "4k", "a b"]
    );
    let spots: Vec<&str> = fio.options.iter().map(|entry| page.quote(entry.spot)).collect();
    assert_eq!(spots[2..4], ["--rw randwrite", "–ioengine=libaio"]);
    assert_eq!(spots[6], "-name='a b'");
    assert_eq!(fio.words.last().unwrap().text, "/tmp/x.fio");
}

#[test]
fn prompts_wrappers_and_lines_that_go_on_are_taken_along() {
    let text = "[root@10-53-220-58 data]# sudo dd if=/dev/zero of=/data/fio_test_file bs=1G count=32\n\
                32+0 records in\n\
                $ LD_PRELOAD=x numactl -N 0 fio --name=a \\\n    --rw=read 2>&1 | tee out.txt\n\
                ubuntu@vm:~$ sudo -E iperf3 -c 10.0.0.1 -t 30\n\
                [root@10-53-220-58 data]# sudo fio fio_test_config.fio\n";
    let all = commands(text);
    let programs: Vec<&str> = all.iter().map(|(_, command)| command.program.as_str()).collect();
    assert_eq!(programs, ["dd", "fio", "iperf3", "fio"]);
    assert_eq!(all[0].1.prompt.as_deref(), Some("[root@10-53-220-58 data]#"));
    let (page, fio) = &all[1];
    assert_eq!(
        fio.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>(),
        ["--name=a", "--rw=read"]
    );
    assert_eq!((page.quote(fio.words[1].spot), fio.words[1].spot.line), ("--rw=read", 3));
    assert_eq!(page.quote(all[2].1.spot), "iperf3");
    assert_eq!(all[3].1.words[0].text, "fio_test_config.fio");
}

#[test]
fn tools_that_set_up_what_is_measured_are_known() {
    for line in [
        "mdadm --create --verbose /dev/md0 --level=0 --raid-devices=6 /dev/nvme0n1",
        "sudo vgcreate lvmgroup /dev/vdb",
        "sudo mkfs.xfs /dev/lvmgroup/data",
        "scripts/rpc.py bdev_aio_create /dev/md0 md0",
        "esxcli rdma iser add",
        "nvme connect -t rdma -a 10.0.0.1 -s 4420 -n nqn.x",
        "$ ./Run -c 1 whetstone-double dhry2reg fsdisk",
        "./mbw 512",
        ".\\diskspd.exe -b4K -d60 test.dat",
        "qemu-system-x86_64 -m 4G -smp 4",
        "sysbench --threads=4 cpu run",
        "rados bench -p pool 10 write",
        "ioping -c 5 .",
    ] {
        let program = only(line).1.program;
        assert!(line.contains(&program), "{line}: {program}");
    }
}

#[test]
fn commands_that_were_joined_on_one_line_are_told_apart() {
    let (page, first) = only("zpool create -o ashift=12 nvme /dev/nvme0n1 zfs create -s -V 10T nvme/iser");
    assert_eq!((first.program.as_str(), first.more.len()), ("zpool", 1));
    assert_eq!(first.words.last().unwrap().text, "/dev/nvme0n1");
    assert_eq!(page.quote(first.more[0].spot), "zfs");
    let (_, first) = only("dd if=/dev/zero of=a && fio --name=x --rw=read; ls");
    assert_eq!(first.more[0].program, "fio");
}

#[test]
fn fio_in_the_middle_of_a_line_is_a_command_with_two_options() {
    let (page, fio) = only("测试命令: fio -direct=1 -rw=randread -bs=4k。结果如下");
    assert_eq!((fio.options.len(), page.quote(fio.options[2].spot)), (3, "-bs=4k"));
    let (_, fio) = only("запуск через `fio --rw=read --bs=1m` на хосте");
    assert_eq!(fio.words.len(), 2);
    assert!(commands("| fio --rw=read --bs=4k | 5 |").is_empty(), "tables are read as tables");
    assert!(commands("With fio --rw=read it is the same").is_empty());
}

#[test]
fn sentences_that_begin_with_a_tools_name_are_no_commands() {
    for line in [
        "fio is a tool for I/O tests - flexible and well-known",
        "fio - flexible I/O tester",
        "fio -- see its manual",
        "fio 3.16 was used with libaio.",
        "fio/libaio on /dev/sda gave 4 GB/s.",
        "dd is no benchmark - see above",
        "iperf3 results - in Gbit/s",
        "mdadm RAID-0 of six drives",
        "zfs with lz4 - slow",
        "nvme drives (/dev/nvme0n1) were attached",
        "Run fio with the file below - it takes a minute",
        "sysbench --threads=4 was used everywhere",
        "esxcli is the command-line tool of ESXi.",
        "fio: (groupid=0, jobs=1): err= 0: pid=1: Mon Nov 23 16:58:20 2026",
        "# fio results - part 2",
        "time - the other resource",
        "zpool status`, SPDK's `bdev_get`. The report counts /dev/sda",
        "`nvme list` shows them all",
        "zpool list shows what is free",
        "mkfs.xfs was run on /dev/sda",
        "esxcli storage is slow",
        "nvme format took an hour - at least",
    ] {
        assert!(commands(line).is_empty(), "{line}: {:?}", commands(line)[0].1);
    }
}

#[test]
fn each_name_is_a_job_and_global_is_for_all() {
    let (_, fio) = only("fio --name=global --bs=8k --name=a --rw=read --name=b --rw=write --iodepth=4");
    let asked = fio.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!((asked[0].rw.as_deref(), asked[0].bs[0]), (Some("read"), Some((8192, 8192))));
    assert_eq!((asked[1].name.as_str(), asked[1].iodepth), ("b", Some(4)));
    let (_, fio) = only("fio -rw=read -bs=4k -name=test");
    assert_eq!(fio.asked().len(), 1);
    assert_eq!(fio.asked()[0].bs[0], Some((4096, 4096)));
}
