//! Calls become steps, and what a trace may not hold is refused, with no Python in sight.
#![allow(clippy::unwrap_used)]

use cloakwork_csrc as _;
use cloakwork_ir::{DType, Device, Shape, Type, text};
use cloakwork_kernels::best_isa;
use cloakwork_ops::{OpDef, find};
use cloakwork_run::eager;
use cloakwork_trace::{
    Paused, Recording, Route, Tensor, Trace, TraceError, Value, begin_batch, end_batch, is_active,
};
use cloakwork_verify::verify;
use std::sync::Arc;

fn op(name: &str) -> &'static OpDef {
    find(name).unwrap()
}

fn ones(size: u64) -> eager::Tensor {
    let bytes = vec![1u8; size as usize];
    let view = cloakwork_ir::View::contiguous(Shape::new(&[size]).unwrap());
    eager::Tensor::from_bytes(DType::U8, view, &bytes).unwrap()
}

fn input(trace: &Arc<Trace>) -> Tensor {
    let ty = Type::new(DType::U8, Shape::new(&[4]).unwrap());
    trace.input("x".to_owned(), ty).into()
}

fn record(trace: &Arc<Trace>, name: &str, operands: &[&Tensor]) -> Tensor {
    let values = operands.iter().map(|&one| Value::Tensor(one.clone()));
    trace.record(op(name), values.collect()).unwrap().into()
}

#[test]
fn calls_become_the_steps_of_a_program_that_the_verifier_takes() {
    let trace = Arc::new(Trace::new(best_isa()));
    let x = input(&trace);
    let constant = Tensor::Real(ones(4));
    let sum = record(&trace, "add", &[&x, &constant]);
    let again = record(&trace, "multiply", &[&sum, &constant]);
    trace.output(&again, "y".to_owned()).unwrap();
    let program = trace.finish();
    let printed = text::print(&program);
    let calls = ["add", "multiply", "input \"x\"", "output \"y\""];
    assert!(calls.iter().all(|call| printed.contains(call)), "{printed}");
    assert_eq!(printed.matches("host_to_device").count(), 2, "{printed}");
    assert_eq!(verify(Arc::new(program)).findings, []);
}

#[test]
fn the_call_is_refused_where_the_verifier_would_refuse_it() {
    let trace = Arc::new(Trace::new(best_isa()));
    let (x, longer) = (input(&trace), Tensor::Real(ones(5)));
    let values = vec![Value::Tensor(x), Value::Tensor(longer)];
    let refused = trace.record(op("add"), values).err().unwrap();
    assert!(
        matches!(refused, TraceError::Op { op: "add", .. }),
        "{refused}"
    );
}

#[test]
fn a_value_of_another_trace_and_a_secret_are_refused() {
    let (trace, other) = [(); 2].map(|()| Arc::new(Trace::new(best_isa()))).into();
    let stray = trace.output(&input(&other), "y".to_owned()).err().unwrap();
    assert!(
        stray.to_string().contains("can be used only inside"),
        "{stray}"
    );
    let secret = ones(4);
    secret.mark_secret();
    let values = vec![
        Value::Tensor(input(&trace)),
        Value::Tensor(Tensor::Real(secret)),
    ];
    let refused = trace.route(op("add"), &values).err().unwrap();
    assert!(matches!(refused, TraceError::Secret(_)), "{refused}");
}

#[test]
fn a_call_on_constants_alone_is_no_step_and_one_without_operands_is() {
    let trace = Trace::new(best_isa());
    let constants = vec![Value::Tensor(Tensor::Real(ones(4))); 2];
    assert_eq!(trace.route(op("add"), &constants).unwrap(), Route::Now);
    let sizes = vec![Value::Shape(Vec::new()), Value::DType(DType::U8)];
    assert_eq!(trace.route(op("empty"), &sizes).unwrap(), Route::Step);
}

#[test]
fn a_batch_waits_with_its_inputs_and_forgets_what_nobody_holds() {
    assert!(begin_batch(best_isa(), None).unwrap());
    assert!(!begin_batch(best_isa(), None).unwrap());
    let elsewhere = begin_batch(best_isa(), Some(Device::Sim(0))).unwrap_err();
    let expected = "a batch on sim:0 inside a batch on cpu";
    assert!(elsewhere.to_string().starts_with(expected), "{elsewhere}");
    let batch = cloakwork_trace::active().unwrap();
    let real = Tensor::Real(ones(4));
    let kept = record(&batch, "add", &[&real, &real]);
    drop(record(&batch, "multiply", &[&real, &real]));
    let Some(waiting) = batch.waiting() else {
        panic!("no program waits");
    };
    assert_eq!((waiting.inputs.len(), waiting.places.len()), (1, 1));
    assert!(batch.waiting().is_none());
    drop(kept);
    assert!(end_batch().is_some() && !is_active());
}

#[test]
fn one_thread_records_one_trace_which_a_pause_interrupts() {
    let trace = Arc::new(Trace::new(best_isa()));
    let recording = Recording::start(&trace).ok().unwrap();
    assert!(Recording::start(&trace).is_err() && begin_batch(best_isa(), None).is_err());
    {
        let _paused = Paused::start();
        assert!(!is_active());
    }
    assert!(is_active());
    drop(recording);
    assert!(!is_active());
}
