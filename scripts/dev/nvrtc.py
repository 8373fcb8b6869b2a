"""NVRTC, NVIDIA's compiler as a library, through ctypes: one CUDA source to PTX.

As a program: `nvrtc.py FOLDER SOURCE PTX OPTION...`, FOLDER with the libraries. NVRTC rather than
nvcc because it has `-default-device`: functions without a word on where they run are a device's, so
that the sources of csrc compile as they are. It needs no compiler of the host either.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

# The library, and the file that it opens itself but finds only if it is open already.
LIBRARY, BUILTINS = "libnvrtc.so.13", "libnvrtc-builtins.so.13.0"


class CompileError(Exception):
    """A source does not compile. The message is the compiler's."""


def compile_ptx(folder: Path, source: Path, options: list[str]) -> str:
    """Compile one file to PTX."""
    ctypes.CDLL(str(folder / BUILTINS), mode=ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(str(folder / LIBRARY))
    program = ctypes.c_void_p()
    text, name = source.read_bytes(), str(source).encode()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, name, 0, None, None)
    words = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    if nvrtc.nvrtcCompileProgram(program, len(options), words) != 0:
        raise CompileError(_text(nvrtc, program, "ProgramLog"))
    return _text(nvrtc, program, "PTX")


def _text(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    """Read a text of the program: its PTX or its log."""
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, text)
    return text.value.decode(errors="replace")


def main() -> int:
    """Compile as the arguments say."""
    folder, source, ptx, *options = sys.argv[1:]
    try:
        Path(ptx).write_text(compile_ptx(Path(folder), Path(source), options))
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
