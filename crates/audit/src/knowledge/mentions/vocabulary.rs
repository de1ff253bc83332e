//! Words that tell what is around a figure, in the languages of the pages.

use crate::knowledge::ratings;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

/// What a word tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Word {
    /// Several drives work as one: an array, a stripe, a cluster.
    Several,
    /// Several links work as one.
    Bonded,
    /// A cache may have answered.
    Cached,
    /// A virtual machine.
    Guest,
    /// Storage over a network.
    Fabric,
    /// Hard disks.
    Hdd,
    /// Flash.
    Flash,
    /// Drives behind PCI Express, whether their link is named or not.
    Nvme,
    /// I/O around the page cache.
    Direct,
    /// Long after the first writes.
    Sustained,
    /// A loss, a cost, an overhead is told.
    Loss,
    /// What it can do at most is told to be reached or not.
    Capacity,
    /// Figures of a data sheet.
    Rating,
}

impl Word {
    /// All.
    pub const ALL: [Word; 13] = [
        Word::Several,
        Word::Bonded,
        Word::Cached,
        Word::Guest,
        Word::Fabric,
        Word::Hdd,
        Word::Flash,
        Word::Nvme,
        Word::Direct,
        Word::Sustained,
        Word::Loss,
        Word::Capacity,
        Word::Rating,
    ];

    /// In lower case. ASCII words stand alone; what has a space, a sign or other letters is found anywhere.
    fn spellings(self) -> &'static [&'static str] {
        match self {
            Word::Several => &[
                "raid",
                "raid0",
                "raid1",
                "raid5",
                "raid6",
                "raid10",
                "raidz",
                "raidz1",
                "raidz2",
                "raidz3",
                "mdadm",
                "mdraid",
                "md0",
                "md127",
                "jbod",
                "zpool",
                "zfs",
                "btrfs",
                "ceph",
                "vsan",
                "glusterfs",
                "gluster",
                "lustre",
                "minio",
                "longhorn",
                "drbd",
                "striped",
                "stripe",
                "stripes",
                "striping",
                "array",
                "arrays",
                "cluster",
                "storage spaces",
                "阵列",
                "条带",
                "集群",
                "массив",
                "страйп",
                "кластер",
            ],
            Word::Bonded => &[
                "bond",
                "bond0",
                "bonding",
                "bonded",
                "lacp",
                "multipath",
                "mpio",
                "teaming",
                "聚合",
                "агрегац",
            ],
            Word::Cached => &[
                "writeback",
                "write-back",
                "cache=unsafe",
                "cache=writethrough",
                "cached",
                "caching",
                "bcache",
                "l2arc",
                "arc",
                "rapid",
                "page cache",
                "pagecache",
                "buffered",
                "direct=0",
                "cache",
                "缓存",
                "缓冲",
                "кэш",
                "кеш",
                "ramdisk",
                "tmpfs",
                "zram",
            ],
            Word::Guest => &[
                "vm",
                "vms",
                "guest",
                "guests",
                "kvm",
                "qemu",
                "esxi",
                "vmware",
                "proxmox",
                "hyper-v",
                "virtio",
                "virtual machine",
                "虚拟机",
                "виртуал",
                "вм",
            ],
            Word::Fabric => &[
                "iser",
                "iscsi",
                "nvmeof",
                "nvme-of",
                "nvme/tcp",
                "nvme-tcp",
                "nvme/rdma",
                "nvme-rdma",
                "nvme over",
                "nvme-over",
                "nfs",
                "smb",
                "cifs",
                "ceph",
                "rbd",
                "glusterfs",
                "lustre",
                "fcoe",
                "fibre channel",
                "over the network",
                "over fabrics",
                "drbd",
                "по сети",
            ],
            Word::Hdd => &[
                "hdd",
                "hdds",
                "hard disk",
                "hard drive",
                "spinning",
                "7200rpm",
                "7.2krpm",
                "7200 rpm",
                "10000rpm",
                "15000rpm",
                "10k rpm",
                "15k rpm",
                "7.2k rpm",
                "spindle",
                "spindles",
                "机械盘",
                "机械硬盘",
                "жестк",
                "жёстк",
            ],
            Word::Flash => &[
                "ssd",
                "ssds",
                "nvme",
                "flash",
                "optane",
                "全闪",
                "闪存",
                "固态",
                "твердотельн",
                "флеш",
                "/dev/nvme",
            ],
            Word::Nvme => {
                &["nvme", "pcie", "/dev/nvme", "m.2", "u.2", "nvme0n1", "nvme1n1", "pci-e", "pci express"]
            }
            Word::Direct => &["direct=1", "o_direct", "oflag=direct", "iflag=direct", "--direct", "directio"],
            Word::Sustained => &[
                "sustained",
                "steady",
                "steady-state",
                "preconditioned",
                "preconditioning",
                "稳态",
                "持续写",
                "持续性能",
                "устойчив",
                "установивш",
                "длительн",
            ],
            Word::Loss => &[
                "loss",
                "losses",
                "overhead",
                "degradation",
                "penalty",
                "slower",
                "损失",
                "损耗",
                "开销",
                "下降",
                "потер",
                "накладн",
                "просад",
                "падени",
            ],
            Word::Capacity => &[
                "saturate",
                "saturated",
                "saturates",
                "saturation",
                "bottleneck",
                "bottlenecked",
                "maxed out",
                "full performance",
                "打满",
                "跑满",
                "用满",
                "瓶颈",
                "饱和",
                "узкое место",
                "узким местом",
                "насыщ",
                "бутылочн",
            ],
            Word::Rating => &[
                "rated",
                "rating",
                "datasheet",
                "data sheet",
                "spec",
                "specs",
                "specification",
                "advertised",
                "nominal",
                "official",
                "标称",
                "额定",
                "官方",
                "规格",
                "паспорт",
                "заявлен",
                "номинал",
                "специфика",
            ],
        }
    }
}

