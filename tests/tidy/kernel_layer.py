"""Rules of kernels: no allocation, exception, output, thread, or STL template."""

from __future__ import annotations

import re

from tidy.tree import code_only

# Declarations without code of their own: they bring no symbol into an ISA file.
_SYSTEM_HEADERS = {
    "cfloat", "climits", "cmath", "cstddef", "cstdint", "cstring", "type_traits",
    "assert.h", "float.h", "limits.h", "math.h", "stdbool.h", "stddef.h", "stdint.h", "string.h",
    "arm_neon.h", "arm_sve.h", "immintrin.h", "x86intrin.h",
}  # fmt: skip
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"]", re.MULTILINE)
_FORBIDDEN = (
    (r"\b(?:malloc|calloc|realloc|aligned_alloc|posix_memalign|free|alloca)\s*\(", "allocates"),
    (r"\bnew\b", "allocates"),
    (r"(?<!=)(?<!= )\bdelete\b", "frees"),
    (r"\b(?:throw|try|catch)\b", "uses exceptions"),
    (r"\b(?:v?f?s?n?printf|f?puts|putchar|fwrite|fopen|perror)\s*\(", "prints or opens files"),
    (r"\bstd::c(?:out|err|in|log)\b", "prints"),
    (r"\b(?:std::(?:thread|async|mutex|atomic|future)|pthread_\w+|thread_local)\b", "threads"),
    (r"#\s*pragma\s+omp\b", "threads"),
    (r"\b(?:exit|abort|getenv|system|signal|dlopen)\s*\(", "acts on the process"),
    (r"\b__builtin_cpu_supports\b|\bcpuid\b", "decides what runs"),
)

# Calls that a compiler may add to code: copies, 128-bit division, stack checks.
_MAY_IMPORT = re.compile(
    r"mem(?:cpy|move|set|cmp)|__u?(?:div|mod|divmod)ti[34]|__stack_chk_\w+|_GLOBAL_OFFSET_TABLE_"
    r"|__asan_\w+|__ubsan_\w+"
    r"|(?:exp|exp2|expm1|log|log2|log10|log1p|sqrt|sin|cos|tan|tanh|erf|pow|fma|fabs|fmod|ldexp"
    r"|frexp|floor|ceil|trunc|round|rint|nearbyint|lrint|llrint|fmin|fmax|asin|acos|atan|sinh"
    r"|cosh|asinh|acosh|atanh|atan2|hypot|nextafter)f?"
    r"|c(?:exp|log|sqrt|abs|pow|a?(?:sin|cos|tan)h?)f?"
)


def source_findings(source: str) -> list[str]:
    """Return the forbidden uses in a kernel's source, with line numbers."""
    code = code_only(source)
    findings = []
    for pattern, what in _FORBIDDEN:
        for match in re.finditer(pattern, code):
            findings.append((_line(code, match.start()), f"{what}: {match[0].strip()}"))
    # Quoted names are blanked in `code`, so that includes are read from the text itself.
    for match in _INCLUDE.finditer(source):
        bracket, header = match[1], match[2]
        own = bracket == '"' and not header.endswith("Python.h")
        if not own and header not in _SYSTEM_HEADERS:
            findings.append((_line(source, match.start()), f"includes {header}"))
    return [f"line {line}: {what}" for line, what in sorted(findings)]


def symbol_findings(listing: str, isa_suffixes: tuple[str, ...]) -> list[str]:
    """Judge the symbols of a whole archive, as listed by `nm`.

    An object may define static symbols, `cw_...` and `<kernel>_<isa>`. A weak symbol of an ISA file
    could replace the portable copy at link time, so it is an error. A needed symbol must be defined
    in the same object or be one of the few routines that compilers call.
    """
    symbols = [_symbol(line) for line in listing.splitlines()]
    known = [symbol for symbol in symbols if symbol is not None]
    defined = {name for kind, name in known if kind != "U"}
    findings = set()
    for kind, name in known:
        if kind in "WwVvu":
            findings.add(f"weak symbol {name}: give it internal linkage")
        elif kind == "U" and name not in defined and not _MAY_IMPORT.fullmatch(name):
            findings.add(f"needs {name}, which is not a kernel's to call")
        elif kind.isupper() and kind != "U" and not _is_exported_name(name, isa_suffixes):
            findings.add(f"exports {name}: name it cw_... or <kernel>_<isa>, or make it static")
    return sorted(findings)


def _is_exported_name(name: str, isa_suffixes: tuple[str, ...]) -> bool:
    return not name.startswith("_Z") and (name.startswith("cw_") or name.endswith(isa_suffixes))


def _symbol(line: str) -> tuple[str, str] | None:
    """Parse `[address] kind name`; other lines of nm name the members of an archive."""
    match = re.fullmatch(r"\s*(?:[0-9a-f]+\s+)?([A-Za-z])\s+(\S+)", line)
    return (match[1], match[2]) if match else None


def _line(source: str, offset: int) -> int:
    return source.count("\n", 0, offset) + 1
