"""The kept corpus: valid messages, and what long runs found worth keeping. A few KB a target.

``corpus/TARGET/valid-NN.bin`` are the target's samples, written by :func:`write_valid`; the other files, named
by their digest, were found by ``python -m tests.fuzz TARGET --keep``.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final

from tests.fuzz.targets import TARGETS

ROOT: Final = Path(__file__).parent / "corpus"
SUFFIX: Final = ".bin"
FOUND_BYTES_MAX: Final = 6 * 1024  # of what was found, of one target


def files(name: str) -> list[Path]:
    """All of a target's files."""
    return sorted((ROOT / name).glob(f"*{SUFFIX}"))


def valid_files(name: str) -> dict[Path, bytes]:
    """What the samples of a target are kept as."""
    return {ROOT / name / f"valid-{n:02}{SUFFIX}": data for n, data in enumerate(TARGETS[name].samples)}


def write_valid() -> None:
    for name in TARGETS:
        for path in set(files(name)) - valid_files(name).keys():
            if path.name.startswith("valid-"):
                path.unlink()
        for path, data in valid_files(name).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def keep(name: str, found: Iterable[bytes]) -> int:
    """Keep the shortest of what was found, and what was kept before, as far as there is room; how many are kept."""
    before = {path: path.read_bytes() for path in files(name) if not path.name.startswith("valid-")}
    for path in before:
        path.unlink()
    left, count = FOUND_BYTES_MAX, 0
    for data in sorted({*before.values(), *found} - set(TARGETS[name].samples), key=lambda data: (len(data), data)):
        left -= len(data)
        if left < 0:
            break
        (ROOT / name / f"{sha256(data).hexdigest()[:16]}{SUFFIX}").write_bytes(data)
        count += 1
    return count
