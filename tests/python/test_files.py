"""Files of users: allowed writes, atomic appearance, allowed reads, and refusals."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe, files, zk
from cloakwork.cli import main
from cloakwork.compiler.importing import from_model
from cloakwork.errors import CloakworkError, LoadError, SaveError
from cloakwork.zk.instructions.values import as_tensor
from python.command_line import COMMAND
from python.fhe_setup import ckks
from python.heal_writer import small_transcript

Capture = pytest.CaptureFixture[str]
VECTORS = Path(__file__).parents[1] / "vectors" / "groth16" / "bn128"


def python(program: str, *arguments: str | Path) -> list[str]:
    return [sys.executable, "-c", program, *map(str, arguments)]


def copied(folder: Path, *names: str) -> list[Path]:
    for name in names:
        (folder / name).write_bytes((VECTORS / name).read_bytes())
    return [folder / name for name in names]


# Writes.


def standing(folder: Path) -> Iterator[tuple[Path, str]]:
    """Paths that are neither new names nor regular files, with descriptions."""
    (folder / "dir").mkdir()
    (folder / "link").symlink_to(folder / "victim")
    (folder / "victim").write_text("precious")
    os.mkfifo(folder / "pipe")
    yield folder / "dir", "a folder"
    yield folder / "link", "a symbolic link to"
    yield folder / "pipe", "a pipe"
    yield Path("/dev/null"), "a device"


def commands(folder: Path) -> dict[str, list[str]]:
    """Each command with an output, without it, and its inputs behind `--`."""
    key, witness, circuit = map(str, copied(folder, "mixed.zkey", "mixed1.wtns", "mixed.r1cs"))
    transcript = str(small_transcript().write(folder / "t.json"))
    new = str(folder / "new")
    prove = ["prove", key, witness, "--r1cs", circuit]
    return {
        "run --profile": ["run", transcript, "--profile"],
        "setup -o": ["setup", circuit, "-o"],
        "setup --vkey": ["setup", circuit, "-o", new, "--vkey"],
        "vkey -o": ["vkey", key, "-o"],
        "prove -o": [*prove, "--public", new, "-o"],
        "prove --public": [*prove, "-o", new, "--public"],
        "prove --profile": [*prove, "-o", new, "--public", new + "2", "--profile"],
    }


def test_commands_replace_nothing_but_regular_files(tmp_path: Path, capsys: Capture) -> None:
    places = list(standing(tmp_path))
    for name, words in commands(tmp_path).items():
        for place, kind in places:
            before = os.lstat(place).st_ino
            assert main([*words, str(place)]) == 2, name
            err = capsys.readouterr().err
            assert kind in err
            assert "memory:" not in err, "it is said before any work"
            assert os.lstat(place).st_ino == before
    assert (tmp_path / "victim").read_text() == "precious"


def test_commands_do_not_write_to_their_inputs_or_twice_to_one(
    tmp_path: Path, capsys: Capture
) -> None:
    for name, words in commands(tmp_path).items():
        read = [Path(word) for word in words if Path(word).is_file()]
        before = [path.read_bytes() for path in read]
        for path in read:
            alias = tmp_path / "alias"
            alias.hardlink_to(path)
            for target in (path, alias):
                assert main([*words, str(target)]) == 2, name
                assert "the input " in capsys.readouterr().err
            alias.unlink()
        assert [path.read_bytes() for path in read] == before
        outputs = [words[at + 1] for at, word in enumerate(words[:-1]) if word in {"-o", "--vkey"}]
        for output in outputs:
            assert main([*words, output]) == 2
            assert "the same as " in capsys.readouterr().err


def test_interfaces_refuse_what_commands_refuse(tmp_path: Path) -> None:
    transcript = cw.heal.load(small_transcript().write(tmp_path / "t.json"))
    link = tmp_path / "link.json"
    link.symlink_to("t.json")
    proof, public = zk.Proof.load(VECTORS / "mixed1.proof.json"), zk.Public("bn254", (1,))
    keys = ckks(64, 1)
    writers: list[Callable[[Path], object]] = [
        transcript.save, proof.save, public.save, keys.public.save, keys.save,
        zk.VerifyingKey.load(VECTORS / "mixed.vkey.json").save,
        lambda path: zk.groth16.save(proof, public, path, tmp_path / "public.json"),
        lambda path: zk.groth16.save(proof, public, tmp_path / "proof.json", path),
        lambda path: transcript.run(profile=path),
        lambda path: zk.write_wtns("bn254", [1], path),
        lambda path: files.save_npy(path, cw.zeros(3)),
    ]  # fmt: skip
    for write in writers:
        with pytest.raises(SaveError, match=r"link\.json: expected a new name, or a regular file"):
            write(link)
    with pytest.raises(SaveError, match="the input"):
        transcript.run(profile=tmp_path / "t.json")
    with pytest.raises(SaveError, match="the same as"):
        zk.groth16.save(proof, public, tmp_path / "one", tmp_path / "one")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "t.json"]


@pytest.mark.parametrize("umask", [0o077, 0o027, 0o022])
def test_files_honour_the_umask_and_secrets_are_their_owners(umask: int, tmp_path: Path) -> None:
    keys = ckks(64, 1)
    before = os.umask(umask)
    try:
        keys.public.save(tmp_path / "public")
        keys.evaluation.save(tmp_path / "evaluation")
        keys.encrypt([1.0]).save(tmp_path / "ciphertext")
        keys.save(tmp_path / "secret")
        small = cw.heal.load(small_transcript().write(tmp_path / "t.json"))
        small.save(tmp_path / "program.cwk")
        small.run(profile=tmp_path / "profile")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    del modes["t.json"]
    assert modes.pop("secret") == 0o600 & ~umask
    assert set(modes.values()) == {0o666 & ~umask}
    assert len(modes) == 5


def test_pieces_are_asked_for_one_by_one_and_failing_ones_leave_what_was_there(
    tmp_path: Path,
) -> None:
    def pieces(last: object) -> Iterator[Any]:
        yield "first, "
        yield b"then "
        if isinstance(last, Exception):
            raise last
        yield last

    files.write(tmp_path / "a", pieces("last"))
    assert (tmp_path / "a").read_bytes() == b"first, then last"
    for wrong, error in ((KeyError("made up"), KeyError), (5, TypeError)):
        with pytest.raises(error):
            files.write_all({f"{tmp_path}/b": "whole", f"{tmp_path}/a": pieces(wrong)})
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"first, then last"


# Files that appear together.

_SAVER = """
import sys
import cloakwork as cw
from cloakwork import zk
folder, seed = sys.argv[1], int(sys.argv[2])
def program(value):
    b = zk.ProgramBuilder()
    c = b.constant("c", zk.tensor("u64", 512), value.to_bytes(8, "little") * 512)
    out = b.allocate(zk.tensor("u64", 512), name="out")
    b.call("add", out=[out], args=[c, c])
    b.ret(out)
    return b.build()
