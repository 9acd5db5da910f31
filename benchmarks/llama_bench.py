"""Decoding with a language model: tokens per second of the recorded graph, of the same operators called one by one, and of PyTorch.

    python benchmarks/llama_bench.py                    # on the CPU, a model of about 100 million weights
    python benchmarks/llama_bench.py --processor-time   # the same on a machine that others use: one thread each, by the processor's time
    python benchmarks/llama_bench.py --device nvidia:0  # shapes of Llama 3.2 1B and Llama 3 8B

All three have the same weights, random ones, and the same number of threads, and read each token before the next is made. PyTorch's
side is the model in plain calls of `torch.nn.functional`, with the same matrices side by side as ours, and a cache that stays in place.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
os.environ["INFINIRT_DEVICE"] = "nvidia" if "nvidia" in " ".join(sys.argv) else "cpu"
os.environ["INFINIRT_CPU_THREADS"] = "1" if "--processor-time" in sys.argv else str(os.cpu_count() or 1)

from llm.checkpoint import Config
from llm.generation import Generator
from llm.model import Model

import infinicore

try:
    import torch
    import torch.nn.functional as F

    # On large GPUs PyTorch would take cuDNN's attention, which prepares itself anew for each length of the cache: 14 tokens per second.
    torch.backends.cuda.enable_cudnn_sdp(False)
except ImportError:
    torch = None

ON_GPU = os.environ["INFINIRT_DEVICE"] == "nvidia"
clock = time.process_time if "--processor-time" in sys.argv else time.perf_counter
ROUNDS = int(os.environ.get("INFINIRT_BENCH_ROUNDS", "5"))
SHAPES: dict[str, dict[str, Any]] = {
    "100M": {
        "hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 12, "num_attention_heads": 12, "num_key_value_heads": 4,
        "vocab_size": 32000,
    },
    "1B": {
        "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 128256, "tie_word_embeddings": True,
    },
    "8B": {
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 128256,
    },
}  # fmt: skip


class Weights(Mapping[str, infinicore.Tensor]):
    """Random weights under the names of a checkpoint, each made when it is asked for, and the same each time."""

    def __init__(self, said: Mapping[str, Any], config: Config, device: str, dtype: Any) -> None:
        size, c = said["intermediate_size"], config
        rows = {"q": c.heads * c.head_size, "k": c.kv_heads * c.head_size, "v": c.kv_heads * c.head_size}
        self.device, self.dtype = device, dtype
        self.sizes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (c.vocabulary, c.hidden)}
        for i in range(c.layers):
            prefix = f"model.layers.{i}."
            for name, count in rows.items():
                self.sizes[f"{prefix}self_attn.{name}_proj.weight"] = (count, c.hidden)
            self.sizes[prefix + "self_attn.o_proj.weight"] = (c.hidden, rows["q"])
            self.sizes[prefix + "mlp.gate_proj.weight"] = (size, c.hidden)
            self.sizes[prefix + "mlp.up_proj.weight"] = (size, c.hidden)
            self.sizes[prefix + "mlp.down_proj.weight"] = (c.hidden, size)
            for name in ("input_layernorm", "post_attention_layernorm"):
                self.sizes[f"{prefix}{name}.weight"] = (c.hidden,)
        self.sizes["model.norm.weight"] = (c.hidden,)
        if not c.tied:
            self.sizes["lm_head.weight"] = (c.vocabulary, c.hidden)
        self.numbers = {name: number for number, name in enumerate(self.sizes)}

    def torch(self, *names: str) -> Any:
        """Some of them, one below the other."""
        if self.device != "cpu":
            torch.cuda.synchronize()  # copies of ours from memory that PyTorch is about to use again
        made = []
        for name in names:
            size = self.sizes[name]
            random = torch.Generator(self.device).manual_seed(self.numbers[name])
            values = torch.randn(size, generator=random, device=self.device, dtype=self.dtype)
            made.append(values * size[-1] ** -0.5 + ("norm" in name))
        return torch.cat(made)

    def __getitem__(self, name: str) -> infinicore.Tensor:
        made = self.torch(name)
        if self.device != "cpu":
            torch.cuda.synchronize()
        return infinicore.from_torch(made)

    def __iter__(self) -> Iterator[str]:
        return iter(self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)


class TorchModel:
    """The same model in PyTorch, for decoding: one token of each sequence at a time."""

    def __init__(self, config: Config, weights: Weights, batch: int, room: int) -> None:
        self.config = c = config
        take = weights.torch
        self.embedding = take("model.embed_tokens.weight")
        self.head = self.embedding if c.tied else take("lm_head.weight")
        self.norm = take("model.norm.weight")
        self.layers = []
        for i in range(c.layers):
            prefix = f"model.layers.{i}."
            cache = torch.zeros(
                2, batch, c.kv_heads, room, c.head_size, device=weights.device, dtype=weights.dtype
            )
            self.layers.append(
                (
                    take(prefix + "input_layernorm.weight"),
                    take(*(f"{prefix}self_attn.{name}_proj.weight" for name in "qkv")),
                    take(prefix + "self_attn.o_proj.weight"),
                    take(prefix + "post_attention_layernorm.weight"),
                    take(prefix + "mlp.gate_proj.weight", prefix + "mlp.up_proj.weight"),
                    take(prefix + "mlp.down_proj.weight"),
                    cache,
                )
            )
        tables = [torch.from_numpy(each).to(weights.device, weights.dtype) for each in c.rotations(room)]
        self.sine, self.cosine = (torch.cat([each, each], -1) for each in tables)
        self.length = 0

    def step(self, tokens: Any) -> Any:
        """The logits of what follows `tokens`."""
        c = self.config
        batch = tokens.shape[0]
        sine, cosine = self.sine[self.length], self.cosine[self.length]
        x = F.embedding(tokens, self.embedding)
        for input_norm, qkv, output, mlp_norm, gate_up, down, cache in self.layers:
            heads = F.linear(F.rms_norm(x, (c.hidden,), input_norm, c.epsilon), qkv).view(
                batch, -1, c.head_size
            )
            turned, v = heads.split([c.heads + c.kv_heads, c.kv_heads], 1)
            first, second = turned.chunk(2, -1)
            turned = turned * cosine + torch.cat([-second, first], -1) * sine
            q, k = turned.split([c.heads, c.kv_heads], 1)
            cache[0, :, :, self.length] = k
            cache[1, :, :, self.length] = v
            seen = cache[:, :, :, : self.length + 1]
            attended = F.scaled_dot_product_attention(
                q[:, :, None], seen[0], seen[1], enable_gqa=c.heads != c.kv_heads
            )
            x = x + F.linear(attended.reshape(batch, -1), output)
            gate, up = F.linear(F.rms_norm(x, (c.hidden,), mlp_norm, c.epsilon), gate_up).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, down)
        self.length += 1
        return F.linear(F.rms_norm(x, (c.hidden,), self.norm, c.epsilon), self.head)


def seconds(steps: int, step: Callable[[], Any]) -> float:
    begin = clock()
    for _ in range(steps):
        step()
    return (clock() - begin) / steps


def measure(shape: str, dtype: str, batch: int, device: str, context: int, steps: int) -> None:
    said = {"model_type": "llama", "rope_theta": 500000.0, **SHAPES[shape]}
    config = Config.read(said)
    weights = Weights(said, config, "cuda" if ON_GPU else "cpu", getattr(torch, dtype))
    room = context + (ROUNDS + 2) * steps + 1
    prompt = [(7 * i) % config.vocabulary for i in range(context)]
    model = Model(config, weights, device, getattr(infinicore, dtype))
    sides: dict[str, Callable[[], Any]] = {}
    for name, recorded in (("graph", True), ("calls", False)):
        generator = Generator(model, batch, room, recorded=recorded)
        generator.prefill([prompt] * batch)

        def step(generator: Generator = generator) -> Any:
            generator.step()
            return generator.tokens.tolist()

        sides[name] = step
    theirs = TorchModel(config, weights, batch, room)
    theirs.length = context  # what is in the cache makes no difference to the time
    tokens = [torch.zeros(batch, dtype=torch.int64, device=weights.device)]

    def torch_step() -> Any:
        tokens[0] = theirs.step(tokens[0]).argmax(-1)
        return tokens[0].tolist()

    sides["PyTorch"] = torch_step
    took: dict[str, list[float]] = {name: [] for name in sides}
    with torch.inference_mode():
        for number in range(ROUNDS + 1):
            for name, each in sides.items():  # in turns: the machine may be busy with other things
                spent = seconds(steps, each)
                if number > 0:
                    took[name].append(spent)
    speeds = {name: batch / statistics.median(times) for name, times in took.items()}
    print(
        f"{shape:6}{dtype:10}{batch:6}{context:9}{speeds['graph']:11.1f}{speeds['calls']:11.1f}{speeds['PyTorch']:11.1f}"
        f"{speeds['graph'] / speeds['PyTorch']:9.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--shapes", nargs="*", choices=SHAPES, default=["1B", "8B"] if ON_GPU else ["100M"])
    parser.add_argument("--dtypes", nargs="*", default=["bfloat16"] if ON_GPU else ["float32", "bfloat16"])
    parser.add_argument("--batches", nargs="*", type=int, default=[1, 8])
    parser.add_argument("--context", type=int, default=128, help="tokens that are in the cache at first")
    parser.add_argument("--steps", type=int, default=64 if ON_GPU else 16, help="tokens of each round")
    parser.add_argument("--processor-time", action="store_true", help="not the clock's, and one thread each")
    given = parser.parse_args()
    if given.processor_time and ON_GPU:
        parser.error("--processor-time says nothing about a GPU")
    if torch is None or (ON_GPU and not torch.cuda.is_available()):
        print("PyTorch is not installed" if torch is None else "no GPU that PyTorch knows")
        return
    torch.set_num_threads(int(os.environ["INFINIRT_CPU_THREADS"]))
    print(
        f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads; tokens per second of all sequences together"
    )
    print(
        f"{'shape':6}{'type':10}{'batch':>6}{'context':>9}{'graph':>11}{'calls':>11}{'PyTorch':>11}{'ratio':>9}"
    )
    for shape in given.shapes:
        for dtype in given.dtypes:
            for batch in given.batches:
                measure(shape, dtype, batch, given.device, given.context, given.steps)


if __name__ == "__main__":
    main()
