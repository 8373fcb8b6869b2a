//! `call_function`: a step that the caller's own code does.

use crate::op::{Body, Effect, Family, Form, Law, OpDef, Param, ParamKind};
use crate::{Extents, Launch, Reference};
use cloakwork_ir::Type;
use smallvec::smallvec;

/// The kernel name of launches that no kernel does. Their params are function, call and result.
pub const FUNCTION: &str = "call_function";

/// Operands that a call takes, at most.
const OPERANDS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

const OPERAND: ParamKind = ParamKind::OptionalTensor;
const COUNT: ParamKind = ParamKind::Int(0, u32::MAX as i64);

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "call_function",
    family: Family::Creation,
    doc: "The results of a user function of the operands. The function runs on the thread that \
          runs the program, in the program's order. It is called for result 0 of a call; the \
          other results of the call take what it returned then.",
    params: &[
        Param::new("a", OPERAND, "operand 0"),
        Param::new("b", OPERAND, "operand 1"),
        Param::new("c", OPERAND, "operand 2"),
        Param::new("d", OPERAND, "operand 3"),
        Param::new("e", OPERAND, "operand 4"),
        Param::new("f", OPERAND, "operand 5"),
        Param::new("g", OPERAND, "operand 6"),
        Param::new("h", OPERAND, "operand 7"),
        Param::new("function", COUNT, "which of the run's functions"),
        Param::new("call", COUNT, "the number of the call, which is unique"),
        Param::new("result", COUNT, "which of its results"),
        Param::new("shape", ParamKind::Shape, "the result's sizes"),
        Param::new("dtype", ParamKind::DType, "the result's dtype"),
        Param::out("the result"),
    ],
    forms: &[Form::own(
        FUNCTION,
        &[
            "a", "b", "c", "d", "e", "f", "g", "h", "function", "call", "result", "shape", "dtype",
            "out",
        ],
    )],
    body: Body::kernel(
        |args| Ok(Type::new(args.dtype("dtype")?, args.shape("shape")?)),
        |args| {
            let mut operands = smallvec![args.operand("out", &[0])?];
            for name in OPERANDS {
                if args.tensor_if_any(name)?.is_some() {
                    operands.push(args.operand(name, &[0])?);
                }
            }
            let mut params = Extents::new();
            for name in ["function", "call", "result"] {
                params.push(args.int(name)?);
            }
            Ok(smallvec![Launch {
                kernel: FUNCTION,
                dims: smallvec![1],
                split: 0,
                operands,
                params,
            }])
        },
        Reference::Callers,
    ),
    operations: crate::rules::out_elements,
    laws: &[Law::Effect(Effect::CallsBack)],
};