from threading import Thread
def work(number):
    mine = program(number)
    for _ in range(8):
        mine.save(folder)
        loaded = cw.load(folder)
        assert loaded.check() == [], loaded.check()
        (value,) = {*loaded.run().outputs["out"].tolist()}
threads = [Thread(target=work, args=(10 * seed + n,)) for n in range(2)]
failed = []
import threading
threading.excepthook = lambda failure: failed.append(failure)
[thread.start() for thread in threads]
[thread.join() for thread in threads]
sys.exit(str(failed[0].exc_value) if failed else 0)
"""


@pytest.mark.parametrize("name", ["program.json", "p.json", "p.txt"])
def test_programs_that_many_save_and_load_are_never_torn(name: str, tmp_path: Path) -> None:
    place = tmp_path if name == "program.json" else tmp_path / name
    savers = [
        subprocess.Popen(python(_SAVER, place, seed), stderr=subprocess.PIPE, text=True)
        for seed in range(3)
    ]
    errors = [saver.communicate(timeout=600)[1] for saver in savers]
    assert [saver.returncode for saver in savers] == [0, 0, 0], errors
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, f"{name}.constants"]


_PROVER = """
import sys
from cloakwork import zk
vectors, folder = sys.argv[1:]
load = lambda n: (zk.Proof.load(f"{vectors}/mixed{n}.proof.json"),
                  zk.Public.load(f"{vectors}/mixed{n}.public.json", "bn254"))
pairs = [load(n) for n in (1, 2)]
print("ready", flush=True)
while True:
    for proof, public in pairs:
        zk.groth16.save(proof, public, f"{folder}/proof.json", f"{folder}/public.json")
