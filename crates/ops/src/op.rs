//! The fields of a declaration. Every part that treats ops alike loops over them.

use crate::custom::Custom;
use crate::elementwise::Elementwise;
use crate::reference::Reference;
use crate::{Args, ContentCheck, Cut, CutsFn, Expansion, Launches, OpError, ReprRule, cut};
use cloakwork_ir::{Arg, DType, Generation, MAX_RANK, Type, View};

/// Groups of ops: the folder name of their declaration and of their kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Views, allocation, transfers.
    Layout,
    /// Element-wise arithmetic modulo word-sized integers.
    Modular,
    /// Number-theoretic transforms.
    Ntt,
    /// Gadget decomposition.
    Gadget,
    /// Residue number systems: changes of base.
    Rns,
    /// Ring-LWE: automorphisms, key switching, sampling.
    Rlwe,
    /// Element by element, on numbers of any type.
    Elementwise,
    /// Sums, products, extremes and counts along axes.
    Reduction,
    /// Sorting and searching.
    Sorting,
    /// Matrices and Fourier transforms.
    Linear,
    /// Tensors from nothing (ranges and random numbers), and from functions of the caller's.
    Creation,
    /// Elements of prime fields: their canonical words.
    Field,
    /// Polynomials over prime fields.
    Poly,
    /// Points of curves.
    Curve,
    /// Hashes, transcripts of proofs, and random elements for them.
    Hash,
    /// Ops that vendors declare for their devices.
    Custom,
}

impl Family {
    /// Whether its ops compute on elements of any type, as the array API standard has them: what
    /// HEAL's interface does not know.
    #[must_use]
    pub const fn is_of_numbers(self) -> bool {
        matches!(
            self,
            Self::Elementwise
                | Self::Reduction
                | Self::Sorting
                | Self::Linear
                | Self::Creation
                | Self::Curve
                | Self::Field
                | Self::Poly
        )
    }

    /// Whether its ops are those of zero-knowledge proofs.
    #[must_use]
    pub const fn is_of_proofs(self) -> bool {
        matches!(self, Self::Field | Self::Poly | Self::Curve | Self::Hash)
    }

    /// The folder's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Layout => "layout",
            Self::Modular => "modular",
            Self::Ntt => "ntt",
            Self::Gadget => "gadget",
            Self::Rns => "rns",
            Self::Rlwe => "rlwe",
            Self::Elementwise => "elementwise",
            Self::Reduction => "reduction",
            Self::Sorting => "sorting",
            Self::Linear => "linear",
            Self::Creation => "creation",
            Self::Field => "field",
            Self::Poly => "poly",
            Self::Curve => "curve",
            Self::Hash => "hash",
            Self::Custom => "custom",
        }
    }
}

/// The kind of argument that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A tensor that is read.
    Tensor,
    /// A tensor that is read, or an integer that stands for a tensor of one element.
    TensorOrInt,
    /// A tensor that is read, or nothing.
    OptionalTensor,
    /// The tensor that is written; the step's result is this tensor.
    Out,
    /// An integer in a range, both ends included.
    Int(i64, i64),
    /// 0 or 1.
    Bool,
    /// A list of sizes; in `get_slice`, of indices and ranges.
    Shape,
    /// An element type.
    DType,
    /// A host tensor: an upload's source or a download's expected value.
    Host,
    /// Anything; named by the interface, not needed here. A device tensor must still exist.
    Hint,
}

/// One parameter of an op.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name in Python, in messages and in the text form.
    pub name: &'static str,
    /// The kind of its argument.
    pub kind: ParamKind,
    /// Its meaning: shape, range, domain.
    pub doc: &'static str,
    /// The value it has where a spelling leaves it out: this integer. Optional tensors and hints
    /// that are left out are absent.
    pub default: Option<i64>,
}

impl ParamKind {
    /// An axis, of the tensor or of the result, that may be negative.
    pub const AXIS: Self = Self::Int(-(MAX_RANK as i64) - 1, MAX_RANK as i64);
    /// Any integer.
    pub const ANY_INT: Self = Self::Int(i64::MIN, i64::MAX);
}

impl Param {
    /// A parameter without a default.
    #[must_use]
    pub const fn new(name: &'static str, kind: ParamKind, doc: &'static str) -> Self {
        Self {
            name,
            kind,
            doc,
            default: None,
        }
    }

