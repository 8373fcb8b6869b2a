//! Programs of several threads: the verifier's findings on small random programs against all orders
//! in which their steps can run, and defects planted in a valid program.
#![allow(clippy::expect_used, clippy::panic)]

use cloakwork_ir::{Finding, Severity, text};
use cloakwork_testing::{Source, execute, inputs};
use cloakwork_verify::{Verification, verify};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

fn verified(program: &str) -> Verification {
    let parsed = text::parse(program).unwrap_or_else(|error| panic!("{error}\n{program}"));
    verify(Arc::new(parsed))
}

fn rules(findings: &[Finding]) -> Vec<&'static str> {
    let errors = findings.iter().filter(|f| f.severity == Severity::Error);
    errors.filter_map(Finding::rule).collect()
}

/// One entry of a random program.
#[derive(Clone, Copy, Debug)]
enum Entry {
    /// Copies two elements of one tensor to another: tensors and first elements.
    Copy {
        from: (usize, usize),
        to: (usize, usize),
        queued: bool,
    },
    Record {
        event: usize,
        queued: bool,
    },
    Wait {
        event: usize,
        queued: bool,
    },
    Fork(usize),
    Join(usize),
}

impl Entry {
    fn is_queued(&self) -> bool {
        match self {
            Self::Copy { queued, .. } | Self::Record { queued, .. } | Self::Wait { queued, .. } => {
                *queued
            }
            Self::Fork(_) | Self::Join(_) => false,
        }
    }
}

const TENSORS: usize = 3;
const EVENTS: usize = 4;

/// The entries of each thread, the main one first; only the main thread queues.
fn random(dice: &mut Source) -> Vec<Vec<Entry>> {
    let threads = 1 + dice.below(3);
    let mut recorded = [false; EVENTS];
    let mut lists: Vec<Vec<Entry>> = Vec::new();
    for thread in 0..threads {
        let mut list: Vec<Entry> = Vec::new();
        for _ in 0..1 + dice.below(4) {
            let queued = thread == 0 && dice.below(3) == 0;
            let place = |dice: &mut Source| (dice.below(TENSORS), dice.below(3));
            let event = dice.below(EVENTS);
            list.push(match dice.below(4) {
                0 if !recorded[event] => {
                    recorded[event] = true;
                    Entry::Record { event, queued }
                }
                0 | 1 => Entry::Wait { event, queued },
                _ => {
                    let from = place(dice);
                    let mut to = place(dice);
                    if to.0 == from.0 {
                        to.0 = (to.0 + 1) % TENSORS;
                    }
                    Entry::Copy { from, to, queued }
                }
            });
        }
        lists.push(list);
    }
    for child in 1..threads {
        let parent = dice.below(child);
        let fork = dice.below(lists[parent].len() + 1);
        lists[parent].insert(fork, Entry::Fork(child));
        let join = fork + 1 + dice.below(lists[parent].len() - fork);
        let join = join.min(lists[parent].len());
        lists[parent].insert(join, Entry::Join(child));
    }
    for list in &mut lists {
        list.retain(|entry| !matches!(entry, Entry::Wait { event, .. } if !recorded[*event]));
    }
    lists
}

