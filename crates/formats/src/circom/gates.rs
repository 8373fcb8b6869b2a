//! A circuit's constraints as PLONK gates, as snarkjs makes them: which wires a gate has, and from
//! which of the circuit's numbers its selectors follow. The numbers are others' to compute.
//!
//! A sum of more terms than a gate takes is shortened by additions: gates that add its first two
//! terms into a new wire, which becomes its last term.

use super::{R1cs, Rows};

/// Numbers by reference: `x y - z`, each a place in a table.
pub type Combination = [u64; 3];

/// The gates of a circuit.
///
/// The first table has the values of A, B and C in order, then 0 and 1. The second has a number
/// for each of `terms`, combined from the first; the selectors and factors are of the second.
#[derive(Clone, Debug, Default)]
pub struct Gates {
    /// Wires of the circuit and of additions.
    pub wires: u32,
    /// The wires of each gate.
    pub maps: [Vec<u32>; 3],
    /// Qm, Ql, Qr, Qo and Qc of each gate.
    pub selectors: [Vec<Combination>; 5],
    /// The wires that each addition adds, and their factors.
    pub additions: [Vec<u64>; 4],
    /// The numbers of the second table.
    pub terms: Vec<Combination>,
}

/// Places of 0 and 1 in the second table.
const ZERO: u64 = 0;
const ONE: u64 = 1;

/// A sum: wires and their terms, by wires; wire 0 is the constant.
type Sum = Vec<(u32, u64)>;

/// A sum of as many terms as a gate takes, and its constant.
struct Reduced<const N: usize> {
    wires: [u32; N],
    terms: [u64; N],
    constant: u64,
}

struct Builder<'a> {
    circuit: &'a R1cs,
    /// Where A, B and C begin in the first table, then where 0 and 1 are.
    starts: [u64; 5],
    made: Gates,
}

impl Gates {
    /// The gates of a circuit: one a public signal, then those of each constraint.
    #[must_use]
    pub fn of(circuit: &R1cs) -> Self {
        let [a, b, c] = circuit.matrices.each_ref().map(|m| m.entries() as u64);
        let starts = [0, a, a + b, a + b + c, a + b + c + 1];
        let [.., zero, one] = starts;
        let mut builder = Builder {
            circuit,
            starts,
            made: Self {
                wires: circuit.wires,
                terms: vec![[zero, zero, zero], [one, one, zero]],
                ..Self::default()
            },
        };
        for signal in 1..=circuit.outputs + circuit.public_inputs {
            let none = [ZERO, ZERO, ZERO];
            builder.gate([signal, 0, 0], [none, [ONE, ONE, ZERO], none, none, none]);
        }
        for row in 0..circuit.constraints() {
            builder.constraint(row);
        }
        builder.made
    }

    /// For each place of the three columns, a domain each, the place whose number the permutation
    /// has there: that of the wire before, and of the last one for the first. Rows without a gate
    /// have wire 0.
    #[must_use]
    pub fn permutation(&self, domain: usize) -> Vec<u64> {
        let mut places = vec![0; 3 * domain];
        let mut seen: Vec<Option<(usize, usize)>> = vec![None; self.wires as usize];
        for row in 0..domain {
            for (column, map) in self.maps.iter().enumerate() {
                let wire = map.get(row).copied().unwrap_or(0) as usize;
                let place = column * domain + row;
                let Some(seen) = seen.get_mut(wire) else {
                    continue;
                };
                let first = match *seen {
                    None => place,
                    Some((first, last)) => {
                        if let Some(to) = places.get_mut(place) {
                            *to = last as u64;
                        }
                        first
                    }
                };
                *seen = Some((first, place));
            }
        }
        for (first, last) in seen.into_iter().flatten() {
            if let Some(to) = places.get_mut(first) {
                *to = last as u64;
            }
        }
        places
    }
}

