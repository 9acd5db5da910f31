"""Llama and Qwen on any device: a Hugging Face checkpoint in, text out, the decode step one recorded graph.

    python examples/llama.py path/to/Llama-3.2-1B-Instruct --prompt "The capital of France is" --device nvidia:0
    python examples/llama.py --random   # no checkpoint at hand: a small one with random weights, made on the spot

Llama 1 to 3 (with Llama 3's scaled positions), Qwen2 and Qwen3, in float32, float16 or bfloat16. Text needs the package `tokenizers`;
without it `--ids 1,2,3` takes numbers of tokens, and numbers come out. How it works is in the folder `llm` beside this file:
`checkpoint.py` reads the files, `model.py` computes, `generation.py` records and runs the graph.
"""

from llm.program import main

if __name__ == "__main__":
    main(__doc__)