fn text_of(lists: &[Vec<Entry>]) -> String {
    let mut text = String::from("registers\nstream \"s\" at \"cpu\"\n");
    for event in 0..EVENTS {
        let queued = lists
            .iter()
            .flatten()
            .any(|entry| matches!(entry, Entry::Record { event: e, queued: true } if *e == event));
        let place = if queued { " at \"cpu\"" } else { "" };
        text += &format!("event \"e{event}\"{place}\n");
    }
    for tensor in 0..TENSORS {
        let first = 10 * (tensor + 1);
        let elements: Vec<String> = (first..first + 4).map(|n| n.to_string()).collect();
        let elements = elements.join(", ");
        text += &format!("%x{tensor} = host_to_device i64[4] {{{elements}}}\n");
        text += &format!("%t{tensor} = empty [4], i64\ncopy %x{tensor}, %t{tensor}\n");
        for start in 0..3 {
            let end = start + 2;
            text += &format!("%t{tensor}.{start} = get_slice %t{tensor}, [{start}:{end}:1]\n");
        }
    }
    for (number, list) in lists.iter().enumerate() {
        if number > 0 {
            text += &format!("thread \"{number}\" {{\n");
        }
        for entry in list {
            let on = |queued: &bool| if *queued { " on \"s\"" } else { "" };
            text += &match entry {
                Entry::Copy { from, to, queued } => {
                    let ((a, i), (b, j)) = (from, to);
                    format!("copy %t{a}.{i}, %t{b}.{j}{}\n", on(queued))
                }
                Entry::Record { event, queued } => format!("record \"e{event}\"{}\n", on(queued)),
                Entry::Wait { event, queued } => format!("wait \"e{event}\"{}\n", on(queued)),
                Entry::Fork(thread) => format!("fork \"{thread}\"\n"),
                Entry::Join(thread) => format!("join \"{thread}\"\n"),
            };
        }
        if number > 0 {
            text += "}\n";
        } else {
            // All queued work is done before tensors are downloaded.
            text += "record \"end\" on \"s\"\nwait \"end\"\n";
            for tensor in 0..TENSORS {
                text += &format!("device_to_host %t{tensor}, none -> output \"t{tensor}\"\n");
                text += &format!("free %t{tensor}\n");
            }
        }
    }
    text.replacen("event \"e0\"", "event \"end\" at \"cpu\"\nevent \"e0\"", 1)
}

/// All orders of a program's nodes, as pairs of which either may come first.
struct Orders {
    nodes: Vec<(Entry, bool)>,
    /// Nodes that must run before each node, as bits.
    before: Vec<u64>,
    /// Bit j of entry i: node i may run before node j.
    first: Vec<u64>,
    seen: HashSet<u64>,
    ends: bool,
}

impl Orders {
    /// The nodes: each entry, and for queued ones also the stream's part.
    fn of(lists: &[Vec<Entry>]) -> Self {
        let mut nodes: Vec<(Entry, bool)> = Vec::new();
        let mut before: Vec<u64> = Vec::new();
        let mut edges: HashMap<usize, (Option<u64>, Option<u64>)> = HashMap::new();
        let mut on_stream: Option<usize> = None;
        for (thread, list) in lists.iter().enumerate() {
            let mut last: Option<usize> = None;
            for entry in list {
                let queued = entry.is_queued();
                let host = nodes.len();
                nodes.push((*entry, !queued));
                before.push(last.map_or(0, |last| 1 << last));
                edges
                    .entry(thread)
                    .or_default()
                    .0
                    .get_or_insert(host as u64);
                edges.entry(thread).or_default().1 = Some(host as u64);
                last = Some(host);
                if queued {
                    nodes.push((*entry, true));
                    before.push(1 << host | on_stream.map_or(0, |last| 1 << last));
                    on_stream = Some(host + 1);
                }
            }
        }
        let does = |wanted: usize| {
            nodes.iter().position(|(entry, acts)| match entry {
                Entry::Record { event, .. } => *event == wanted && *acts,
                _ => false,
            })
        };
        for (node, (entry, acts)) in nodes.iter().enumerate() {
            match entry {
                Entry::Wait { event, .. } if *acts => {
                    before[node] |= 1 << does(*event).expect("waits are for recorded events");
                }
                Entry::Fork(child) => {
                    if let Some((Some(first), _)) = edges.get(child) {
                        before[*first as usize] |= 1 << node;
                    }
                }
                Entry::Join(child) => match edges.get(child) {
                    Some((_, Some(last))) => before[node] |= 1 << last,
                    _ => {
                        let fork = |(entry, _): &(Entry, bool)| match entry {
                            Entry::Fork(other) => other == child,
                            _ => false,
                        };
                        let fork = nodes.iter().position(fork).expect("every thread is forked");
                        before[node] |= 1 << fork;
                    }
                },
                _ => {}
            }
        }
        let count = nodes.len();
        assert!(count < 64);
        let mut orders = Self {
            nodes,
            before,
            first: vec![0; count],
            seen: HashSet::new(),
            ends: false,
        };
        orders.explore(0);
        orders
    }

