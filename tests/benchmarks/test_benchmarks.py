"""The benchmarks run at all: each at its small scale, figures only, never timings."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from syncmem.replica.driver import driver
from tests import shared
from tests.benchmarks import wire_bytes
from tests.benchmarks.growth import exponent
from tests.benchmarks.measuring import Row, quantile, ratio_at_most
from tests.benchmarks.peers import beside
from tests.benchmarks.peers.installing import Environments
from tests.benchmarks.peers.listed import MERGE, PEERS, REMEMBER
from tests.benchmarks.running import BENCHMARKS, measure, run, title
from tests.benchmarks.table import table
from tests.benchmarks.workshop import CACHE, Workshop, workshop


@pytest.fixture(scope="module")
def place() -> Iterator[Workshop]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(CACHE, raising=False)
        with workshop("small") as found:
            yield found


@pytest.mark.parametrize("name", BENCHMARKS)
def test_figures_come_out(name: str, place: Workshop) -> None:
    if name == "memory" and sys.platform == "win32":
        pytest.skip("Windows does not tell the peak of a process in this way")
    if name == "at-rest" and driver().cipher is None:
        pytest.skip("needs SQLCipher: pip install 'syncmem[cipher]'")
    if name == "wire" and not all((shared.ROOT / "data" / folder).exists() for folder in wire_bytes.FOLDERS):
        pytest.skip("the shared data sets are not beside the checkout; set SYNCMEM_SHARED")
    rows = measure(name, place)
    assert rows
    assert len({row.what for row in rows}) == len(rows)
    for row in rows:
        given = [figure for figure in (row.ours, row.baseline, row.ratio) if figure is not None]
        assert all(math.isfinite(figure) and figure > 0 for figure in given), row
        assert row.reach is None or row.met is not None, row
        json.dumps(row.plain())
    assert all(row.what in table(rows, {name: title(name)}) for row in rows)


def test_rows_are_appended_as_json(tmp_path: Path) -> None:
    file = tmp_path / "figures.jsonl"
    shown = run(["affirming"], "small", file)
    first, *lines, last = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert first["machine"]["scale"] == "small" and "load_after" in last
    assert lines and all(line["benchmark"] == "affirming" and line["what"] in shown for line in lines)


def test_every_benchmark_says_what_is_wanted_and_who_wants_it() -> None:
    assert [name for name, module in BENCHMARKS.items() if "first stage" not in (module.__doc__ or "")] == []


def test_beside_peers_every_slot_holds_what_began_last(place: Workshop) -> None:
    with place.scratch() as folder:
        bench = beside.Bench(folder, Environments(folder / "none"), beside.SIZES["small"])
        merged, told = bench.ours(MERGE, 0), bench.ours(REMEMBER, 0)
    assert merged["converged"] and merged["reopen"]["found"]
    assert merged["right"] == beside.SIZES["small"].writes // 5 and told["right"] == beside.SIZES["small"].told // 5


def test_a_peer_that_cannot_be_installed_is_a_row_that_says_so(
    place: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    peer = next(peer for peer in PEERS if peer.is_javascript)
    with place.scratch() as folder:
        rows = beside.merging(beside.Bench(folder, Environments(folder / "none"), beside.SIZES["small"]), peer)
    assert [row.note for row in rows] == ["Node.js is not installed"]
    assert "Node.js is not installed" in table([replace(rows[0], benchmark="peers")], {"peers": title("peers")})


def test_exponents() -> None:
    assert math.isclose(exponent({10: 2.0, 100: 20.0, 1000: 200.0}), 1)
    assert abs(exponent({10: 3.0, 100: 3.0})) < 1e-9


def test_quantiles_and_reaches() -> None:
    assert [quantile([3.0, 1.0, 2.0, 4.0], share) for share in (0.5, 0.75, 0.99)] == [2.0, 3.0, 4.0]
    assert Row("", 3.2, "ms", 2.0, 1.6, reach=ratio_at_most(1.6)).met
    assert not Row("", 3.4, "ms", 2.0, 1.7, reach=ratio_at_most(1.6)).met