    /// A tensor that is read.
    #[must_use]
    pub const fn tensor(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, ParamKind::Tensor, doc)
    }

    /// A tensor that is read, or an integer.
    #[must_use]
    pub const fn tensor_or_int(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, ParamKind::TensorOrInt, doc)
    }

    /// A tensor that is read, or nothing.
    #[must_use]
    pub const fn optional(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, ParamKind::OptionalTensor, doc)
    }

    /// The tensor `out`.
    #[must_use]
    pub const fn out(doc: &'static str) -> Self {
        Self::new("out", ParamKind::Out, doc)
    }

    /// 0 or 1.
    #[must_use]
    pub const fn flag(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, ParamKind::Bool, doc)
    }

    /// An axis.
    #[must_use]
    pub const fn axis(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, ParamKind::AXIS, doc)
    }

    /// An argument of HEAL's interface that is not needed here.
    #[must_use]
    pub const fn hint(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, ParamKind::Hint, doc)
    }

    /// The same with a default.
    #[must_use]
    pub const fn or(mut self, default: i64) -> Self {
        self.default = Some(default);
        self
    }
}

/// Where a spelling comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// HEAL's interface, the same in both generations.
    Heal,
    /// HEAL's interface, one generation only.
    HealOnly(Generation),
    /// A name used in HEAL's documents, not by its runtime.
    Documents,
    /// Cloakwork's own name.
    Own,
}

/// One spelling of an op in a program: its name and the order of its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The name in the file.
    pub name: &'static str,
    /// Parameters in the order in which this spelling has them. What is left out has its default.
    pub args: &'static [&'static str],
    /// Parameters of kind [`ParamKind::TensorOrInt`] that this spelling gives as integers; the
    /// others are tensors. `None`: either, by the argument.
    pub ints: Option<&'static [&'static str]>,
    /// Where it comes from.
    pub origin: Origin,
}

impl Form {
    /// A spelling of HEAL's interface.
    #[must_use]
    pub const fn heal(name: &'static str, args: &'static [&'static str]) -> Self {
        Self {
            name,
            args,
            ints: None,
            origin: Origin::Heal,
        }
    }

    /// Of arguments in this spelling's order, the one that a parameter takes.
    #[must_use]
    pub fn argument<'a>(&self, param: &str, args: &'a [Arg]) -> Option<&'a Arg> {
        let place = self.args.iter().position(|name| *name == param)?;
        args.get(place)
    }

    /// Whether it is a spelling of HEAL's interface in this generation.
    #[must_use]
    pub fn is_heals(&self, generation: Generation) -> bool {
        match self.origin {
            Origin::Heal => true,
            Origin::HealOnly(only) => only == generation,
            Origin::Documents | Origin::Own => false,
        }
    }

    /// A name that HEAL's documents use.
    #[must_use]
    pub const fn documents(name: &'static str, args: &'static [&'static str]) -> Self {
        Self {
            name,
            args,
            ints: None,
            origin: Origin::Documents,
        }
    }

    /// A name of Cloakwork's own.
    #[must_use]
    pub const fn own(name: &'static str, args: &'static [&'static str]) -> Self {
        Self {
            name,
            args,
            ints: None,
            origin: Origin::Own,
        }
    }

    /// The same in one generation only.
    #[must_use]
    pub const fn only(mut self, generation: Generation) -> Self {
        self.origin = Origin::HealOnly(generation);
        self
    }

    /// The same where these parameters are integers, and no other that might be one is.
    #[must_use]
    pub const fn ints(mut self, ints: &'static [&'static str]) -> Self {
        self.ints = Some(ints);
        self
    }
}

/// The result of a layout op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Viewed {
    /// A view of the same storage.
    View(View),
    /// No view can say it: a new row-major tensor with the same elements under this shape.
    Copy(cloakwork_ir::Shape),
}

/// How the type of `out` relates to the type that an op infers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutRule {
    /// The same shape.
    Exact,
    /// Any shape that the inferred one broadcasts to.
    Broadcast,
}

/// Whether `out` may have the same elements as an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aliasing {
    /// Any operand of the same shape and strides may be `out` (element-wise kernels).
    Same,
    /// Only this parameter may be.
    Only(&'static str),
    /// None may.
    Never,
}

/// Whether a kernel reads the former content of `out`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Writes every element without reading it.
    Write,
    /// Reads and writes.
    Accumulate,
}

/// Appends the smaller ops that an op consists of.
pub type ExpandFn = fn(&Args, &mut Expansion) -> Result<(), OpError>;

/// How many bytes of memory launches share.
pub type BytesFn = fn(&Args) -> Result<u64, OpError>;

