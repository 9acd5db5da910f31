"""Llama and Qwen with infinicore: `checkpoint` reads files, `model` computes, `generation` makes tokens, `program` is `llama.py`."""
