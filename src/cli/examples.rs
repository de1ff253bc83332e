//! Examples at the end of each command's help. They run as written, where the machine has what the
//! stack needs.

pub const RUN: &str = "Examples:
  iotax run --bill \"file:/var/tmp/x.img,size=1GiB | loop | fs(xfs)\"
      what each layer above a file costs
  iotax run --bill \"file:/var/tmp/x.img,size=1GiB | vm\" --iodepth 1,16
      a file and the same file in a guest, at two depths
  iotax run --rw randwrite --bs 8k --budget 30s file:/var/tmp/x.img,size=1GiB
      one file under one load, in fio's words";

pub const PLAN: &str = "Examples:
  iotax plan file:/var/tmp/x.img,size=64MiB \"file:/var/tmp/x.img,size=64MiB | loop\"
      what is written, how long it takes, the loads and the stacks
  iotax plan --commands \"file:/var/tmp/x.img,size=1GiB | loop | fs(xfs)\"
      the steps as commands to copy";

pub const HOST_VS_GUEST: &str = "Examples:
  iotax host-vs-guest                         this host and a guest made for it
  iotax host-vs-guest --time 2min --vm vcpus=1";

pub const NETWORK: &str = "Examples:
  iotax network vm1 vm2                       two guests made for the run
  iotax network host vm --probe \"rr(tcp)\" --budget 20s";

pub const RESUME: &str = "Examples:
  iotax resume last
  iotax resume last -o report.html";

pub const CLEAN: &str = "Examples:
  iotax clean --dry-run                       what would be removed
  iotax clean";

pub const REPORT: &str = "Examples:
  iotax report                                the last run, in brief
  iotax report last -v                        every figure and reason
  iotax report last -o report.html            one page, to send to others";

pub const CHART: &str = "Examples:
  iotax chart last -o run.svg                 the best chart for the run, and which others it has
  iotax chart last --kind bill --in us -o bill.png
  iotax chart last --kind overtime --load 2 --theme dark -o drift.svg";

pub const COMPARE: &str = "Examples (the ids are those of `iotax list`):
  iotax compare 20260101-120000-ab12 last
  iotax compare 20260101-120000-ab12 last --fail-above 5%";

pub const AUDIT: &str = "Examples:
  iotax audit --rules                         what is checked
  iotax audit docs --fail-on never            all pages of a folder
  iotax audit docs -o audit.html";

pub const IMPORT: &str = "Examples:
  iotax import fio.json --name \"the old array\"
  iotax import --system old=old.json --system new=new.json";

pub const LIST: &str = "Examples:
  iotax list
  iotax --runs /var/tmp list                  the runs of another folder";

pub const LIMITS: &str = "Examples:
  iotax limits file:/var/tmp/x.img,size=1GiB
  iotax limits file:/var/tmp/x.img,size=1GiB --seconds 5 --json";

pub const DOCTOR: &str = "Examples:
  iotax doctor                                what works here, and what one command adds
  iotax doctor -v                             every missing part with its reason
  iotax doctor --require guest                exit code 3 unless guests work here";

pub const LAB: &str = "Examples:
  iotax lab show
  iotax lab build
  iotax run \"[nvme0,nvme1] @lab | mdraid(level=1)\"";

pub const SELFCHECK: &str = "Examples:
  iotax selfcheck stats --reps 200
  iotax selfcheck stats --reps 200 --seed 7";

pub const DEMO: &str = "Examples:
  iotax demo
  iotax demo --dir /var/tmp                   on the disk of this folder";

pub const FLEET: &str = "Examples:
  iotax fleet run scenario.toml --hosts hosts.txt      a scenario on each host
  iotax fleet status last                              the state of each host
  iotax fleet report last -o fleet.html                which host differs, as a page";

#[cfg(test)]
pub const ALL: &[&str] = &[
    RUN,
    PLAN,
    HOST_VS_GUEST,
    NETWORK,
    RESUME,
    CLEAN,
    REPORT,
    CHART,
    COMPARE,
    AUDIT,
    IMPORT,
    LIST,
    LIMITS,
    DOCTOR,
    LAB,
    SELFCHECK,
    DEMO,
    FLEET,
];