/// An op that kernels compute.
#[derive(Clone, Copy)]
pub struct KernelBody {
    /// Type of the result, from operands only; all rules on shapes, dtypes and axes. What operands
    /// contain is the matter of `checks`.
    pub infer: fn(&Args) -> Result<Type, OpError>,
    /// Checks of the operands' contents: the verifier's (`check_known`) where they are known, else
    /// the run's before the launch.
    pub checks: &'static [ContentCheck],
    /// How `out` may differ from it.
    pub out: OutRule,
    /// Result dtypes allowed for each dtype of the first tensor operand; the first is the default.
    /// Empty: the result has that operand's dtype, whatever it is.
    pub dtypes: &'static [(DType, DType)],
    /// Whether `out` may share elements with operands.
    pub aliasing: Aliasing,
    /// Whether `out` is read.
    pub access: Access,
    /// The kernel calls, over the physical views of the operands.
    pub launch: fn(&Args) -> Result<Launches, OpError>,
    /// The slow, obvious definition of the contents of `out`, row-major.
    pub reference: Reference,
    /// Bytes of memory that the launches share and nothing else sees, if they need some.
    pub temporary: Option<BytesFn>,
    /// For ops that compute each element of `out` from one element of each operand: what the
    /// planner may fuse, and an eager call may run without asking further.
    pub elementwise: Option<&'static Elementwise>,
    /// The same in smaller ops, for a device that lacks this one; equal to the bit.
    pub expand: Option<ExpandFn>,
    /// Whether a call can be written in these: some shapes and contents forbid it.
    pub expands: fn(&Args) -> bool,
    /// The ways to cut a call into parts, for ops that are not element-wise.
    pub cuts: Option<CutsFn>,
    /// The declaration of a vendor's op: the processor has no kernel for it.
    pub custom: Option<&'static Custom>,
}

impl KernelBody {
    /// A body without checks, whose launches write all of an `out` that has the inferred type and
    /// shares nothing with operands.
    #[must_use]
    pub const fn new(
        infer: fn(&Args) -> Result<Type, OpError>,
        launch: fn(&Args) -> Result<Launches, OpError>,
        reference: Reference,
    ) -> Self {
        Self {
            infer,
            checks: &[],
            out: OutRule::Exact,
            dtypes: &[],
            aliasing: Aliasing::Never,
            access: Access::Write,
            launch,
            reference,
            temporary: None,
            elementwise: None,
            expand: None,
            expands: |_| true,
            cuts: None,
            custom: None,
        }
    }

    /// Whether each element of `out` comes from one element of each operand, so that `out` may be
    /// an operand and the planner may fuse.
    #[must_use]
    pub const fn is_elementwise(&self) -> bool {
        self.elementwise.is_some() || matches!(self.aliasing, Aliasing::Same)
    }
}

/// An op that is made of smaller ones.
#[derive(Clone, Copy)]
pub struct ExpandBody {
    /// Type of the result, from operands only.
    pub infer: fn(&Args) -> Result<Type, OpError>,
    /// Checks of the operands' contents: findings name this op, not one of its smaller ones.
    pub checks: &'static [ContentCheck],
    /// Appends the smaller ops.
    pub expand: ExpandFn,
}

impl Body {
    /// Kernels of a body as [`KernelBody::new`] makes it.
    #[must_use]
    pub const fn kernel(
        infer: fn(&Args) -> Result<Type, OpError>,
        launch: fn(&Args) -> Result<Launches, OpError>,
        reference: Reference,
    ) -> Self {
        Self::Kernel(KernelBody::new(infer, launch, reference))
    }

