"""Answers of Microsoft SEAL's own internals, as TenSEAL's wheel exposes them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tenseal import sealapi
from tenseal.sealapi import util

from scripts.vectors.files import LONG_INPUT, edge_input, listed, long_input, made_by, write_file

DEGREES = (8, 32, 256, 4096)
BITS = (30, 49, 60, 61)


def write() -> None:
    """Write the files with SEAL's answers."""
    provenance = {
        "source": f"Microsoft SEAL {_version()}, in the wheel of TenSEAL 0.3.18: %s",
        "url": "https://github.com/microsoft/SEAL/tree/main/native/src/seal/util",
        "generated_by": made_by("seal.py", "tenseal"),
    }
    _file("ntt_seal.json", provenance, "ntt_negacyclic_harvey and its inverse", _transforms())
    _file("automorphism_seal.json", provenance, "GaloisTool", _automorphisms())
    _file("base_conversion_seal.json", provenance, "BaseConverter", _conversions())
    _file("rescale_seal.json", provenance, "RNSTool, divide_and_round_q_last", _rescalings())


def _file(name: str, provenance: dict[str, str], what: str, cases: list[dict[str, object]]) -> None:
    source = provenance["source"] % what
    contents = {"long_input": LONG_INPUT, "cases": cases}
    write_file(name, {**provenance, "source": source}, contents)


def _version() -> str:
    """SEAL's version at the start of its files: bytes 3 and 4."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "parameters"
        sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.CKKS).save(str(path))
        head = path.read_bytes()
    return f"{head[3]}.{head[4]}"


def _transforms() -> list[dict[str, object]]:
    """Forward in SEAL's order, which is bit-reversed; and the inverse of the same input."""
    cases = []
    for degree in DEGREES:
        for bits in BITS:
            modulus = util.get_primes(2 * degree, bits, 1)[0]
            tables = util.NTTTables(degree.bit_length() - 1, modulus)
            values = _input(degree, modulus.value())
            forward = util.ntt_negacyclic_harvey(values, tables)
            # SEAL 4.3 leaves a few words in [q, 2q) from about 59 bits on; they are reduced here.
            lazy = util.inverse_ntt_negacyclic_harvey(values, tables)
            inverse = [word % modulus.value() for word in lazy]
            powers = [tables.get_from_root_powers(i).operand for i in range(degree)]
            cases.append(
                {
                    "degree": degree,
                    "modulus": modulus.value(),
                    "root": tables.get_root(),
                    **_given(values),
                    **listed("ntt", forward),
                    **listed("intt", inverse),
                    **listed("root_powers", powers),
                }
            )
    return cases


def _automorphisms() -> list[dict[str, object]]:
    """a(X^element): on coefficients, and on a transform in bit-reversed order."""
    cases = []
    for degree in DEGREES:
        modulus = util.get_primes(2 * degree, 49, 1)[0]
        tool = util.GaloisTool(degree.bit_length() - 1)
        values = _input(degree, modulus.value())
        steps = [step for step in (1, 2, -1, 3) if abs(step) < degree // 2]
        elements = {step: tool.get_elt_from_step(step) for step in steps}
        for step, element in [*elements.items(), (None, 2 * degree - 1)]:
            coefficients = tool.apply_galois(values, element, modulus, degree)[:degree]
            transformed = tool.apply_galois_ntt(values, element, degree)[:degree]
            cases.append(
                {
                    "degree": degree,
                    "modulus": modulus.value(),
                    "rotation": step,
                    "element": element,
                    **_given(values),
                    **listed("coefficients", coefficients),
                    **listed("bit_reversed", transformed),
                }
            )
    return cases


def _conversions() -> list[dict[str, object]]:
    """Fast conversion: sum of (a_i * hat_i^-1 mod q_i) * hat_i mod p_j; one row for each limb."""
    cases = []
    for count, inputs, outputs in ((8, 1, 3), (8, 2, 3), (8, 4, 2), (8, 3, 4), (512, 3, 11)):
        for bits in (30, 49, 60):
            primes = util.get_primes(2 * 4096, bits, inputs + outputs)
            source, target = primes[:inputs], primes[inputs:]
            converter = util.BaseConverter(util.RNSBase(source), util.RNSBase(target))
            values = [_input(count, q.value()) for q in source]
            flat = [number for row in values for number in row]
            converted = converter.fast_convert_array(flat, count)
            cases.append(
                {
                    "count": count,
                    "from": [q.value() for q in source],
                    "to": [p.value() for p in target],
                    **_given_rows(values),
                    **listed("output", converted),
                }
            )
    return cases


def _rescalings() -> list[dict[str, object]]:
    """round(a / q_last) in the base without it; one row for each limb."""
    cases = []
    for degree, limbs in ((8, 2), (8, 3), (8, 5), (512, 4)):
        for bits in (30, 49, 60):
            primes = util.get_primes(2 * degree, bits, limbs)
            tool = util.RNSTool(degree, util.RNSBase(primes), sealapi.Modulus(0))
            values = [_input(degree, q.value()) for q in primes]
            flat = [number for row in values for number in row]
            divided = tool.divide_and_round_q_last_inplace(flat, degree)[: degree * (limbs - 1)]
            cases.append(
                {
                    "degree": degree,
                    "moduli": [q.value() for q in primes],
                    **_given_rows(values),
                    **listed("output", divided),
                }
            )
    return cases


def _input(length: int, modulus: int) -> list[int]:
    """Edge cases if the list is written out."""
    return edge_input(length, modulus) if length <= 32 else long_input(length, modulus)


def _given(values: list[int]) -> dict[str, object]:
    return {"input": values} if len(values) <= 32 else {}


def _given_rows(rows: list[list[int]]) -> dict[str, object]:
    return {"input": rows} if len(rows[0]) <= 32 else {}
