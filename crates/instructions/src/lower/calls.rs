//! Calls of functions: operands against the signature, then the ops.

use super::emit::device;
use super::registers::Register;
use super::unify::Unified;
use super::{Lowering, Refusal, misfit, refuse};
use crate::functions::{Attr, FUNCTIONS, Function, Kind, Takes, function};
use cloakwork_formats::zk::{Canonical, Operation, Value, scalars};
use cloakwork_ir::{Arg, DType, HostTensor, Repr, Shape, ShapeItem, Symbol};
use cloakwork_ops::{OpDef, named};
use std::collections::HashMap;

/// A call whose operands fit the signature.
pub(crate) struct Call<'a> {
    pub function: &'static Function,
    pub outs: Vec<Register>,
    pub ins: Vec<Register>,
    attrs: &'a [(String, Value)],
}

impl Call<'_> {
    pub fn attr(&self, name: &str) -> Option<&Value> {
        let found = self.attrs.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value)
    }

    fn text(&self, name: &str) -> Option<&str> {
        match self.attr(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The form of the polynomial that it makes: coefficients, unless it says values.
    pub fn repr(&self) -> Repr {
        match self.text("repr") {
            Some("lagrange") => Repr::Lagrange,
            _ => Repr::Coef,
        }
    }

    pub fn int(&self, name: &str) -> i64 {
        match self.attr(name) {
            Some(Value::Int(value)) => *value,
            Some(Value::Bool(true)) => 1,
            _ => 0,
        }
    }

    /// The attributes of its op, in the declaration's order.
    fn flags(&self) -> Vec<Arg> {
        let params = self.function.op().map_or(&[][..], |op| op.params).iter();
        let given = params
            .filter(|param| Attr::of(param).is_some())
            .map(|param| {
                let default = param.default.filter(|_| self.attr(param.name).is_none());
                Arg::Int(default.unwrap_or_else(|| self.int(param.name)))
            });
        given.collect()
    }

    pub fn out(&self) -> Result<&Register, Refusal> {
        self.outs.first().ok_or(None)
    }

    fn first_in(&self) -> Result<&Register, Refusal> {
        self.ins.first().ok_or(None)
    }

    /// The operands; those of a function in place begin with its result.
    fn operands(&self) -> Vec<&Register> {
        let kind = self.function.kind;
        let outs = match kind {
            Kind::InPlace(_) | Kind::WholeInPlace(_) => self.outs.as_slice(),
            _ => &[],
        };
        outs.iter().chain(&self.ins).collect()
    }

    /// All registers, results first.
    pub fn registers(&self) -> impl Iterator<Item = &Register> {
        self.outs.iter().chain(&self.ins)
    }
}

impl Lowering<'_> {
    pub(super) fn function(&mut self, op: &Operation) -> Result<(), Refusal> {
        let Operation::FuncCall {
            func,
            arg_mut,
            arg,
            attrs,
            stream,
        } = op
        else {
            return Err(None);
        };
        self.note.stream = self.stream(stream);
        let own = &self.shared.ast.user_functions;
        if let Some(number) = own.iter().position(|(name, _)| name == func) {
            return self.user_function(number, (arg_mut, arg), attrs, stream.is_some());
        }
        let Some(function) = function(func) else {
            let known: Vec<&str> = FUNCTIONS.iter().map(|f| f.name).collect();
            let got = format!("\"{}\"", cloakwork_ir::shortened(func));
            let hint = format!("the functions are {}", known.join(", "));
            return refuse("V07", "", "a function that is known", got, hint);
        };
        let mut registers = Vec::new();
        for name in arg_mut.iter().chain(arg) {
            registers.push(self.tensor(name)?);
        }
        let ins = registers.split_off(arg_mut.len());
        let call = Call {
            function,
            outs: registers,
            ins,
            attrs,
        };
        self.fits(&call)?;
        self.call(&call)
    }

    /// Checks attributes against the function's.
    fn attributes_fit(call: &Call<'_>) -> Result<(), Refusal> {
        let function = call.function;
        let attrs: Vec<Attr> = function.attrs().collect();
        for (key, value) in call.attrs {
            let Some(attr) = attrs.iter().find(|attr| attr.name == key) else {
                let known: Vec<&str> = attrs.iter().map(|attr| attr.name).collect();
                let expected = format!("attributes of {}: {known:?}", function.name);
                return refuse("V07", "attrs", expected, key, "");
            };
            if !attr.takes(value) {
                let field = format!("attrs.{key}");
                return refuse("V07", field, attr.kind, value.described(), "");
            }
        }
        let mut required = attrs.iter().filter(|attr| attr.required);
        let Some(missing) = required.find(|attr| call.attr(attr.name).is_none()) else {
            return Ok(());
        };
        let expected = format!("the attribute {} ({})", missing.name, missing.kind);
        refuse("V07", "attrs", expected, "none", "")
    }

    /// Holds operands to the patterns of a function, or to the number that its op takes: whether
    /// their types fit, the verifier says by the op's declaration.
    fn operands_fit(call: &Call<'_>) -> Result<(), Refusal> {
        let function = call.function;
        let find = |differs: &dyn Fn(&Register) -> bool, expected| {
            let mut registers = call.registers();
            registers.find(|r| differs(r)).zip(Some(expected))
        };
        let wrong = match function.takes {
            Takes::Patterns(patterns) => return Unified::default().fits(call, &patterns),
            Takes::Declared => None,
            Takes::Elements => find(&|r| r.dtype.is_point(), "elements"),
            Takes::Points => find(&|r| !r.dtype.is_point(), "points"),
            Takes::Scalars => find(&|r| !r.dims.is_empty(), "a scalar"),
        };
        if let Some((register, expected)) = wrong {
            return misfit("V07", register, expected, register.ty());
        }
        let operands = function.operands();
        let (outs, read) = (call.outs.len(), call.ins.len());
        let (ins, fits) = match function.kind {
            Kind::Shared(_) => (&*operands, outs > 0 && read == outs + 1),
            Kind::InPlace(_) | Kind::WholeInPlace(_) => {
                let rest = operands.get(1..).unwrap_or(&[]);
                (rest, outs == 1 && read == rest.len())
            }
            _ => (&*operands, outs == 1 && read == operands.len()),
        };
        if fits {
            return Ok(());
        }
        let many = if matches!(function.kind, Kind::Shared(_)) {
            ", the first for each result"
        } else {
            ""
        };
        let expected = format!("{}({}){many}", function.name, ins.join(", "));
        let got = format!("{read} operands, {outs} results");
        refuse("V07", "arg", expected, got, "")
    }

    /// Holds operands and attributes to the signature.
    fn fits(&self, call: &Call<'_>) -> Result<(), Refusal> {
        Self::attributes_fit(call)?;
        Self::operands_fit(call)?;
        self.results_apart(&call.outs)?;
        self.operands_apart(call)?;
        let Some(first) = call.registers().next() else {
            return Ok(());
        };
        for register in call.registers() {
            if register.device != first.device {
                let hint = "transfer it to that device first";
                let expected = format!("operands on one device, {}", first.device);
                return refuse("V08", &register.name, expected, &register.device, hint);
            }
        }
        Ok(())
    }

    fn call(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        match call.function.kind {
            Kind::Each(op) => self.each(op, call.out()?, &call.operands()),
            Kind::InPlace(op) => self.each(op, call.out()?, &[call.out()?]),
            Kind::Sum(op) => self.sum(op, call),
            Kind::Whole(op) | Kind::WholeInPlace(op) => {
                self.whole(op, call.out()?, &call.operands(), call.flags())
            }
            Kind::Shared(op) => self.shared_operand(op, call),
            Kind::Steps(steps, _) => steps(self, call),
        }
    }

    pub(crate) fn scale(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let out = call.out()?;
        self.each(&named::MULTIPLY, out, &[out, call.first_in()?])
    }

    pub(crate) fn divide(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let (out, p) = (call.out()?, call.first_in()?);
        let keep = Arg::Int(i64::from(p.dims == out.dims));
        self.whole(&named::KATE_DIV, out, &call.operands(), vec![keep])
    }

    pub(crate) fn index(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let index = u64::try_from(call.int("index")).unwrap_or(u64::MAX);
        self.element_of(call.first_in()?, call.out()?, index)
    }

    pub(crate) fn finish_transcript(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let (out, transcript) = (call.out()?, call.first_in()?);
        let length = Arg::Int(out.elements() as i64);
        self.whole(&named::TRANSCRIPT_FINISH, out, &[transcript], vec![length])
    }

    /// Element by element, in pieces.
    pub(super) fn each(
        &mut self,
        op: &'static OpDef,
        out: &Register,
        ins: &[&Register],
    ) -> Result<(), Refusal> {
        for register in ins {
            let fits = register.dims == out.dims || register.elements() == 1;
            if !fits {
                let hint = match (register.dims.as_slice(), out.dims.as_slice()) {
                    (&[short], &[long]) if short < long => {
                        "lengthen coefficients by a Transfer with pad: \"zero\""
                    }
                    _ => "sizes are equal, or one operand is a scalar",
                };
                return refuse("V07", &register.name, out.ty(), register.ty(), hint);
            }
        }
        self.elementwise(op, out, ins, &[])
    }

    /// Sums and differences: of a polynomial and a scalar in one of two meanings, which must be
    /// said.
    fn sum(&mut self, op: &'static OpDef, call: &Call<'_>) -> Result<(), Refusal> {
        let (Ok(out), [a, b]) = (call.out(), call.ins.as_slice()) else {
            return Err(None);
        };
        let (long, scalar) = match (a.dims.as_slice(), b.dims.as_slice()) {
            ([_], []) => (a, b),
            ([], [_]) => (b, a),
            _ => return self.each(op, out, &call.operands()),
        };
        match call.text("scalar_at") {
            Some("constant_term") => {}
            Some(_) => return self.each(op, out, &call.operands()),
            None => {
                let hint = "\"all\" for values, \"constant_term\" for coefficients";
                let expected = "the attribute scalar_at, where one operand is a scalar";
                return refuse("V07", "", expected, "none", hint);
            }
        }
        if out.dims != long.dims {
            return misfit("V07", long, out.ty(), long.ty());
        }
        // In coefficients a scalar is a polynomial of degree 0: the rest is p or -p.
        let subtracts = std::ptr::eq(op, &raw const named::SUBTRACT);
        let negated = subtracts && long.name == b.name && a.dims.is_empty();
        self.note.repr = Some(Repr::Coef);
        if negated {
            self.each(&named::NEGATIVE, out, &[long])?;
        } else if out.owner != long.owner || out.window != long.window {
            self.each(&named::COPY, out, &[long])?;
        }
        if out.elements() == 0 {
            return Ok(());
        }
        let (first, scalar) = (self.element_view(out, 0)?, self.first(scalar)?);
        let op = if negated { &named::ADD } else { op };
        self.write(op, [first, scalar].map(device), first);
        Ok(())
    }

    /// An op that takes operands in one piece; a result in two pieces is copied from one.
    pub(super) fn whole(
        &mut self,
        op: &'static OpDef,
        out: &Register,
        ins: &[&Register],
        attrs: Vec<Arg>,
    ) -> Result<(), Refusal> {
        // Transcripts grow in place; what computes on polynomials reads and writes apart.
        let apart = out.dtype != DType::U8;
        let mut temporaries = Vec::new();
        let mut copies: HashMap<&str, Symbol> = HashMap::new();
        let mut args = Vec::new();
        for register in ins {
            let symbol = match copies.get(register.name.as_str()) {
                Some(&symbol) => symbol,
                None if apart && register.name == out.name => {
                    self.copied(register, &mut temporaries)?
                }
                None => self.single(register, &mut temporaries),
            };
            copies.insert(&register.name, symbol);
            args.push(device(symbol));
        }
        args.extend(attrs);
        match copies.get(out.name.as_str()) {
            Some(&target) if !apart => {
                self.write(op, args, target);
                if out.wraps() {
                    self.copy_pieces(out, target, false);
                }
            }
            _ => self.write_whole(op, args, out, &mut temporaries)?,
        }
        self.release(temporaries);
        Ok(())
    }

    /// A copy of a register in one piece.
    pub(super) fn copied(
        &mut self,
        register: &Register,
        temporaries: &mut Vec<Symbol>,
    ) -> Result<Symbol, Refusal> {
        if register.wraps() {
            return Ok(self.single(register, temporaries));
        }
        let from = self.first(register)?;
        let copy = self.temporary_like(register);
        self.write(&named::COPY, [device(from)], copy);
        temporaries.push(copy);
        Ok(copy)
    }

    /// One call for each result, with an operand of its own and the last, which all share.
    fn shared_operand(&mut self, op: &'static OpDef, call: &Call<'_>) -> Result<(), Refusal> {
        let Some((shared, own)) = call.ins.split_last() else {
            return Err(None);
        };
        for (out, own) in call.outs.iter().zip(own) {
            self.whole(op, out, &[own, shared], Vec::new())?;
        }
        Ok(())
    }

    pub(crate) fn transform(&mut self, call: &Call<'_>, inverse: bool) -> Result<(), Refusal> {
        let out = call.out()?;
        let n = out.elements();
        if !n.is_power_of_two() {
            return misfit("V07", out, "a power of two elements", n.to_string());
        }
        if call.ins.len() > 1 {
            let got = call.ins.len().to_string();
            return refuse("V07", "arg", "at most the coset's shift", got, "");
        }
        let scale = !matches!(call.attr("scale"), Some(Value::Bool(false)));
        let shift = match call.ins.first() {
            None => Arg::None,
            Some(shift) => device(self.first(shift)?),
        };
        let [inverse, scale] = [inverse, scale].map(|flag| Arg::Int(i64::from(flag)));
        self.whole(&named::FIELD_NTT, out, &[out], vec![inverse, shift, scale])
    }

    pub(crate) fn axpy(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let (out, [s, x]) = (call.out()?, call.ins.as_slice()) else {
            return Err(None);
        };
        if x.dims != out.dims {
            return misfit("V07", x, out.ty(), x.ty());
        }
        self.pieces(&[out, s, x], |own, parts, len| {
            let &[to, s, x] = parts else { return Err(None) };
            let dims = match out.dims.as_slice() {
                [_] => vec![len],
                dims => dims.to_vec(),
            };
            let product = own.temporary(out.dtype, &dims, &out.device);
            own.write(&named::MULTIPLY, [x, s].map(device), product);
            own.write(&named::ADD, [to, product].map(device), to);
            own.release([product]);
            Ok(())
        })
    }

    pub(crate) fn fill_zero(&mut self, out: &Register) -> Result<(), Refusal> {
        self.symbols(out)
            .into_iter()
            .for_each(|symbol| self.zero(symbol));
        Ok(())
    }

    /// The polynomial 1: as values, 1 everywhere; as coefficients, the first alone.
    pub(crate) fn fill_one(&mut self, out: &Register, repr: Repr) -> Result<(), Refusal> {
        let one = self.one(out)?;
        self.note.repr = Some(repr);
        let places = match repr {
            Repr::Lagrange => self.symbols(out),
            Repr::Coef => {
                self.fill_zero(out)?;
                match out.elements() {
                    0 => Vec::new(),
                    _ => vec![self.element_view(out, 0)?],
                }
            }
        };
        for place in places {
            self.write(&named::COPY, [device(one)], place);
        }
        Ok(())
    }

    /// A lent scalar 1 beside a register.
    fn one(&mut self, out: &Register) -> Result<Symbol, Refusal> {
        if out.dtype.is_number() {
            let mut bytes = vec![0; out.dtype.size_bytes()];
            cloakwork_ir::write_word(out.dtype, 1, &mut bytes);
            return self.lend(out.dtype, bytes, &out.device);
        }
        let words = out.dtype.canonical_words();
        let mut bytes = vec![0; words * 8];
        if let Some(first) = bytes.first_mut() {
            *first = 1;
        }
        let shape = Shape::new(&[words as u64]).unwrap_or_default();
        let canonical = Canonical {
            dtype: out.dtype,
            words: HostTensor::from_vec(DType::U64, shape, bytes).map_err(|_| None)?,
        };
        match (self.shared.convert)(&canonical) {
            Ok(one) => Ok(self.lend_tensor(one, &out.device)),
            Err(error) => misfit("V07", out, "elements of a field", error),
        }
    }

    pub(crate) fn assemble(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let out = call.out()?;
        let &[n] = out.dims.as_slice() else {
            return Err(None);
        };
        if call.ins.len() as u64 > n {
            let expected = format!("at most {n} scalars");
            return refuse("V07", "", expected, call.ins.len().to_string(), "");
        }
        self.note.repr = Some(Repr::Coef);
        self.fill_zero(out)?;
        for (index, scalar) in (0u64..).zip(&call.ins) {
            let place = self.element_view(out, index)?;
            let scalar = self.first(scalar)?;
            self.write(&named::COPY, [device(scalar)], place);
        }
        Ok(())
    }

    pub(crate) fn interpolate(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let out = call.out()?;
        if let ([xs, ys], [_]) = (call.ins.as_slice(), out.dims.as_slice())
            && xs.dims == out.dims
            && ys.dims == out.dims
        {
            return self.whole(&named::INTERPOLATE, out, &[xs, ys], Vec::new());
        }
        let n = out.elements();
        let all_scalars = call.ins.iter().all(|register| register.dims.is_empty());
        if call.ins.len() as u64 != n.saturating_mul(2) || !all_scalars {
            let expected = format!("xs and ys of {n} elements, or {n} scalars xs, then {n} ys");
            return refuse("V07", "arg", expected, "other operands", "");
        }
        let mut tables = Vec::new();
        for scalars in call.ins.chunks(n.max(1) as usize) {
            let table = self.temporary(out.dtype, &[n], &out.device);
            for (index, scalar) in scalars.iter().enumerate() {
                let place = self.slice(table, vec![ShapeItem::Int(index as i64)]);
                let scalar = self.first(scalar)?;
                self.write(&named::COPY, [device(scalar)], place);
            }
            tables.push(table);
        }
        let mut temporaries = tables.clone();
        let tables = tables.into_iter().map(device).collect();
        self.write_whole(&named::INTERPOLATE, tables, out, &mut temporaries)?;
        self.release(temporaries);
        Ok(())
    }

    pub(crate) fn power(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let out = call.out()?;
        let base = call.ins.first().unwrap_or(out);
        let exponent = call.int("exponent").to_le_bytes().to_vec();
        let symbol = self.lend(DType::I64, exponent, &out.device)?;
        if base.dims != out.dims {
            return misfit("V07", base, out.ty(), base.ty());
        }
        self.elementwise(&named::FIELD_POW, out, &[base], &[symbol])
    }

    pub(crate) fn squeeze(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let [transcript, challenge] = call.outs.as_slice() else {
            return Err(None);
        };
        let Some((curve, own)) = transcript.transcript.clone() else {
            return Err(None);
        };
        let hash = call.text("hash").unwrap_or(&own);
        if hash != own {
            let hint = "remove the attribute: the type of the transcript determines it";
            let expected = format!("{own}, the transcript's hash");
            return refuse("V07", "attrs.hash", expected, hash, hint);
        }
        let field = scalars(curve);
        if challenge.dtype != field {
            let expected = format!("{field}, of the transcript's curve");
            return misfit("V07", challenge, expected, challenge.ty());
        }
        let hash = Arg::Int(i64::from(hash == "keccak256"));
        let op = &named::TRANSCRIPT_SQUEEZE;
        self.whole(op, transcript, &[transcript], Vec::new())?;
        let attrs = vec![hash, Arg::DType(challenge.dtype)];
        self.whole(&named::CHALLENGE, challenge, &[transcript], attrs)
    }
}
