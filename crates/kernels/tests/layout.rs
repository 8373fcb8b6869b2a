//! copy, fill and gather for every element size and layout.
#![allow(clippy::unwrap_used)]

use crate::common::Call;
use crate::common::random::{INJECTIVE, LAYOUTS, Random, operand, wrap};
use cloakwork_csrc as _;
use cloakwork_ir::DType;

const DTYPES: [DType; 5] = [DType::I8, DType::I16, DType::I32, DType::I64, DType::F64];
const SHAPES: [&[i64]; 9] = [
    &[1],
    &[300],
    &[4, 1, 9],
    &[40, 50],
    &[3, 7, 33],
    &[2, 3, 4, 5],
    &[70, 2],
    &[2, 2, 2, 2, 2, 2],
    &[3, 600],
];

fn any(random: &mut Random) -> i64 {
    random.word() as i64
}

#[test]
fn a_copy_keeps_every_element_in_every_layout() {
    let mut random = Random(50);
    for dtype in DTYPES {
        for dims in SHAPES {
            for out in INJECTIVE {
                for a in LAYOUTS {
                    let operands = vec![
                        Some(operand(dtype, dims, out, &mut random, &mut any)),
                        Some(operand(dtype, dims, a, &mut random, &mut any)),
                    ];
                    let call = Call::new("copy", dims, operands);
                    call.check_with_pieces_alone(&call.filled(|index| call.at(1, index)));
                }
            }
        }
    }
}

#[test]
fn a_fill_writes_its_value_and_nothing_beside() {
    let mut random = Random(51);
    for dtype in DTYPES {
        for dims in SHAPES {
            for out in INJECTIVE {
                let value = any(&mut random);
                let own = operand(dtype, dims, out, &mut random, &mut any);
                let mut call = Call::new("fill", dims, vec![Some(own)]);
                call.params = vec![value, 0];
                call.check_with_pieces_alone(&call.filled(|_| wrap(value, dtype)));
            }
        }
    }
}

#[test]
fn a_gather_takes_the_indexed_elements_and_wraps_negative_indices_once() {
    let mut random = Random(52);
    for dtype in DTYPES {
        for dims in SHAPES {
            for out in INJECTIVE {
                for indices in LAYOUTS {
                    let axis = random.below(dims.len() as i64) as usize;
                    let size = 1 + random.below(9);
                    let mut source = dims.to_vec();
                    source[axis] = size;
                    let layout = INJECTIVE[random.below(4) as usize];
                    let whole = operand(dtype, &source, layout, &mut random, &mut any);
                    let mut a = whole.clone();
                    a.strides[axis] = 0;
                    let mut index = |r: &mut Random| r.below(2 * size) - size;
                    let operands = vec![
                        Some(operand(dtype, dims, out, &mut random, &mut any)),
                        Some(a),
                        Some(operand(DType::I64, dims, indices, &mut random, &mut index)),
                    ];
                    let mut call = Call::new("gather", dims, operands);
                    call.params = vec![whole.strides[axis], size];
                    let words = call.filled(|at| {
                        let index = call.at(2, at).rem_euclid(size);
                        let place = call.place(1, at) as i64 + index * whole.strides[axis];
                        whole.words[usize::try_from(place).unwrap()]
                    });
                    call.check_with_pieces_alone(&words);
                }
            }
        }
    }
}

#[test]
fn a_tensor_without_axes_has_one_element() {
    let scalar = |words: Vec<i64>| {
        Some(crate::common::Operand {
            dtype: DType::I64,
            words,
            offset: 0,
            strides: vec![],
        })
    };
    Call::new("copy", &[], vec![scalar(vec![1]), scalar(vec![7])]).check(&[7]);
    let mut fill = Call::new("fill", &[], vec![scalar(vec![1])]);
    fill.params = vec![9, 0];
    fill.check(&[9]);
    let operands = vec![
        scalar(vec![1]),
        scalar(vec![5]),
        scalar(vec![4]),
        scalar(vec![7]),
    ];
    Call::new("modmul", &[], operands).check(&[6]);
}
