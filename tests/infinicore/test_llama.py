"""The example of a language model: it computes what NumPy and Hugging Face's transformers do, and its graph what its calls do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llama_support import (
    EXAMPLES,
    STYLES,
    Checkpoint,
    Config,
    Generator,
    Model,
    expected_logits,
    generate,
    load,
    sample,
    write_random_checkpoint,
)

import infinicore
from installed import output_of

PROMPT = [5, 17, 3, 99, 150, 7, 42]


@pytest.mark.parametrize("style", STYLES)
def test_it_computes_what_numpy_does(style: str, tmp_path: Path) -> None:
    model = load(tmp_path, **STYLES[style])
    generator = Generator(model, 1, 40)
    sequence = list(PROMPT)
    logits = generator.prefill([sequence]).numpy()[0]
    for _ in range(25):  # more than a page of the cache
        assert np.abs(logits - expected_logits(tmp_path, sequence)[-1]).max() < 1e-4
        assert generator.tokens.tolist() == [int(logits.argmax())]
        sequence.append(int(logits.argmax()))
        generator.step()
        assert generator.logits is not None
        logits = generator.logits.clone().numpy()[0]
    assert generator.graph.segment_count == 1


@pytest.mark.parametrize("style", STYLES)
def test_the_graph_makes_what_the_calls_make_and_what_reading_all_again_makes(
    style: str, tmp_path: Path
) -> None:
    model = load(tmp_path, **STYLES[style])
    recorded = [tokens[0] for tokens in generate(model, [PROMPT], 20)]
    assert recorded == [tokens[0] for tokens in generate(model, [PROMPT], 20, recorded=False)]
    for made in range(20):
        assert next(generate(model, [PROMPT + recorded[:made]], 1)) == [recorded[made]]


@pytest.mark.parametrize("batch", [2, 5, 11])  # products of few rows, and of many
def test_sequences_of_a_batch_do_not_see_one_another(batch: int, tmp_path: Path) -> None:
    model = load(tmp_path, **STYLES["llama"])
    prompts = [[(7 * i + 3 * j) % 203 for j in range(1 + 4 * i)] for i in range(batch)]
    together = list(zip(*generate(model, prompts, 12), strict=True))
    for prompt, tokens in zip(prompts, together, strict=True):
        assert [each[0] for each in generate(model, [prompt], 12)] == list(tokens)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_types(dtype: str, tmp_path: Path) -> None:
    model = load(tmp_path, dtype=getattr(infinicore, dtype), **STYLES["qwen2"])
    generator = Generator(model, 1, 40)
    found = [generator.prefill([PROMPT]).to(dtype=infinicore.float32).numpy()]
    sequence = [*PROMPT, generator.tokens.tolist()[0]]
    generator.step()
    assert generator.logits is not None
    found.append(generator.logits.to(dtype=infinicore.float32).numpy())
    expected = expected_logits(tmp_path, sequence)[-2:]
    assert np.abs(np.concatenate(found) - expected).max() < (0.02 if dtype == "float16" else 0.15)


def test_checkpoints_in_several_files_and_other_types(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    write_random_checkpoint(whole, **STYLES["llama"])
    checkpoint = Checkpoint(whole)
    assert len(checkpoint) == 3 * 9 + 3
    assert "model.norm.weight" in checkpoint
    (parts / "config.json").write_bytes((whole / "config.json").read_bytes())
    places = {}
    for number, names in enumerate((list(checkpoint)[::2], list(checkpoint)[1::2])):
        header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
        data = b""
        for name in names:
            tensor = checkpoint[name].to(dtype=infinicore.bfloat16)
            more = tensor.numpy().tobytes()
            header[name] = {
                "dtype": "BF16",
                "shape": tensor.shape,
                "data_offsets": [len(data), len(data) + len(more)],
            }
            data += more
            places[name] = f"part-{number}.safetensors"
        text = json.dumps(header).encode()
        (parts / f"part-{number}.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    (parts / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}), encoding="utf-8")
    read = Checkpoint(parts)
    assert set(read) == set(checkpoint)
    for name, tensor in checkpoint.items():
        assert read[name].tolist() == tensor.to(dtype=infinicore.bfloat16).tolist()
    model = Model(read.config, read, "cpu", infinicore.float32)
    assert (
        np.abs(Generator(model, 1, 8).prefill([PROMPT]).numpy() - expected_logits(parts, PROMPT)[-1]).max()
        < 1e-4
    )


def test_chance_is_what_the_seed_says(tmp_path: Path) -> None:
    model = load(tmp_path, **STYLES["llama"])

    def made(**how: Any) -> list[int]:
        return [tokens[0] for tokens in generate(model, [PROMPT], 15, **how)]

    likeliest = made()
    assert made(temperature=1.0, top_k=1) == likeliest
    assert made(temperature=1.0, top_p=1e-9) == likeliest
    assert made(temperature=2.0, seed=4) == made(temperature=2.0, seed=4)
    assert made(temperature=2.0, seed=4) != made(temperature=2.0, seed=5)


def test_samples_are_as_likely_as_the_logits_say() -> None:
    chances = np.array([0.1, 0.5, 0.15, 0.25])
    random = np.random.default_rng(1)

    def counts(**how: Any) -> Any:
        drawn = [sample(np.log(chances), random, **how) for _ in range(4000)]
        return np.bincount(drawn, minlength=4) / 4000

    assert np.abs(counts(temperature=1.0) - chances).max() < 0.03
    squares = chances**2 / (chances**2).sum()
    assert np.abs(counts(temperature=0.5) - squares).max() < 0.03
    assert np.abs(counts(temperature=1.0, top_k=2) - [0, 2 / 3, 0, 1 / 3]).max() < 0.03
    assert np.abs(counts(temperature=1.0, top_p=0.7) - [0, 2 / 3, 0, 1 / 3]).max() < 0.03


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="'bert': llama, qwen2 and qwen3"):
        Config.read({"model_type": "bert"})
    with pytest.raises(SystemExit, match="only silu"):
        Config.read({"model_type": "llama", "hidden_act": "gelu"})
    model = load(tmp_path, **STYLES["llama"])
    generator = Generator(model, 2, 16)
    for prompts in ([[1]], [[1], []], [[1], [2] * 17]):
        with pytest.raises(ValueError, match="2 of 1 to 16 were expected"):
            generator.prefill(prompts)
    generator.prefill([[1] * 16, [2]])
    with pytest.raises(ValueError, match="room for 16 tokens"):
        generator.step()


def test_the_program() -> None:
    program = EXAMPLES / "llama.py"
    alone = output_of(sys.executable, program, "--random", "--ids", "1,2,3", "--count", "8")
    assert "tokens per second, 1 at a time" in alone
    batch = output_of(
        sys.executable,
        program,
        "--ids",
        "1,2,3",
        "--ids",
        "4",
        "--count",
        "8",
        "--eager",
        "--dtype",
        "bfloat16",
    )
    assert "[0] " in batch
    assert "[1] " in batch
    assert "--top-p" in output_of(sys.executable, program, "--help")


@pytest.mark.peer("tokenizers")
def test_the_program_with_words(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    write_random_checkpoint(tmp_path, **STYLES["llama"])
    words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(203)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "tokenizer.json"))
    said = output_of(sys.executable, EXAMPLES / "llama.py", tmp_path, "--prompt", "w5 w17 w3", "--count", "4")
    checkpoint = Checkpoint(tmp_path)
    made = generate(Model(checkpoint.config, checkpoint, "cpu"), [[5, 17, 3]], 4)
    assert " ".join(f"w{tokens[0]}" for tokens in made) in said


@pytest.mark.peer("transformers", "torch")
@pytest.mark.parametrize("style", STYLES)
def test_it_computes_what_transformers_does(style: str, tmp_path: Path) -> None:
    import torch
    import transformers

    said = {**STYLES[style], "max_position_embeddings": 256, "eos_token_id": None, "bos_token_id": None}
    torch.manual_seed(1)
    theirs = transformers.AutoModelForCausalLM.from_config(
        transformers.AutoConfig.for_model(**said), attn_implementation="eager"
    )
    with torch.no_grad():  # otherwise weights of norms are 1, and biases 0
        for name, parameter in theirs.named_parameters():
            if parameter.ndim == 1:
                parameter.copy_(torch.randn(parameter.shape) * 0.3 + ("norm" in name))
            else:
                parameter.mul_(4)
    theirs.save_pretrained(tmp_path, max_shard_size="100KB")
    assert (tmp_path / "model.safetensors.index.json").exists()
    checkpoint = Checkpoint(tmp_path)
    model = Model(checkpoint.config, checkpoint, "cpu")
    generator = Generator(model, 1, 40)
    logits = generator.prefill([PROMPT]).numpy()[0]
    sequence = list(PROMPT)
    for _ in range(25):
        with torch.no_grad():
            expected = theirs(torch.tensor([sequence])).logits[0, -1].numpy()
        assert np.abs(logits - expected).max() < 1e-4
        assert int(logits.argmax()) == int(expected.argmax()) == generator.tokens.tolist()[0]
        sequence.append(int(expected.argmax()))
        generator.step()
        assert generator.logits is not None
        logits = generator.logits.clone().numpy()[0]


@pytest.mark.gpu
@pytest.mark.memcheck
@pytest.mark.parametrize("style", STYLES)
def test_a_gpu_makes_what_the_cpu_makes(style: str, tmp_path: Path) -> None:
    here = load(tmp_path, **STYLES[style])
    there = load(tmp_path, "nvidia:0", **STYLES[style])
    prompts = [PROMPT, PROMPT[:3]]
    for recorded in (True, False):
        made = list(generate(there, prompts, 24, recorded=recorded))
        assert made == list(generate(here, prompts, 24))
    sides = [Generator(model, 2, 40) for model in (here, there)]
    for side in sides:
        side.prefill(prompts)
        side.step()
    first, second = (side.logits.to("cpu").numpy() for side in sides if side.logits is not None)
    assert np.abs(first - second).max() < 1e-4
    narrow = Generator(load(tmp_path, "nvidia:0", infinicore.bfloat16, **STYLES[style]), 2, 40)
    narrow.prefill(prompts)
    narrow.step()
    assert narrow.logits is not None
    assert narrow.graph.segment_count == 1
    assert np.isfinite(narrow.logits.to(dtype=infinicore.float32).to("cpu").numpy()).all()
