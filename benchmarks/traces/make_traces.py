"""Makes the allocation traces beside this file, from real models run by PyTorch on its "meta" device: every operator runs and every
tensor has its real size and lifetime, but nothing is computed and no memory is needed. Needs torch (2.6 or newer; any build).

An allocation is a new storage that an operator returns; a free is noticed before the next operator. What a kernel allocates for itself
and gives back before it returns (workspaces) is not seen.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

HERE = Path(__file__).parent


class Recorder(TorchDispatchMode):
    """Notes the storages that come and go, as rows of an allocation trace (see infinicore.memory.AllocationTrace)."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[object]] = []
        self.stream = 0
        self._live: dict[int, tuple[int, int, StorageWeakRef]] = {}
        self._count = 0

    def _note_frees(self) -> None:
        gone = [key for key, (_, _, storage) in self._live.items() if storage.expired()]
        for key in gone:
            block, stream, _ = self._live.pop(key)
            self.rows.append(["f", block, stream, 0])

    def note(self, value: object) -> None:
        """Everything in `value` that was not there before."""
        for tensor in tree_leaves(value):
            if not isinstance(tensor, torch.Tensor):
                continue
            storage = tensor.untyped_storage()
            if storage._cdata in self._live or storage.nbytes() == 0:
                continue
            self._live[storage._cdata] = (self._count, self.stream, StorageWeakRef(storage))
            self._count += 1
            self.rows.append(["a", storage.nbytes(), self.stream, 0])

    def use(self, tensor: torch.Tensor, stream: int) -> None:
        """The tensor is used on another stream than its own."""
        self.rows.append(["u", self._live[tensor.untyped_storage()._cdata][0], stream, 0])

    @contextmanager
    def on_stream(self, stream: int) -> Iterator[None]:
        before, self.stream = self.stream, stream
        try:
            yield
        finally:
            self.stream = before

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self._note_frees()
        result = func(*args, **(kwargs or {}))
        self.note(result)
        return result

    def save(self, name: str) -> None:
        self._note_frees()
        head = {"format": "infinicore-allocation-trace", "version": 1, "name": name, "lost": 0}
        text = json.dumps({**head, "events": self.rows}, separators=(",", ":"))
        (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(f"{name}: {len(self.rows)} events, {len(text)} bytes")


class Block(nn.Module):
    """A layer of a GPT, with a cache of keys and values that grows by torch.cat, as simple programs do it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor, cache: list[torch.Tensor] | None = None) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.first(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        if cache is not None:
            if cache:
                k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
            cache[:] = k, v
        scores = (q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5
        mixed = F.softmax(scores, -1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Gpt(nn.Module):
    def __init__(self, layers: int, width: int, heads: int, words: int = 50257) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(2048, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, words: torch.Tensor, caches: list[list[torch.Tensor]] | None = None, start: int = 0):  # type: ignore[no-untyped-def]
        x = self.words(words) + self.places(torch.arange(start, start + words.shape[1]))
        for number, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[number])
        return self.head(self.norm(x))


class Bottleneck(nn.Module):
    def __init__(self, inside: int, width: int, stride: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
            nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width),
        )  # fmt: skip
        self.skip = nn.Identity()
        if stride != 1 or inside != 4 * width:
            self.skip = nn.Sequential(
                nn.Conv2d(inside, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
            )  # type: ignore[assignment]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.layers(x) + self.skip(x))


def resnet50() -> nn.Module:
    parts: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)
    ]  # fmt: skip
    inside = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for number in range(count):
            parts.append(Bottleneck(inside, width, stride if number == 0 else 1))
            inside = 4 * width
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, 1000))


def decode() -> None:
    """Inference: a prompt, then one word after the other, with keys and values that grow."""
    with Recorder() as recorder, torch.device("meta"), torch.no_grad():
        model = Gpt(8, 1024, 16).to(torch.bfloat16)
        caches: list[list[torch.Tensor]] = [[] for _ in model.blocks]
        word = model(torch.zeros(16, 512, dtype=torch.long), caches)[:, -1].argmax(-1, True)
        for step in range(24):
            word = model(word, caches, 512 + step)[:, -1].argmax(-1, True)
        recorder.save("gpt_decode")


def training() -> None:
    """Three training steps of a GPT with Adam."""
    with Recorder() as recorder, torch.device("meta"):
        model = Gpt(6, 768, 12)
        optimizer = torch.optim.Adam(model.parameters(), foreach=False)
        for _ in range(3):
            words = torch.zeros(4, 513, dtype=torch.long)
            logits = model(words[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), words[:, 1:].flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            del logits, loss
        recorder.save("gpt_training")


def vision() -> None:
    """ResNet-50 on batches of many sizes, whose images come in on a stream of their own."""
    with Recorder() as recorder, torch.device("meta"), torch.no_grad():
        model = resnet50().eval()
        for batch in (1, 2, 4, 8, 16, 32, 64, 48, 24, 12, 6, 3, 64, 5, 40, 1):
            with recorder.on_stream(1):
                images = torch.empty(batch, 3, 224, 224)
            recorder.use(images, 0)
            model(images)
            del images
        recorder.save("vision_sweep")


MAKERS = {"decode": decode, "training": training, "vision": vision}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=sorted(MAKERS), help="all of them by default")
    only = parser.parse_args().only
    for name, make in MAKERS.items():
        if only in (None, name):
            make()