    fn explore(&mut self, done: u64) {
        if !self.seen.insert(done) {
            return;
        }
        let all = (1u64 << self.nodes.len()) - 1;
        self.ends |= done == all;
        for node in 0..self.nodes.len() {
            let is_ready = done >> node & 1 == 0 && self.before[node] & !done == 0;
            if is_ready {
                self.first[node] |= all & !done & !(1 << node);
                self.explore(done | 1 << node);
            }
        }
    }

    /// Whether two nodes that share an element, one of them writing, can run in either order.
    fn races(&self) -> bool {
        let touches = |node: usize| match self.nodes[node] {
            (Entry::Copy { from, to, .. }, true) => Some((from, to)),
            _ => None,
        };
        let meet = |a: (usize, usize), b: (usize, usize)| a.0 == b.0 && a.1.abs_diff(b.1) < 2;
        let count = self.nodes.len();
        (0..count).any(|i| {
            (0..i).any(|j| {
                let (Some((read, write)), Some((other_read, other_write))) =
                    (touches(i), touches(j))
                else {
                    return false;
                };
                let conflict =
                    meet(write, other_write) || meet(write, other_read) || meet(read, other_write);
                let either = self.first[i] >> j & 1 == 1 && self.first[j] >> i & 1 == 1;
                conflict && either
            })
        })
    }

    /// The tensors after one of the orders.
    fn outcome(&self, dice: &mut Source) -> Vec<i64> {
        let mut tensors: Vec<[i64; 4]> = (0..TENSORS as i64)
            .map(|t| std::array::from_fn(|i| 10 * (t + 1) + i as i64))
            .collect();
        let mut done = 0u64;
        while done.count_ones() < self.nodes.len() as u32 {
            let ready: Vec<usize> = (0..self.nodes.len())
                .filter(|&n| done >> n & 1 == 0 && self.before[n] & !done == 0)
                .collect();
            let node = ready[dice.below(ready.len())];
            done |= 1 << node;
            if let (Entry::Copy { from, to, .. }, true) = self.nodes[node] {
                for i in 0..2 {
                    tensors[to.0][to.1 + i] = tensors[from.0][from.1 + i];
                }
            }
        }
        tensors.concat()
    }
}

#[test]
fn random_programs_race_and_stop_as_all_their_orders_say() {
    let mut counts = [0; 3];
    for seed in 1..4000u64 {
        let mut dice = Source::from_seed(seed);
        let lists = random(&mut dice);
        let nodes: usize = lists.iter().map(Vec::len).sum();
        if nodes > 14 {
            continue;
        }
        let program = text_of(&lists);
        let orders = Orders::of(&lists);
        let verification = verified(&program);
        let found = rules(&verification.findings);
        let context = || format!("seed {seed}: {:?}\n{program}", verification.findings);
        if !orders.ends {
            counts[0] += 1;
            assert!(found.contains(&"V14"), "{}", context());
            continue;
        }
        assert!(!found.contains(&"V14"), "{}", context());
        if orders.races() {
            counts[1] += 1;
            assert!(found.contains(&"V15"), "{}", context());
            continue;
        }
        counts[2] += 1;
        assert!(verification.verified.is_some(), "{}", context());
        let Some(verified) = verification.verified.map(Arc::new) else {
            continue;
        };
        let outcome = execute(&verified, &inputs(verified.program(), |i| i as i64));
        let outcome = outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{program}"));
        let tensors = outcome.outputs.iter().map(|output| output.tensor.words());
        let got: Vec<i64> = tensors.flatten().collect();
        assert_eq!(got, orders.outcome(&mut dice), "seed {seed}\n{program}");
    }
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}

