"""The table at the end, and the lines of the JSON file."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from syncmem.replica.driver import driver
from tests.benchmarks.measuring import Row

_HEADINGS = ("what", "ours", "baseline", "ratio", "by CPU", "reach", "met")


def machine(scale: str) -> dict[str, Any]:
    """Where and when the figures were taken."""
    return {
        "scale": scale,
        "when": time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime()),
        "python": platform.python_version(),
        "driver": driver().name,
        "sqlite": driver().version,
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "load": load(),
    }


def load() -> list[float] | None:
    """The machine's load, where it tells."""
    return [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else None


def append_line(path: Path | None, line: dict[str, Any]) -> None:
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def table(rows: Sequence[Row], titles: dict[str, str]) -> str:
    """Rows as text, benchmark by benchmark."""
    cells = [_cells(row) for row in rows]
    widths = [max(len(line[column]) for line in [_HEADINGS, *cells]) for column in range(len(_HEADINGS))]
    lines = [_line(_HEADINGS, widths), "  ".join("-" * width for width in widths)]
    previous = None
    for row, line in zip(rows, cells, strict=True):
        if row.benchmark != previous:
            previous = row.benchmark
            lines += ["", f"{previous}: {titles[previous]}"]
        lines.append(_line(line, widths))
        lines += [f"    {row.note}"] if row.note else []
    return "\n".join(lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip()


def _cells(row: Row) -> tuple[str, ...]:
    met = "" if row.met is None else "yes" if row.met else "NO"
    ratios = ["" if ratio is None else f"{ratio:.2f}" for ratio in (row.ratio, row.cpu_ratio)]
    baseline = "" if row.baseline is None else f"{_figure(row.baseline)} {row.unit}"
    return (row.what, f"{_figure(row.ours)} {row.unit}", baseline, *ratios, str(row.reach or ""), met)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"
