//! Sentences of our own, in three languages, that documents are written with.

use super::draft::{Form, Tongue};
use super::random::Random;

/// Names of two to four systems, the base first.
pub fn systems(tongue: Tongue, random: &mut Random) -> Vec<&'static str> {
    let choices: &[&[&str]] = match tongue {
        Tongue::En => &[
            &["host", "VM", "container"],
            &["bare metal", "guest", "nested guest"],
            &["DirectPath", "pvscsi", "IDE"],
            &["native", "virtio", "emulated"],
            &["Proxmox", "ESXi", "Hyper-V"],
        ],
        Tongue::Zh => &[
            &["物理机", "虚拟机", "容器"],
            &["裸机", "云主机", "嵌套主机"],
            &["直通", "半虚拟化", "全虚拟化"],
        ],
        Tongue::Ru => {
            &[&["хост", "ВМ", "контейнер"], &["железо", "гость", "вложенный гость"], &["mdadm", "LVM", "ZFS"]]
        }
    };
    random.pick(choices).to_vec()
}

/// `4k`, `1M`.
pub fn size(bs: u64, capital: bool) -> String {
    match (bs, capital) {
        (bs, _) if bs >= 1 << 20 => format!("{}M", bs >> 20),
        (bs, true) => format!("{}K", bs >> 10),
        (bs, false) => format!("{}k", bs >> 10),
    }
}

/// A load as a label has it: `4k random read`.
pub fn label(tongue: Tongue, rw: &str, bs: u64, style: usize) -> String {
    let size = size(bs, style % 2 == 1);
    match (tongue, style / 2) {
        (_, 2) => format!("{rw} {size}"),
        (Tongue::Zh, _) => format!("{size} {}", plain(tongue, rw)),
        (Tongue::Ru, 0) => format!("{} {size}", plain(tongue, rw)),
        (Tongue::Ru, _) => format!("{size} {}", plain(tongue, rw)),
        (Tongue::En, 0) => format!("{size} {}", plain(tongue, rw)),
        (Tongue::En, _) => format!("{} ({size})", plain(tongue, rw)),
    }
}

/// Styles of labels.
pub const LABELS: usize = 6;

/// `random read`.
pub fn plain(tongue: Tongue, rw: &str) -> &'static str {
    match (tongue, rw) {
        (Tongue::En, "randread") => "random read",
        (Tongue::En, "randwrite") => "random write",
        (Tongue::En, "read") => "sequential read",
        (Tongue::En, _) => "sequential write",
        (Tongue::Zh, "randread") => "随机读",
        (Tongue::Zh, "randwrite") => "随机写",
        (Tongue::Zh, "read") => "顺序读",
        (Tongue::Zh, _) => "顺序写",
        (Tongue::Ru, "randread") => "случайное чтение",
        (Tongue::Ru, "randwrite") => "случайная запись",
        (Tongue::Ru, "read") => "последовательное чтение",
        (Tongue::Ru, _) => "последовательная запись",
    }
}

/// A load as a sentence has it.
pub fn topic(tongue: Tongue, rw: &str, bs: u64) -> String {
    let size = size(bs, false);
    match (tongue, rw) {
        (Tongue::En, _) => format!("{size} {}s", plain(tongue, rw)),
        (Tongue::Zh, _) => format!("{size} {}", plain(tongue, rw)),
        (Tongue::Ru, "randread") => format!("случайном чтении {size}"),
        (Tongue::Ru, "randwrite") => format!("случайной записи {size}"),
        (Tongue::Ru, "read") => format!("последовательном чтении {size}"),
        (Tongue::Ru, _) => format!("последовательной записи {size}"),
    }
}

/// `VM / host`, `overhead ((host - VM) / host)`.
pub fn ratio_head(tongue: Tongue, form: Form, name: &str, base: &str, random: &mut Random) -> String {
    let choices = match (form, tongue) {
        (Form::Share, _) => vec![format!("{name}/{base}"), format!("{name} / {base}")],
        (Form::Loss, Tongue::En) => {
            vec![format!("overhead ({base} - {name})/{base}"), format!("loss, ({base}-{name})/{base}")]
        }
        (Form::Loss, Tongue::Zh) => {
            vec![format!("开销（{base}-{name}）/{base}"), format!("性能损失 ({base}-{name})/{base}")]
        }
        (Form::Loss, Tongue::Ru) => vec![format!("потери ({base} - {name})/{base}")],
        (Form::Gain, Tongue::En) => vec![format!("gain {name}/{base} - 1")],
        (Form::Gain, Tongue::Zh) => vec![format!("提升 {name}/{base} - 1")],
        (Form::Gain, Tongue::Ru) => vec![format!("прирост {name}/{base} - 1")],
    };
    random.pick(&choices).clone()
}

