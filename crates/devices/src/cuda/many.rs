//! Launches of a segment that run as one: independent ones of the same function.
//!
//! Nodes have levels, by the grids on the longest way to them. Those of a level do not depend on
//! one another, and one grid of all that call the same function lets nothing begin a level later.

use super::api::{Address, Failure};
use super::gpu::Gpu;
use super::kernels::{DeviceLaunch, Grid, Member, WORDS};
use super::launch::Packed;
use super::own::pointer;
use std::collections::BTreeMap;
use std::ffi::c_char;

/// Members of a grid, whose first blocks its launch lists.
const MOST_MEMBERS: usize = 256;
const _: () = assert!(MOST_MEMBERS <= WORDS);
/// `gridDim.x`.
const MOST_BLOCKS: u64 = i32::MAX as u64;

/// Properties in which launches that run together agree: the functions of their grids for many, and
/// the threads of a block.
pub type Kind = Vec<(*const c_char, u32)>;

/// A node before launches are gathered.
pub struct Alone {
    /// Grids after one another; none for a join.
    pub grids: u32,
    /// Its kind if it can run with others, and the most blocks of its grids.
    pub kind: Option<(Kind, u64)>,
    /// Scratch memory of its grids together.
    pub scratch_bytes: u64,
    /// Earlier nodes that are done before it begins.
    pub after: Vec<u32>,
}

/// Nodes that run as one.
#[derive(Debug, PartialEq, Eq)]
pub struct Gathered {
    pub members: Vec<u32>,
    /// Earlier ones of the list that are done before it begins, each once.
    pub after: Vec<u32>,
}

/// Gathers nodes; the result's order keeps what they are after. Those that run as one have at most
/// so much scratch memory.
pub fn gather(nodes: &[Alone], most_bytes: u64) -> Vec<Gathered> {
    let mut levels: Vec<u32> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let before = node.after.iter().map(|&before| {
            let before = before as usize;
            levels[before] + nodes[before].grids
        });
        levels.push(before.max().unwrap_or(0));
    }
    let mut order: Vec<u32> = (0..nodes.len() as u32).collect();
    // Joins of a level may be what its launches are after.
    order.sort_by_key(|&node| (levels[node as usize], nodes[node as usize].grids > 0));
    let mut found: Vec<Gathered> = Vec::new();
    // Their blocks and scratch memory.
    let mut sums: Vec<(u64, u64)> = Vec::new();
    // The last of each kind and level, and which one each node is of.
    let mut open: BTreeMap<(u32, &Kind), usize> = BTreeMap::new();
    let mut of = vec![0u32; nodes.len()];
    for node in order {
        let own = &nodes[node as usize];
        let joined = own.kind.as_ref().and_then(|(kind, many)| {
            let at = *open.get(&(levels[node as usize], kind))?;
            let (blocks, bytes) = sums[at];
            let fits = found[at].members.len() < MOST_MEMBERS
                && blocks + many <= MOST_BLOCKS
                && bytes.saturating_add(own.scratch_bytes) <= most_bytes;
            fits.then_some(at)
        });
        let at = joined.unwrap_or_else(|| {
            found.push(Gathered {
                members: Vec::new(),
                after: Vec::new(),
            });
            sums.push((0, 0));
            found.len() - 1
        });
        if let Some((kind, many)) = &own.kind {
            open.insert((levels[node as usize], kind), at);
            sums[at].0 += many;
            sums[at].1 += own.scratch_bytes;
        }
        found[at].members.push(node);
        let after = own.after.iter().map(|&before| of[before as usize]);
        found[at].after.extend(after);
        of[node as usize] = at as u32;
    }
    for one in &mut found {
        one.after.sort_unstable();
        one.after.dedup();
    }
    found
}

/// A launch among several, with where its words and its scratch memory are.
pub struct Placed<'a> {
    pub launch: &'a Packed,
    pub words: Address,
    pub scratch: Address,
}

