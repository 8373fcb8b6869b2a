//! Calls of functions: operands against the signature, then the ops.

use super::emit::device;
use super::registers::Register;
use super::unify::Unified;
use super::{Lowering, Refusal, not_so, refuse};
use crate::functions::{Attr, FUNCTIONS, Function, Kind, Own, Takes, function};
use cloakwork_formats::zk::Value;
use cloakwork_formats::zk::{Operation, scalars};
use cloakwork_ir::{Arg, DType, Finding, HostSlot, HostTensor, Repr, Shape, ShapeItem, Symbol};
use cloakwork_ops::{OpDef, named};
use std::collections::HashMap;

/// A call whose operands fit the signature.
pub(super) struct Call<'a> {
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

    fn int(&self, name: &str) -> i64 {
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

    fn out(&self) -> Result<&Register, Refusal> {
        self.outs.first().ok_or(None)
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
            return refuse(Finding::error("V07", "a function that is known", got).hint(hint));
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
                return refuse(Finding::error("V07", expected, key).field("attrs"));
            };
            if !attr.takes(value) {
                let field = format!("attrs.{key}");
                let finding = Finding::error("V07", attr.kind, value.described());
                return refuse(finding.field(field));
            }
        }
        let mut required = attrs.iter().filter(|attr| attr.required);
        match required.find(|attr| call.attr(attr.name).is_none()) {
            Some(missing) => {
                let expected = format!("the attribute {} ({})", missing.name, missing.kind);
                refuse(Finding::error("V07", expected, "none").field("attrs"))
            }
            None => Ok(()),
        }
    }

    /// Holds operands to the patterns of a function, or to the number that its op takes: whether
    /// their types fit, the verifier says by the op's declaration.
    fn operands_fit(call: &Call<'_>) -> Result<(), Refusal> {
        let function = call.function;
        let all = || call.outs.iter().chain(&call.ins);
        let misfit = match function.takes {
            Takes::Patterns(patterns) => {
                let mut known = Unified::default();
                known.all(
                    function.name,
                    ("arg_mut", patterns.outs),
                    patterns.doc,
                    &call.outs,
                )?;
                return known.all(
                    function.name,
                    ("arg", patterns.ins),
                    patterns.doc,
                    &call.ins,
                );
            }
            Takes::Declared => None,
            Takes::Elements => all().find(|r| r.dtype.is_point()).zip(Some("elements")),
            Takes::Points => all().find(|r| !r.dtype.is_point()).zip(Some("points")),
            Takes::Scalars => all().find(|r| !r.dims.is_empty()).zip(Some("a scalar")),
        };
        if let Some((register, expected)) = misfit {
            return not_so("V07", register, expected, register.ty());
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
        refuse(Finding::error("V07", expected, got).field("arg"))
    }

    /// Holds operands and attributes to the signature.
    fn fits(&self, call: &Call<'_>) -> Result<(), Refusal> {
        Self::attributes_fit(call)?;
        Self::operands_fit(call)?;
        self.results_apart(&call.outs)?;
        self.operands_apart(call)?;
        let Some(first) = call.outs.iter().chain(&call.ins).next() else {
            return Ok(());
        };
        for register in call.outs.iter().chain(&call.ins) {
            if register.device != first.device {
                let hint = "transfer it to that device first";
                let expected = format!("operands on one device, {}", first.device);
                return refuse(
                    Finding::error("V08", expected, &register.device)
                        .field(&register.name)
                        .hint(hint),
                );
            }
        }
        Ok(())
    }

    fn call(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        match call.function.kind {
            Kind::Each(op) => self.each(op, call.out()?, &call.ins),
            Kind::InPlace(op) => self.each(op, call.out()?, std::slice::from_ref(call.out()?)),
            Kind::Sum(op) => self.sum(op, call),
            Kind::Whole(op) => {
                let ins: Vec<&Register> = call.ins.iter().collect();
                self.whole(op, call.out()?, &ins, call.flags())
            }
            Kind::WholeInPlace(op) => {
                let ins: Vec<&Register> = call.outs.iter().chain(&call.ins).collect();
                self.whole(op, call.out()?, &ins, call.flags())
            }
            Kind::Shared(op) => self.shared_operand(op, call),
            Kind::Own(own) => self.own_way(own, call),
        }
    }

    fn own_way(&mut self, own: Own, call: &Call<'_>) -> Result<(), Refusal> {
        match own {
            Own::Transform => self.transform(call, false),
            Own::InverseTransform => self.transform(call, true),
            Own::Scale => {
                let operands = [call.out()?, call.ins.first().ok_or(None)?].map(Clone::clone);
                self.each(&named::MULTIPLY, call.out()?, &operands)
            }
            Own::Axpy => self.axpy(call),
            Own::Fused => self.fused(call),
            Own::Divide => {
                let ins: Vec<&Register> = call.ins.iter().collect();
                let out = call.out()?;
                let keep = call.ins.first().is_some_and(|p| p.dims == out.dims);
                self.whole(&named::KATE_DIV, out, &ins, vec![Arg::Int(i64::from(keep))])
            }
            Own::Permute => self.permute(call),
            Own::Assemble => self.assemble(call),
            Own::Index => {
                let (source, target) = (call.ins.first().ok_or(None)?, call.out()?);
                let index = u64::try_from(call.int("index")).unwrap_or(u64::MAX);
                self.element_of(source, target, index)
            }
            Own::Fill => self.fill(call),
            Own::Random => {
                let out = call.out()?;
                self.random(out, (0, out.elements()), None)
            }
            Own::TranscriptNew => self.zero(call.out()?),
            Own::Squeeze => self.squeeze(call),
            Own::Finish => {
                let (out, transcript) = (call.out()?, call.ins.first().ok_or(None)?);
                let length = Arg::Int(out.elements() as i64);
                self.whole(&named::TRANSCRIPT_FINISH, out, &[transcript], vec![length])
            }
            Own::Interpolate => self.interpolate(call),
            Own::ScalarPower => self.power(call),
        }
    }

    /// Element by element, in pieces.
    pub(super) fn each(
        &mut self,
        op: &'static OpDef,
        out: &Register,
        ins: &[Register],
    ) -> Result<(), Refusal> {
        for register in ins {
            let fits = register.dims == out.dims || register.elements() == 1;
            if !fits {
                let hint = "sizes are equal, or one operand is a scalar";
                return refuse(
                    Finding::error("V07", out.ty(), register.ty())
                        .field(&register.name)
                        .hint(hint),
                );
            }
        }
        let all: Vec<&Register> = std::iter::once(out).chain(ins).collect();
        self.pieces(&all, |own, parts, _| {
            if let Some((to, from)) = parts.split_first() {
                let args: Vec<Arg> = from.iter().map(|part| device(part.symbol)).collect();
                own.write(op, args, to.symbol);
            }
            Ok(())
        })
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
            _ => return self.each(op, out, &call.ins),
        };
        match call.text("scalar_at") {
            Some("constant_term") => {}
            Some(_) => return self.each(op, out, &call.ins),
            None => {
                let hint = "\"all\" for values, \"constant_term\" for coefficients";
                let expected = "the attribute scalar_at, where one operand is a scalar";
                return refuse(Finding::error("V07", expected, "none").hint(hint));
            }
        }
        if out.dims != long.dims {
            return not_so("V07", long, out.ty(), long.ty());
        }
        // In coefficients a scalar is a polynomial of degree 0: the rest is p or -p.
        let subtracts = std::ptr::eq(op, &raw const named::SUBTRACT);
        let negated = subtracts && long.name == b.name && a.dims.is_empty();
        self.note.repr = Some(Repr::Coef);
        if negated {
            self.each(&named::NEGATIVE, out, std::slice::from_ref(long))?;
        } else if out.owner != long.owner || out.window != long.window {
            self.each(&named::COPY, out, std::slice::from_ref(long))?;
        }
        if out.elements() == 0 {
            return Ok(());
        }
        let first = self.first_of(out, 0)?;
        let scalar = self.symbols(scalar).first().copied().ok_or(None)?;
        let op = if negated { &named::ADD } else { op };
        self.write(op, [device(first), device(scalar)], first);
        Ok(())
    }

    /// A view of one element of a register.
    fn first_of(&mut self, register: &Register, index: u64) -> Result<Symbol, Refusal> {
        let symbol = self.symbols(register).first().copied().ok_or(None)?;
        Ok(self.slice(symbol, vec![ShapeItem::Int(index as i64)]))
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
        let target = match copies.get(out.name.as_str()) {
            Some(&symbol) if !apart => symbol,
            _ if out.wraps() => {
                let symbol = self.temporary(out.dtype, &out.dims, &out.device);
                temporaries.push(symbol);
                symbol
            }
            _ => self.symbols(out).first().copied().ok_or(None)?,
        };
        args.extend(attrs);
        self.write(op, args, target);
        if out.wraps() {
            self.copy_pieces(out, target, false);
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
        let from = self.symbols(register).first().copied().ok_or(None)?;
        let copy = self.temporary(register.dtype, &register.dims, &register.device);
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

    fn transform(&mut self, call: &Call<'_>, inverse: bool) -> Result<(), Refusal> {
        let out = call.out()?;
        let n = out.elements();
        if !n.is_power_of_two() {
            return not_so("V07", out, "a power of two elements", n.to_string());
        }
        if call.ins.len() > 1 {
            let got = call.ins.len().to_string();
            return refuse(Finding::error("V07", "at most the coset's shift", got).field("arg"));
        }
        let scale = !matches!(call.attr("scale"), Some(Value::Bool(false)));
        let shift = match call.ins.first() {
            None => Arg::None,
            Some(shift) => device(self.symbols(shift).first().copied().ok_or(None)?),
        };
        let [inverse, scale] = [inverse, scale].map(|flag| Arg::Int(i64::from(flag)));
        self.whole(&named::FIELD_NTT, out, &[out], vec![inverse, shift, scale])
    }

    fn axpy(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let (out, [s, x]) = (call.out()?, call.ins.as_slice()) else {
            return Err(None);
        };
        if x.dims != out.dims {
            return not_so("V07", x, out.ty(), x.ty());
        }
        self.pieces(&[out, s, x], |own, parts, len| {
            let &[to, s, x] = parts else { return Err(None) };
            let dims: Vec<u64> = if out.dims.len() == 1 {
                vec![len]
            } else {
                out.dims.clone()
            };
            let product = own.temporary(out.dtype, &dims, &out.device);
            own.write(
                &named::MULTIPLY,
                [device(x.symbol), device(s.symbol)],
                product,
            );
            own.write(&named::ADD, [device(to.symbol), device(product)], to.symbol);
            own.release([product]);
            Ok(())
        })
    }

    fn zero(&mut self, out: &Register) -> Result<(), Refusal> {
        for symbol in self.symbols(out) {
            self.op(
                &named::SET_CONST_VAL,
                [device(symbol), Arg::Int(0)],
                device(symbol),
            );
        }
        Ok(())
    }

    fn fill(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let out = call.out()?;
        if call.function.name == "fill_zero" {
            return self.zero(out);
        }
        let symbol = self.one(out)?;
        let coefficients =
            call.function.name == "fill_one" && call.text("repr") != Some("lagrange");
        self.note.repr = Some(match coefficients {
            true => Repr::Coef,
            false => Repr::Lagrange,
        });
        if !coefficients {
            for part in self.symbols(out) {
                self.write(&named::COPY, [device(symbol)], part);
            }
            return Ok(());
        }
        self.zero(out)?;
        if out.elements() > 0 {
            let first = self.first_of(out, 0)?;
            self.write(&named::COPY, [device(symbol)], first);
        }
        Ok(())
    }

    /// A lent scalar 1 beside a register.
    fn one(&mut self, out: &Register) -> Result<Symbol, Refusal> {
        let one = if out.dtype.is_number() {
            let mut bytes = vec![0; out.dtype.size_bytes()];
            cloakwork_ir::write_word(out.dtype, 1, &mut bytes);
            HostTensor::from_vec(out.dtype, Shape::scalar(), bytes).map_err(|_| None)?
        } else {
            let words = out.dtype.canonical_words();
            let mut bytes = vec![0; words * 8];
            if let Some(first) = bytes.first_mut() {
                *first = 1;
            }
            let shape = Shape::new(&[words as u64]).unwrap_or_default();
            let words = HostTensor::from_vec(DType::U64, shape, bytes).map_err(|_| None)?;
            let canonical = cloakwork_formats::zk::Canonical {
                dtype: out.dtype,
                words,
            };
            match (self.shared.convert)(&canonical) {
                Ok(one) => one,
                Err(error) => return not_so("V07", out, "elements of a field", error),
            }
        };
        let symbol = self.fresh();
        let stream = self.note.stream.take();
        self.upload(HostSlot::Data(one), symbol, &out.device);
        self.note.stream = stream;
        Ok(symbol)
    }

    fn assemble(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let out = call.out()?;
        let (n, split) = match (out.dims.as_slice(), out.window) {
            (&[n], Some(window)) => (n, window.before_wrap()),
            (&[n], None) => (n, n),
            _ => return Err(None),
        };
        if call.ins.len() as u64 > n {
            let expected = format!("at most {n} scalars");
            return refuse(Finding::error("V07", expected, call.ins.len().to_string()));
        }
        self.note.repr = Some(Repr::Coef);
        self.zero(out)?;
        let symbols = self.symbols(out);
        for (index, scalar) in (0u64..).zip(&call.ins) {
            let (piece, at) = match *symbols.as_slice() {
                [_, second] if index >= split => (second, index - split),
                [first, ..] => (first, index),
                [] => return Err(None),
            };
            let place = self.slice(piece, vec![ShapeItem::Int(at as i64)]);
            let scalar = self.symbols(scalar).first().copied().ok_or(None)?;
            self.write(&named::COPY, [device(scalar)], place);
        }
        Ok(())
    }

    fn interpolate(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
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
            return refuse(Finding::error("V07", expected, "other operands").field("arg"));
        }
        let mut tables = Vec::new();
        for scalars in call.ins.chunks(n.max(1) as usize) {
            let table = self.temporary(out.dtype, &[n], &out.device);
            for (index, scalar) in scalars.iter().enumerate() {
                let place = self.slice(table, vec![ShapeItem::Int(index as i64)]);
                let scalar = self.symbols(scalar).first().copied().ok_or(None)?;
                self.write(&named::COPY, [device(scalar)], place);
            }
            tables.push(table);
        }
        let mut temporaries = tables.clone();
        let target = if out.wraps() {
            let symbol = self.temporary(out.dtype, &[n], &out.device);
            temporaries.push(symbol);
            symbol
        } else {
            self.symbols(out).first().copied().ok_or(None)?
        };
        self.write(&named::INTERPOLATE, tables.into_iter().map(device), target);
        if out.wraps() {
            self.copy_pieces(out, target, false);
        }
        self.release(temporaries);
        Ok(())
    }

    fn power(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let out = call.out()?;
        let base = call.ins.first().unwrap_or(out);
        let exponent = call.int("exponent").to_le_bytes().to_vec();
        let Ok(data) = HostTensor::from_vec(DType::I64, Shape::scalar(), exponent) else {
            return Err(None);
        };
        let symbol = self.fresh();
        let stream = self.note.stream.take();
        self.upload(HostSlot::Data(data), symbol, &out.device);
        self.note.stream = stream;
        if base.dims != out.dims {
            return not_so("V07", base, out.ty(), base.ty());
        }
        self.pieces(&[out, base], |own, parts, _| {
            let &[to, from] = parts else { return Err(None) };
            own.write(
                &named::FIELD_POW,
                [device(from.symbol), device(symbol)],
                to.symbol,
            );
            Ok(())
        })
    }

    fn squeeze(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let [transcript, challenge] = call.outs.as_slice() else {
            return Err(None);
        };
        let Some((curve, own)) = transcript.transcript.clone() else {
            return Err(None);
        };
        let hash = call.text("hash").unwrap_or(&own);
        if hash != own {
            let hint = "remove the attribute: the type of the transcript determines it";
            let finding = Finding::error("V07", format!("{own}, the transcript's hash"), hash);
            return refuse(finding.field("attrs.hash").hint(hint));
        }
        let field = scalars(curve);
        if challenge.dtype != field {
            let expected = format!("{field}, of the transcript's curve");
            return not_so("V07", challenge, expected, challenge.ty());
        }
        let hash = Arg::Int(i64::from(hash == "keccak256"));
        self.whole(
            &named::TRANSCRIPT_SQUEEZE,
            transcript,
            &[transcript],
            Vec::new(),
        )?;
        let attrs = vec![hash, Arg::DType(challenge.dtype)];
        self.whole(&named::CHALLENGE, challenge, &[transcript], attrs)
    }
}
