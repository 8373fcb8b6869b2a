"""HEIR's text: own texts run on encrypted values, and what is malformed is refused by its line."""

import re
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import LoadError, MissingKeyError, ParamError
from cloakwork.fhe import heir
from cloakwork.fhe.heir import interpreter
from cloakwork.modular.primes import ntt_primes

DEGREE = 64
Q = ntt_primes(DEGREE, (50, 40, 40, 40))
P = ntt_primes(DEGREE, (51, 52))


def head(scheme: str = "ckks") -> str:
    """Aliases of types at levels 0 to 3, and the module's first line."""
    chain = ", ".join(f"{q} : i64" for q in Q)
    lines = ["#key = #lwe.key<>", "#ring = #polynomial.ring<coefficientType = f64, "
             f"polynomialModulus = <1 + x**{DEGREE}>>",
             "#enc = #lwe.inverse_canonical_encoding<scaling_factor = 40>",
             "!pt = !lwe.lwe_plaintext<plaintext_space = <ring = #ring, encoding = #enc>>",
             ]  # fmt: skip
    for level in range(4):
        for parts, name in ((2, f"L{level}"), (3, f"L{level}_D3")):
            size = ", size = 3" if parts == 3 else ""
            lines += [
                f"#space_{name} = #lwe.ciphertext_space<ring = #ring, encryption_type = mix{size}>",
                f"!ct_{name} = !lwe.lwe_ciphertext<plaintext_space = <ring = #ring, encoding = "
                f"#enc>, ciphertext_space = #space_{name}, key = #key, modulus_chain = "
                f"#lwe.modulus_chain<elements = <{chain}>, current = {level}>>",
            ]
    last = "logDefaultScale = 40" if scheme == "ckks" else "plaintextModulus = 257"
    lines.append(
        f"module attributes {{{scheme}.schemeParam = #{scheme}.scheme_param<logN = 6, "
        f"Q = [{', '.join(map(str, Q))}], P = [{', '.join(map(str, P))}], {last}>}} {{"
    )
    return "\n".join(lines) + "\n"


def function(*lines: str, arguments: str = "%x: !ct_L3, %y: !ct_L3", result: str = "!ct_L3") -> str:
    """A function @f of some lines."""
    return "\n".join((f"  func.func @f({arguments}) -> {result} {{", *lines, "  }", "}"))


def evaluated(source: str, *values: Any, scheme: str = "ckks", **options: Any) -> np.ndarray:
    """The first result of @f, as a program, decrypted; run directly, it is the same."""
    module = heir.loads(head(scheme) + source, insecure=True)
    keys = module.keygen()
    given = module.encrypt(keys, *values)
    program = module.trace(*given, **options)
    (result,) = program.run(*given).outputs
    direct = module.function(**options)(*given)
    np.testing.assert_array_equal(np.asarray(result.data), np.asarray(direct.data))
    (found,) = module.decrypt(keys, result)
    return np.asarray(found.real)