"""


def test_a_proof_and_its_signals_are_never_of_two_runs(tmp_path: Path) -> None:
    key, chance = VECTORS / "mixed.vkey.json", random.Random(22)
    paths = [tmp_path / "public.json", tmp_path / "proof.json"]
    for _ in range(6):
        with subprocess.Popen(
            python(_PROVER, VECTORS, tmp_path), stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0, 0.03))
            writer.send_signal(signal.SIGKILL)
        if all(path.exists() for path in paths):
            assert zk.groth16.verify(key, *paths)


# Reads.


def large_container(path: Path) -> Path:
    """A program with a constant of 1 MiB that its result depends on."""
    values = cw.asarray(np.arange(1 << 17))
    program = cw.trace(lambda x: cw.ops.add(x, values), cw.zeros(1 << 17, dtype="i64"))
    program.to_transcript([np.zeros(1 << 17, np.int64)]).save(path)
    return path


_TRUNCATED = """
import sys
import cloakwork as cw, numpy as np
from cloakwork import files
from cloakwork.errors import LoadError
kind, path = sys.argv[1:]
def cut():
    with open(path, "r+b") as file:
        file.truncate(4096)
if kind == "container":
    transcript = cw.heal.load(path, checksums=True)
    use = transcript.run
elif kind == "container, first use":
    use = cw.heal.load(path).run
else:
    array = files.load_npy(path)
    use = lambda: cw.sum(array)
cut()
for _ in range(2):
    try:
        use()
    except LoadError as error:
        assert "truncated" in str(error) or "hash" in str(error), error
    else:
        raise SystemExit("no error")
assert cw.sum(cw.asarray([1, 2])).item() == 3
"""


@pytest.mark.parametrize("kind", ["container", "container, first use", "array"])
def test_a_file_that_is_cut_short_while_it_is_mapped_is_an_error(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    if kind.startswith("container"):
        path = large_container(tmp_path / "file.cwk")
    else:
        np.save(path, np.arange(1 << 17))
        path = tmp_path / "file.npy"
    done = subprocess.run(
        python(_TRUNCATED, kind, path), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


_WAYS_TO_READ = """
import copy, os, pickle, sys
import cloakwork as cw, numpy as np
from cloakwork import files
from cloakwork.errors import LoadError
path = sys.argv[1]
program = cw.trace(lambda x: cw.ops.add(x, x), cw.zeros(1 << 15))
ways = {
    "float": lambda t: float(t[-1]),
    "int": lambda t: int(t[-1]),
    "bool": lambda t: bool(t[-1]),
    "item": lambda t: t[-1].item(),
    "tolist": lambda t: t.tolist(),
    "repr": repr,
    "format": lambda t: f"{t[-1]}",
    "in": lambda t: 5.0 in t,
    "index": lambda t: t[t > 4],
    "write": lambda t: cw.zeros(1 << 15).__setitem__(slice(None), t),
    "pickle": pickle.dumps,
    "pickle, protocol 2": lambda t: pickle.dumps(t, 2),
    "copy": copy.copy,
    "freeze": lambda t: t.freeze(),
    "numpy": lambda t: t.numpy(),
    "np.asarray": lambda t: np.asarray(t)[::2],
    "np.sum": np.sum,
    "np.add": lambda t: np.add(t, 1),
    "memoryview": memoryview,
    "dlpack": np.from_dlpack,
    "dlpack, 0.x": lambda t: t.__dlpack__(),
    "from_dlpack": lambda t: cw.from_dlpack(t, copy=True),
    "asarray": lambda t: cw.asarray(t, copy=True),
    "add": lambda t: t + 1,
    "add to one": lambda t: t[-1] + 1,
    "sum": cw.sum,
    "astype": lambda t: t.astype("f32"),
    "save": lambda t: files.save_npy(path + ".2", t),
    "input": lambda t: program.run(t),
    "constant": lambda t: cw.trace(lambda x: x + t, cw.zeros(1 << 15)),
    "batch": lambda t: batched(t),
}
def batched(t):
    with cw.batch():
        made = t + 1
    return made.tolist()
for way, use in ways.items():
    np.save(path, np.arange(1., 1 + (1 << 15)))
    tensor = files.load_npy(path)
    before = np.asarray(tensor)
    os.truncate(path, 4096)
    for _ in range(2):
        try:
            use(tensor)
        except LoadError as error:
            assert "truncated" in str(error), (way, error)
        else:
            raise SystemExit(way + ": no error")
        assert (cw.asarray([1]) + 1).tolist() == [2]
        assert program.run(cw.ones(1 << 15)).outputs[0][-1] == 2
    assert before[-1] == 1 << 15