/// Launches of one kind as launches of many, one for each of their grids. `members` is where each
/// of these finds its members, which are returned.
///
/// # Errors
/// The driver's, which lacks the function.
pub fn as_one(
    gpu: &Gpu,
    launches: &[Placed<'_>],
    mut members: Address,
) -> Result<(Vec<Packed>, Vec<Member>), Failure> {
    let mut all = Vec::new();
    let count = launches.first().map_or(0, |one| one.launch.grid_count());
    let mut packed = Vec::with_capacity(count);
    for position in 0..count {
        let mut launch = DeviceLaunch::default();
        let mut grid = *launches[0].launch.grid(position);
        let (mut blocks, mut units) = (0u32, 0u64);
        launch.data[0] = pointer(members);
        launch.params = launches.len() as u32;
        for (one, first) in launches.iter().zip(&mut launch.words) {
            let own = one.launch.grid(position);
            *first = i64::from(blocks);
            blocks += own.blocks[0] * own.blocks[1];
            units += one.launch.units();
            grid.shared_bytes = grid.shared_bytes.max(own.shared_bytes);
            all.push(one.launch.member(own, one.words, one.scratch));
        }
        members += size_of::<Member>() as u64 * launches.len() as u64;
        grid = Grid {
            symbol: grid.many,
            argument: 0,
            blocks: [blocks, 1, 1],
            ..grid
        };
        packed.push(Packed::of_grid(gpu, launch, units, grid)?);
    }
    Ok((packed, all))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(kind: Option<usize>, after: &[u32]) -> Alone {
        let name = |kind: usize| std::ptr::without_provenance(kind);
        Alone {
            grids: 1,
            kind: kind.map(|kind| (vec![(name(kind), 32)], 1)),
            scratch_bytes: 100,
            after: after.to_vec(),
        }
    }

    fn join(after: &[u32]) -> Alone {
        Alone {
            grids: 0,
            ..node(None, after)
        }
    }

    fn members(nodes: &[Alone]) -> Vec<Vec<u32>> {
        let found = gather(nodes, u64::MAX);
        for (number, one) in (0u32..).zip(&found) {
            assert!(one.after.iter().all(|&before| before < number), "{found:?}");
        }
        found.into_iter().map(|one| one.members).collect()
    }

    #[test]
    fn independent_launches_of_a_function_are_one() {
        // Two chains of kinds 1, 2, 1, and a launch of kind 2 that cannot run with others.
        let chains = [
            node(Some(1), &[]),
            node(Some(2), &[0]),
            node(Some(1), &[1]),
            node(Some(1), &[]),
            node(Some(2), &[3]),
            node(Some(1), &[4]),
            node(None, &[0]),
        ];
        assert_eq!(
            members(&chains),
            [vec![0, 3], vec![1, 4], vec![6], vec![2, 5]]
        );
        let found = gather(&chains, u64::MAX);
        assert_eq!(found[3].after, [1]);
    }

    #[test]
    fn a_launch_behind_a_join_is_with_those_of_its_level() {
        let nodes = [
            node(Some(1), &[]),
            node(Some(2), &[0]),
            join(&[0]),
            node(Some(2), &[2]),
            join(&[1, 3]),
        ];
        assert_eq!(members(&nodes), [vec![0], vec![2], vec![1, 3], vec![4]]);
    }

    #[test]
    fn launches_of_several_grids_meet_those_behind_as_many() {
        let long = Alone {
            grids: 3,
            ..node(Some(7), &[])
        };
        let nodes = [
            node(Some(1), &[]),
            long,
            node(Some(1), &[1]),
            node(Some(1), &[0]),
        ];
        assert_eq!(members(&nodes), [vec![0], vec![1], vec![3], vec![2]]);
    }

    #[test]
    fn a_grid_has_at_most_so_many_members_blocks_and_bytes() {
        let nodes: Vec<Alone> = (0..600).map(|_| node(Some(1), &[])).collect();
        let sizes: Vec<usize> = members(&nodes).iter().map(Vec::len).collect();
        assert_eq!(sizes, [256, 256, 88]);
        let large = || Alone {
            kind: node(Some(1), &[]).kind.map(|(kind, _)| (kind, 1 << 30)),
            ..node(None, &[])
        };
        assert_eq!(members(&[large(), large(), large()]), [[0], [1], [2]]);
        let sizes = |most_bytes| {
            let found = gather(&nodes[..5], most_bytes);
            found
                .iter()
                .map(|one| one.members.len())
                .collect::<Vec<_>>()
        };
        assert_eq!([sizes(250), sizes(99)], [vec![2, 2, 1], vec![1; 5]]);
    }
}
