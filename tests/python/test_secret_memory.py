"""A secret's file leaves no copy of its bytes in the memory of a process that loads it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cloakwork import fhe

# Its own needles are masked, so that the search does not find itself.
SEARCH = """
import gc, json, sys
from cloakwork import fhe
needles = [bytes.fromhex(one) for one in json.load(sys.stdin)]

def found():
    count = 0
    with open("/proc/self/mem", "rb", 0) as memory, open("/proc/self/maps") as maps:
        for line in maps:
            parts = line.split()
            if "r" not in parts[1] or parts[-1] in ("[vvar]", "[vsyscall]"):
                continue
            low, high = (int(edge, 16) for edge in parts[0].split("-"))
            for at in range(low, high, 1 << 22):
                try:
                    memory.seek(at)
                    piece = memory.read(min((1 << 22) + 64, high - at))
                except (OSError, ValueError, OverflowError):
                    break
                count += sum(piece.count(bytes(c ^ 0x5A for c in one)) for one in needles)
    return count

seen = [found()]
keys = fhe.load(sys.argv[1], insecure=True)
seen.append(found())
keys.decrypt(keys.encrypt([0.5]))
del keys
gc.collect()
seen.append(found())
print(seen)
"""


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="Linux alone shows its memory")
def test_a_loaded_secret_leaves_no_copy_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    fhe.ckks(degree=4096, moduli=[40, 29], special=[36]).keygen().save(path)
    whole = path.read_bytes()
    body = 16 + int.from_bytes(whole[8:16], "little") + bytes_before_the_secret(whole)
    pieces = [whole[body + start : body + start + 40] for start in (64, 600, 2000, 3500)]
    assert all(set(piece) <= {0, 1, 255} for piece in pieces)
    masked = json.dumps([bytes(c ^ 0x5A for c in piece).hex() for piece in pieces])
    line = [sys.executable, "-c", SEARCH, str(path)]
    done = subprocess.run(line, input=masked, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [0, 0, 0]


def bytes_before_the_secret(whole: bytes) -> int:
    """The bytes before the secret in a file's tensors."""
    end = 16 + int.from_bytes(whole[8:16], "little")
    before = 0
    for name, shape, size in json.loads(whole[16:end])["tensors"]:
        if name == "secret":
            return before
        before += size * shape[0] * shape[1]
    raise AssertionError
