"""Witnesses by circom's WebAssembly: equal to snarkjs's to the bit, and every refusal by name."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloakwork import cli, zk
from cloakwork.errors import CloakworkError, LoadError, ParamError, WitnessError
from cloakwork.fields.parameters import ORDERS
from cloakwork.zk.circom import inputs as reading
from cloakwork.zk.circom import runtime
from python.circom_modules import PRIME, module

VECTORS = Path(__file__).parents[1] / "vectors" / "witness"
CIRCUITS = ["arrays", "arrays381", "bus", "bits381", "constant", "division"]
ARRAYS = {"a": [[1, -2], ["3", 4], [5, "0x6"]], "k": 7}


def inputs_of(circuit: str) -> Path:
    return VECTORS / f"{circuit.removesuffix('381') if circuit == 'arrays381' else circuit}.json"


def quiet(_: str) -> None:
    """Takes a line of a circuit's log."""


@pytest.fixture(scope="module")
def arrays() -> zk.WitnessGenerator:
    return zk.WitnessGenerator(VECTORS / "arrays.wasm", optimize=False, log=quiet)


@pytest.mark.parametrize("circuit", CIRCUITS)
@pytest.mark.parametrize("optimize", [False, True])
def test_witnesses_equal_those_of_snarkjs(circuit: str, optimize: bool, tmp_path: Path) -> None:
    generator = zk.WitnessGenerator(
        VECTORS / f"{circuit}.wasm", sym=VECTORS / f"{circuit}.sym", optimize=optimize, log=quiet
    )
    expected = (VECTORS / f"{circuit}.wtns").read_bytes()
    # A second witness of the same generator is not disturbed by the first.
    for place in range(2):
        made = generator.witness(inputs_of(circuit))
        made.save(tmp_path / f"{place}.wtns")
        assert (tmp_path / f"{place}.wtns").read_bytes() == expected
    assert generator.version == (2, 2, 3)
    assert made.wires == generator.wires
    assert made.curve == ("bls12_381" if circuit.endswith("381") else "bn254")


def test_a_generator_knows_its_inputs_by_the_file_of_symbols() -> None:
    known = zk.WitnessGenerator(VECTORS / "bus.wasm", sym=VECTORS / "bus.sym").signals
    assert known is not None
    assert {name: known[name] for name in ("k", "p[1].y", "q.right[0].x", "q.tag")} == {
        "k": 1, "p[1].y": 1, "q.right[0].x": 1, "q.tag": 1,
    }  # fmt: skip
    assert "out.x" not in known
    assert "scaled" not in known
    with pytest.raises(LoadError, match=r"expected the 7 values of inputs .* another circuit"):
        zk.WitnessGenerator(VECTORS / "arrays.wasm", sym=VECTORS / "bits381.sym")


@pytest.mark.parametrize(
    "given",
    [
        {"a": [1, -2, 3, 4, 5, 6], "k": "7"},
        {"a": np.array([[1, -2], [3, 4], [5, 6]]), "k": np.uint8(7)},
        {"a": [np.array([1, -2]), [3, 4], (5, 6)], "k": [[[7]]]},
        {"a": [[True, PRIME - 2], ["0b11", "0o4"], ["+5", " 6 "]], "k": "0X7"},
        {"k": 7, "a": [["1", "-2"], ["0003", "4"], ["5", "6"]]},
    ],
)
def test_values_have_the_forms_that_snarkjs_takes_and_arrays(
    arrays: zk.WitnessGenerator, given: dict[str, Any]
) -> None:
    words = np.asarray(arrays.witness(given).words)
    assert np.array_equal(words, np.asarray(zk.read_wtns(VECTORS / "arrays.wtns").words))


def test_members_of_buses_are_signals_of_their_own() -> None:
    generator = zk.WitnessGenerator(VECTORS / "bus.wasm", optimize=False)
    nested = json.loads((VECTORS / "bus.json").read_text())
    flat = {
        "p[0].x": 1, "p[0].y": 2, "p[1]": {"x": 3, "y": 4}, "q.left": {"x": 5, "y": 6},
        "q": {"right": [{"x": 7, "y": 8}, {"x": 9, "y": 10}], "tag": 11}, "k": 12,
    }  # fmt: skip
    both = [np.asarray(generator.witness(given).words) for given in (nested, flat)]
    assert np.array_equal(*both)
    with pytest.raises(ParamError, match=r"input `p.x`: got values twice"):
        reading.encoded({"p": {"x": 2}, "p.x": 3}, 97, 1)


