//! where.

use crate::common::random::Random;
use crate::element::{Bit, C128, Element};
use crate::harness::{cases, divisions, rows, run};

fn check_where<T: Element>() {
    let mut random = Random(9);
    let beside = T::pool()[0];
    for mut case in cases(3) {
        let mut buffer = |operand: usize| -> Vec<T> {
            (0..case.buffer(operand))
                .map(|_| T::random(&mut random))
                .collect()
        };
        let (mut a, mut b) = (buffer(1), buffer(2));
        let mut condition: Vec<Bit> = (0..case.buffer(3))
            .map(|_| Bit::random(&mut random))
            .collect();
        let places: Vec<Vec<usize>> = (0..4).map(|operand| case.places(operand)).collect();
        for row in rows::<T, T>("where") {
            for ranges in divisions(case.units()) {
                case.stream = !case.stream;
                let mut out = vec![beside; case.buffer(0)];
                let data = [
                    out.as_mut_ptr().wrapping_add(case.start(0)).cast(),
                    a.as_mut_ptr().wrapping_add(case.start(1)).cast(),
                    b.as_mut_ptr().wrapping_add(case.start(2)).cast(),
                    condition.as_mut_ptr().wrapping_add(case.start(3)).cast(),
                ];
                run(row, &case, &data, &ranges);
                let mut expected = vec![beside; out.len()];
                for (at, &place) in places[0].iter().enumerate() {
                    let chosen = condition[places[3][at]].truth();
                    expected[place] = if chosen {
                        a[places[1][at]]
                    } else {
                        b[places[2][at]]
                    };
                }
                let same = out.iter().zip(&expected).all(|(x, y)| x.same(*y));
                assert!(same, "{}: {case:?} in {ranges:?}", row.symbol);
            }
        }
    }
}

#[test]
fn the_condition_chooses_elements_of_any_size() {
    check_where::<u8>();
    check_where::<Bit>();
    check_where::<i16>();
    check_where::<f32>();
    check_where::<i64>();
    check_where::<C128>();
}