    /// Checks of the operands' contents.
    #[must_use]
    pub fn checks(&self) -> &'static [ContentCheck] {
        match self {
            Self::Kernel(body) => body.checks,
            Self::Expand(body) => body.checks,
            _ => &[],
        }
    }

    /// Whether a call can be written in smaller ops.
    #[must_use]
    pub fn expands(&self, args: &Args) -> bool {
        match self {
            Self::Kernel(body) => body.expand.is_some() && (body.expands)(args),
            Self::Expand(_) => true,
            _ => false,
        }
    }

    /// The ways to cut a call into independent parts; none if there is none.
    ///
    /// # Errors
    /// Of the declaration: a mistake in a call that verified.
    pub fn cuts(&self, args: &Args) -> Result<Vec<Cut>, OpError> {
        match self {
            Self::Kernel(KernelBody {
                cuts: Some(cuts), ..
            }) => cuts(args),
            // What a vendor permits of `out` says nothing of its elements.
            Self::Kernel(body) if body.is_elementwise() && body.custom.is_none() => {
                Ok(cut::elementwise(args))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// How it is written in smaller ops, if it is.
    #[must_use]
    pub fn expansion(&self) -> Option<ExpandFn> {
        match self {
            Self::Kernel(body) => body.expand,
            Self::Expand(body) => Some(body.expand),
            _ => None,
        }
    }
}

/// How an op comes to its result.
#[derive(Clone, Copy)]
pub enum Body {
    /// A view of operand `a`; runs nothing unless it must copy.
    View(fn(&Args) -> Result<Viewed, OpError>),
    /// New storage that reads as zeros, and that nothing has been written to.
    Allocate(fn(&Args) -> Result<Type, OpError>),
    /// From the host to the device.
    Upload,
    /// From the device to the host.
    Download,
    /// Kernels.
    Kernel(KernelBody),
    /// Smaller ops.
    Expand(ExpandBody),
}

/// Laws: the algebraic ones, which property tests check, and which the verifier uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// `op(a, b) = op(b, a)`.
    Commutes,
    /// `op(op(a)) = a` on reduced operands.
    Involution,
    /// `op(a + b) = op(a) + op(b)` modulo q, in parameter `a`.
    Linear,
    /// This op undoes the named one.
    InverseOf(&'static str),
    /// Its rule on polynomials by coefficients or by values.
    Reprs(ReprRule),
    /// All elements of the result are this integer parameter, or 0.
    Fills(Option<&'static str>),
    /// Elements follow from a key and a domain: two calls that share both give the same ones.
    Draws {
        /// The key.
        key: &'static str,
        /// The domain.
        domain: &'static str,
    },
    /// A call is more than a function of its operands' contents.
    Effect(Effect),
    /// On elements of a field, the elements of one call share most of the work of each.
    SharesWork,
}

/// Why a call is more than a function of its operands' contents: it is neither dropped nor merged
/// with an equal one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It draws random elements, or makes them of random words.
    Draws,
    /// It adds to the transcript of a proof, or asks it for a challenge.
    Observes,
    /// It runs the caller's own code.
    CallsBack,
    /// It is called for its demand on contents.
    Asserts,
}

impl Law {
    /// Whether it is an identity between results.
    #[must_use]
    pub const fn is_algebraic(self) -> bool {
        !matches!(
            self,
            Self::Reprs(_)
                | Self::Fills(_)
                | Self::Draws { .. }
                | Self::Effect(_)
                | Self::SharesWork
        )
    }
}

/// The declaration of one op.
pub struct OpDef {
    /// The canonical name: Python's, the text form's, the documentation's.
    pub name: &'static str,
    /// Its family.
    pub family: Family,
    /// Its definition: a formula first, then shapes, ranges and sources. Markdown.
    pub doc: &'static str,
    /// All parameters, in Python's order.
    pub params: &'static [Param],
    /// All spellings; the canonical one is among them.
    pub forms: &'static [Form],
    /// How it computes.
    pub body: Body,
    /// Elementary operations of a call (multiplications, butterflies, words moved).
    pub operations: fn(&Args) -> u64,
    /// Laws.
    pub laws: &'static [Law],
}

impl OpDef {
    /// Index of a parameter by name.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<usize> {
        // Most names are told apart by their first letter, without a call to compare them.
        let first = name.as_bytes().first();
        let is = |own: &str| own.as_bytes().first() == first && own == name;
        self.params.iter().position(|param| is(param.name))
    }

    /// Whether HEAL's interface has the op, in one generation or the other.
    #[must_use]
    pub fn is_heals(&self) -> bool {
        let heals = |form: &Form| matches!(form.origin, Origin::Heal | Origin::HealOnly(_));
        self.forms.iter().any(heals)
    }

    /// Whether it moves elements and nothing else, so that its operands may lie on two devices.
    #[must_use]
    pub fn is_transfer(&self) -> bool {
        std::ptr::eq(self, &crate::layout::copy::DEF)
    }

    /// The effect of a call; `None` where it is a function of its operands' contents.
    #[must_use]
    pub fn effect(&self) -> Option<Effect> {
        self.laws.iter().find_map(|law| match law {
            Law::Effect(effect) => Some(*effect),
            Law::Draws { .. } => Some(Effect::Draws),
            _ => None,
        })
    }

    /// Whether its work is a function that the caller of a run gives.
    #[must_use]
    pub fn calls_back(&self) -> bool {
        self.effect() == Some(Effect::CallsBack)
    }

    /// Whether Python calls it on tensors: there is nothing to transfer, and functions that Python
    /// has it calls itself.
    #[must_use]
    pub fn is_pythons(&self) -> bool {
        !self.calls_back() && !matches!(self.body, Body::Upload | Body::Download)
    }

    /// Index of the parameter that is written, if the op has one.
    #[must_use]
    pub fn out(&self) -> Option<usize> {
        self.params.iter().position(|p| p.kind == ParamKind::Out)
    }

    /// Whether the op writes into a tensor that it is given.
    #[must_use]
    pub fn has_out(&self) -> bool {
        self.out().is_some()
    }
}

impl std::fmt::Debug for OpDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OpDef({})", self.name)
    }
}
