//! How fast and in how much memory programs load: `cargo run --release --example load_speed`.
//!
//! Files are made in a temporary folder: one that is nearly all base64, one that is nearly all op
//! text, and each of them again as a container.

use cloakwork_formats::{Container, load, save_container, save_heal};
use cloakwork_ir::{Arg, Builder, DType, HostSlot, HostTensor, Program, Shape, Step};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

const TENSORS: u64 = 36;
const TENSOR_ELEMENTS: u64 = 1 << 19;
const OPS: usize = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let payload = folder.path().join("payload.json");
    let container = folder.path().join("payload.cwk");
    let program = payload_program()?;
    save_heal(&program, &payload)?;
    save_container(&program, &container)?;
    drop(program);
    measure("mostly base64", &payload)?;
    measure("container", &container)?;
    let opened = Container::open(&container)?;
    let started = Instant::now();
    opened.verify_tensors()?;
    println!(
        "container, checking all tensors: {:.3} s",
        started.elapsed().as_secs_f64()
    );
    drop(opened);

    let ops = folder.path().join("ops.json");
    let container = folder.path().join("ops.cwk");
    let program = op_program();
    save_heal(&program, &ops)?;
    save_container(&program, &container)?;
    measure("op text", &ops)?;
    measure("ops in a container", &container)
}

/// Loads three times, for the first one pays for memory that the process never touched.
fn measure(what: &str, path: &Path) -> Result<(), Box<dyn Error>> {
    let file_bytes = fs::metadata(path)?.len();
    for _ in 0..3 {
        reset_peak();
        let before = status("VmRSS");
        let started = Instant::now();
        let program = load(path)?;
        let seconds = started.elapsed().as_secs_f64();
        let peak = status("VmHWM").saturating_sub(before);
        let tensors = tensor_bytes(&program);
        println!(
            "{what}: {:.1} MB in {seconds:.3} s = {:.0} MB/s; {} steps, {:.1} MB in tensors, \
             {:.1} MB peak",
            file_bytes as f64 / 1e6,
            file_bytes as f64 / 1e6 / seconds,
            program.steps.len(),
            tensors as f64 / 1e6,
            peak as f64 / 1e6,
        );
    }
    Ok(())
}

fn tensor_bytes(program: &Program) -> u64 {
    let bytes = |slot: &HostSlot| match slot {
        HostSlot::Data(tensor) => tensor.ty().size_bytes(),
        _ => 0,
    };
    program.hosts.iter().map(bytes).sum()
}

/// Bytes that Linux reports of this process; 0 elsewhere. The peak counts mapped pages too.
fn status(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

fn reset_peak() {
    // Not all systems have this; the peak then is that of the whole run.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn payload_program() -> Result<Program, Box<dyn Error>> {
    let mut builder = Builder::new();
    let mut state = 1u64;
    for index in 0..TENSORS {
        let bytes: Vec<u8> = (0..TENSOR_ELEMENTS)
            .flat_map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 2).to_le_bytes()
            })
            .collect();
        let shape = Shape::new(&[TENSOR_ELEMENTS / 2, 2])?;
        let tensor = HostTensor::from_vec(DType::I64, shape, bytes)?;
        let host = builder.program.push_host(HostSlot::Data(tensor));
        let name = builder.program.symbol(&index.to_string());
        let out = Some(Arg::Device(name, Some(DType::I64)));
        builder
            .program
            .push_op("host_to_device", [Arg::Host(host)], out);
    }
    Ok(builder.program)
}

fn op_program() -> Program {
    let mut program = Program::new();
    for index in 0..OPS {
        let name = program.symbol(&index.to_string());
        let tensor = Arg::Device(name, Some(DType::I64));
        let args = [
            tensor.clone(),
            tensor.clone(),
            tensor.clone(),
            tensor.clone(),
        ];
        program.push_op("_modmul_ttt", args, Some(tensor));
        if index % 4 == 3 {
            program.steps.push(Step::Free(name));
        }
    }
    program
}