const SOUND: &str = r#"registers
stream "s" at "gpu:0"
event "up" at "gpu:0"
event "down" at "gpu:0"
event "half"
%x = host_to_device i64[4] {1, 2, 3, 4}
%a = empty [4], i64
copy %x, %a
%g = empty [4], i64 at "gpu:0"
copy %a, %g on "s"
record "up" on "s"
fork "t"
%b = empty [4], i64
wait "half"
segment "sum" {
_modsum_ttc %half, %half, 17, %b
}
join "t"
wait "up"
copy %g, %a on "s"
record "down" on "s"
wait "down"
device_to_host %a, none -> output "a"
device_to_host %b, none -> output "b"
free %a
free %b
free %g
free %half
thread "t" {
%half = empty [4], i64
%view = get_slice %x, [0:4:1]
copy %view, %half
forget %view
record "half"
}
"#;

/// A text, its replacement, and the rule that this breaks.
const PLANTED: &[(&str, &str, &str)] = &[
    ("copy %x, %a\n", "copi %x, %a\n", "V07"),
    ("copy %x, %a\n", "copy %x, %lost\n", "V02"),
    ("copy %x, %a\n", "", "V02"),
    ("wait \"half\"\n", "", "V02"),
    (
        "%b = empty [4], i64\n",
        "%b = empty [4], i64\n%b = empty [4], i64\n",
        "V03",
    ),
    (
        "free %half\n",
        "free %half\ndevice_to_host %half, none -> output \"h\"\n",
        "V04",
    ),
    ("join \"t\"\n", "free %half\njoin \"t\"\n", "V05"),
    ("free %b\n", "free %b\nfree %b\n", "V05"),
    ("free %g\n", "free %g\nfree %x\n", "V05"),
    ("copy %x, %a\n", "copy %x, %a\ncopy %a, %x\n", "V05"),
    ("free %g\n", "", "V06"),
    (
        "_modsum_ttc %half, %half, 17, %b",
        "_modsum_ttc %half, %half, %b, %b",
        "V07",
    ),
    ("%b = empty [4], i64\n", "%b = empty [5], i64\n", "V07"),
    ("17, %b", "17, %g", "V08"),
    (
        "copy %a, %g on \"s\"",
        "_modsum_ttc %g, %g, 17, %g on \"q\"",
        "V08",
    ),
    (
        "copy %view, %half",
        "%odd = get_slice %half, [0:3:1]\n%even = get_slice %half, [1:4:1]\ncopy %odd, %even",
        "V09",
    ),
    ("[0:4:1]", "[0:5:1]", "V10"),
    (
        "record \"half\"\n",
        "record \"half\"\nrecord \"half\"\n",
        "V12",
    ),
    ("record \"down\" on \"s\"\n", "", "V12"),
    ("join \"t\"\n", "", "V13"),
    ("fork \"t\"\n", "fork \"t\"\nfork \"t\"\n", "V13"),
    (
        "%half = empty [4], i64\n",
        "wait \"down\"\n%half = empty [4], i64\n",
        "V14",
    ),
    ("wait \"down\"\n", "", "V15"),
    ("copy %view, %half", "copy %view, %half\ncopy %x, %a", "V15"),
    ("output \"b\"", "output \"a\"", "V18"),
    (
        "segment \"sum\" {",
        "segment_start \"sum\"\nsegment_start \"sum\"",
        "V20",
    ),
];

#[test]
fn a_planted_defect_is_found_under_its_own_rule() {
    let clean = verified(SOUND);
    assert!(clean.findings.is_empty(), "{:?}", clean.findings);
    for (from, to, rule) in PLANTED {
        assert_eq!(SOUND.matches(from).count(), 1, "{from}");
        let mut program = SOUND.replacen(from, to, 1);
        if *rule == "V20" {
            program = program.replacen("\n}\njoin", "\nsegment_end\njoin", 1);
        }
        let verification = verified(&program);
        let found = rules(&verification.findings);
        assert!(
            found.contains(rule),
            "{rule}: {from:?} -> {to:?}: {:?}",
            verification.findings
        );
        assert!(verification.verified.is_none());
        for finding in &verification.findings {
            assert!(
                !finding.hint.is_empty() || finding.severity == Severity::Warning,
                "{finding}"
            );
        }
    }
}
