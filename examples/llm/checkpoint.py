"""Hugging Face's checkpoints: `config.json`, and tensors in safetensors files, read without any other library."""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import infinicore
from infinicore import Tensor

NAMES = {"float32": infinicore.float32, "float16": infinicore.float16, "bfloat16": infinicore.bfloat16}
DTYPES = {"F32": infinicore.float32, "F16": infinicore.float16, "BF16": infinicore.bfloat16}


@dataclass(frozen=True)
class Config:
    """Sizes of a model, from its `config.json`."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    epsilon: float
    theta: float
    scaling: Mapping[str, Any]
    tied: bool
    dtype: Any
    end: tuple[int, ...]

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> Config:
        if said.get("model_type") not in ("llama", "qwen2", "qwen3"):
            raise SystemExit(f"model_type {said.get('model_type')!r}: llama, qwen2 and qwen3 are known here")
        if said.get("hidden_act", "silu") != "silu" or said.get("use_sliding_window"):
            raise SystemExit("only silu, and attention to all earlier tokens, are known here")
        # What newer files call rope_parameters are rope_scaling and rope_theta of the older ones.
        rope = said.get("rope_parameters") or said.get("rope_scaling") or {}
        end = said.get("eos_token_id")
        return cls(
            hidden=said["hidden_size"],
            layers=said["num_hidden_layers"],
            heads=said["num_attention_heads"],
            kv_heads=said.get("num_key_value_heads") or said["num_attention_heads"],
            head_size=said.get("head_dim") or said["hidden_size"] // said["num_attention_heads"],
            vocabulary=said["vocab_size"],
            epsilon=said.get("rms_norm_eps", 1e-6),
            theta=rope.get("rope_theta") or said.get("rope_theta", 10000.0),
            scaling=rope,
            tied=said.get("tie_word_embeddings", False),
            dtype=NAMES[said.get("dtype") or said.get("torch_dtype") or "float32"],
            end=tuple(end) if isinstance(end, list) else () if end is None else (end,),
        )

    def rotations(self, count: int) -> tuple[Any, Any]:
        """Sines and cosines of the first `count` positions, a row each."""
        slowness = np.arange(0, self.head_size, 2) / self.head_size
        speed = self.theta**-slowness
        kind = self.scaling.get("rope_type") or self.scaling.get("type") or "default"
        if kind == "linear":
            speed /= self.scaling["factor"]
        elif kind == "llama3":
            # Slow rotations become slower by the factor, fast ones stay, and between the two there is a ramp.
            low, high = self.scaling["low_freq_factor"], self.scaling["high_freq_factor"]
            turns = self.scaling["original_max_position_embeddings"] * speed / (2 * math.pi)
            kept = np.clip((turns - low) / (high - low), 0, 1)
            speed *= kept + (1 - kept) / self.scaling["factor"]
        elif kind != "default":
            raise SystemExit(f"rope_type {kind!r}: default, linear and llama3 are known here")
        angles = np.arange(count)[:, None] * speed
        return np.sin(angles).astype(np.float32), np.cos(angles).astype(np.float32)


class Checkpoint(Mapping[str, Tensor]):
    """The tensors of a folder's safetensors files, by name, in the files' own memory."""

    def __init__(self, folder: Path) -> None:
        self.config = Config.read(json.loads((folder / "config.json").read_text(encoding="utf-8")))
        index = folder / "model.safetensors.index.json"
        if index.exists():
            files = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        else:
            files = ["model.safetensors"]
        self.places: dict[str, tuple[Any, Mapping[str, Any]]] = {}
        for name in files:
            with open(folder / name, "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            # Eight bytes say how long the JSON is that says where each tensor lies behind it.
            begin = 8 + int.from_bytes(mapped[:8], "little")
            data = np.frombuffer(mapped, np.uint8, offset=begin)
            self.places.update(
                {
                    tensor: (data, where)
                    for tensor, where in json.loads(mapped[8:begin]).items()
                    if tensor != "__metadata__"
                }
            )

    def __getitem__(self, name: str) -> Tensor:
        data, where = self.places[name]
        if where["dtype"] not in DTYPES:
            raise SystemExit(f"{name} has type {where['dtype']}; {', '.join(DTYPES)} are known here")
        address = data.ctypes.data + where["data_offsets"][0]
        return infinicore.from_blob(address, where["shape"], dtype=DTYPES[where["dtype"]], device="cpu")

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def write_random_checkpoint(folder: Path, seed: int = 0, **changes: Any) -> None:
    """A small model that talks nonsense, in the files of a real one."""
    said = {
        "model_type": "llama", "hidden_size": 256, "intermediate_size": 704, "num_hidden_layers": 4, "num_attention_heads": 8,
        "num_key_value_heads": 2, "vocab_size": 1024, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "tie_word_embeddings": False,
        "torch_dtype": "float32", **changes,
    }  # fmt: skip
    config = Config.read(said)
    rows = {"q": config.heads * config.head_size, "k": config.kv_heads * config.head_size}
    sizes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config.vocabulary, config.hidden)}
    for i in range(config.layers):
        attention, mlp = f"model.layers.{i}.self_attn.", f"model.layers.{i}.mlp."
        for name in "qkv":
            sizes[f"{attention}{name}_proj.weight"] = (rows.get(name, rows["k"]), config.hidden)
            if said["model_type"] == "qwen2":
                sizes[f"{attention}{name}_proj.bias"] = (rows.get(name, rows["k"]),)
            if said["model_type"] == "qwen3" and name != "v":
                sizes[f"{attention}{name}_norm.weight"] = (config.head_size,)
        sizes[attention + "o_proj.weight"] = (config.hidden, rows["q"])
        for name in ("gate", "up"):
            sizes[f"{mlp}{name}_proj.weight"] = (said["intermediate_size"], config.hidden)
        sizes[mlp + "down_proj.weight"] = (config.hidden, said["intermediate_size"])
        for name in ("input_layernorm", "post_attention_layernorm"):
            sizes[f"model.layers.{i}.{name}.weight"] = (config.hidden,)
    sizes["model.norm.weight"] = (config.hidden,)
    if not config.tied:
        sizes["lm_head.weight"] = (config.vocabulary, config.hidden)
    random = np.random.default_rng(seed)
    header: dict[str, Any] = {}
    end = 0
    for name, size in sizes.items():
        begin, end = end, end + 4 * math.prod(size)
        header[name] = {"dtype": "F32", "shape": size, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, size in sizes.items():
            values = random.normal(size=size) * (size[-1] ** -0.5) + ("norm" in name)
            file.write(values.astype("<f4").tobytes())
    (folder / "config.json").write_text(json.dumps(said), encoding="utf-8")
