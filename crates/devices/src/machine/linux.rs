//! Facts that Linux tells in `/proc` and `/sys`. Files that are absent or have another form tell
//! nothing.

use super::{Cache, CacheKind, NumaNode, Processor};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The processor that the files below `root` describe.
pub(super) fn processor(root: &Path) -> Processor {
    let cpus = numbered(&root.join("sys/devices/system/cpu"), "cpu");
    Processor {
        model: model(root),
        cores: cores(&cpus),
        caches: caches(&cpus),
        numa_nodes: numa_nodes(root),
    }
}

/// The text of a small file.
fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

/// The folders with a prefix and a number, in the order of numbers.
fn numbered(folder: &Path, prefix: &str) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let numbered = entries.filter_map(|entry| {
        let name = entry.file_name();
        let number = name.to_str()?.strip_prefix(prefix)?.parse().ok()?;
        Some((number, entry.path()))
    });
    let mut found: Vec<_> = numbered.collect();
    found.sort_unstable();
    found
}

fn model(root: &Path) -> Option<String> {
    let cpuinfo = text(&root.join("proc/cpuinfo"))?;
    let name = cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    })?;
    (!name.is_empty()).then_some(name)
}

/// Hardware threads of a core share one list of siblings.
fn cores(cpus: &[(u32, PathBuf)]) -> Option<usize> {
    let lists = cpus.iter();
    let lists = lists.filter_map(|(_, cpu)| text(&cpu.join("topology/thread_siblings_list")));
    let cores: BTreeSet<String> = lists.collect();
    (!cores.is_empty()).then_some(cores.len())
}

fn caches(cpus: &[(u32, PathBuf)]) -> Vec<Cache> {
    let mut sharers: BTreeMap<(u32, CacheKind, u64), BTreeSet<String>> = BTreeMap::new();
    for (_, cpu) in cpus {
        for (_, cache) in numbered(&cpu.join("cache"), "index") {
            if let Some((found, shared)) = one_cache(&cache) {
                sharers.entry(found).or_default().insert(shared);
            }
        }
    }
    let caches = sharers
        .into_iter()
        .map(|((level, kind, bytes), sharers)| Cache {
            level,
            kind,
            bytes,
            count: sharers.len(),
        });
    caches.collect()
}

/// A cache, and the processors that share it.
fn one_cache(folder: &Path) -> Option<((u32, CacheKind, u64), String)> {
    let read = |name| text(&folder.join(name));
    let kind = match read("type")?.as_str() {
        "Data" => CacheKind::Data,
        "Instruction" => CacheKind::Instruction,
        "Unified" => CacheKind::Unified,
        _ => return None,
    };
    let level = read("level")?.parse().ok()?;
    let bytes = size_bytes(&read("size")?)?;
    Some(((level, kind, bytes), read("shared_cpu_list")?))
}

/// `32K` and `8M` as bytes.
fn size_bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

fn numa_nodes(root: &Path) -> Vec<NumaNode> {
    let nodes = numbered(&root.join("sys/devices/system/node"), "node").into_iter();
    let nodes = nodes.filter_map(|(index, node)| {
        Some(NumaNode {
            index,
            cpus: text(&node.join("cpulist"))?,
            memory_bytes: node_bytes(&node),
        })
    });
    nodes.collect()
}

/// From `Node 0 MemTotal:  24684092 kB`.
fn node_bytes(node: &Path) -> Option<u64> {
    let meminfo = text(&node.join("meminfo"))?;
    let line = meminfo.lines().find(|line| line.contains("MemTotal:"))?;
    let mut words = line.rsplit(' ').filter(|word| !word.is_empty());
    match (words.next()?, words.next()?.parse::<u64>().ok()?) {
        ("kB", kilobytes) => kilobytes.checked_mul(1 << 10),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{Cache, CacheKind, NumaNode, Processor};
    use super::{processor, size_bytes};
    use std::fs;
    use std::path::Path;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    /// Four hardware threads of two cores, which share one cache of level 3, and two memory nodes.
    fn machine(root: &Path) {
        write(
            root,
            &[(
                "proc/cpuinfo",
                "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n",
            )],
        );
        for cpu in 0..4 {
            let own = format!("sys/devices/system/cpu/cpu{cpu}");
            let core = format!("{}-{}\n", cpu / 2 * 2, cpu / 2 * 2 + 1);
            let put = |path: &str, text: &str| write(root, &[(&format!("{own}/{path}"), text)]);
            put("topology/thread_siblings_list", &core);
            let caches = [
                ("Data", "1", "32K", core.as_str()),
                ("Unified", "3", "8M", "0-3"),
            ];
            for (index, (kind, level, size, shared)) in caches.into_iter().enumerate() {
                put(&format!("cache/index{index}/type"), kind);
                put(&format!("cache/index{index}/level"), level);
                put(&format!("cache/index{index}/size"), size);
                put(&format!("cache/index{index}/shared_cpu_list"), shared);
            }
        }
        for node in 0..2 {
            let own = format!("sys/devices/system/node/node{node}");
            let total = format!("Node {node} MemTotal:       1024 kB\nNode {node} MemFree: 1 kB\n");
            let cpus = format!("{}-{}\n", 2 * node, 2 * node + 1);
            write(
                root,
                &[
                    (&format!("{own}/cpulist"), &cpus),
                    (&format!("{own}/meminfo"), &total),
                ],
            );
        }
    }

    #[test]
    fn caches_that_are_shared_count_once() {
        let folder = tempfile::tempdir().unwrap();
        machine(folder.path());
        let found = processor(folder.path());
        let cache = |level, kind, bytes, count| Cache {
            level,
            kind,
            bytes,
            count,
        };
        let caches = [
            cache(1, CacheKind::Data, 32 << 10, 2),
            cache(3, CacheKind::Unified, 8 << 20, 1),
        ];
        assert_eq!(found.caches, caches);
        assert_eq!(
            (found.model.as_deref(), found.cores),
            (Some("Some CPU @ 2 GHz"), Some(2))
        );
        let node = |index, cpus: &str| NumaNode {
            index,
            cpus: cpus.to_owned(),
            memory_bytes: Some(1 << 20),
        };
        assert_eq!(found.numa_nodes, [node(0, "0-1"), node(1, "2-3")]);
    }

    #[test]
    fn files_of_another_form_tell_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(processor(folder.path()), Processor::default());
        let cache = "sys/devices/system/cpu/cpu0/cache/index0";
        write(
            folder.path(),
            &[
                ("proc/cpuinfo", "model name:\n"),
                (&format!("{cache}/type"), "Odd"),
            ],
        );
        assert_eq!(processor(folder.path()), Processor::default());
    }

    #[test]
    fn sizes_have_units() {
        let sizes = [
            "7",
            "32K",
            "8M",
            "1G",
            "K",
            "1T",
            "-1K",
            "99999999999999999999",
            "",
        ];
        let bytes = [Some(7), Some(32 << 10), Some(8 << 20), Some(1 << 30)];
        let found: Vec<Option<u64>> = sizes.iter().map(|text| size_bytes(text)).collect();
        assert_eq!(found[..4], bytes);
        assert_eq!(found[4..], [None; 5]);
    }
}
