"""The limits of a server, each one below, at and above its edge, without a server."""

import asyncio
import json
import tracemalloc
from pathlib import Path
from typing import Any, cast

import pytest
from cloakwork.errors import ServingError
from cloakwork.serving import Limits, ages, door
from cloakwork.serving.ages import Ages
from cloakwork.serving.bodies import Body, Pace
from cloakwork.serving.door import PLAIN_BYTES, Door
from cloakwork.serving.ledger import Claim, Ledger, client_at


@pytest.mark.parametrize(("more", "status"), [(59, 0), (60, 0), (61, 429)])
def test_a_client_gets_its_share_and_no_byte_more(more: int, status: int) -> None:
    ledger = Ledger(1000, 100)
    claims = [ledger.claim("a", 15), ledger.claim("a", 25), ledger.claim("b", 100)]
    if status:
        with pytest.raises(ServingError, match="of one client") as caught:
            ledger.claim("a", more)
        assert (caught.value.status, caught.value.retry_seconds) == (status, 5)
        more = 0
    else:
        claims.append(ledger.claim("a", more))
    assert (ledger.used_by("a"), ledger.used_by("b")) == (40 + more, 100)
    for claim in claims:
        claim.release()
    assert (ledger.used_bytes, ledger.used_by("a"), ledger._clients) == (0, 0, {})


@pytest.mark.parametrize(("more", "status"), [(39, 0), (40, 0), (41, 503)])
def test_all_clients_get_the_pool_and_no_byte_more(more: int, status: int) -> None:
    ledger = Ledger(100, 100)
    ledger.claim("a", 20)
    claim = ledger.claim("b", 40)
    if not status:
        claim.resize(40 + more)
        assert (ledger.used_bytes, ledger.is_full) == (60 + more, more == 40)
        return
    with pytest.raises(ServingError, match="of all clients") as caught:
        claim.resize(40 + more)
    assert (caught.value.status, claim.size_bytes, ledger.used_bytes) == (503, 40, 60)


def test_a_refusal_comes_after_what_can_be_forgotten_was() -> None:
    ledger = Ledger(100, 60)
    kept = {name: ledger.claim(name, 50) for name in "ab"}
    asked: list[tuple[str | None, int]] = []

    def forget(client: str | None, missing: int) -> None:
        asked.append((client, missing))
        kept["a"].release()

    ledger.make_room = forget
    ledger.claim("a", 11)
    assert asked == [("a", 1)]
    kept["a"].settle(39)
    ledger.claim("c", 1)
    assert asked[1:] == [(None, 1)]


def test_bytes_that_are_in_memory_already_are_counted_beyond_the_limit() -> None:
    ledger = Ledger(10, 10)
    claim = ledger.claim("a", 10)
    claim.settle(12)
    assert (ledger.used_bytes, ledger.is_full) == (12, True)
    claim.resize(11)
    with pytest.raises(ServingError):
        claim.resize(12)


@pytest.mark.parametrize(
    ("host", "client"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
        (None, "unknown"),
    ],
)
def test_a_client_is_an_address_or_a_network_of_one_subscriber(
    host: str | None, client: str
) -> None:
    assert client_at(host) == client


def test_a_body_may_pause_and_must_keep_its_least_rate() -> None:
    limits = Limits(read_seconds=30, rate_bytes=100)
    pace = Pace(limits)
    assert pace.left_seconds == 30
    pace.add(100, 1.0)
    # 30 s, and a second for each 100 bytes.
    assert pace.left_seconds == 30
    pace.add(0, 20.0)
    assert pace.left_seconds == 10
    pace.add(100, 10.0)
    assert pace.left_seconds == 1
    pace.add(0, 1.0)
    assert pace.left_seconds == 0
    pace.add(1, 0.0)
    assert pace.left_seconds == pytest.approx(0.01)
    assert pace.refusal().status == 408
    pace.add(10_000, 0.0)
    assert pace.left_seconds == 30