X, Y = np.random.default_rng(1).uniform(-1, 1, (2, DEGREE // 2))
RELINEARIZED = "<from_basis = [0, 1, 2], to_basis = [0, 1]>"


@pytest.mark.parametrize(
    ("lines", "result", "expected"),
    [
        (["%a = ckks.add %x, %y : (!ct_L3, !ct_L3) -> !ct_L3", "return %a : !ct_L3"], 3, X + Y),
        (["%a = ckks.sub %x, %y : (!ct_L3, !ct_L3) -> !ct_L3", "func.return %a : !ct_L3"],
         3, X - Y),
        (["%a = ckks.negate %x : !ct_L3", "return %a : !ct_L3"], 3, -X),
        (["%a = lwe.radd %x, %y : (!ct_L3, !ct_L3) -> !ct_L3", "return %a : !ct_L3"], 3, X + Y),
        (["%a = ckks.rotate %x {static_shift = 3} : !ct_L3", "return %a : !ct_L3"],
         3, np.roll(X, -3)),
        (["%c = arith.constant 5 : i32", "%d = arith.constant 2 : i32",
          "%e = arith.subi %c, %d : i32", "%a = ckks.rotate %x, %e : i32 : !ct_L3",
          "return %a : !ct_L3"], 3, np.roll(X, -3)),
        (["%a = ckks.level_reduce %x {levelToDrop = 2} : !ct_L3 -> !ct_L1", "return %a : !ct_L1"],
         1, X),
        (["%a = ckks.mul %x, %y : (!ct_L3, !ct_L3) -> !ct_L3_D3",
          f"%b = ckks.relinearize %a {RELINEARIZED} : (!ct_L3_D3) -> !ct_L3",
          "%c = ckks.rescale %b {to_ring = #ring} : !ct_L3 -> !ct_L2",
          "%m = ckks.mul %c, %c : (!ct_L2, !ct_L2) -> !ct_L2_D3",
          "%r = ckks.relinearize %m {from_basis = array<i32: 0, 1, 2>,",
          "  to_basis = array<i32: 0, 1> } : !ct_L2_D3 -> !ct_L2",
          "%s = ckks.rescale %r <to_ring = #ring> : !ct_L2 -> !ct_L1",
          "return %s : !ct_L1"], 1, (X * Y) ** 2),
        (["%v = arith.constant dense<[0.5, -1.0, 2.0, 1.000000e+00]> : tensor<4xf32> // four",
          "%p = lwe.rlwe_encode %v <encoding = #enc, ring = #ring, level = 3, scale = 40> : "
          "tensor<4xf32> -> !pt",
          "%a = ckks.mul_plain %x, %p : (!ct_L3, !pt) -> !ct_L3",
          "%b = ckks.rescale %a <to_ring = #ring> : !ct_L3 -> !ct_L2",
          "%c = ckks.add_plain %b, %p : (!ct_L2, !pt) -> !ct_L2",
          "%d = ckks.sub_plain %p, %c : (!pt, !ct_L2) -> !ct_L2",
          "%e = ckks.sub_plain %d, %p : (!ct_L2, !pt) -> !ct_L2",
          "return %e : !ct_L2"], 2, -np.tile([0.5, -1, 2, 1], 8) * (X + 1)),
        (['%a = "ckks.add"(%x, %y) : (!ct_L3, !ct_L3) -> !ct_L3', "return %a : !ct_L3"], 3, X + Y),
    ],
)  # fmt: skip
def test_operations_do_what_they_say(lines: list[str], result: int, expected: Any) -> None:
    found = evaluated(function(*lines, result=f"!ct_L{result}"), X, Y)
    np.testing.assert_allclose(found, expected, atol=1e-6)


LOOP = [
    "%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index",
    "%c3 = arith.constant 3 : index", "%first = tensor.extract %x[%c0] : tensor<1x!ct_L3>",
    "%out = tensor.empty() : tensor<2x!ct_L3>",
    "%s = scf.for %i = %c1 to %c3 step %c1 iter_args(%held = %first) -> (!ct_L3) : index {",
    "%r = ckks.rotate %held, %i : index : !ct_L3",
    "%a = ckks.add %held, %r : (!ct_L3, !ct_L3) -> !ct_L3", "scf.yield %a : !ct_L3", "}",
    "%t = affine.for %j = 0 to 2 iter_args(%o = %out) -> (tensor<2x!ct_L3>) {",
    "%p = tensor.insert %s into %o[%j] : tensor<2x!ct_L3>",
    "affine.yield %p : tensor<2x!ct_L3>", "}",
    "%n = ckks.negate %t : tensor<2x!ct_L3>",
    "%f = arith.cmpi slt, %c1, %c0 : index", "%g = scf.if %f -> (tensor<2x!ct_L3>) {",
    "scf.yield %t : tensor<2x!ct_L3>", "} else {", "scf.yield %n : tensor<2x!ct_L3>", "}",
    "return %g : tensor<2x!ct_L3>",
]  # fmt: skip


def test_loops_and_tensors_of_ciphertexts() -> None:
    arguments = "%x: tensor<1x!ct_L3> {heir.kernel_info = {gap_factor = 1 : i64}}"
    source = head() + function(*LOOP, arguments=arguments, result="(tensor<2x!ct_L3> {a.b = 1})")
    module = heir.loads(source, insecure=True)
    assert module.rotations() == [1, 2]
    keys = module.keygen()
    (x,) = module.encrypt(keys, X)
    results = module.trace(x).run(x).outputs
    once = X + np.roll(X, -1)
    for found in module.decrypt(keys, *results):
        np.testing.assert_allclose(found.real, -(once + np.roll(once, -2)), atol=1e-6)
    assert len(results) == 2


def test_several_ciphertexts_and_plain_arguments() -> None:
    lines = ["%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index",
             "%a = tensor.extract %x[%c0] : tensor<2x!ct_L3>",
             "%b = tensor.extract %x[%c1] : tensor<2x!ct_L3>",
             "%p = lwe.rlwe_encode %v <encoding = #enc, ring = #ring> : tensor<32xf64> -> !pt",
             "%s = ckks.sub %a, %b : (!ct_L3, !ct_L3) -> !ct_L3",
             "%q = ckks.add_plain %s, %p : (!ct_L3, !pt) -> !ct_L3",
             "%r = ckks.add_plain %q, %w : (!ct_L3, !pt) -> !ct_L3",
             "return %r : !ct_L3"]  # fmt: skip
    arguments = "%x: tensor<2x!ct_L3>, %v: tensor<32xf64>, %w: !pt"
    module = heir.loads(head() + function(*lines, arguments=arguments), insecure=True)
    keys = module.keygen()
    pair = [keys.encrypt(X), keys.encrypt(Y)]
    program = module.trace(pair, Y, X)
    (result,) = program.run(*pair).outputs
    np.testing.assert_allclose(keys.decrypt(result).real, X - Y + Y + X, atol=1e-6)
    with pytest.raises(ParamError, match="2 ciphertexts for tensor<2x!ct_L3>"):
        module.trace(pair[:1], Y, X)


# What the server prepares, calls, and what the client encrypts and decrypts.
WHOLE = """
  func.func @f__preprocessing() -> !preprocessing.storage<!pt> {
    %v = arith.constant dense<"0x0000003F000080BF"> : tensor<2xf32>
    %0 = preprocessing.empty : <!pt>
    %p = lwe.rlwe_encode %v <encoding = #enc, ring = #ring> : tensor<2xf32> -> !pt
    preprocessing.store %p, %0[] site 0<!pt> : !pt, <!pt>
    return %0 : !preprocessing.storage<!pt>
  }
  func.func @f__preprocessed(%x: !ct_L3, %s: !preprocessing.storage<!pt>) -> !ct_L3 {
    %p = preprocessing.load %s[] site 0<!pt> : <!pt>, !pt
    %a = ckks.add_plain %x, %p : (!ct_L3, !pt) -> !ct_L3
    return %a : !ct_L3
  }
  func.func @f(%x: !ct_L3) -> !ct_L3 attributes {heir.interface = {roles = ["server.eval"]}} {
    %0 = call @f__preprocessing() : () -> !preprocessing.storage<!pt>
    %1 = call @f__preprocessed(%x, %0) : (!ct_L3, !preprocessing.storage<!pt>) -> !ct_L3
    return %1 : !ct_L3
  }
  func.func @f__encrypt__arg0(%v: tensor<4xf32>, %pk: !pkey) -> !ct_L3 {
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c1 = arith.constant 1 : i32
    %z = arith.constant dense<0.0> : tensor<1x8xf32>
    %zero = arith.constant 0 : index
    %t = scf.for %i = %c0 to %c4 step %c1 iter_args(%h = %z) -> (tensor<1x8xf32>) : i32 {
      %k = arith.index_cast %i : i32 to index
      %e = tensor.extract %v[%k] : tensor<4xf32>
      %n = tensor.insert %e into %h[%zero, %k] : tensor<1x8xf32>
      scf.yield %n : tensor<1x8xf32>
    }
    %w = tensor.extract_slice %t[0, 0] [1, 8] [1, 1] : tensor<1x8xf32> to tensor<8xf32>
    %p = lwe.rlwe_encode %w <encoding = #enc, ring = #ring> : tensor<8xf32> -> !pt
    %ct = lwe.rlwe_encrypt %p, %pk : (!pt, !pkey) -> !ct_L3
    return %ct : !ct_L3
  }
  func.func @f__decrypt__result0(%ct: !ct_L3, %sk: !skey) -> tensor<4xf32> {
    %p = lwe.rlwe_decrypt %ct, %sk : (!ct_L3, !skey) -> !pt
    %v = lwe.rlwe_decode %p <encoding = #enc, ring = #ring> : !pt -> tensor<1x8xf32>
    %w = tensor.extract_slice %v[0, 0] [1, 4] [1, 1] : tensor<1x8xf32> to tensor<4xf32>
    return %w : tensor<4xf32>
  }
}
"""


def test_whole_modules_encrypt_prepare_compute_and_decrypt(tmp_path: Path) -> None:
    values = X[:4].copy()
    found = evaluated(WHOLE, values)
    np.testing.assert_allclose(found, values + np.array([0.5, -1, 0.5, -1]), atol=1e-6)
    assert np.array_equal(values, X[:4])
    (tmp_path / "f.mlir").write_text(head() + WHOLE)
    module = heir.load(tmp_path / "f.mlir", insecure=True)
    assert module.functions == ["f"]
    assert "f.mlir" in repr(module)
    keys = module.keygen()
    (x,) = module.encrypt(keys, values)
    program = module.trace(x)
    program.save(tmp_path / "f.cwk")
    (again,) = cw.load(tmp_path / "f.cwk").run(x).outputs
    np.testing.assert_allclose(module.decrypt(keys, again)[0], found, atol=1e-6)


BGV = [
    "%m = bgv.mul %x, %y : (!ct_L3, !ct_L3) -> !ct_L3_D3",
    f"%r = bgv.relinearize %m {RELINEARIZED} : !ct_L3_D3 -> !ct_L3",
    "%s = bgv.modulus_switch %r <to_ring = #ring> : !ct_L3 -> !ct_L2",
    "%t = bgv.rotate_cols %s {static_shift = 1} : !ct_L2",
    "%u = bgv.rotate_rows %t : !ct_L2",
    "%c = arith.constant dense<7> : tensor<8xi16>",
    "%p = lwe.rlwe_encode %c {encoding = #enc, ring = #ring} : tensor<8xi16> -> !pt",
    "%v = bgv.add_plain %u, %p : (!ct_L2, !pt) -> !ct_L2",
    "%w = bgv.mul_plain %v, %p : (!ct_L2, !pt) -> !ct_L2",
    "return %w : !ct_L2",
]


@pytest.mark.parametrize("other", [None, fhe.bfv])
def test_integers_run_under_bgv_and_bfv(other: Any) -> None:
    a, b = np.random.default_rng(2).integers(-9, 9, (2, DEGREE))
    context = other(DEGREE, 257, Q, P, insecure=True) if other else None
    source = head("bgv") + function(*BGV, result="!ct_L2")
    module = heir.loads(source, context=context, insecure=True)
    keys = module.keygen()
    given = module.encrypt(keys, a, b)
    (result,) = module.trace(*given).run(*given).outputs
    turned = np.roll((a * b).reshape(2, -1), -1, axis=1)[::-1].reshape(-1)
    expected = ((turned + 7) * 7 + 128) % 257 - 128
    np.testing.assert_array_equal(module.decrypt(keys, result)[0], expected)


def test_bootstrapping_is_the_users() -> None:
    lines = ["%a = ckks.bootstrap %x : !ct_L0 -> !ct_L3", "return %a : !ct_L3"]
    source = function(*lines, arguments="%x: !ct_L0", result="!ct_L3")
    with pytest.raises(LoadError, match=r":23: ckks.bootstrap: expected bootstrap=\.\.\."):
        evaluated(source, X)
    module = heir.loads(head() + source, insecure=True)
    keys = module.keygen()
    again = keys.encrypt(X)
    found = module.function(bootstrap=lambda x: again)(*module.encrypt(keys, X))
    assert found is again


OPENFHE = "%a = openfhe.add %x, %y : (!ct_L3, !ct_L3) -> !ct_L3"


@pytest.mark.parametrize(
    ("lines", "match"),
    [
        ([OPENFHE], "openfhe.add is no operation that is read here: stop before --lwe-to-openfhe"),
        (["%a = secret.cast %x : !ct_L3"], "lower it with --mlir-to-ckks"),
        (["%a = ckks.add %x, %z : (!ct_L3, !ct_L3) -> !ct_L3"], "defined above, found %z"),
        (["%a = ckks.add %x : (!ct_L3) -> !ct_L3"], "2 operands, found 1"),
        (["%a = ckks.add %x, %y : (!ct_L3, !ct_L3) -> !pt"], "a result that is a ciphertext"),
        (["%a = ckks.mul %x, %y : (!ct_L3, !ct_L3) -> !ct_L3"], "3 parts, declared 2"),
        (["%a = ckks.rescale %x <to_ring = #ring> : !ct_L3 -> !ct_L1"], "level 2, declared 1"),
        (["%b = ckks.mul %x, %y : (!ct_L3, !ct_L3) -> !ct_L3_D3",
          "%a = ckks.mul %b, %y : (!ct_L3_D3, !ct_L3) -> !ct_L3_D3"], "of 4 parts, declared 3"),
        (["%b = ckks.level_reduce %x : !ct_L3 -> !ct_L2",
          "%a = ckks.add %b, %y : (!ct_L2, !ct_L3) -> !ct_L3"], "at one level, found 2 and 3"),
        (["%a = ckks.level_reduce %x {levelToDrop = 9} : !ct_L3 -> !ct_L0"], "1 to 3 levels"),
        (["%a = ckks.rotate %x : !ct_L3"], "steps as an operand or static_shift"),
        (["%a = ckks.rotate %x, %y : !ct_L3 : !ct_L3"], "1 ciphertexts"),
        (["%a = arith.constant dense<[1, x]> : tensor<2xf32>"], "numbers in lists"),
        (["%a = arith.constant dense<[1, 2]> : tensor<3xf32>"], "3 numbers, found 2"),
        (["%a = arith.constant dense<0> : tensor<99999999999xf32>"], "at most"),
        (["%a = call @g(%x) : (!ct_L3) -> !ct_L3"], "a function of this text"),
        (["%a = call @f(%x, %y) : (!ct_L3, !ct_L3) -> !ct_L3"], "calls in each other"),
        (["%i = arith.constant 0 : index", "%a = arith.divsi %i, %i : index"], "other than 0"),
        (["%e = tensor.empty() : tensor<2xf32>", "%i = arith.constant 2 : index",
          "%a = tensor.extract %e[%i] : tensor<2xf32>"], "an index into"),
        (["%a = affine.for %i = 0 to 99999999 {", "%n = ckks.negate %x : !ct_L3",
          "affine.yield", "}"], "at most"),
        (["%a = affine.for %i = 0 to 9 {"], "the end"),
        (["%a = !what"], "expected an operation"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_by_its_line(
    lines: list[str], match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreter, "_MOST_STEPS", 1000)
    source = head() + function(*lines, "return %a : !ct_L3")
    with pytest.raises(LoadError, match=match) as raised:
        heir.loads(source, name="f.mlir", insecure=True)
    assert re.match(r"f\.mlir:\d+: ", str(raised.value))


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("#ckks.scheme_param", "#some.other", "give context="),
        (str(Q[1]), str(Q[1] + 2), "parameters: modulus_not_ntt_friendly"),
        ("logN = 6", "logN = six", "parameters: expected logN"),
        ("module", "modules", "expected a module, a function or an alias"),
        ("#key = ", "#key = #key1\n#key1 = #key\n#ignored = ", "aliases that end"),
        ("func.func @f", "func.fun @f", "expected a module, a function or an alias"),
    ],
)
def test_modules_that_are_none_are_refused(old: str, new: str, match: str) -> None:
    source = (head() + WHOLE).replace(old, new)
    with pytest.raises(LoadError, match=match):
        heir.loads(source, insecure=True)


def test_texts_without_enough_security_are_refused() -> None:
    with pytest.raises(LoadError, match=r":21: parameters: security_degree"):
        heir.loads(head() + WHOLE)


def test_missing_keys_and_other_arguments_are_the_users() -> None:
    lines = ["%a = ckks.rotate %x {static_shift = 3} : !ct_L3", "return %a : !ct_L3"]
    module = heir.loads(head() + function(*lines), insecure=True)
    x = module.context.keygen().encrypt(X)
    with pytest.raises(MissingKeyError):
        module.function()(x, x)
    with pytest.raises(ParamError, match="arguments"):
        module.function()(x)
    with pytest.raises(ParamError, match="one of f"):
        module.keygen("g")
    with pytest.raises(ParamError, match="values"):
        module.encrypt(module.keygen(), X)


def test_spoilt_texts_are_refused_by_a_line_or_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "_MOST_STEPS", 1000)
    generator = np.random.default_rng(3)
    whole = (head() + WHOLE).splitlines()
    refused, unplaced = 0, []
    for _ in range(400):
        lines = list(whole)
        for _ in range(int(generator.integers(1, 3))):
            at, choice = int(generator.integers(len(lines))), generator.integers(5)
            line = lines[at]
            where = int(generator.integers(len(line) + 1))
            if choice == 0:
                del lines[at]
            elif choice == 1:
                lines.insert(at, lines[int(generator.integers(len(lines)))])
            elif choice == 2:
                lines[at] = line[:where]
            elif choice == 3:
                drawn = chr(int(generator.integers(32, 127)))
                lines[at] = line[:where] + drawn + line[where + 1 :]
            else:
                words = re.split(r"(\W+)", line)
                words[int(generator.integers(len(words)))] = "0"
                lines[at] = "".join(words)
        try:
            module = heir.loads("\n".join(lines), name="f.mlir", insecure=True)
            keys = module.context.keygen()
            given = module.encrypt(keys, X[:4])
            module.decrypt(keys, module.function()(*given))
        except LoadError as error:
            refused += 1
            unplaced += [] if re.match(r"f\.mlir:\d+: ", str(error)) else [error]
        except (ParamError, MissingKeyError):
            refused += 1
    assert refused > 100
    assert not unplaced