SECRET = 918273645546372819


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": [1] * 6}, r"inputs: got 6 values, expected 7 values in all"),
        ({"a": [1] * 5, "k": SECRET}, r"input `a`: got 5 values, expected 6 values, as in the"),
        ({"a": [SECRET] * 7, "k": 1}, r"input `a`: got 7 values, expected 6 values"),
        ({"a": [1] * 6, "k": []}, r"input `k`: got 0 values, expected 1 value"),
        ({"a": [1] * 6, "kk": SECRET}, r"input `kk`: got a signal that the circuit does not have"),
        ({"a": [1] * 6, "k": f"{SECRET}x"}, r"input `k`, value 0: got text that is no number"),
        ({"a": [1] * 6, "k": ""}, r"input `k`, value 0: got text that is no number"),
        ({"a": [1] * 6, "k": "1_0"}, r"got text that is no number"),
        ({"a": [1] * 6, "k": "-0x5"}, r"got text that is no number"),
        ({"a": [1] * 6, "k": SECRET + 0.5}, r"got a number that is no integer"),
        ({"a": [1, 2, 3, 4, 5, None], "k": 1}, r"input `a`, value 5: got null"),
        ({"a": [1] * 6, "k": b"7"}, r"input `k`, value 0: got a bytes"),
        ({"a": [1, 2, 3, 4, 5, {"x": 1}], "k": 1}, r"input `a`, value 5: got an object"),
        ({"a": [1] * 6, "k": PRIME}, r"input `k`, value 0: got a number outside the field"),
        ({"a": [1] * 6, "k": -PRIME}, r"number outside the field, expected one above -p and"),
        ({"a": [1] * 6, "k": str(PRIME + SECRET)}, r"got a number outside the field"),
        ({"a": [1] * 6, "k": "9" * 5000}, r"got 5000 digits"),
        ({"a": [1] * 6, 5: SECRET}, r"inputs: got a name that is no text"),
        ({"a": [{"x": 1}, 2], "k": 1}, r"input `a\[1\]`: got an integer, expected a bus"),
    ],
)
def test_wrong_inputs_are_refused_by_name_without_their_values(
    arrays: zk.WitnessGenerator, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParamError, match=message) as found:
        arrays.witness(given)
    assert str(SECRET) not in str(found.value)


def test_with_symbols_missing_and_unknown_inputs_are_named() -> None:
    generator = zk.WitnessGenerator(VECTORS / "arrays.wasm", sym=VECTORS / "arrays.sym")
    with pytest.raises(ParamError, match=r"inputs: got none for a, expected all of k, a"):
        generator.witness({"k": 1})
    with pytest.raises(ParamError, match=r"input `b`: got no signal .* expected one of k, a"):
        generator.witness({"k": 1, "b": 2})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": 1, "a": 2}', r"the key 'a' is repeated in one object"),
        (b'{"p": [{"x": 1, "x": 2}]}', r"the key 'x' is repeated"),
        (b'{"a": 1', r"expected JSON, got an error at line 1, column 8"),
        (b'{"a": "\xff"}', r"expected JSON, got bytes that are not UTF-8"),
        (b"[1, 2]", r"expected an object of inputs, got an array"),
        (b"[" * 100_000, r"too deeply nested"),
        (b"\0asm\1\0\0\0", r"expected inputs of a circuit, JSON, got a program of WebAssembly"),
    ],
)
def test_files_of_inputs_that_are_wrong_are_refused(
    arrays: zk.WitnessGenerator, text: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / "i.json").write_bytes(text)
    with pytest.raises(LoadError, match=message):
        arrays.witness(tmp_path / "i.json")