/// A ratio in a sentence; `p` is its mark.
pub fn said(
    tongue: Tongue,
    form: Form,
    [name, base]: [&str; 2],
    topic: &str,
    p: &str,
    random: &mut Random,
) -> String {
    let choices = match (tongue, form) {
        (Tongue::En, Form::Share) => vec![
            format!("The {name} reaches {p} of the {base} in {topic}."),
            format!("In {topic} the {name} gets {p} of what the {base} does."),
        ],
        (Tongue::En, Form::Loss) => vec![
            format!("The {name} loses {p} of {topic} against the {base}."),
            format!("{topic} are {p} slower on the {name} than on the {base}."),
        ],
        (Tongue::En, Form::Gain) => vec![format!("{topic} are {p} faster on the {name} than on the {base}.")],
        (Tongue::Zh, Form::Share) => vec![format!("{name}的{topic}性能达到{base}的 {p}。")],
        (Tongue::Zh, Form::Loss) => {
            vec![
                format!("{name}的{topic}性能比{base}下降 {p}。"),
                format!("与{base}相比，{name}的{topic}损失 {p}。"),
            ]
        }
        (Tongue::Zh, Form::Gain) => vec![format!("{name}的{topic}性能比{base}提升 {p}。")],
        (Tongue::Ru, Form::Share) => vec![format!("На {topic} {name} даёт {p} от показателя {base}.")],
        (Tongue::Ru, Form::Loss) => vec![
            format!("На {topic} {name} теряет {p} по сравнению с {base}."),
            format!("На {topic} {name} медленнее, чем {base}, на {p}."),
        ],
        (Tongue::Ru, Form::Gain) => vec![format!("На {topic} {name} быстрее, чем {base}, на {p}.")],
    };
    let text = random.pick(&choices);
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Two columns no more than so much apart.
pub fn within(tongue: Tongue, [name, base]: [&str; 2], p: &str) -> String {
    match tongue {
        Tongue::En => format!("The {name} and the {base} are within {p} of each other:"),
        Tongue::Zh => format!("{name}与{base}的差距在 {p} 以内："),
        Tongue::Ru => format!("Результаты {name} и {base} совпадают в пределах {p}:"),
    }
}

/// A loss of about so much in all cells.
pub fn about(tongue: Tongue, base: &str, topic: &str, p: &str) -> String {
    match tongue {
        Tongue::En => format!("Compared with the {base}, {topic} lose about {p}."),
        Tongue::Zh => format!("与{base}相比，{topic}损失约 {p}。"),
        Tongue::Ru => format!("По сравнению с {base} {topic} теряет около {p}."),
    }
}

/// What a setting does to a way.
pub fn improves(tongue: Tongue, way: &str) -> String {
    match (tongue, way) {
        (Tongue::En, _) => format!("The writeback cache speeds up {way}s."),
        (Tongue::Zh, "read") => "writeback 缓存提升读性能。".into(),
        (Tongue::Zh, _) => "writeback 缓存提升写性能。".into(),
        (Tongue::Ru, "read") => "Режим writeback ускоряет чтение.".into(),
        (Tongue::Ru, _) => "Режим writeback ускоряет запись.".into(),
    }
}

/// The error of the measurement.
pub fn margin(tongue: Tongue, p: &str, again: bool) -> String {
    match (tongue, again) {
        (Tongue::En, false) => format!("The margin of error of these runs is {p}."),
        (Tongue::En, true) => format!("Differences below the margin of error ({p}) are not counted."),
        (Tongue::Zh, false) => format!("测试误差在 {p} 以内。"),
        (Tongue::Zh, true) => format!("误差 {p} 以内的差异忽略不计。"),
        (Tongue::Ru, false) => format!("Погрешность измерений составляет {p}."),
        (Tongue::Ru, true) => format!("Разница в пределах погрешности ({p}) не учитывается."),
    }
}

/// How figures spread.
pub fn spread(tongue: Tongue) -> &'static str {
    match tongue {
        Tongue::En => "Every figure is the median of five runs; their standard deviation stays below 2 %.",
        Tongue::Zh => "每项测试五次取中位数，标准差低于 2%。",
        Tongue::Ru => "Каждое значение - медиана пяти прогонов, стандартное отклонение ниже 2 %.",
    }
}

