//! Values of the pickle machine, and the two calls that it knows.

use super::wrong;
use crate::TensorError;
use cloakwork_ir::DType;
use std::fmt;
use std::rc::Rc;

/// Tuples in tuples, at most; a saved tensor has three.
const MAX_DEPTH: u32 = 8;

/// A storage that the pickle names.
#[derive(Clone, Debug)]
pub(super) struct Storage {
    pub(super) key: String,
    /// `None` for an untyped storage, whose count is in bytes.
    dtype: Option<DType>,
    count: u64,
}

impl Storage {
    pub(super) fn size_bytes(&self) -> Option<u64> {
        self.count
            .checked_mul(self.dtype.map_or(1, |dtype| dtype.size_bytes() as u64))
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dtype {
            Some(dtype) => write!(f, "{} elements of {dtype}", self.count),
            None => write!(f, "{} bytes", self.count),
        }
    }
}

/// A tensor as the pickle describes it; nothing is checked against the storage.
#[derive(Clone, Debug)]
pub(super) struct TensorSpec {
    pub(super) dtype: DType,
    pub(super) storage: Storage,
    pub(super) offset: i64,
    pub(super) sizes: Vec<i64>,
    pub(super) strides: Vec<i64>,
}

/// The names that a pickle may import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Global {
    RebuildV2,
    RebuildV3,
    OrderedDict,
    TypedStorage(DType),
    UntypedStorage,
    DType(DType),
}

impl Global {
    pub(super) fn from_name(module: &str, name: &str) -> Option<Self> {
        let storage = |dtype| Some(Self::TypedStorage(dtype));
        match (module, name) {
            ("torch._utils", "_rebuild_tensor_v2") => Some(Self::RebuildV2),
            ("torch._utils", "_rebuild_tensor_v3") => Some(Self::RebuildV3),
            ("collections", "OrderedDict") => Some(Self::OrderedDict),
            ("torch.storage", "UntypedStorage") => Some(Self::UntypedStorage),
            ("torch", "BoolStorage") => storage(DType::Bool),
            ("torch", "CharStorage") => storage(DType::I8),
            ("torch", "ByteStorage") => storage(DType::U8),
            ("torch", "ShortStorage") => storage(DType::I16),
            ("torch", "IntStorage") => storage(DType::I32),
            ("torch", "LongStorage") => storage(DType::I64),
            ("torch", "FloatStorage") => storage(DType::F32),
            ("torch", "DoubleStorage") => storage(DType::F64),
            ("torch", "ComplexFloatStorage") => storage(DType::C64),
            ("torch", "ComplexDoubleStorage") => storage(DType::C128),
            ("torch", name) if !name.contains('.') => DType::from_name(name).map(Self::DType),
            _ => None,
        }
    }
}

/// A value on the machine's stack. Cloning is cheap, so that a memo cannot blow up.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Mark,
    None,
    Bool,
    Int(i64),
    Text(Rc<str>),
    Tuple(Rc<[Value]>, u32),
    /// An empty dict, or an OrderedDict: hooks and metadata, always empty.
    Dict,
    Global(Global),
    Storage(Rc<Storage>),
    Tensor(Rc<TensorSpec>),
}

impl Value {
    /// A tuple of these, or an error if they nest too deep.
    pub(super) fn tuple(items: Vec<Self>, at: usize) -> Result<Self, TensorError> {
        let depth = |item: &Self| {
            if let Self::Tuple(_, depth) = item {
                *depth
            } else {
                0
            }
        };
        let depth = 1 + items.iter().map(depth).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            let expected = format!("tuples at most {MAX_DEPTH} deep");
            return Err(wrong("data.pkl", at, expected, "deeper ones", ""));
        }
        Ok(Self::Tuple(items.into(), depth))
    }

    /// The meaning of a persistent id: `("storage", type, key, location, count)`.
    pub(super) fn load_storage(&self) -> Option<Self> {
        let Self::Tuple(items, _) = self else {
            return None;
        };
        let [
            Self::Text(kind),
            Self::Global(ty),
            Self::Text(key),
            Self::Text(_),
            Self::Int(count),
        ] = &**items
        else {
            return None;
        };
        let dtype = match *ty {
            Global::TypedStorage(dtype) => Some(dtype),
            Global::UntypedStorage => None,
            _ => return None,
        };
        let count = u64::try_from(*count).ok()?;
        (&**kind == "storage").then(|| {
            Self::Storage(Rc::new(Storage {
                key: key.to_string(),
                dtype,
                count,
            }))
        })
    }

    /// The result of calling this with these arguments; none where the call is unknown.
    pub(super) fn call(&self, arguments: &Self) -> Option<Self> {
        let Self::Tuple(items, _) = arguments else {
            return None;
        };
        match self {
            Self::Global(Global::OrderedDict) if items.is_empty() => Some(Self::Dict),
            Self::Global(Global::RebuildV2) => rebuild(items, None),
            Self::Global(Global::RebuildV3) => match items.get(6)? {
                Self::Global(Global::DType(dtype)) => rebuild(items, Some(*dtype)),
                _ => None,
            },
            _ => None,
        }
    }

    fn integers(&self) -> Option<Vec<i64>> {
        let Self::Tuple(items, _) = self else {
            return None;
        };
        let integer = |item: &Self| {
            if let Self::Int(value) = item {
                Some(*value)
            } else {
                None
            }
        };
        items.iter().map(integer).collect()
    }
}

/// `(storage, offset, sizes, strides, requires_grad, hooks, [dtype,] [metadata])`.
fn rebuild(items: &[Value], untyped_as: Option<DType>) -> Option<Value> {
    let [
        Value::Storage(storage),
        Value::Int(offset),
        sizes,
        strides,
        Value::Bool,
        Value::Dict,
        rest @ ..,
    ] = items
    else {
        return None;
    };
    let metadata = rest.get(usize::from(untyped_as.is_some())..)?;
    if !matches!(metadata, [] | [Value::None | Value::Dict]) {
        return None;
    }
    let dtype = match (storage.dtype, untyped_as) {
        (Some(dtype), None) | (None, Some(dtype)) => dtype,
        _ => return None,
    };
    Some(Value::Tensor(Rc::new(TensorSpec {
        dtype,
        storage: (**storage).clone(),
        offset: *offset,
        sizes: sizes.integers()?,
        strides: strides.integers()?,
    })))
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mark => "a mark",
            Self::None => "None",
            Self::Bool => "a boolean",
            Self::Int(_) => "an integer",
            Self::Text(_) => "a string",
            Self::Tuple(..) => "a tuple",
            Self::Dict => "a dict",
            Self::Global(_) => "a global",
            Self::Storage(_) => "a storage",
            Self::Tensor(_) => "a tensor",
        })
    }
}
