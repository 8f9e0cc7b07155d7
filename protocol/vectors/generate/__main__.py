"""Write all vectors: ``python -m protocol.vectors.generate [FOLDER]`` (into this one, unless another is named)."""

from __future__ import annotations

import sys
from pathlib import Path

from protocol.vectors.generate import examples
from protocol.vectors.generate.areas import all_vectors
from protocol.vectors.generate.vector import FOLDER, files_of, held


def main(folder: Path) -> None:
    vectors = all_vectors()
    files = files_of(vectors)
    for path in set(held(folder)) - set(files):
        (folder / path).unlink()
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", newline="\n")
    if folder == FOLDER:
        examples.PATH.write_text(examples.text(vectors), encoding="utf-8", newline="\n")
    print(f"{len(vectors)} vectors in {len(files)} files")


if __name__ == "__main__":
    main(Path(*sys.argv[1:2]) if sys.argv[1:] else FOLDER)
