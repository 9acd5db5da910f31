"""The example's package `llm`, small checkpoints, and the same model in NumPy."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import infinicore

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

from llm.checkpoint import Checkpoint, Config, write_random_checkpoint  # noqa: E402
from llm.generation import Generator, generate, sample  # noqa: E402
from llm.model import Model  # noqa: E402

__all__ = [
    "EXAMPLES", "STYLES", "Checkpoint", "Config", "Generator", "Model", "expected_logits", "generate", "load", "sample",
    "write_random_checkpoint",
]  # fmt: skip

SMALL = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
    "vocab_size": 203,
}  # fmt: skip
LLAMA_3_SCALING = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16,
}  # fmt: skip
STYLES: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama", **SMALL},
    "llama 3": {
        "model_type": "llama", **SMALL, "rope_scaling": LLAMA_3_SCALING, "tie_word_embeddings": True, "head_dim": 32,
    },
    "qwen2": {"model_type": "qwen2", **SMALL, "num_key_value_heads": 4},
    "qwen3": {"model_type": "qwen3", **SMALL, "num_key_value_heads": 1, "head_dim": 32},
}  # fmt: skip


def load(folder: Path, device: str = "cpu", dtype: Any = None, **changes: Any) -> Model:
    """A small random model."""
    write_random_checkpoint(folder, seed=3, **changes)
    checkpoint = Checkpoint(folder)
    return Model(checkpoint.config, checkpoint, device, dtype)


def expected_logits(folder: Path, tokens: list[int]) -> Any:
    """Of all tokens of one sequence, in float64, from the checkpoint's tensors alone."""
    said = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    checkpoint = Checkpoint(folder)
    c = checkpoint.config
    w = {name: checkpoint[name].to(dtype=infinicore.float64).numpy() for name in checkpoint}

    def norm(x: Any, weight: Any) -> Any:
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + c.epsilon) * weight

    def linear(x: Any, name: str) -> Any:
        return x @ w[name + ".weight"].T + w.get(name + ".bias", 0)

    def turn(x: Any) -> Any:
        speed = 1 / c.theta ** (np.arange(0, c.head_size, 2) / c.head_size)
        scaling = said.get("rope_scaling")
        if scaling:
            length = 2 * np.pi / speed
            reach = scaling["original_max_position_embeddings"]
            low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
            smooth = (reach / length - low) / (high - low)
            between = (1 - smooth) * speed / scaling["factor"] + smooth * speed
            slow = np.where(length > reach / low, speed / scaling["factor"], between)
            speed = np.where(length < reach / high, speed, slow)
        angle = (np.arange(len(tokens))[:, None] * speed)[:, None]
        first, second = np.split(x, 2, -1)
        return np.concatenate(
            [first * np.cos(angle) - second * np.sin(angle), second * np.cos(angle) + first * np.sin(angle)],
            -1,
        )

    x = w["model.embed_tokens.weight"][tokens]
    for i in range(c.layers):
        prefix = f"model.layers.{i}."
        normed = norm(x, w[prefix + "input_layernorm.weight"])
        q, k, v = (
            linear(normed, f"{prefix}self_attn.{each}_proj").reshape(len(tokens), -1, c.head_size)
            for each in "qkv"
        )
        if prefix + "self_attn.q_norm.weight" in w:
            q, k = (
                norm(q, w[prefix + "self_attn.q_norm.weight"]),
                norm(k, w[prefix + "self_attn.k_norm.weight"]),
            )
        k, v = (np.repeat(each, c.heads // c.kv_heads, 1) for each in (turn(k), v))
        scores = np.einsum("qhd,khd->hqk", turn(q), k) / np.sqrt(c.head_size)
        scores = np.where(np.tri(len(tokens), dtype=bool), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        attended = np.einsum("hqk,khd->qhd", weights, v).reshape(len(tokens), -1)
        x = x + linear(attended, prefix + "self_attn.o_proj")
        normed = norm(x, w[prefix + "post_attention_layernorm.weight"])
        gate = linear(normed, prefix + "mlp.gate_proj")
        x = x + linear(
            gate / (1 + np.exp(-gate)) * linear(normed, prefix + "mlp.up_proj"), prefix + "mlp.down_proj"
        )
    head = "model.embed_tokens.weight" if c.tied else "lm_head.weight"
    return norm(x, w["model.norm.weight"]) @ w[head].T
