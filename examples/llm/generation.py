"""Tokens, one after the other: prompts are read at once, and each step after that is a run of one recorded graph."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import infinicore
from infinicore import Tensor
from infinicore.nn import functional

from .model import Memory, Model


class Generator:
    """Continues `batch` sequences, a token of each at a time: `prefill()` once, then `step()` as often as there is room.

    A step is the same work each time, at the same addresses: it is recorded once, and a run of the graph is one launch. What changes,
    tokens and where they go, is in tensors that the step itself changes last. With `greedy` it chooses the next tokens, too; without,
    they are chosen from `logits` by somebody else, and put into `tokens`.
    """

    def __init__(
        self, model: Model, batch: int, room: int, *, greedy: bool = True, recorded: bool = True
    ) -> None:
        self.model, self.batch, self.greedy, self.recorded = model, batch, greedy, recorded
        self.memory = Memory(model, batch, room)
        self.scale = 1 / math.sqrt(model.config.head_size)
        put = self.memory.put
        self.numbers = put(np.arange(model.config.vocabulary, dtype=np.int32))
        self.tokens = put(np.zeros(batch, np.int32))
        self.next = put(
            np.zeros((3, batch), np.int32)
        )  # position, slot and length of the sequence, with the token
        self.logits: Tensor | None = None
        self.graph: Any = None
        self.used = 0

    def prefill(self, prompts: Sequence[Sequence[int]]) -> Tensor:
        """Reads prompts of any lengths; gives the logits of the tokens that follow them."""
        lengths = np.array([len(prompt) for prompt in prompts], np.int32)
        longest = int(lengths.max(initial=0))
        if len(prompts) != self.batch or lengths.min() < 1 or longest > self.memory.room:
            raise ValueError(
                f"prompts of {lengths.tolist()} tokens: {self.batch} of 1 to {self.memory.room} were expected"
            )
        # Shorter prompts are filled up behind their end, where none of their tokens looks; what fills them is not kept: slot -1.
        tokens = np.zeros((self.batch, longest), np.int32)
        places = np.broadcast_to(np.arange(longest, dtype=np.int32), tokens.shape)
        slots = np.where(places < lengths[:, None], self.memory.first_slots[:, None] + places, -1)
        for row, prompt in zip(tokens, prompts, strict=True):
            row[: len(prompt)] = prompt
        put = self.memory.put
        flat = [put(np.ascontiguousarray(each).reshape(-1)) for each in (tokens, places, slots)]
        hidden = self.model.forward(*flat, self.memory, self._attend_to_prompt)
        last = put(np.arange(self.batch, dtype=np.int32) * longest + lengths - 1)
        self.logits = self.model.head(functional.embedding(last, hidden))
        self.next.copy_(put(np.stack([lengths, self.memory.first_slots + lengths, lengths + 1])))
        self.used = longest
        if self.greedy:
            self._choose(self.logits)
        return self.logits

    def step(self) -> None:
        """Reads `tokens`; `logits` are those of the tokens that follow, and `greedy` puts the likeliest into `tokens`."""
        if self.used >= self.memory.room:
            raise ValueError(f"there is room for {self.memory.room} tokens of each sequence, and no more")
        self.used += 1
        if not self.recorded:
            return self._decode()
        if self.graph is None:
            with infinicore.record(self.model.device) as recorder:
                self._decode()
            self.graph = recorder.graph
        return self.graph.run()  # type: ignore[no-any-return]

    def _decode(self) -> None:
        position, slot, _ = (self.next[i] for i in range(3))
        hidden = self.model.forward(self.tokens, position, slot, self.memory, self._attend_to_cache)
        self.logits = self.model.head(hidden)
        if self.greedy:
            self._choose(self.logits)
        infinicore.add(self.next, 1, out=self.next)

    def _choose(self, logits: Tensor) -> None:
        """The number of the largest element; the first one where there are several."""
        vocabulary = self.model.config.vocabulary
        # In parts and then of the parts: a row as a whole would be one worker's, one block's.
        parts = [self.batch, math.gcd(vocabulary, 64), -1]
        largest = infinicore.amax(infinicore.amax(logits.view(*parts), -1), -1, True)
        candidates = infinicore.where(logits == largest, self.numbers, vocabulary)
        infinicore.amin(infinicore.amin(candidates.view(*parts), -1), -1, out=self.tokens)

    def _attend_to_prompt(self, q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Tensor:
        """Every token sees itself and those before it; nothing older is in the cache."""
        q, k, v = (each.view(self.batch, -1, *each.shape[1:]).permute(0, 2, 1, 3) for each in (q, k, v))
        out = infinicore.empty([*q.permute(0, 2, 1, 3).shape], dtype=q.dtype, device=self.model.device)
        functional.flash_attention(q, k, v, is_causal=True, scale=self.scale, out=out.permute(0, 2, 1, 3))
        return out

    def _attend_to_cache(self, q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Tensor:
        return infinicore.paged_attention(q, *cache, self.memory.tables, self.next[2], scale=self.scale)


def sample(
    logits: Any, random: np.random.Generator, temperature: float, top_k: int = 0, top_p: float = 1.0
) -> int:
    """A token by chance, as likely as the logits say, among the `top_k` likeliest and those that are `top_p` of all chances."""
    order = np.argsort(-logits, kind="stable")[: top_k or None]
    weights = np.exp((logits[order] - logits[order[0]]).astype(np.float64) / temperature)
    chances = weights / weights.sum()
    before = np.cumsum(chances) - chances  # of all that are likelier
    chances = np.where(before < top_p, chances, 0)
    return int(random.choice(order, p=chances / chances.sum()))


def generate(
    model: Model,
    prompts: Sequence[Sequence[int]],
    count: int,
    *,
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 1.0,
    seed: int = 0,
    recorded: bool = True,
) -> Iterator[list[int]]:
    """The next `count` tokens of each prompt, as they come. Temperature 0 takes the likeliest, on the device."""
    greedy = temperature == 0
    room = max(map(len, prompts)) + count
    generator = Generator(model, len(prompts), room, greedy=greedy, recorded=recorded)
    random = np.random.default_rng(seed)
    generator.prefill(prompts)
    for number in range(count):
        if number > 0:
            generator.step()
        if not greedy and generator.logits is not None:
            rows = generator.logits.to(dtype=infinicore.float32).to("cpu").numpy()
            chosen = [sample(row, random, temperature, top_k, top_p) for row in rows]
            generator.tokens.copy_(infinicore.from_numpy(np.array(chosen, np.int32)))
        yield generator.tokens.tolist()