"""


def test_each_way_to_read_a_file_that_was_cut_short_is_an_error_and_no_other_call_is(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        python(_WAYS_TO_READ, tmp_path / "x.npy"), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_others_get_of_a_mapped_file_is_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.asfortranarray(np.arange(1 << 14).reshape(64, 256)))
    tensor = files.load_npy(path)
    for array in (np.asarray(tensor), np.from_dlpack(tensor), np.asarray(memoryview(tensor))):
        assert np.array_equal(array, np.arange(1 << 14).reshape(64, 256))
        assert not np.shares_memory(array, np.asarray(tensor))
    with pytest.raises(BufferError, match="mapped file"):
        tensor.__dlpack__(copy=False)


def test_a_damaged_tensor_of_a_container_is_an_error_at_its_first_use(
    tmp_path: Path, capsys: Capture
) -> None:
    path = large_container(tmp_path / "t.cwk")
    contents = bytearray(path.read_bytes())
    contents[-1000] ^= 1
    path.write_bytes(contents)
    transcript = cw.heal.load(path)
    for use in (
        transcript.run, transcript.check, transcript.text, transcript.inspect,
        lambda: transcript.save(tmp_path / "again.cwk"),
        lambda: cw.heal.load(path, checksums=True),
    ):  # fmt: skip
        with pytest.raises(LoadError, match="a tensor with hash"):
            use()
    assert main(["run", str(path)]) == 2
    assert "the file is damaged" in capsys.readouterr().err


READERS: dict[str, Callable[[Path], object]] = {
    "heal.load": cw.heal.load,
    "fhe.load": fhe.load,
    "Program.load": zk.Program.load,
    "read_r1cs": zk.read_r1cs,
    "read_wtns": zk.read_wtns,
    "read_zkey": zk.read_zkey,
    "VerifyingKey": zk.VerifyingKey.load,
    "Proof": zk.Proof.load,
    "Public": lambda path: zk.Public.load(path, "bn254"),
    "npy": files.load_npy,
    "input": lambda path: as_tensor("x", path, "u64", (2,)),
    "onnx": from_model,
}


@pytest.mark.parametrize("name", READERS)
def test_devices_and_sockets_are_refused_by_every_reader(name: str, tmp_path: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as listener:
        place = os.path.relpath(tmp_path / "s")
        listener.bind(place)
        for path in (Path("/dev/zero"), Path("/dev/null"), tmp_path / "s"):
            with pytest.raises(CloakworkError, match=r"a device|a socket"):
                READERS[name](path)


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_read_to_its_end_by_every_reader(name: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with (
        subprocess.Popen(["sh", "-c", f"printf nonsense > '{pipe}'"]),
        pytest.raises(CloakworkError),
    ):
        READERS[name](pipe)


PIPED = """
import re, sys
from pathlib import Path
from threading import Thread
from cloakwork import files
def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
def write():
    with open(sys.argv[1], "wb") as pipe:
        for _ in range(97):
            pipe.write(bytes(1 << 20))