def test_numbers_of_json_are_exact_and_fractions_are_refused(
    arrays: zk.WitnessGenerator, tmp_path: Path
) -> None:
    # snarkjs reads numbers above 2^53 as the nearest float.
    big = 2**53 + 1
    file = tmp_path / "i.json"
    file.write_text(f'{{"a": [[{big}, 0], [0, 0], [0, 0]], "k": 1}}')
    assert int(np.asarray(arrays.witness(file).words)[1, 0]) == big
    for number in ("1.5", "1e3", "NaN"):
        file.write_text(f'{{"a": [0, 0, 0, 0, 0, 0], "k": {number}}}')
        with pytest.raises(ParamError, match=r"`k`, value 0: got a number that is no integer"):
            arrays.witness(file)


def test_an_assertion_is_named_by_template_and_line(arrays: zk.WitnessGenerator) -> None:
    with pytest.raises(WitnessError, match=r"do not satisfy the circuit: .*Rows_0 line: 15") as e:
        arrays.witness({**ARRAYS, "k": SECRET})
    assert str(SECRET) not in str(e.value)
    # The generator is of use afterwards.
    assert arrays.witness(ARRAYS).wires == arrays.wires


def test_lines_of_the_log_go_to_the_caller(capfd: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    generator = zk.WitnessGenerator(VECTORS / "arrays.wasm", optimize=False)
    generator.witness(ARRAYS, log=lines.append)
    assert lines == [f"row 0 {PRIME - 3}", "row 1 11", "row 2 17", "7"]
    generator.witness(ARRAYS)
    assert capfd.readouterr().err.splitlines() == lines


def test_an_error_of_the_log_function_ends_the_run(arrays: zk.WitnessGenerator) -> None:
    def fail(line: str) -> None:
        raise ZeroDivisionError(line)

    with pytest.raises(ZeroDivisionError, match="row 0"):
        arrays.witness(ARRAYS, log=fail)


def test_threads_share_a_generator() -> None:
    generator = zk.WitnessGenerator(VECTORS / "arrays.wasm", log=quiet)

    def last(k: int) -> int:
        return int(np.asarray(generator.witness({"a": [1, 0, 0, 0, 0, 0], "k": k}).words)[1, 0])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(last, range(40))) == list(range(40))


LOOP = "(loop (br 0))"


def test_lists_that_hold_themselves_are_refused() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(ParamError, match="deeper nesting, expected at most 64 levels"):
        reading.encoded({"a": cycle}, PRIME, 32)
    with pytest.raises(ParamError, match="deeper nesting, expected at most 64 levels"):
        reading.encoded({"a": [{"x": 1}, cycle]}, PRIME, 32)


def saved(folder: Path, contents: bytes) -> Path:
    file = folder / "m.wasm"
    file.write_bytes(contents)
    return file


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (lambda: b"", r"got an empty file"),
        (lambda: b"{}", r"not a WebAssembly module"),
        (lambda: (VECTORS / "arrays.wasm").read_bytes()[:9000], r"not a WebAssembly module"),
        ((VECTORS / "arrays.wtns").read_bytes, r"\.wasm, got a witness"),
        (lambda: module(getWitness=None), r"`circuit::getWitness`"),
        (lambda: module(getRawPrime=None), r"it exports no function `getRawPrime`"),
        (lambda: module(getVersion="(result i32) (i32.const 1)"), r"it is of circom 1"),
        (lambda: module(getVersion="(result i64) (i64.const 2)"), r"returns no number of 32"),
        (lambda: module(getVersion="(param i32) (result i32) (i32.const 2)"), r"`getVersion`"),
        (lambda: module(imports='(import "env" "memory" (memory 1))'), r"not a"),
        (lambda: module(imports='(import "env" "open" (func))'), r"`env::open`"),
        (lambda: module(getWitnessSize="(result i32) (i32.const -1)"), r"reports 4294967295 wi"),
        (lambda: module(getFieldNumLen32="(result i32) (i32.const 900)"), r"has 900 words"),
        (
            lambda: module(getFieldNumLen32="(result i32) (i32.const 16)"),
            r"m\.wasm: expected numbers of 32 bytes over bn254, got 64",
        ),
        (lambda: module("70000"), r"not a WebAssembly module|memory"),
    ],
)
def test_modules_that_are_not_circoms_are_refused(
    contents: Callable[[], bytes], message: str, tmp_path: Path
) -> None:
    with pytest.raises(LoadError, match=message):
        zk.generate_witness(saved(tmp_path, contents()), {"a": 1})


