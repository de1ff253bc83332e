//! Settings that a page lists of its systems: `OS: CentOS 7.9`, `内核：3.10.0`, under a line that names whose they are.

use crate::knowledge::mentions::heading;
use crate::page::Spot;
use crate::rule::Evidence;

/// What a setting is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Os,
    Kernel,
    Cpu,
    Memory,
    VirtualCpus,
    Cache,
    Chunk,
    Engine,
    Mitigations,
    Driver,
}

impl Key {
    /// Its word in messages.
    pub fn word(self) -> &'static str {
        match self {
            Key::Os => "operating system",
            Key::Kernel => "kernel",
            Key::Cpu => "CPU",
            Key::Memory => "memory",
            Key::VirtualCpus => "vCPUs",
            Key::Cache => "cache mode",
            Key::Chunk => "chunk size",
            Key::Engine => "I/O engine",
            Key::Mitigations => "mitigations",
            Key::Driver => "driver",
        }
    }

    fn of(text: &str) -> Option<Key> {
        const NAMES: &[(Key, &[&str])] = &[
            (
                Key::Os,
                &[
                    "os",
                    "operating system",
                    "guest os",
                    "distribution",
                    "操作系统",
                    "ос",
                    "операционная система",
                ],
            ),
            (
                Key::Kernel,
                &["kernel", "kernel version", "linux kernel", "内核", "内核版本", "ядро", "версия ядра"],
            ),
            (Key::Cpu, &["cpu", "processor", "cpus", "处理器", "процессор"]),
            (Key::Memory, &["ram", "memory", "内存", "озу", "память"]),
            (Key::VirtualCpus, &["vcpu", "vcpus"]),
            (Key::Cache, &["cache mode", "disk cache", "缓存模式", "режим кэша", "режим кеширования"]),
            (Key::Chunk, &["chunk", "chunk size", "stripe size", "strip size", "stripe unit", "条带大小"]),
            (Key::Engine, &["ioengine", "i/o engine", "io engine"]),
            (Key::Mitigations, &["mitigations"]),
            (Key::Driver, &["driver", "nvme driver", "驱动", "驱动版本", "драйвер"]),
        ];
        let lower = text.trim().to_lowercase();
        NAMES.iter().find(|(_, names)| names.contains(&lower.as_str())).map(|(key, _)| *key)
    }
}

/// One setting.
pub(super) struct Setting<'a> {
    pub key: Key,
    pub value: &'a str,
    pub spot: Spot,
}

/// Settings that stand together.
pub(super) struct Block<'a> {
    /// Whose they are: the line above them.
    pub head: &'a str,
    /// Index of the heading over them, in lines.
    pub section: Option<usize>,
    /// In their order.
    pub settings: Vec<Setting<'a>>,
}

impl Block<'_> {
    /// Its setting of a kind, where it has one only.
    pub fn get(&self, key: Key) -> Option<&Setting<'_>> {
        let mut found = self.settings.iter().filter(|setting| setting.key == key);
        found.next().filter(|_| found.next().is_none())
    }
}

/// Longer lines are sentences.
const LONGEST: usize = 200;
/// More blocks are no list of systems.
const MOST: usize = 200;

/// Every block of a page, outside outputs and tables.
pub(super) fn blocks<'a>(evidence: &Evidence<'a>) -> Vec<Block<'a>> {
    let page = evidence.page;
    let mut blocks: Vec<Block> = Vec::new();
    let (mut head, mut section, mut open) = ("", None, false);
    let mut before = 0;
    for line in evidence.text_lines() {
        let text = page.line(line);
        // What stands between is of an output or a table.
        open &= line == before;
        before = line + 1;
        if text.trim().is_empty() {
            continue;
        }
        let pair = of_line(text, line).filter(|_| text.len() <= LONGEST);
        match pair {
            Some(Some(setting)) => {
                if !open {
                    blocks.push(Block { head, section, settings: Vec::new() });
                    open = true;
                }
                if let Some(block) = blocks.last_mut().filter(|block| block.settings.len() < 50) {
                    block.settings.push(setting);
                }
            }
            // Other settings stand among them.
            Some(None) if open => {}
            _ => {
                open = false;
                if text.len() <= LONGEST {
                    head = text.trim();
                } else {
                    head = "";
                }
                if heading(text).is_some() && text.trim_start().starts_with('#') {
                    section = Some(line);
                }
            }
        }
        if blocks.len() > MOST {
            return Vec::new();
        }
    }
    blocks
}

/// The setting of a line: `None` in it of one that is not known.
fn of_line(text: &str, line: usize) -> Option<Option<Setting<'_>>> {
    let start = text.len() - text.trim_start_matches([' ', '\t', '-', '*', '•', '·']).len();
    let bare = &text[start..];
    let (at, sign) = bare.char_indices().find(|(_, letter)| matches!(letter, ':' | '：'))?;
    let value = bare[at + sign.len_utf8()..].trim();
    if value.is_empty() || at > 40 {
        return None;
    }
    let from = text.len() - text[start + at + sign.len_utf8()..].trim_start().len();
    let spot = Spot::new(line, from..from + value.len());
    Some(Key::of(&bare[..at]).map(|key| Setting { key, value, spot }))
}