Thread(target=write).start()
before = peak()
assert files._core.map_file(sys.argv[1]).shape == (97 << 20,)
print((peak() - before) / (97 << 10))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say")
def test_a_pipe_is_read_into_memory_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    words = [sys.executable, "-c", PIPED, str(tmp_path / "pipe")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert 0.9 < float(done.stdout) < 1.6


def test_a_statement_comes_through_pipes(tmp_path: Path) -> None:
    names = ["mixed.vkey.json", "mixed1.public.json", "mixed1.proof.json"]
    pipes = []
    for name in names:
        os.mkfifo(tmp_path / name)
        pipes.append(subprocess.Popen(["cp", VECTORS / name, tmp_path / name]))
    assert zk.groth16.verify(*(tmp_path / name for name in names))
    assert [pipe.wait() for pipe in pipes] == [0, 0, 0]


# Arrays.


def mutated(contents: bytes, chance: random.Random) -> bytes:
    """The bytes with a few changed, lost or doubled, mostly where the header is."""
    changed = bytearray(contents)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(min(len(changed), chance.choice([128, len(changed)])) or 1)
        match chance.randrange(4):
            case 0:
                changed[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del changed[at : at + chance.randint(1, 9)]
            case 2:
                changed[at:at] = changed[at : at + 9]
            case _:
                changed[at:at] = chance.choice([b"9", b"O", b"('", b"-", b"{", b"\0", b">", b"V"])
        changed = changed or bytearray(b"x")
    return bytes(changed)


def test_three_thousand_damaged_arrays_end_in_named_errors(tmp_path: Path) -> None:
    path, chance, outcomes = tmp_path / "x.npy", random.Random(22), [0, 0]
    np.save(path, np.arange(12, dtype=np.uint64).reshape(3, 4))
    good = path.read_bytes()
    for _ in range(3000):
        # A new file: a replacement of an existing file's contents is flushed to the disk.
        path.unlink()
        path.write_bytes(mutated(good, chance))
        try:
            as_tensor("x", path, "bn254.fr", (3,))
        except CloakworkError:
            outcomes[1] += 1
        else:
            outcomes[0] += 1
    assert outcomes[1] > 2000
    assert outcomes[0] > 0


def test_arrays_are_those_that_numpy_writes_and_reads(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    for dtype in ("?", "i1", "u2", "i4", "u8", "f4", "f8", "c8", "c16"):
        array = np.arange(24).reshape(2, 3, 4).astype(dtype)
        for written in (array, np.asfortranarray(array), array[0, 0, 0]):
            np.save(path, written)
            read = np.asarray(files.load_npy(path))
            assert read.dtype == written.dtype
            np.testing.assert_array_equal(read, written)
            files.save_npy(path, cw.asarray(read))
            np.testing.assert_array_equal(np.load(path), written)


# Output that fails, and wrong calls.


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["devices"], ["run", "--help"]])
def test_output_that_takes_no_more_is_one_line_and_status_two(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (2, "cloakwork: output: No space left on device\n")


def left(*words: str | Path) -> tuple[int, str]:
    """A command whose output is not read."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as out:
        done = subprocess.run(
            [*COMMAND, *map(str, words)], stdout=out, stderr=subprocess.PIPE, text=True,
            check=False,
        )  # fmt: skip
    return done.returncode, done.stderr


def test_a_reader_that_leaves_changes_no_status_and_is_no_error(tmp_path: Path) -> None:
    good = small_transcript().write(tmp_path / "good.json")
    assert left("inspect", good) == (0, "")
    assert left("--help") == (0, "")
    proof, public = VECTORS / "mixed1.proof.json", VECTORS / "mixed2.public.json"
    assert left("verify", VECTORS / "mixed.vkey.json", public, proof) == (1, "")


def test_graphs_of_wrong_programs_are_drawn_or_refused_by_name(tmp_path: Path) -> None:
    path, chance, drawn = tmp_path / "program.json", random.Random(22), 0
    good = (VECTORS.parents[3] / "examples" / "zk" / "windows.json").read_bytes()
    for _ in range(300):
        path.write_bytes(mutated(good, chance))
        try:
            program = zk.Program.load(path)
        except CloakworkError:
            continue
        drawn += bool(program.check())
        assert program.to_dot().startswith("digraph")
    assert drawn > 10


@pytest.mark.parametrize("wrong", [3, 2.5, b"bytes", object(), {"a"}, ""])
def test_wrong_types_are_named_errors(wrong: object) -> None:
    points = cw.zeros(2, dtype="bn254.g1")
    vkey, proof = VECTORS / "mixed.vkey.json", VECTORS / "mixed1.proof.json"
    public = VECTORS / "mixed1.public.json"
    calls: list[Callable[[], object]] = [
        lambda: cw.ops.msm(wrong, points),
        lambda: cw.ops.msm(points, wrong),
        lambda: zk.groth16.verify(wrong, public, proof),
        lambda: zk.groth16.verify(vkey, wrong, proof),
        lambda: zk.groth16.verify(vkey, public, wrong),
        lambda: zk.groth16.prove(wrong, VECTORS / "mixed1.wtns"),
        lambda: zk.groth16.prove(VECTORS / "mixed.zkey", wrong),
        lambda: zk.groth16.setup(wrong, "never.zkey"),
        *(lambda reader=reader: reader(wrong) for reader in READERS.values()),  # type: ignore[misc]
    ]
    for call in calls:
        with pytest.raises(CloakworkError) as caught:
            call()
        assert "\n" not in str(caught.value)
