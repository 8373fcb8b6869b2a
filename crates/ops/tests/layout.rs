//! Layout ops and the kernels that move elements.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use crate::common::{Call, Input};
use cloakwork_ir::{DType, Shape, ShapeItem, View};
use cloakwork_ops::{Code, OpError, Viewed};

fn on(op: &str, dims: &[u64]) -> Call {
    let elements: u64 = dims.iter().product();
    Call::new(op).tensor("a", dims, &(0..elements as i64).collect::<Vec<_>>())
}

fn viewed(call: &Call) -> View {
    match call.view().unwrap() {
        Viewed::View(view) => view,
        Viewed::Copy(shape) => panic!("a copy of shape {shape}"),
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, OpError>) -> Code {
    result.unwrap_err().code
}

fn slice(start: i64, stop: i64, step: i64) -> ShapeItem {
    ShapeItem::Slice {
        start: Some(start),
        stop: Some(stop),
        step: Some(step),
    }
}

fn with_items(call: Call, name: &'static str, items: &[ShapeItem]) -> Call {
    call.with(name, Input::Shape(items.to_vec()))
}

#[test]
fn views_say_what_their_names_say() {
    let dims = |call: Call| viewed(&call).shape.dims().to_vec();
    assert_eq!(
        dims(on("expand", &[2, 1]).int("axis", -1).int("repeat", 3)),
        [2, 3]
    );
    assert_eq!(dims(on("squeeze", &[2, 1, 3]).int("axis", -2)), [2, 3]);
    assert_eq!(dims(on("unsqueeze", &[2, 3]).int("axis", -3)), [1, 2, 3]);
    assert_eq!(dims(on("unsqueeze", &[2, 3]).int("axis", 2)), [2, 3, 1]);
    let moved = on("moveaxis", &[2, 3, 4])
        .int("source", 0)
        .int("destination", -1);
    assert_eq!(dims(moved), [3, 4, 2]);
    let flat = on("flatten", &[2, 3, 4])
        .int("start_axis", -3)
        .int("end_axis", 1);
    assert_eq!(dims(flat), [6, 4]);
    assert_eq!(
        viewed(&on("new_reference", &[2, 0])),
        viewed(&on("contiguous", &[2, 0]))
    );
}

#[test]
fn a_window_takes_an_index_or_a_range_of_each_axis() {
    let call = with_items(
        on("get_slice", &[4, 5]),
        "entries",
        &[ShapeItem::Int(2), slice(1, 5, 2)],
    );
    assert_eq!(viewed(&call).offsets().collect::<Vec<_>>(), [11, 13]);
    let whole = with_items(on("get_slice", &[4]), "entries", &[ShapeItem::Int(3)]);
    assert_eq!(viewed(&whole).shape, Shape::scalar());
}

#[test]
fn windows_count_from_the_front_and_say_everything() {
    let refused =
        |items: &[ShapeItem]| code(with_items(on("get_slice", &[4]), "entries", items).view());
    let open = ShapeItem::Slice {
        start: None,
        stop: Some(2),
        step: Some(1),
    };
    for item in [
        ShapeItem::Int(-1),
        ShapeItem::Int(4),
        slice(0, 5, 1),
        slice(2, 2, 1),
        slice(0, 2, 0),
    ] {
        assert_eq!(refused(&[item]), Code::Range);
    }
    for item in [slice(-2, 4, 1), open, ShapeItem::Ellipsis] {
        assert_eq!(refused(&[item]), Code::Range);
    }
    assert_eq!(refused(&[]), Code::ArgumentCount);
    assert_eq!(
        refused(&[ShapeItem::Invalid("a dict".into())]),
        Code::ArgumentType
    );
    let call = with_items(on("get_slice", &[4]), "entries", &[ShapeItem::Ellipsis]);
    let message = call.view().unwrap_err().to_string();
    assert_eq!(
        message,
        "`entries`: expected an entry for each axis, got ...; write 0:size:1 for each axis"
    );
}

#[test]
fn wrong_axes_and_sizes_are_told_apart() {
    assert_eq!(code(on("squeeze", &[2]).int("axis", 0).view()), Code::Shape);
    assert_eq!(code(on("squeeze", &[1]).int("axis", 1).view()), Code::Axis);
    assert_eq!(code(on("squeeze", &[]).int("axis", 0).view()), Code::Axis);
    assert_eq!(
        code(on("unsqueeze", &[1; 16]).int("axis", 0).view()),
        Code::Shape
    );
    assert_eq!(
        code(on("unsqueeze", &[2]).int("axis", 3).view()),
        Code::Axis
    );
    assert_eq!(
        code(on("expand", &[2]).int("axis", 0).int("repeat", 2).view()),
        Code::Shape
    );
    assert_eq!(
        code(on("expand", &[1]).int("axis", 0).int("repeat", 0).view()),
        Code::Range
    );
    assert_eq!(
        code(
            on("expand", &[1])
                .int("axis", 0)
                .int("repeat", i64::MAX)
                .view()
        ),
        Code::Shape
    );
    let moved = on("moveaxis", &[2, 3])
        .int("source", 0)
        .int("destination", 2);
    assert_eq!(code(moved.view()), Code::Axis);
    let flat = on("flatten", &[2, 3])
        .int("start_axis", 1)
        .int("end_axis", 0);
    assert_eq!(code(flat.view()), Code::Axis);
    let shaped = with_items(on("reshape", &[6]), "shape", &[ShapeItem::Int(4)]);
    assert_eq!(code(shaped.view()), Code::Shape);
}

#[test]
fn what_no_strides_can_say_is_copied() {
    let mut call = on("contiguous", &[2, 3]);
    if let Some(Input::Tensor(a)) = call.inputs.get_mut("a") {
        a.view = a.view.moveaxis(0, 1).unwrap();
    }
    assert_eq!(
        call.view().unwrap(),
        Viewed::Copy(Shape::new(&[3, 2]).unwrap())
    );
    let mut flat = on("flatten", &[2, 3])
        .int("start_axis", 0)
        .int("end_axis", 1);
    flat.inputs.insert("a", call.inputs["a"].clone());
    assert_eq!(
        flat.view().unwrap(),
        Viewed::Copy(Shape::new(&[6]).unwrap())
    );
}

#[test]
fn indices_pick_along_an_axis_and_broadcast_along_the_others() {
    let call = |indices_dims: &[u64], indices: &[i64]| {
        on("take_along_axis", &[2, 3])
            .int("axis", 1)
            .tensor("indices", indices_dims, indices)
    };
    assert_eq!(
        call(&[2, 3], &[2, 1, 0, -1, -2, -3]).run().unwrap(),
        [2, 1, 0, 5, 4, 3]
    );
    assert_eq!(call(&[1, 2], &[2, 0]).run().unwrap(), [2, 0, 5, 3]);
    // One index fills a longer result.
    let filled = call(&[2, 1], &[1, 2]).out(DType::I64, &[2, 3]);
    assert_eq!(filled.run().unwrap(), [1, 1, 1, 5, 5, 5]);
    let columns = on("take_along_axis", &[2, 3])
        .int("axis", -2)
        .tensor("indices", &[1, 1], &[-1]);
    assert_eq!(columns.run().unwrap(), [3, 4, 5]);

    assert_eq!(code(call(&[1, 1], &[3]).infer()), Code::Range);
    assert_eq!(code(call(&[1, 1], &[-4]).infer()), Code::Range);
    assert_eq!(code(call(&[3, 3], &[0; 9]).infer()), Code::Shape);
    assert_eq!(code(call(&[3], &[0; 3]).infer()), Code::Shape);
    assert_eq!(
        code(call(&[2, 3], &[0; 6]).int("axis", 2).infer()),
        Code::Axis
    );
    let nothing = on("take_along_axis", &[0, 3])
        .int("axis", 1)
        .tensor("indices", &[1, 1], &[0]);
    assert_eq!(nothing.run().unwrap(), []);
    let from_nothing =
        on("take_along_axis", &[2, 0])
            .int("axis", 1)
            .tensor("indices", &[1, 1], &[0]);
    assert_eq!(code(from_nothing.infer()), Code::Range);
}

#[test]
fn each_row_has_its_own_permutation() {
    let call = |perms: &[i64], rows, axis| {
        let call = on("permute", &[2, 3])
            .int("elementwise_axis", rows)
            .int("perm_axis", axis);
        call.tensor("perms", if axis == 1 { &[2, 3] } else { &[3, 2] }, perms)
    };
    assert_eq!(
        call(&[2, 0, 1, 0, 2, 1], 0, 1).run().unwrap(),
        [2, 0, 1, 3, 5, 4]
    );
    assert_eq!(
        call(&[1, 0, 0, 1, 1, 0], -1, -2).run().unwrap(),
        [3, 1, 5, 0, 4, 2]
    );
    assert_eq!(
        code(call(&[2, 0, 1, 0, 2, 2], 0, 1).infer()),
        Code::Permutation
    );
    assert_eq!(
        code(call(&[2, 0, 1, 0, 2, -2], 0, 1).infer()),
        Code::Permutation
    );
    assert_eq!(code(call(&[2, 0, 1, 0, 2, 1], 1, 1).infer()), Code::Axis);
}

#[test]
fn zeros_are_appended_at_the_end_of_an_axis() {
    let call = |dims: &[u64], axis| on("pad_single_axis", dims).int("pad", 1).int("axis", axis);
    assert_eq!(call(&[2, 2], -1).run().unwrap(), [0, 1, 0, 2, 3, 0]);
    assert_eq!(call(&[2, 2], 0).run().unwrap(), [0, 1, 2, 3, 0, 0]);
    assert_eq!(call(&[0, 2], 0).run().unwrap(), [0, 0]);
    assert_eq!(call(&[2, 2], 1).int("pad", 0).run().unwrap(), [0, 1, 2, 3]);
    assert_eq!(code(call(&[2], 0).int("pad", -1).infer()), Code::Range);
    assert_eq!(
        code(call(&[2], 0).int("pad", i64::MAX).infer()),
        Code::Shape
    );
}

#[test]
fn a_value_is_set_everywhere_if_the_dtype_holds_it() {
    let call = |dtype, value| {
        Call::new("set_const_val")
            .typed("a", dtype, &[2], &[1, 1])
            .int("value", value)
    };
    assert_eq!(call(DType::I64, i64::MIN).run().unwrap(), [i64::MIN; 2]);
    assert_eq!(
        call(DType::F64, -2).run().unwrap(),
        [(-2.0f64).to_bits() as i64; 2]
    );
    assert_eq!(
        call(DType::F32, 3).run().unwrap(),
        [i64::from(3.0f32.to_bits()); 2]
    );
    assert_eq!(call(DType::Bool, 1).run().unwrap(), [1; 2]);
    for (dtype, value) in [
        (DType::I8, 128),
        (DType::U8, -1),
        (DType::Bool, 2),
        (DType::I32, 1 << 31),
    ] {
        assert_eq!(code(call(dtype, value).infer()), Code::Range, "{dtype}");
    }
    let scalar = Call::new("set_const_val")
        .tensor("a", &[], &[5])
        .int("value", 7);
    assert_eq!(scalar.run().unwrap(), [7]);
}

#[test]
fn a_copy_broadcasts() {
    assert_eq!(
        on("copy", &[2, 1]).out(DType::I64, &[2, 2]).run().unwrap(),
        [0, 0, 1, 1]
    );
    assert_eq!(on("copy", &[0]).run().unwrap(), []);
}