@pytest.mark.parametrize(
    ("prime", "name"),
    [
        (2**64 - 2**32 + 1, "goldilocks"),
        (21888242871839275222246405745257275088696311157297823662689037894645226208583, "grumpkin"),
        (2**254 + 45560315531506369815346746415080538113, "pallas or vesta"),
        (PRIME - 2, "a prime of 254 bits"),
    ],
)
def test_other_fields_are_refused_by_name(prime: int, name: str, tmp_path: Path) -> None:
    old = PRIME.to_bytes(32, "little")
    contents = (VECTORS / "arrays.wasm").read_bytes()
    assert old in contents
    with pytest.raises(LoadError, match=f"over bn128 or bls12381, got one over {name}"):
        zk.WitnessGenerator(saved(tmp_path, contents.replace(old, prime.to_bytes(32, "little"))))


@pytest.mark.parametrize(
    "replaced",
    [
        {"setInputSignal": f"(param i32 i32 i32) {LOOP}"},
        {"init": f"(param i32) {LOOP}"},
        {"getWitness": f"(param i32) {LOOP}"},
        {"getVersion": f"(result i32) {LOOP} (i32.const 2)"},
        {"more": f"(func $begin {LOOP}) (start $begin)"},
    ],
)
@pytest.mark.parametrize("optimize", [False, True])
def test_a_loop_is_stopped(replaced: dict[str, str], optimize: bool, tmp_path: Path) -> None:
    file = saved(tmp_path, module(**replaced))
    with pytest.raises(WitnessError, match=r"did not end within 0.050 s"):
        zk.WitnessGenerator(file, optimize=optimize, timeout=0.05).witness({"a": 1})


def test_a_loop_of_messages_is_stopped(tmp_path: Path) -> None:
    imports = '(import "runtime" "writeBufferMessage" (func $log))'
    endless = {"getMessageChar": f"(result i32) {LOOP} (i32.const 1)"}
    file = saved(tmp_path, module(imports=imports, init="(param i32) (call $log)", **endless))
    with pytest.raises(WitnessError, match=r"did not end within"):
        zk.generate_witness(file, {"a": 1}, timeout=0.05)


def test_signals_end_a_run(tmp_path: Path) -> None:
    file = saved(tmp_path, module(init=f"(param i32) {LOOP}"))
    generator = zk.WitnessGenerator(file, optimize=False)

    def ring(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            generator.witness({"a": 1})
    finally:
        signal.signal(signal.SIGALRM, before)


GROW = "(param i32) (if (i32.lt_s (memory.grow (i32.const 100)) (i32.const 0)) (then unreachable))"


def test_memory_is_limited(tmp_path: Path) -> None:
    small = saved(tmp_path, module(init=GROW))
    assert zk.generate_witness(small, {"a": 1}).wires == 2
    with pytest.raises(WitnessError, match=r"reached an `unreachable` instruction"):
        zk.generate_witness(small, {"a": 1}, memory_limit="4MiB")
    with pytest.raises(LoadError, match=r"memory minimum size of 1000 pages exceeds memory limit"):
        zk.WitnessGenerator(saved(tmp_path, module("1000")), memory_limit="4MiB")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("(param i32) unreachable", r"reached an `unreachable` instruction"),
        ("(param i32) (drop (i32.load (i32.const -8)))", r"accessed memory that it does not have"),
        ("(param i32) (drop (i32.div_u (i32.const 1) (local.get 0)))", r"divided by zero"),
        ("(param i32) (call $deep)", r"its stack overflowed"),
    ],
)
@pytest.mark.parametrize("optimize", [False, True])
def test_traps_are_errors(body: str, words: str, optimize: bool, tmp_path: Path) -> None:
    more = "(func $deep (param) (call $deep) (call $deep))"
    file = saved(tmp_path, module(init=body, more=more))
    with pytest.raises(WitnessError, match=f"m.wasm: the circuit's program stopped: .*{words}"):
        zk.WitnessGenerator(file, optimize=optimize).witness({"a": 1})


