"""Element-wise calls on few elements wait in a batch without a program: the same results."""

import threading
from collections.abc import Callable
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import SecretError

Pool = list[cw.Tensor]
SHAPES: list[tuple[int, ...]] = [(), (1,), (3,), (2, 3), (0,), (4096,), (5000,)]


def first_tensors(
    generator: np.random.Generator, shape: tuple[int, ...]
) -> list[np.ndarray[Any, Any]]:
    floats = generator.uniform(0.5, 2.0, (3, *shape))
    integers = generator.integers(1, 9, (2, *shape))
    return [
        *floats,
        floats[0].astype(np.float32),
        *integers,
        integers[0].astype(np.uint8),
        np.asarray(generator.uniform(0.5, 2.0)),
        integers[1] > 4,
        (floats[0] + 1j * floats[1]),
    ]


def drawn_step(generator: np.random.Generator) -> Callable[[Pool], Any]:
    """A step on the tensors so far: it returns its result, or writes to one of them."""
    operators = [cw.add, cw.multiply, cw.subtract, cw.maximum, cw.less, cw.equal]
    functions = [cw.sqrt, cw.abs, cw.negative, cw.exp, cw.isfinite, cw.square]
    a, b, which = (int(generator.integers(1 << 30)) for _ in range(3))
    number = [2, 1.5, True, 0.5j][which % 4]
    kinds: dict[str, Callable[[cw.Tensor, cw.Tensor], Any]] = {
        "two": operators[which % len(operators)],
        "number": lambda x, _: x * number,
        "one": lambda x, _: functions[which % len(functions)](x),
        "view": lambda x, _: cw.reshape(x, (-1,)),
        "sum": lambda x, _: cw.sum(x, dtype=x.dtype),
        "write": _write,
        "read": _read,
    }
    chosen = kinds[str(generator.choice([*kinds], p=_CHANCES))]
    return lambda pool: chosen(pool[a % len(pool)], pool[b % len(pool)])


def _read(x: cw.Tensor, _: cw.Tensor) -> None:
    x.tolist()


def _write(x: cw.Tensor, y: cw.Tensor) -> None:
    x += y


_CHANCES = [0.45, 0.15, 0.2, 0.05, 0.05, 0.05, 0.05]


def outcomes(steps: list[Callable[[Pool], Any]], pool: Pool) -> list[Any]:
    """What each step gives: a tensor, None, or the class of its error."""
    found: list[Any] = []
    for step in steps:
        try:
            made = step(pool)
        except (TypeError, ValueError) as error:
            made = type(error)
        if isinstance(made, cw.Tensor):
            pool.append(made)
        found.append(made)
    return found


@pytest.mark.parametrize("seed", range(150))
def test_random_batches_have_the_bits_of_their_calls(seed: int) -> None:
    generator = np.random.default_rng(seed)
    arrays = first_tensors(generator, SHAPES[seed % len(SHAPES)])
    steps = [drawn_step(generator) for _ in range(int(generator.integers(1, 40)))]
    kept = generator.random(len(steps)) < 0.5
    with np.errstate(all="ignore"):
        expected = outcomes(steps, [cw.asarray(array, copy=True) for array in arrays])
        pool = [cw.asarray(array, copy=True) for array in arrays]
        with cw.batch():
            found = outcomes(steps, pool)
            found = [made if keep else None for made, keep in zip(found, kept, strict=True)]
            del pool
    for made, want, keep in zip(found, expected, kept, strict=True):
        if not keep:
            continue
        if not isinstance(want, cw.Tensor):
            assert made is want
            continue
        assert made.dtype == want.dtype
        assert made.shape == want.shape
        assert np.asarray(made).tobytes() == np.asarray(want).tobytes()


def test_a_result_that_is_read_ends_what_waits_and_others_follow() -> None:
    a = cw.asarray([1.0, 2.0])
    with cw.batch():
        b = a + a
        assert float(b[1]) == 4.0
        c = b * b
        d = c + b
    assert d.tolist() == [6.0, 20.0]


@pytest.mark.usefixtures("no_garbage")
def test_what_nobody_holds_is_not_kept() -> None:
    a = cw.asarray(np.ones(512))
    before = cw.memory_stats().live_bytes
    with cw.batch():
        b = a
        for _ in range(200):
            b = b + a
    assert float(b[0]) == 201.0
    assert cw.memory_stats().live_bytes - before == b.nbytes


def test_a_write_to_an_operand_comes_after_the_calls_that_read_it() -> None:
    a = cw.asarray([1.0, 2.0])
    with cw.batch():
        b = a + 1.0
        a[0] = 100.0
        c = a + 1.0
    assert b.tolist() == [2.0, 3.0]
    assert c.tolist() == [101.0, 3.0]


def _stopped(call: Callable[[], None], error: type[BaseException]) -> None:
    with cw.batch():
        call()
        raise error


def test_an_error_in_the_block_leaves_the_results_of_earlier_calls() -> None:
    a, made = cw.asarray([1.0, 2.0]), []
    with pytest.raises(ZeroDivisionError):
        _stopped(lambda: made.append(a + a), ZeroDivisionError)
    (b,) = made
    assert b.tolist() == [2.0, 4.0]


def test_an_interrupted_batch_says_that_its_results_do_not_exist() -> None:
    # Calls on few elements are computed at once.
    a, made = cw.ones(10_000), []
    with pytest.raises(KeyboardInterrupt):
        _stopped(lambda: made.append(a + a), KeyboardInterrupt)
    (b,) = made
    with pytest.raises(cw.errors.TraceError, match="abandoned"):
        b.tolist()


def test_a_secret_is_no_part_of_a_batch() -> None:
    a, secret = cw.asarray([1.0, 2.0]), cw.asarray([1.0, 2.0])
    secret.mark_secret()
    with cw.batch(), pytest.raises(SecretError):
        _ = a + secret


def test_threads_that_read_results_of_each_other_get_them() -> None:
    a = cw.asarray([1.0, 2.0])
    wrong: list[list[float]] = []
    for _ in range(50):
        with cw.batch():
            made = [a + float(k) for k in range(20)]

            def read(made: list[cw.Tensor] = made) -> None:
                wrong.extend(
                    tensor.tolist()
                    for k, tensor in enumerate(made)
                    if tensor.tolist() != [1.0 + k, 2.0 + k]
                )

            readers = [threading.Thread(target=read) for _ in range(3)]
            for reader in readers:
                reader.start()
            later = [tensor * 2.0 for tensor in made]
            for reader in readers:
                reader.join()
        assert [tensor.tolist() for tensor in later] == [
            [2.0 + 2 * k, 4.0 + 2 * k] for k in range(20)
        ]
    assert not wrong
