"""MiniLM in numpy: how near two texts are to one another.

all-MiniLM-L6-v2: six layers of a transformer, the mean of the last one's states as the vector.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from whence.provider.local.wordpiece import WordPiece

Floats: TypeAlias = NDArray[np.float32]

TOKENS = 256
"""Longer texts are cut: the model was trained on no longer ones."""

_HEADS = 12
_LAYERS = 6
_REMEMBERED = 4096


class MiniLM:
    """Vectors of texts; those of the latest texts are remembered."""

    def __init__(self, weights: Path, vocabulary: Path) -> None:
        self._weights = _mapped(weights)
        self._tokens = WordPiece(vocabulary)
        self._seen: OrderedDict[str, Floats] = OrderedDict()

    def rank(self, query: str, texts: Sequence[str]) -> list[float]:
        """How near each text is to the query, from -1 to 1."""
        vectors = self.embed([query, *texts])
        return [float(score) for score in vectors[1:] @ vectors[0]]

    def embed(self, texts: Sequence[str]) -> Floats:
        """A row of length one for each text."""
        rows = []
        for text in texts:
            row = self._seen.get(text)
            if row is None:
                row = self._seen[text] = self._vector(self._tokens.encode(text, TOKENS))
            self._seen.move_to_end(text)
            rows.append(row)
        while len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return np.stack(rows)

    def _vector(self, numbers: list[int]) -> Floats:
        """One text at a time: nothing is padded, so that nothing has to be masked."""
        states = self._embedded(numbers)
        for layer in range(_LAYERS):
            states = self._layer(states, f"encoder.layer.{layer}.")
        mean = states.mean(axis=0)
        unit: Floats = mean / max(float(np.linalg.norm(mean)), 1e-9)
        return unit

    def _embedded(self, numbers: list[int]) -> Floats:
        weights = self._weights
        states = (
            weights["embeddings.word_embeddings.weight"][numbers]
            + weights["embeddings.position_embeddings.weight"][: len(numbers)]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        return self._normal(states, "embeddings.LayerNorm.")

    def _layer(self, states: Floats, at: str) -> Floats:
        mixed = self._linear(self._attention(states, at), f"{at}attention.output.dense.")
        states = self._normal(states + mixed, f"{at}attention.output.LayerNorm.")
        wide = _gelu(self._linear(states, f"{at}intermediate.dense."))
        narrow = self._linear(wide, f"{at}output.dense.")
        return self._normal(states + narrow, f"{at}output.LayerNorm.")

    def _attention(self, states: Floats, at: str) -> Floats:
        length, width = states.shape
        split = (length, _HEADS, width // _HEADS)
        query, key, value = (
            self._linear(states, f"{at}attention.self.{name}.").reshape(split).transpose(1, 0, 2)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(split[2]))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        joined: Floats = mixed.transpose(1, 0, 2).reshape(length, width)
        return joined

    def _linear(self, states: Floats, at: str) -> Floats:
        product: Floats = states @ self._weights[f"{at}weight"].T + self._weights[f"{at}bias"]
        return product

    def _normal(self, states: Floats, at: str) -> Floats:
        centred = states - states.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(1e-12))
        normal: Floats = (
            centred / spread * self._weights[f"{at}weight"] + self._weights[f"{at}bias"]
        )
        return normal


def _gelu(values: Floats) -> Floats:
    """With the error function from Abramowitz and Stegun 7.1.26, which numpy has not."""
    size = np.abs(values) * np.float32(np.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * size)
    powers = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    error = np.sign(values) * (1 - powers * np.exp(-size * size))
    result: Floats = (values * (1 + error) * np.float32(0.5)).astype(np.float32)
    return result


def _mapped(path: Path) -> dict[str, Floats]:
    """The tensors of a safetensors file, left on disk until they are used."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    size = int.from_bytes(data[:8].tobytes(), "little")
    header = json.loads(data[8 : 8 + size].tobytes())
    tensors: dict[str, Floats] = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = data[start:end].view(np.float32).reshape(entry["shape"])
    return tensors
