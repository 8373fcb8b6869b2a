//! Secrets as undefined memory: requests to valgrind's memcheck, and a run of a test under it.

use std::process::Command;

/// Numbers of valgrind's requests; MC is memcheck's own prefix.
const RUNNING_ON_VALGRIND: usize = 0x1001;
const COUNT_ERRORS: usize = 0x1201;
const MAKE_UNDEFINED: usize = 0x4d43_0001;

/// A kind of error that memcheck reports.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A jump depends on undefined memory.
    Branch,
}

/// A request to valgrind; 0 where there is none. Four rotations that cancel out, and an exchange
/// of a register with itself, which no compiler makes.
fn request(number: usize, first: usize, second: usize) -> usize {
    let words = [number, first, second, 0, 0, 0];
    let mut answer = 0usize;
    // SAFETY: changes nothing on a processor; valgrind reads the words and writes the answer.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            inout("rdx") answer,
            in("rax") words.as_ptr(),
        );
    }
    answer
}

/// Errors up to now, all repetitions counted.
pub fn errors() -> usize {
    request(COUNT_ERRORS, 0, 0)
}

/// Nothing may depend on these bytes from here on.
pub fn make_undefined(bytes: &mut [u8]) {
    request(MAKE_UNDEFINED, bytes.as_mut_ptr() as usize, bytes.len());
}

/// Errors of `run` on undefined bytes.
pub fn errors_of(secrets: &mut [Vec<u8>], run: impl FnOnce(&[Vec<u8>])) -> usize {
    for secret in secrets.iter_mut() {
        make_undefined(secret);
    }
    let before = errors();
    run(secrets);
    errors() - before
}

/// Runs `check` under memcheck: this process starts itself again, with this test alone.
pub fn under_valgrind(test: &str, unreported: &[Kind], check: impl FnOnce()) {
    if request(RUNNING_ON_VALGRIND, 0, 0) > 0 {
        check();
        return;
    }
    let mut command = Command::new("valgrind");
    command.args(["-q", "--error-limit=no", "--leak-check=no"]);
    let list = std::env::temp_dir().join(format!("cloakwork_{}_{test}.supp", std::process::id()));
    if !unreported.is_empty() {
        std::fs::write(&list, suppressions(unreported)).unwrap();
        command.arg(format!("--suppressions={}", list.display()));
    }
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--test-threads=1", "--nocapture"]);
    let output = command.output();
    std::fs::remove_file(&list).ok();
    let Ok(output) = output else {
        super::skipped("valgrind is not installed (Debian, Ubuntu: apt install valgrind)");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("1 passed"), "no test ran: {said}\n{errors}");
}

/// In valgrind's own form: any place will do.
fn suppressions(kinds: &[Kind]) -> String {
    let entry = |kind: &Kind| match kind {
        Kind::Branch => "{\n branch\n Memcheck:Cond\n obj:*\n}\n",
    };
    kinds.iter().map(entry).collect()
}