/// Makers of drives, as pages spell them. Intel and AMD are no makers here: their processors are on every page.
const MAKERS: &[(&str, &str)] = &[
    ("samsung", "Samsung"),
    ("三星", "Samsung"),
    ("kingston", "Kingston"),
    ("金士顿", "Kingston"),
    ("crucial", "Micron"),
    ("英睿达", "Micron"),
    ("micron", "Micron"),
    ("美光", "Micron"),
    ("wd", "WD"),
    ("western", "WD"),
    ("sandisk", "WD"),
    ("ultrastar", "WD"),
    ("hgst", "WD"),
    ("西数", "WD"),
    ("西部数据", "WD"),
    ("seagate", "Seagate"),
    ("希捷", "Seagate"),
    ("toshiba", "Kioxia"),
    ("东芝", "Kioxia"),
    ("kioxia", "Kioxia"),
    ("铠侠", "Kioxia"),
    ("hynix", "SK hynix"),
    ("海力士", "SK hynix"),
    ("solidigm", "SK hynix"),
    ("corsair", "Corsair"),
    ("sabrent", "Sabrent"),
    ("adata", "Adata"),
    ("威刚", "Adata"),
    ("patriot", "Patriot"),
    ("lexar", "Lexar"),
    ("雷克沙", "Lexar"),
    ("transcend", "Transcend"),
    ("netac", "Netac"),
    ("zhitai", "YMTC"),
    ("致态", "YMTC"),
    ("ymtc", "YMTC"),
    ("memblaze", "Memblaze"),
    ("忆恒创源", "Memblaze"),
    ("dapustor", "DapuStor"),
    ("大普微", "DapuStor"),
];

/// The makers of drives that a line names.
pub fn makers(lower: &str, words: &[(String, Range<usize>)]) -> Vec<&'static str> {
    let ascii = lower.is_ascii();
    let named = MAKERS
        .iter()
        .filter(|(spelling, _)| (!ascii || spelling.is_ascii()) && any(lower, words, &[spelling]));
    named.map(|(_, maker)| *maker).collect()
}

/// The vocabulary, spelling by spelling: words that stand alone, and texts that are found anywhere.
struct Spelled {
    alone: HashMap<&'static str, Vec<Word>>,
    anywhere: Vec<(&'static str, Word)>,
}

fn spelled() -> &'static Spelled {
    static SPELLED: OnceLock<Spelled> = OnceLock::new();
    SPELLED.get_or_init(|| {
        let mut spelled = Spelled { alone: HashMap::new(), anywhere: Vec::new() };
        for word in Word::ALL {
            for spelling in word.spellings() {
                match stands_alone(spelling) {
                    true => spelled.alone.entry(spelling).or_default().push(word),
                    false => spelled.anywhere.push((spelling, word)),
                }
            }
        }
        spelled
    })
}

fn stands_alone(spelling: &str) -> bool {
    spelling.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The vocabulary of a line, each word once: the line in lower case, and its words.
pub fn said(lower: &str, words: &[(String, Range<usize>)]) -> Vec<Word> {
    let spelled = spelled();
    let mut found: Vec<Word> =
        words.iter().filter_map(|(word, _)| spelled.alone.get(word.as_str())).flatten().copied().collect();
    let ascii = lower.is_ascii();
    for (spelling, word) in &spelled.anywhere {
        if (!ascii || spelling.is_ascii()) && !found.contains(word) && any(lower, &[], &[spelling]) {
            found.push(*word);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether a line has a word.
pub fn says(lower: &str, words: &[(String, Range<usize>)], word: Word) -> bool {
    any(lower, words, word.spellings())
}

/// Whether a line has one of some spellings.
pub(crate) fn any(lower: &str, words: &[(String, Range<usize>)], spellings: &[&str]) -> bool {
    spellings.iter().any(|spelling| match stands_alone(spelling) {
        true => words.iter().any(|(word, _)| word == spelling),
        // Short Cyrillic abbreviations stand alone as well.
        false if spelling.starts_with('в') && spelling.chars().count() == 2 => {
            lower.split(|letter: char| !letter.is_alphanumeric()).any(|part| part == *spelling)
        }
        false => begins_somewhere(lower, spelling),
    })
}

/// Whether a text has a spelling that no Latin letter or digit runs into: `257.2k rpm` has no `7.2k rpm`.
fn begins_somewhere(lower: &str, spelling: &str) -> bool {
    let inside = |before: char| before.is_ascii_alphanumeric() || before == '.';
    let free = |at: usize| !lower[..at].ends_with(inside) || !spelling.starts_with(inside);
    // Most lines of a hostile page are shorter than most spellings, and a search costs more than that to prepare.
    spelling.len() <= lower.len() && lower.match_indices(spelling).any(|(at, _)| free(at))
}

/// The same of a text alone.
pub fn text_says(text: &str, word: Word) -> bool {
    says(&text.to_lowercase(), &ratings::words(text), word)
}

/// The same of spellings.
pub(crate) fn text_has(text: &str, spellings: &[&str]) -> bool {
    any(&text.to_lowercase(), &ratings::words(text), spellings)
}
