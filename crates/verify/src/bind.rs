//! Arguments as written become parameters: each of the right kind, each name resolved.

use crate::check::Checker;
use crate::names::Name;
use crate::report::Issue;
use crate::spelling::Spelling;
use crate::{ArgPlace, Bound, Call, ValueId};
use cloakwork_ir::{Arg, DType, Op, ShapeItem, Symbol, shortened};
use cloakwork_ops::{Code, Param, ParamKind};

/// Why a parameter has no value: it was reported, or follows from what was.
struct Unknown;

impl Checker<'_> {
    /// Binds all arguments of a call. `None`: some are wrong or unknown; that is reported.
    pub fn bind_args(&mut self, spelling: &Spelling, op: &Op) -> Option<Call> {
        let mut values = spelling.defaults.clone();
        let mut known = true;
        let args = self.program.args(op).iter().zip(&spelling.order);
        for (index, (arg, &param)) in args.enumerate() {
            let (Some(def), Some(place)) = (spelling.def.params.get(param), values.get_mut(param))
            else {
                continue;
            };
            let written = ArgPlace {
                step: self.step,
                index: index as u32,
            };
            match self.bind(spelling, def, arg, written) {
                Ok(Some(bound)) => *place = bound,
                Ok(None) => {}
                Err(Unknown) => known = false,
            }
        }
        let call = Call {
            def: spelling.def,
            values,
            constants: 0,
        };
        known.then(|| self.with_constants(call))
    }

    /// The same call with what is known of contents now.
    pub fn with_constants(&self, mut call: Call) -> Call {
        let values = call.values.iter().enumerate();
        call.constants = values.fold(0, |bits, (param, bound)| match bound {
            Bound::Value(id) if param < 32 && self.is_known(*id) => bits | 1 << param,
            _ => bits,
        });
        call
    }

    fn is_known(&self, id: ValueId) -> bool {
        self.values.upload_of(self.program, id).is_some()
    }

    /// One argument. `None`: what the parameter is by default.
    fn bind(
        &mut self,
        spelling: &Spelling,
        param: &Param,
        arg: &Arg,
        place: ArgPlace,
    ) -> Result<Option<Bound>, Unknown> {
        let ints = spelling.form.ints;
        let is_int = ints.is_none_or(|ints| ints.contains(&param.name));
        let is_tensor = ints.is_none_or(|ints| !ints.contains(&param.name));
        let bound = match (param.kind, arg) {
            (ParamKind::Hint, arg) => return Ok(Some(self.bind_hint(param, arg, place))),
            (
                ParamKind::Tensor | ParamKind::OptionalTensor | ParamKind::Out,
                Arg::Device(symbol, claim),
            ) => return self.resolve(param, *symbol, *claim),
            (ParamKind::TensorOrInt, Arg::Device(symbol, claim)) if is_tensor => {
                return self.resolve(param, *symbol, *claim);
            }
            (ParamKind::TensorOrInt, Arg::Int(value)) if is_int => Bound::Int(*value),
            (ParamKind::OptionalTensor, Arg::None) => Bound::Absent,
            (ParamKind::Int(low, high), Arg::Int(value)) => {
                return self.in_range(param, *value, (low, high));
            }
            (ParamKind::Bool, Arg::Int(value)) => return self.in_range(param, *value, (0, 1)),
            (ParamKind::Shape, Arg::Shape(items)) => {
                self.check_items(param, items)?;
                Bound::Shape(place)
            }
            (ParamKind::DType, Arg::DType(dtype)) => Bound::DType(*dtype),
            (ParamKind::Host, Arg::Host(id)) if self.program.host(*id).is_some() => {
                Bound::Host(*id)
            }
            (_, Arg::None) if param.default.is_some() => return Ok(None),
            (kind, arg) => {
                let expected = wanted(kind, is_tensor, is_int);
                return self.wrong_kind(param, arg, expected);
            }
        };
        Ok(Some(bound))
    }

    /// Anything goes for a hint, but a tensor must exist.
    fn bind_hint(&mut self, param: &Param, arg: &Arg, place: ArgPlace) -> Bound {
        match arg {
            Arg::Device(symbol, claim) => match self.resolve(param, *symbol, *claim) {
                Ok(Some(bound)) => bound,
                Ok(None) | Err(Unknown) => Bound::Absent,
            },
            Arg::Int(value) => Bound::Int(*value),
            Arg::Shape(_) => Bound::Shape(place),
            Arg::DType(dtype) => Bound::DType(*dtype),
            Arg::Host(id) if self.program.host(*id).is_some() => Bound::Host(*id),
            Arg::Host(_) | Arg::None | Arg::Invalid(_) => Bound::Absent,
        }
    }

    fn resolve(
        &mut self,
        param: &Param,
        symbol: Symbol,
        claim: Option<DType>,
    ) -> Result<Option<Bound>, Unknown> {
        let value = self.look_up(symbol, param.name).ok_or(Unknown)?;
        self.check_claim(symbol, claim, value);
        Ok(Some(Bound::Value(value)))
    }

    /// The value of a name; reports, once, a name that has none.
    pub fn look_up(&mut self, symbol: Symbol, operand: &'static str) -> Option<ValueId> {
        let issue = match self.names.get(symbol) {
            Name::Live { value, .. } => return Some(value),
            Name::Poisoned => return None,
            Name::Unbound if self.definition_of(symbol).is_some() => {
                let made = self.definition_of(symbol).unwrap_or_default();
                self.names.set(symbol, Name::Poisoned);
                if !self.sound {
                    return None;
                }
                let expected = "a definition that always runs before";
                let got = format!("{}, which may run later", self.place(made));
                let hint = "wait for an event that is recorded after the definition";
                Issue::error("undefined-name", expected, got).hint(hint)
            }
            Name::Unbound => Issue::undefined("upload or allocate it first, or correct the name"),
            Name::Freed { step } => {
                let got = format!("a tensor freed at {}", self.place(step));
                Issue::error("use-after-free", "a live tensor", got)
                    .hint("move the free after the last use")
            }
        };
        self.report(issue.operand(operand).names([symbol]));
        self.names.set(symbol, Name::Poisoned);
        None
    }

    /// The dtype that the file claims for a tensor is the one it has.
    pub fn check_claim(&mut self, symbol: Symbol, claim: Option<DType>, value: ValueId) {
        let actual = self.values.value(value).map(|info| info.dtype);
        if let (Some(claim), Some(actual)) = (claim, actual)
            && claim != actual
        {
            let hint = "the file states another element type than the tensor has";
            let issue = Issue::error("claimed-dtype", actual.name(), claim.name());
            self.report(issue.names([symbol]).hint(hint));
        }
    }

    fn in_range(
        &mut self,
        param: &Param,
        value: i64,
        (low, high): (i64, i64),
    ) -> Result<Option<Bound>, Unknown> {
        if (low..=high).contains(&value) {
            return Ok(Some(Bound::Int(value)));
        }
        let expected = match (low, high) {
            (low, i64::MAX) => format!("an integer of {low} or more"),
            (i64::MIN, high) => format!("an integer of {high} or less"),
            (low, high) => format!("an integer from {low} to {high}"),
        };
        self.report(Issue::of(Code::Range, expected, value.to_string()).operand(param.name));
        Err(Unknown)
    }

    fn check_items(&mut self, param: &Param, items: &[ShapeItem]) -> Result<(), Unknown> {
        for item in items {
            if let ShapeItem::Invalid(what) = item {
                let expected = "integers and slices";
                self.report(Issue::of(Code::ArgumentType, expected, &**what).operand(param.name));
                return Err(Unknown);
            }
        }
        Ok(())
    }

    fn wrong_kind(
        &mut self,
        param: &Param,
        arg: &Arg,
        expected: &str,
    ) -> Result<Option<Bound>, Unknown> {
        let got = self.describe(arg);
        self.report(Issue::of(Code::ArgumentType, expected, got).operand(param.name));
        if let Arg::Device(symbol, _) = arg {
            self.look_up(*symbol, param.name);
        }
        Err(Unknown)
    }

    /// An argument in words.
    pub fn describe(&self, arg: &Arg) -> String {
        match arg {
            Arg::Device(symbol, _) => {
                let name = shortened(self.program.symbol_name(*symbol));
                format!("the tensor %{name}")
            }
            Arg::Host(id) if self.program.host(*id).is_none() => {
                "an undefined host tensor".to_owned()
            }
            Arg::Host(_) => "a host tensor".to_owned(),
            Arg::Shape(_) => "a list".to_owned(),
            Arg::Int(value) => format!("the integer {value}"),
            Arg::None => "nothing".to_owned(),
            Arg::DType(dtype) => format!("the element type {dtype}"),
            Arg::Invalid(what) => (**what).to_owned(),
        }
    }
}

fn wanted(kind: ParamKind, is_tensor: bool, is_int: bool) -> &'static str {
    match kind {
        ParamKind::Tensor | ParamKind::Out => "a device tensor",
        ParamKind::TensorOrInt => match (is_tensor, is_int) {
            (true, true) => "a device tensor or an integer",
            (true, false) => "a device tensor",
            _ => "an integer",
        },
        ParamKind::OptionalTensor => "a device tensor or nothing",
        ParamKind::Int(..) => "an integer",
        ParamKind::Bool => "0 or 1",
        ParamKind::Shape => "a list",
        ParamKind::DType => "an element type",
        ParamKind::Host => "a host tensor",
        ParamKind::Hint => "anything",
    }
}
