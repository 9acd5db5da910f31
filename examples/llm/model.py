"""The model: weights on a device, and what is computed with them, an operator after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from rich.progress import track

import infinicore
from infinicore import Tensor
from infinicore.nn import functional

from .checkpoint import Config

PAGE = 16  # places of the cache that belong together


@dataclass
class Linear:
    """One matrix, or several that are used together, one below the other."""

    weight: Tensor
    bias: Tensor | None

    def __call__(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, self.bias)


@dataclass
class Layer:
    input_norm: Tensor
    qkv: Linear
    q_norm: Tensor | None
    k_norm: Tensor | None
    output: Linear
    mlp_norm: Tensor
    gate_up: Linear
    down: Linear


class Model:
    """Weights on a device, and what is computed with them. `weights` has them under the names of Hugging Face's checkpoints."""

    def __init__(
        self,
        config: Config,
        weights: Mapping[str, Tensor],
        device: Any,
        dtype: Any = None,
        progress: bool = False,
    ) -> None:
        self.config, self.device, self.dtype = config, device, dtype or config.dtype
        self.weights = weights
        self.embedding = self._take("model.embed_tokens.weight")
        self.layers = [
            self._layer(f"model.layers.{i}.")
            for i in track(range(config.layers), "weights", disable=not progress, transient=True)
        ]
        self.norm = self._take("model.norm.weight")
        self.head = Linear(self.embedding, None) if config.tied else self._linear("lm_head")
        del self.weights

    def _layer(self, prefix: str) -> Layer:
        attention, mlp = prefix + "self_attn.", prefix + "mlp."
        normed = attention + "q_norm.weight" in self.weights
        return Layer(
            input_norm=self._take(prefix + "input_layernorm.weight"),
            qkv=self._linear(*(attention + each for each in ("q_proj", "k_proj", "v_proj"))),
            q_norm=self._take(attention + "q_norm.weight") if normed else None,
            k_norm=self._take(attention + "k_norm.weight") if normed else None,
            output=self._linear(attention + "o_proj"),
            mlp_norm=self._take(prefix + "post_attention_layernorm.weight"),
            gate_up=self._linear(mlp + "gate_proj", mlp + "up_proj"),
            down=self._linear(mlp + "down_proj"),
        )

    def _linear(self, *names: str) -> Linear:
        biases = [name + ".bias" for name in names]
        return Linear(
            self._take(*(name + ".weight" for name in names)),
            self._take(*biases) if biases[0] in self.weights else None,
        )

    def _take(self, *names: str) -> Tensor:
        """Tensors of the checkpoint, one below the other, on the device and in the model's type."""
        parts = [self.weights[name] for name in names]
        rows = sum(part.shape[0] for part in parts)
        made = infinicore.empty([rows, *parts[0].shape[1:]], dtype=self.dtype, device=self.device)
        first = 0
        for part in parts:
            made[first : first + part.shape[0]].copy_(part)
            first += part.shape[0]
        return made

    def forward(
        self, tokens: Tensor, positions: Tensor, slots: Tensor, memory: Memory, attend: Any
    ) -> Tensor:
        """What comes out of the last layer for each of the tokens, which lie side by side, whatever sequence they belong to.

        Their keys and values go into the cache, to the places that `slots` names. `attend` computes attention from queries, keys and
        values of the new tokens, and from the layer's cache.
        """
        c = self.config
        count = tokens.shape[0]
        turned = c.heads + c.kv_heads  # heads that positions turn: queries and keys
        x = functional.embedding(tokens, self.embedding)
        normed = functional.rms_norm(x, [c.hidden], self.layers[0].input_norm, c.epsilon)
        next_norms = [*(layer.input_norm for layer in self.layers[1:]), self.norm]
        for layer, cache, next_norm in zip(self.layers, memory.caches, next_norms, strict=True):
            heads = layer.qkv(normed).view(count, turned + c.kv_heads, c.head_size)
            q, k, v = heads[:, : c.heads], heads[:, c.heads : turned], heads[:, turned:]
            if layer.q_norm is not None and layer.k_norm is not None:
                functional.rms_norm(q, [c.head_size], layer.q_norm, c.epsilon, out=q)
                functional.rms_norm(k, [c.head_size], layer.k_norm, c.epsilon, out=k)
            functional.rope(heads[:, :turned], positions, *memory.rotations, out=heads[:, :turned])
            infinicore.paged_caching(*cache, k, v, slots)
            attended = attend(q, k, v, cache).view(count, c.heads * c.head_size)
            normed, x = infinicore.add_rms_norm(layer.output(attended), x, layer.mlp_norm, c.epsilon)
            mlp = layer.down(functional.silu_and_mul(layer.gate_up(normed)))
            normed, x = infinicore.add_rms_norm(mlp, x, next_norm, c.epsilon)
        return normed


class Memory:
    """What a model remembers of `batch` sequences of up to `room` tokens: keys and values, in pages, on the model's device."""

    def __init__(self, model: Model, batch: int, room: int) -> None:
        c = model.config
        pages = -(-room // PAGE)  # of each sequence; they lie side by side, though the table could name any
        shape = [batch * pages, c.kv_heads, PAGE, c.head_size]
        make = partial(infinicore.zeros, shape, dtype=model.dtype, device=model.device)
        self.caches = [(make(), make()) for _ in range(c.layers)]
        self.room = pages * PAGE
        self.put = partial(infinicore.from_numpy, device=model.device)
        self.tables = self.put(np.arange(batch * pages, dtype=np.int32).reshape(batch, pages))
        self.first_slots = np.arange(batch, dtype=np.int32) * self.room
        self.rotations = [self.put(table) for table in c.rotations(self.room)]
