//! Tensors that a device holds are neither uploaded for a run nor downloaded after it.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use cloakwork_csrc as _;
use cloakwork_ir::{DType, Device, HostId, HostTensor, Shape, text};
use cloakwork_kernels::best_isa;
use cloakwork_plan::{Options, Plan, PlanError, Resident, Way, Work, plan};
use cloakwork_run::{Executor, Inputs, OnDevice, RunError, RunOptions};
use cloakwork_verify::verify;
use std::collections::HashMap;
use std::sync::Arc;

const ON: Device = Device::Sim(0);
const SQUARES: &str = "%a = host_to_device input \"a\" i64[4]
    %b = host_to_device input \"b\" i64[4]
    %c = empty [4], i64
    %c = modmul %a, %b, 97, %c
    %d = get_slice %c, [1:3:1]
    device_to_host %c, none -> output \"c\"
    device_to_host %d, none -> output \"d\"
    free %a
    free %b
    free %c";

#[derive(Default)]
struct Given {
    here: HashMap<HostId, HostTensor>,
    there: HashMap<HostId, Arc<OnDevice>>,
}

impl Inputs for Given {
    fn input(&self, slot: HostId) -> Option<&HostTensor> {
        self.here.get(&slot)
    }

    fn on_device(&self, slot: HostId) -> Option<&Arc<OnDevice>> {
        self.there.get(&slot)
    }
}

fn host(words: [i64; 4]) -> HostTensor {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    HostTensor::from_vec(DType::I64, Shape::new(&[4]).unwrap(), bytes).unwrap()
}

fn upload(words: [i64; 4]) -> Arc<OnDevice> {
    Arc::new(OnDevice::upload(&host(words), ON).unwrap())
}

fn planned(inputs: &[u32], keeps: bool, device: Device) -> Result<Plan, PlanError> {
    let program = text::parse(SQUARES).unwrap();
    let verified = verify(Arc::new(program)).verified.unwrap();
    let options = Options {
        device,
        resident: Resident {
            inputs: inputs.iter().map(|&slot| (HostId(slot), ON)).collect(),
            outputs: keeps.then_some(ON),
        },
        ..Options::new(best_isa(), 2)
    };
    plan(Arc::new(verified), &options)
}

fn transfers(plan: &Plan, way: Way) -> usize {
    let is_it = |work: Work| {
        matches!(
            (work, way),
            (Work::Transfer(Way::Upload), Way::Upload)
                | (Work::Transfer(Way::Download), Way::Download)
        )
    };
    plan.steps.iter().filter(|step| is_it(step.work)).count()
}

fn words(tensor: &OnDevice) -> Vec<i64> {
    tensor.download().unwrap().to_host().unwrap().words()
}

#[test]
fn what_a_device_holds_is_not_moved() {
    let plan = planned(&[0, 1], true, ON).unwrap();
    assert_eq!(
        (
            transfers(&plan, Way::Upload),
            transfers(&plan, Way::Download)
        ),
        (0, 0),
        "{plan}"
    );
    let mut executor = Executor::new(Arc::new(plan)).unwrap();
    // The second and later runs would submit segments, whose addresses stay.
    for factor in 1..4 {
        let given = Given {
            there: [
                (HostId(0), upload([1, 2, 3, 4])),
                (HostId(1), upload([factor; 4])),
            ]
            .into(),
            ..Given::default()
        };
        let outcome = executor
            .run(&given, &RunOptions::default(), &mut |_| true)
            .unwrap();
        assert!(outcome.outputs.is_empty());
        let expected = [1, 2, 3, 4].map(|word| word * factor);
        assert_eq!(words(&outcome.kept[0]), expected);
        assert_eq!(words(&outcome.kept[1]), expected[1..3]);
    }
}

#[test]
fn results_serve_the_next_run() {
    let mut executor = Executor::new(Arc::new(planned(&[0, 1], true, ON).unwrap())).unwrap();
    let mut power = upload([2, 3, 5, 7]);
    let base = Arc::clone(&power);
    for _ in 0..3 {
        let given = Given {
            there: [(HostId(0), power), (HostId(1), Arc::clone(&base))].into(),
            ..Given::default()
        };
        let outcome = executor
            .run(&given, &RunOptions::default(), &mut |_| true)
            .unwrap();
        power = Arc::clone(&outcome.kept[0]);
    }
    assert_eq!(words(&power), [16, 81, 625 % 97, 2401 % 97]);
}

#[test]
fn each_input_and_the_results_are_moved_only_where_they_have_to() {
    for (inputs, keeps, uploads, downloads) in [
        (&[0u32][..], true, 1, 0),
        (&[][..], true, 2, 0),
        (&[0, 1][..], false, 0, 2),
    ] {
        let plan = planned(inputs, keeps, ON).unwrap();
        let counted = (
            transfers(&plan, Way::Upload),
            transfers(&plan, Way::Download),
        );
        assert!(counted.0 == uploads && counted.1 <= downloads, "{plan}");
        let mut given = Given::default();
        for slot in [0, 1] {
            match inputs.contains(&slot) {
                true => drop(given.there.insert(HostId(slot), upload([1, 2, 3, 4]))),
                false => drop(given.here.insert(HostId(slot), host([1, 2, 3, 4]))),
            }
        }
        let mut executor = Executor::new(Arc::new(plan)).unwrap();
        let outcome = executor
            .run(&given, &RunOptions::default(), &mut |_| true)
            .unwrap();
        let first = match keeps {
            true => words(&outcome.kept[0]),
            false => outcome.outputs[0].tensor.words(),
        };
        assert_eq!(first, [1, 4, 9, 16]);
    }
}

#[test]
fn the_host_reads_what_a_device_holds_by_a_download() {
    let plan = planned(&[0], false, Device::Cpu).unwrap();
    assert_eq!(transfers(&plan, Way::Upload), 0, "{plan}");
    let given = Given {
        here: [(HostId(1), host([5; 4]))].into(),
        there: [(HostId(0), upload([1, 2, 3, 4]))].into(),
    };
    let mut executor = Executor::new(Arc::new(plan)).unwrap();
    let outcome = executor
        .run(&given, &RunOptions::default(), &mut |_| true)
        .unwrap();
    assert_eq!(outcome.outputs[0].tensor.words(), [5, 10, 15, 20]);
}

#[test]
fn a_tensor_that_is_elsewhere_is_refused() {
    let mut executor = Executor::new(Arc::new(planned(&[0, 1], true, ON).unwrap())).unwrap();
    let other = OnDevice::upload(&host([1, 2, 3, 4]), Device::Sim(1)).unwrap();
    let wrong = [
        (None, "expected a i64[4] on sim:0, got a tensor of the host"),
        (
            Some(Arc::new(other)),
            "expected a i64[4] on sim:0, got i64[4] on sim:1",
        ),
    ];
    for (second, words) in wrong {
        let mut given = Given {
            here: [(HostId(1), host([1; 4]))].into(),
            there: [(HostId(0), upload([1, 2, 3, 4]))].into(),
        };
        given.there.extend(second.map(|tensor| (HostId(1), tensor)));
        let error = executor
            .run(&given, &RunOptions::default(), &mut |_| true)
            .unwrap_err();
        assert!(
            matches!(error, RunError::Input { .. }) && error.to_string().contains(words),
            "{error}"
        );
    }
}
