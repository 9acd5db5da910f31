"""The command line of `llama.py`: what is asked for, text as it comes, and how fast that was."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

import infinicore

from .checkpoint import NAMES, Checkpoint, write_random_checkpoint
from .generation import generate
from .model import Model

console = Console(stderr=True)


class Text:
    """Words to numbers and back, by the checkpoint's `tokenizer.json` where that and the package `tokenizers` are there."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer: Any = None
        if (folder / "tokenizer.json").exists():
            try:
                from tokenizers import Tokenizer
            except ImportError:
                console.print("[yellow]no package `tokenizers`: numbers of tokens instead of words")
            else:
                self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def encode(self, text: str) -> list[int]:
        if self.tokenizer is None:
            raise SystemExit(
                "words need the package `tokenizers` and the checkpoint's tokenizer.json; --ids takes numbers"
            )
        return list(self.tokenizer.encode(text).ids)

    def decode(self, tokens: list[int]) -> str:
        if self.tokenizer is None:
            return "".join(f"{token} " for token in tokens)
        return str(self.tokenizer.decode(tokens))


def arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "checkpoint", nargs="?", type=Path, help="a folder with config.json and *.safetensors"
    )
    parser.add_argument("--random", action="store_true", help="a small model with random weights instead")
    parser.add_argument(
        "--prompt", action="append", default=[], help="text to continue; several make a batch"
    )
    parser.add_argument("--ids", action="append", default=[], help="the same as numbers of tokens: 1,2,3")
    parser.add_argument("--device", default="cpu", help="cpu, nvidia:0, ...")
    parser.add_argument(
        "--dtype", choices=NAMES, help="the type to compute in; the checkpoint's unless said otherwise"
    )
    parser.add_argument("--count", type=int, default=64, help="how many tokens to make at most")
    parser.add_argument("--temperature", type=float, default=0.0, help="0: always the likeliest token")
    parser.add_argument("--top-k", type=int, default=0, help="choose among so many; 0: among all")
    parser.add_argument(
        "--top-p", type=float, default=1.0, help="choose among those that have this part of all chances"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--eager", action="store_true", help="call each operator instead of running the recorded graph"
    )
    given = parser.parse_args()
    if given.checkpoint is not None and given.random:
        parser.error("a checkpoint or --random, not both")
    if given.count < 1 or given.temperature < 0 or given.top_k < 0 or not 0 < given.top_p <= 1:
        parser.error(
            "--count is at least 1, --temperature and --top-k at least 0, --top-p over 0 and at most 1"
        )
    return given


def main(description: str) -> None:
    given = arguments(description)
    with tempfile.TemporaryDirectory() as made:
        folder = given.checkpoint or Path(made)
        if given.checkpoint is None:
            console.print("[dim]no checkpoint: a small model with random weights, which talks nonsense")
            write_random_checkpoint(folder)
        checkpoint = Checkpoint(folder)
        text = Text(folder)
        prompts = [text.encode(prompt) for prompt in given.prompt] + [
            list(map(int, ids.split(","))) for ids in given.ids
        ]
        prompts = prompts or [text.encode("Once upon a time") if text.tokenizer else [1, 2, 3]]
        begin = time.perf_counter()
        model = Model(checkpoint.config, checkpoint, given.device, NAMES.get(given.dtype), progress=True)
        console.print(f"[dim]weights on {given.device} in {time.perf_counter() - begin:.1f} s")
        made_tokens: list[list[int]] = [[] for _ in prompts]
        shown = [""] * len(prompts)
        times = [time.perf_counter()]
        for tokens in generate(
            model, prompts, given.count, temperature=given.temperature, top_k=given.top_k, top_p=given.top_p,
            seed=given.seed, recorded=not given.eager,
        ):  # fmt: skip
            times.append(time.perf_counter())
            for i, token in enumerate(tokens):
                if made_tokens[i] and made_tokens[i][-1] in model.config.end:
                    continue
                made_tokens[i].append(token)
                now = text.decode(made_tokens[i])
                if now.endswith("\ufffd"):  # a part of a character: the rest is in the next token
                    continue
                if len(prompts) == 1:
                    print(now[len(shown[i]) :], end="", flush=True)
                shown[i] = now
            if all(each[-1] in model.config.end for each in made_tokens):
                break
    print("" if len(prompts) == 1 else "\n".join(f"[{i}] {each}" for i, each in enumerate(shown)))
    report(given.device, prompts, times)


def report(device: str, prompts: Sequence[Sequence[int]], times: list[float]) -> None:
    """The first token is the prompts' time; the second may have the graph's recording in it, and does not count."""
    said = f"{sum(map(len, prompts))} tokens read, and the first made, in {times[1] - times[0]:.2f} s"
    if len(times) > 3:
        speed = (len(times) - 3) * len(prompts) / (times[-1] - times[2])
        said += f"; then {speed:.1f} tokens per second, {len(prompts)} at a time"
    used = infinicore.get_runtime(device).allocator.statistics.used_peak
    console.print(f"[dim]{said}; {used / 2**20:.0f} MiB of {device} at most", soft_wrap=True)