@pytest.mark.parametrize("timeout", [0, -1, "5", float("nan"), True])
def test_a_timeout_is_a_number_above_zero(timeout: Any) -> None:
    with pytest.raises(ParamError, match=r"timeout: got .* expected seconds, above 0"):
        zk.WitnessGenerator(VECTORS / "arrays.wasm", timeout=timeout)


def test_without_the_package_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(runtime, "find_spec", lambda name: None)
    with pytest.raises(ParamError, match=r'not installed, expected release 50: .*"\.\[circom\]"'):
        zk.WitnessGenerator(VECTORS / "arrays.wasm")
    (tmp_path / "wasmtime").mkdir()
    (tmp_path / "wasmtime-43.0.0.dist-info").mkdir()

    class Spec:
        origin = str(tmp_path / "wasmtime" / "__init__.py")

    monkeypatch.setattr(runtime, "find_spec", lambda name: Spec)
    with pytest.raises(ParamError, match=r"wasmtime: got release 43.0.0, expected release 50"):
        zk.WitnessGenerator(VECTORS / "arrays.wasm")


def test_a_prover_takes_inputs(tmp_path: Path) -> None:
    key = zk.groth16.setup(VECTORS / "arrays.r1cs", tmp_path / "k.zkey")
    prover = zk.groth16.Prover(key)
    generator = zk.WitnessGenerator(VECTORS / "arrays.wasm", log=quiet)
    expected = zk.groth16.prove(key, VECTORS / "arrays.wtns", blinding=(3, 4))
    for wasm in (generator, VECTORS / "arrays.wasm"):
        assert prover.prove(ARRAYS, wasm=wasm, blinding=(3, 4)) == expected
    with pytest.raises(WitnessError, match=r"Rows_0 line: 15"):
        prover.prove({**ARRAYS, "k": 5000}, wasm=generator)


def test_the_commands_compute_and_prove(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    zk.groth16.setup(VECTORS / "arrays.r1cs", "k.zkey", vkey="v.json")
    wasm, given = str(VECTORS / "arrays.wasm"), str(VECTORS / "arrays.json")
    assert cli.main(["witness", wasm, given, "-o", "w.wtns", "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (found["curve"], found["wires"]) == ("bn254", 12)
    assert f"row 0 {PRIME - 3}\n" in err
    assert Path("w.wtns").read_bytes() == (VECTORS / "arrays.wtns").read_bytes()
    assert cli.main(["fullprove", wasm, "k.zkey", given, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert cli.main(["verify", "v.json", "public.json", "proof.json"]) == 0
    assert not Path("witness.wtns").exists()


@pytest.mark.parametrize("more", [[], ["--timeout", "9.5"]])
def test_a_refusal_of_the_commands_leaves_no_file(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, out = tmp_path / "i.json", tmp_path / "w.wtns"
    given.write_text(json.dumps({**ARRAYS, "k": SECRET}))
    wasm = str(VECTORS / "arrays.wasm")
    assert cli.main(["witness", wasm, str(given), "-o", str(out), *more]) == 2
    assert "the inputs do not satisfy the circuit" in capsys.readouterr().err
    assert not out.exists()
    assert cli.main(["witness", wasm, str(given), "-o", str(given), *more]) == 2
    assert json.loads(given.read_text())["k"] == SECRET


def test_the_command_loads_neither_typer_nor_numpy_nor_wasmtime(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom cloakwork.cli import main\nstatus = main()\n"
        "print(*[n for n in ('numpy', 'rich', 'typer', 'wasmtime') if n in sys.modules], status)"
    )
    words = [str(VECTORS / "constant.wasm"), str(VECTORS / "constant.json")]
    done = subprocess.run(
        [sys.executable, "-c", code, "witness", *words, "-o", str(tmp_path / "w.wtns")],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.split() == ["0"]


def test_errors_are_the_packages_own() -> None:
    assert issubclass(WitnessError, CloakworkError)
    assert ORDERS["bn254"] == PRIME