/// How the drive was prepared.
pub fn prepared(tongue: Tongue) -> &'static str {
    match tongue {
        Tongue::En => "The NVMe drive was preconditioned: filled twice before the first run.",
        Tongue::Zh => "NVMe 固态盘在测试前做了预处理，顺序写满两遍。",
        Tongue::Ru => "NVMe SSD перед тестами был дважды заполнен полностью.",
    }
}

/// By what hosts are connected.
pub fn network(tongue: Tongue, gigabits: u32) -> String {
    match tongue {
        Tongue::En => format!("The hosts are connected by {gigabits}GbE."),
        Tongue::Zh => format!("主机之间通过 {gigabits}GbE 网络连接。"),
        Tongue::Ru => format!("Узлы соединены сетью {gigabits}GbE."),
    }
}

/// What the drives are not.
pub fn spinning(tongue: Tongue) -> &'static str {
    match tongue {
        Tongue::En => "The drives are four 7200 rpm hard disks.",
        Tongue::Zh => "存储为四块 7200 rpm 机械硬盘。",
        Tongue::Ru => "Хранилище - четыре жёстких диска 7200 rpm.",
    }
}

/// The best of several.
pub fn best(tongue: Tongue) -> &'static str {
    match tongue {
        Tongue::En => "We show the best of three runs.",
        Tongue::Zh => "每项测试三次，取最好成绩。",
        Tongue::Ru => "Показан лучший из трёх прогонов.",
    }
}

/// What pages say of machines and methods, with figures that are no results.
pub fn noise(tongue: Tongue) -> &'static [&'static str] {
    match tongue {
        Tongue::En => &[
            "The machine has two sockets with 12 cores each at 2.50GHz and 256 GB of memory.",
            "Kernel 5.10.0-28, QEMU 7.2, fio 3.33; measured on 2023-11-18 between 09:30 and 17:45.",
            "Each run took 60 s; iodepth and block size are given with every result.",
            "The VM has 8 vCPUs, 16 GiB of memory and a disk of 100 GB.",
            "A reader asked why 4k is used: databases issue 8k and 16k, but 4k shows the path best.",
            "The switch carries 100 Gbit/s, far above what is needed here.",
            "Hyper-threading is off, mitigations are on, the governor is performance.",
            "1. Install the tools. 2. Create the disk. 3. Run each job for 60 seconds.",
            "It took about 3 hours in all, of which 20 minutes were spent on installing.",
            "Prices rose by 12 % since last year, which is why we use older drives.",
        ],
        Tongue::Zh => &[
            "服务器为双路 12 核处理器，主频 2.50GHz，内存 256GB。",
            "内核 5.10.0-28，QEMU 7.2，fio 3.33，测试日期 2023-11-18。",
            "每项测试运行 60 秒，队列深度和块大小见各项结果。",
            "虚拟机配置 8 核 16GB 内存，数据盘 100GB。",
            "交换机为 100Gbps，远高于测试需要。",
            "超线程关闭，调频策略为 performance。",
            "全部测试耗时约 3 小时，其中安装 20 分钟。",
            "硬盘价格比去年上涨了 12%，因此沿用旧盘。",
        ],
        Tongue::Ru => &[
            "Сервер: два процессора по 12 ядер, 2,50 ГГц, 256 ГБ памяти.",
            "Ядро 5.10.0-28, QEMU 7.2, fio 3.33; тесты проводились 18.11.2023.",
            "Каждый тест длился 60 секунд, глубина очереди указана у результата.",
            "ВМ: 8 vCPU, 16 ГБ памяти, диск 100 ГБ.",
            "Коммутатор на 100 Гбит/с, этого хватает с запасом.",
            "Hyper-Threading выключен, режим питания - максимальная производительность.",
            "Всё вместе заняло около 3 часов, из них 20 минут - установка.",
            "Диски подорожали на 12 % за год, поэтому взяты старые.",
        ],
    }
}

/// A heading.
pub fn heading(tongue: Tongue, at: usize) -> &'static str {
    let of: &[&str] = match tongue {
        Tongue::En => &["Set-up", "Results", "Raw output", "Conclusion"],
        Tongue::Zh => &["测试环境", "测试结果", "原始输出", "结论"],
        Tongue::Ru => &["Стенд", "Результаты", "Вывод программ", "Выводы"],
    };
    of[at % of.len()]
}
