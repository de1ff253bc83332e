use super::*;

fn only(text: &str) -> Clause {
    let found = clauses(&Page::new("p", text), &[]);
    assert_eq!(found.len(), 1, "{text}: {found:#?}");
    found.into_iter().next().unwrap()
}

#[test]
fn clauses_tell_what_they_are_about_and_how_they_put_it() {
    let page = Page::new("p", "存储虚拟化后,读性能损失约21.5%,写性能损失约18.4%");
    let found = clauses(&page, &[]);
    assert_eq!(found.len(), 2);
    assert!(found[0].topic.read && !found[0].topic.write && found[1].topic.write);
    assert_eq!(found[1].manner, Manner::Loss);
    assert_eq!(found[1].percents().next().unwrap().figure.value, 18.4);
    for (text, manner) in [
        ("The VM reaches 94 % of the host.", Manner::Share),
        ("Random reads are 20% faster there.", Manner::Gain),
        ("All results are within 2% of each other.", Manner::Within),
        ("результаты находятся в пределах 2% погрешности", Manner::Within),
        ("the measured error is +-5%", Manner::Within),
        ("the link is limited to 3500 MB/s", Manner::Limit),
        ("最高只支持大约 3500 MB/s 接口速率", Manner::Limit),
        ("在降级模式下比它高出 20 倍", Manner::Times),
        ("На чтении ВМ медленнее, чем хост, на 14 %.", Manner::Loss),
        ("На записи ВМ теряет 14 %.", Manner::Loss),
        ("Reads are slower than on the host, 14 % in all", Manner::Share),
    ] {
        assert_eq!(only(text).manner, manner, "{text}");
    }
    let sequential = only("4KB sequential reads lose 12 %");
    assert!(sequential.topic.sequential && sequential.topic.read && sequential.topic.size == Some(4096.0));
}

#[test]
fn counts_and_names_are_no_multiples() {
    for text in [
        "Writes are 3x faster there",
        "it is better, about 3.5x.",
        "reads went up by 3×",
        "which is 3 times as much",
        "and is slower by 3 times",
        "读性能是它的 3 倍",
        "это в 3 раза больше",
    ] {
        let found = clauses(&Page::new("p", text), &[]);
        assert!(found.iter().any(|one| one.manner == Manner::Times), "{text}: {found:?}");
    }
    for text in [
        "CPUs: 2 x Xeon Gold of 2.0 GHz",
        "it has 8x NVMe drives",
        "4 × 2 GiB of memory",
        "802.1x网络认证说明",
        "the queue ran over 667399 times",
    ] {
        let found = clauses(&Page::new("p", text), &[]);
        assert!(found.iter().all(|one| one.manner != Manner::Times), "{text}: {found:?}");
    }
}

#[test]
fn what_is_no_sentence_is_none() {
    for text in [
        "| a | 94% |",
        "    runtime 94% of it all",
        "fio -direct=1 -iodepth=32 --x 94%",
        "```\nreaches 94 % there\n```",
        "94%",
        "a=1 b=2 of 94 % x",
    ] {
        assert_eq!(clauses(&Page::new("p", text), &[]), [], "{text}");
    }
    let page = Page::new("p", "it has 5 % loss here\nit has 6 % loss here");
    assert_eq!(clauses(&page, std::slice::from_ref(&(0..1))).len(), 1);
}

#[test]
fn topics_cover_heads() {
    let write = topic("写性能");
    assert!(write.covers(&topic("写入 (Write)")) && !write.covers(&topic("读取 (Read)")));
    assert!(topic("random").covers(&topic("4K random read")));
    assert!(!topic("4KB sequential").covers(&topic("1MB sequential")));
    assert!(topic("anything").is_empty());
}