class Fake:
    """A connection that notes that it was closed."""

    def __init__(self) -> None:
        self.closed, self.left = False, (0, 0)

    def unwritten(self) -> tuple[int, int]:
        return self.left

    def drop(self) -> None:
        self.closed = True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The seconds that the door sees."""
    seconds = [1000.0]
    monkeypatch.setattr(door, "monotonic", lambda: seconds[0])
    return seconds


def entered(gate: Door, client: str, phase: str = "head") -> Fake:
    one = Fake()
    assert gate.enter(client, one) is None
    gate.phase(one, phase)
    return one


def test_connections_are_limited_in_all_and_of_a_client(clock: Any) -> None:
    gate = Door(Limits(connections=4, client_connections=3), Ledger(1 << 30, 1 << 30))
    busy = [entered(gate, "a", "request") for _ in range(3)]
    refusal = gate.enter("a", Fake())
    assert refusal is not None
    assert (refusal.status, refusal.retry_seconds) == (503, 1)
    assert "at most 3 of a client" in refusal.expected
    busy.append(entered(gate, "b", "request"))
    refusal = gate.enter("c", Fake())
    assert refusal is not None
    assert refusal.expected == "at most 4"
    gate.leave(busy[0])
    gate.leave(busy[0])
    assert len(gate.open) == 3
    entered(gate, "c")
    assert not any(one.closed for one in busy)


@pytest.mark.parametrize("phase", ["head", "idle", "rest"])
def test_a_new_connection_takes_the_place_of_the_one_that_waits_longest(
    phase: str, clock: Any
) -> None:
    gate = Door(Limits(connections=4, client_connections=3), Ledger(1 << 30, 1 << 30))
    many = []
    for _ in range(3):
        clock[0] += 1
        many.append(entered(gate, "a", phase))
    clock[0] -= 10
    other = entered(gate, "b", phase)
    # Beyond the client's own limit, one of its own goes.
    more = entered(gate, "a", "request")
    assert [one.closed for one in (*many, other)] == [True, False, False, False]
    # Beyond the limit of all, one of the client with the most goes, though another waits longer.
    entered(gate, "c", "request")
    assert [one.closed for one in (*many, other)] == [True, True, False, False]
    assert not more.closed


def test_connections_take_memory_of_the_pool_and_at_most_a_quarter(clock: Any) -> None:
    ledger = Ledger(12 * PLAIN_BYTES, 12 * PLAIN_BYTES)
    gate = Door(Limits(), ledger)
    assert gate.most == 3
    first = [entered(gate, "a"), entered(gate, "d", "request")]
    assert ledger.used_bytes == 2 * PLAIN_BYTES
    body = ledger.claim("a", 10 * PLAIN_BYTES)
    entered(gate, "b", "request")
    assert (first[0].closed, ledger.used_bytes) == (True, 12 * PLAIN_BYTES)
    refusal = gate.enter("c", Fake())
    assert refusal is not None
    assert refusal.status == 503
    body.resize(9 * PLAIN_BYTES)
    entered(gate, "c", "request")
    for one in list(gate.open):
        gate.leave(one)
    assert ledger.used_bytes == body.size_bytes


@pytest.mark.parametrize(
    ("tls", "all_of_them", "most", "of_client"),
    [
        (False, 512, 16, 8), (True, 512, 6, 3), (False, 128, 16, 128), (False, 5, 5, 4),
        (True, 5, 5, 4),
    ],
)  # fmt: skip
def test_on_a_small_pool_no_client_takes_all_connections(
    tls: bool, all_of_them: int, most: int, of_client: int, clock: Any
) -> None:
    limits = Limits(connections=all_of_them, client_connections=4 if all_of_them == 5 else 128)
    gate = Door(limits, Ledger(24 << 20, 24 << 20))
    refusals = [gate.enter("a", Fake(), tls=tls) for _ in range(min(most, of_client))]
    assert refusals == [None] * min(most, of_client)
    assert (gate.most, gate.most_of_client) == (most, of_client)
    for one in gate.open:
        gate.phase(one, "request")
    refusal = gate.enter("a", Fake(), tls=tls)
    assert refusal is not None
    assert refusal.expected.startswith(f"at most {min(most, of_client)}")
    other = gate.enter("b", Fake(), tls=tls)
    assert (other is None) is (of_client < most)


@pytest.mark.parametrize(("whole", "status"), [(100, 429), (101, 413)])
def test_a_claim_beyond_a_whole_share_is_not_told_to_come_again(whole: int, status: int) -> None:
    ledger = Ledger(1000, 100)
    ledger.claim("a", 1)
    claim = ledger.claim("a", 50)
    with pytest.raises(ServingError) as caught:
        claim.resize(whole)
    assert (caught.value.status, caught.value.retry_seconds is None) == (status, status == 413)


def test_a_body_of_tiny_parts_takes_its_bytes() -> None:
    class Request:
        async def stream(self) -> Any:
            for _ in range(5_000):
                await asyncio.sleep(0)
                yield bytes(bytearray(b"xy"))

    async def whole() -> int:
        body = Body(cast("Any", Request()), 10_000, Limits())
        tracemalloc.start()
        try:
            assert await body.whole(Ledger(1 << 20, 1 << 20).claim("a")) == b"xy" * 5_000
            assert b"".join([piece async for piece in body.pieces()]) == b"xy" * 5_000
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    # With a list of parts, each takes about 40 bytes.
    assert asyncio.run(whole()) < 150_000


@pytest.mark.parametrize(
    ("phase", "most"), [("head", 10), ("rest", 10), ("idle", 5), ("request", 3600)]
)
def test_each_phase_of_a_connection_has_its_time(phase: str, most: int, clock: Any) -> None:
    gate = Door(Limits(), Ledger(1 << 30, 1 << 30))
    one = entered(gate, "a", phase)
    for seconds, closed in ((most - 1, False), (most, False), (most + 1, True)):
        gate.tick(clock[0] + seconds)
        assert one.closed is closed
    assert not gate.open


def test_a_client_that_takes_nothing_of_an_answer_is_closed(clock: Any) -> None:
    gate = Door(Limits(), Ledger(1 << 30, 1 << 30))
    for phase in ("request", "idle"):
        one, begun = entered(gate, "a", phase), clock[0]
        one.left = (1000, 0)
        gate.tick(begun)
        gate.tick(begun + 30)
        # It took a part, and as much was written: the buffer is as full as before.
        one.left = (1000, 1)
        gate.tick(begun + 31)
        one.left = (999, 1)
        gate.tick(begun + 32)
        gate.tick(begun + 62)
        assert not one.closed
        gate.tick(begun + 63)
        assert one.closed


def test_descriptors_limit_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    own, all_of_them = door._OWN_FILES, door.BACKLOG + door._OWN_FILES + 10
    found: list[Any] = []
    monkeypatch.setattr(door.resource, "setrlimit", lambda _, limit: found.append(limit))
    for soft, hard, most, backlog in (
        (own + 21, own + 21, 5, 16),
        (own + 20, own + 21, 5, 16),
        (own + 26, own + 26, 10, 16),
        (own + 300, own + 300, 10, 100),
        (all_of_them, all_of_them, 10, 344),
        (5, 1 << 20, 10, 344),
        (1 << 20, 1 << 20, 10, 344),
        (-1, -1, 10, 344),
        (5, 5, 1, 16),
    ):
        monkeypatch.setattr(door.resource, "getrlimit", lambda _, got=(soft, hard): got)
        gate = Door(Limits(connections=10), Ledger(1 << 30, 1))
        assert (gate.most, gate.backlog) == (most, backlog)
    assert found == [(own + 21, own + 21), (all_of_them, 1 << 20)]


@pytest.fixture
def age(monkeypatch: pytest.MonkeyPatch) -> Any:
    seconds = [5.0]
    monkeypatch.setattr(ages, "monotonic", lambda: seconds[0])
    return seconds


def test_ages_count_the_seconds_in_which_a_server_ran(tmp_path: Path, age: Any) -> None:
    first = Ages(tmp_path)
    first.use("a")
    age[0] += 100
    first.use("b")
    age[0] += 59
    first.note(["a", "b"])
    assert (tmp_path / "ages.json").exists()
    age[0] = 77.0
    second = Ages(tmp_path)
    # Between the two servers no time passed, whatever the clocks say.
    assert (second.now, second.last_use("a"), second.last_use("b")) == (159, 0, 100)
    assert second.last_use("new") == 159
    second.forget("a")
    assert second.last_use("a") == 159


@pytest.mark.parametrize(("passed", "written"), [(59.0, False), (60.0, True), (61.0, True)])
def test_ages_are_written_once_a_minute(
    passed: float, written: bool, tmp_path: Path, age: Any
) -> None:
    one = Ages(tmp_path)
    one.use("a")
    age[0] += passed
    one.note(["a"])
    assert (tmp_path / "ages.json").exists() is written
    one.note(["a"], now=True)
    assert json.loads((tmp_path / "ages.json").read_text())["seconds"] == passed


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "5", "\xff", '{"version": 2, "seconds": 1, "used": {}}',
        '{"version": 1, "seconds": -1, "used": {}}', '{"version": 1, "seconds": NaN, "used": {}}',
        '{"version": 1, "seconds": true, "used": {}}', '{"version": 1, "seconds": 1, "used": []}',
        '{"version": 1, "seconds": 1, "used": {"a": "x"}}', '{"version": 1, "seconds": 1}',
        "[" * 100_000, '{"version": 1, "seconds": 1' + "0" * 400 + ', "used": {}}',
        '{"version": 1, "seconds": 1e12, "used": {}}',
    ],
)  # fmt: skip
def test_damaged_ages_make_all_sets_new(text: str, tmp_path: Path, age: Any) -> None:
    (tmp_path / "ages.json").write_bytes(text.encode("latin-1"))
    found = Ages(tmp_path)
    assert (found.now, found.last_use("a")) == (0, 0)
    found.note(["a"], now=True)
    assert json.loads((tmp_path / "ages.json").read_text())["used"] == {"a": 0}


def test_an_age_beyond_the_count_is_now(tmp_path: Path, age: Any) -> None:
    told = {"version": 1, "seconds": 10, "used": {"a": 99}}
    (tmp_path / "ages.json").write_text(json.dumps(told))
    assert Ages(tmp_path).last_use("a") == 10


def test_a_claim_without_a_client_has_no_share() -> None:
    ledger = Ledger(100, 10)
    Claim(ledger, None).resize(100)
    assert ledger.used_bytes == 100
