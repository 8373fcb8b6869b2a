//! Uploads whose pointer names another integer type than the data has: HEAL converts them.

use cloakwork_ir::{
    Arg, DType, HostId, HostSlot, HostTensor, Program, Step, read_word, write_word,
};

/// Gives each upload the dtype that its pointer names, where every element fits; where one does
/// not, the data stay and the verifier says that the dtypes differ.
pub(super) fn convert(program: &mut Program) {
    let wished: Vec<(HostId, DType)> = program
        .steps
        .iter()
        .filter_map(|step| {
            let Step::Op(op) = step else { return None };
            match (program.args(op), program.out(op)) {
                ([Arg::Host(host)], Some(Arg::Device(_, Some(dtype))))
                    if program.text_name(op.name) == "host_to_device" =>
                {
                    Some((*host, *dtype))
                }
                _ => None,
            }
        })
        .collect();
    for (host, dtype) in wished {
        if let Some(HostSlot::Data(tensor)) = program.hosts.get_mut(host.0 as usize)
            && let Some(converted) = converted(tensor, dtype)
        {
            *tensor = converted;
        }
    }
}

fn converted(tensor: &HostTensor, dtype: DType) -> Option<HostTensor> {
    let from = tensor.dtype();
    // Words hold unsigned 64-bit numbers by their bits alone.
    let plain = |dtype: DType| dtype.is_integer() && dtype != DType::U64;
    if from == dtype || !plain(from) || !plain(dtype) {
        return None;
    }
    let size = dtype.size_bytes();
    let words = tensor.words();
    let mut bytes = vec![0; words.len().checked_mul(size)?];
    for (word, element) in words.iter().zip(bytes.chunks_exact_mut(size)) {
        write_word(dtype, *word, element);
        if read_word(dtype, element) != *word {
            return None;
        }
    }
    HostTensor::from_vec(dtype, tensor.view().shape.clone(), bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cloakwork_ir::{Shape, Symbol};

    fn uploaded(values: &[i32], dtype: DType) -> HostTensor {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let shape = Shape::new(&[values.len() as u64]).unwrap();
        let tensor = HostTensor::from_vec(DType::I32, shape, bytes).unwrap();
        let mut program = Program::new();
        let host = program.push_host(HostSlot::Data(tensor));
        let out = Arg::Device(Symbol(0), Some(dtype));
        program.push_op("host_to_device", [Arg::Host(host)], Some(out));
        convert(&mut program);
        match program.hosts.remove(0) {
            HostSlot::Data(tensor) => tensor,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_upload_gets_the_integer_type_of_its_pointer() {
        for dtype in [DType::I64, DType::I16, DType::I8, DType::I32] {
            let tensor = uploaded(&[-1, 0, 127], dtype);
            assert_eq!((tensor.dtype(), tensor.words()), (dtype, vec![-1, 0, 127]));
        }
    }

    #[test]
    fn what_does_not_fit_stays_as_it_is() {
        assert_eq!(uploaded(&[128], DType::I8).dtype(), DType::I32);
        assert_eq!(uploaded(&[-1], DType::U8).dtype(), DType::I32);
        assert_eq!(uploaded(&[1], DType::F64).dtype(), DType::I32);
        assert_eq!(uploaded(&[1], DType::U64).dtype(), DType::I32);
    }
}