impl Builder<'_> {
    fn gate(&mut self, wires: [u32; 3], selectors: [Combination; 5]) {
        for (map, wire) in self.made.maps.iter_mut().zip(wires) {
            map.push(wire);
        }
        for (all, one) in self.made.selectors.iter_mut().zip(selectors) {
            all.push(one);
        }
    }

    fn term(&mut self, combination: Combination) -> u64 {
        self.made.terms.push(combination);
        self.made.terms.len() as u64 - 1
    }

    /// A row by wires, each once; values are places in the first table.
    fn row(&self, matrix: usize, row: usize) -> Sum {
        let Some(rows) = self.circuit.matrices.get(matrix) else {
            return Vec::new();
        };
        let start = self.starts.get(matrix).copied().unwrap_or(0);
        let bound = |at: usize| rows.starts.get(at).copied().unwrap_or(0);
        let entry = |at: u64| (column(rows, at), start + at);
        let mut sum: Sum = (bound(row)..bound(row + 1)).map(entry).collect();
        // Of a wire that stands twice the last counts, as in snarkjs.
        sum.reverse();
        sum.sort_by_key(|(wire, _)| *wire);
        sum.dedup_by_key(|(wire, _)| *wire);
        sum
    }

    /// Values become terms.
    fn terms(&mut self, sum: &Sum) -> Sum {
        let [.., zero, one] = self.starts;
        sum.iter()
            .map(|&(wire, value)| (wire, self.term([value, one, zero])))
            .collect()
    }

    fn constraint(&mut self, row: usize) {
        let [a, b, c] = [0, 1, 2].map(|matrix| self.row(matrix, row));
        let (of_a, of_b) = (constant_of(&a), constant_of(&b));
        let sum = if a.is_empty() || b.is_empty() {
            self.terms(&c)
        } else if let Some(factor) = of_a {
            self.joined(&b, factor, &c)
        } else if let Some(factor) = of_b {
            self.joined(&a, factor, &c)
        } else {
            let [a, b, c] = [&a, &b, &c].map(|sum| self.terms(sum));
            return self.product(&a, &b, &c);
        };
        let Reduced {
            wires,
            terms: [l, r, o],
            constant,
        } = self.reduced::<3>(&sum);
        let plain = |term| [term, ONE, ZERO];
        let none = plain(ZERO);
        self.gate(wires, [none, plain(l), plain(r), plain(o), plain(constant)]);
    }

    /// A B - C = 0 where each of A, B and C is a term and a constant.
    fn product(&mut self, a: &Sum, b: &Sum, c: &Sum) {
        let a = self.reduced::<1>(a);
        let b = self.reduced::<1>(b);
        let c = self.reduced::<1>(c);
        let ([x], [y], [z]) = (a.terms, b.terms, c.terms);
        let selectors = [
            [x, y, ZERO],
            [x, b.constant, ZERO],
            [a.constant, y, ZERO],
            [ZERO, ZERO, z],
            [a.constant, b.constant, c.constant],
        ];
        let ([l], [r], [o]) = (a.wires, b.wires, c.wires);
        self.gate([l, r, o], selectors);
    }

    /// factor * first - second.
    fn joined(&mut self, first: &Sum, factor: u64, second: &Sum) -> Sum {
        let [.., zero, _] = self.starts;
        let mut wires: Vec<u32> = first.iter().chain(second).map(|(wire, _)| *wire).collect();
        wires.sort_unstable();
        wires.dedup();
        let value = |sum: &Sum, wire: u32| {
            let found = sum.binary_search_by_key(&wire, |(wire, _)| *wire);
            let found = found.ok().and_then(|at| sum.get(at));
            found.map_or(zero, |(_, value)| *value)
        };
        let both = wires.into_iter().map(|wire| {
            let combined = [value(first, wire), factor, value(second, wire)];
            (wire, self.term(combined))
        });
        both.collect()
    }

    /// The sum with as many terms as fit, by additions.
    fn reduced<const N: usize>(&mut self, sum: &Sum) -> Reduced<N> {
        let constant = sum.first().filter(|(wire, _)| *wire == 0);
        let constant = constant.map_or(ZERO, |(_, term)| *term);
        let mut left: std::collections::VecDeque<(u32, u64)> =
            sum.iter().copied().filter(|(wire, _)| *wire != 0).collect();
        while left.len() > N {
            let (Some(first), Some(second)) = (left.pop_front(), left.pop_front()) else {
                break;
            };
            let made = self.made.wires;
            self.made.wires += 1;
            let none = [ZERO, ZERO, ZERO];
            self.gate(
                [first.0, second.0, made],
                [
                    none,
                    [ZERO, ZERO, first.1],
                    [ZERO, ZERO, second.1],
                    [ONE, ONE, ZERO],
                    none,
                ],
            );
            let parts = [u64::from(first.0), u64::from(second.0), first.1, second.1];
            for (all, part) in self.made.additions.iter_mut().zip(parts) {
                all.push(part);
            }
            left.push_back((made, ONE));
        }
        let mut wires = [0; N];
        let mut terms = [ZERO; N];
        for ((to_wire, to_term), (wire, term)) in wires.iter_mut().zip(&mut terms).zip(left) {
            (*to_wire, *to_term) = (wire, term);
        }
        Reduced {
            wires,
            terms,
            constant,
        }
    }
}

fn column(rows: &Rows, at: u64) -> u32 {
    rows.columns.get(at as usize).copied().unwrap_or(0)
}

/// The value of a sum that is a constant alone.
fn constant_of(sum: &Sum) -> Option<u64> {
    match sum.as_slice() {
        [(0, value)] => Some(*value),
        _ => None,
    }
}
