"""llama.cpp's own HTTP server with a model of random weights: `python llama_server.py DIRECTORY` prints its address.

The model is a llama of one layer. Its words are the letters; only they have weights in the output, so that each answer
has text. It ends when its standard input does.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import gguf
import numpy as np
import xllamacpp

WIDTH, HEADS, HIDDEN, CONTEXT = 32, 2, 64, 4096
SPECIAL = ("<unk>", "<s>", "</s>")
LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")


def write_model(path: Path) -> None:
    """Write the model. Its weights depend on nothing but this file."""
    words = [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256)), *LETTERS]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    kinds += [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * len(LETTERS)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(words)
    writer.add_token_scores([0.0] * len(words))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    random = np.random.default_rng(1)

    def weights(rows: int, columns: int) -> np.ndarray:
        return random.normal(0.0, 0.2, (rows, columns)).astype(np.float32)

    output = weights(len(words), WIDTH)
    output[: -len(LETTERS)] = 0.0
    tensors = {"token_embd.weight": weights(len(words), WIDTH), "output.weight": output}
    tensors |= {f"blk.0.attn_{name}.weight": weights(WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
    tensors |= {f"blk.0.ffn_{name}.weight": weights(HIDDEN, WIDTH) for name in ("gate", "up")}
    tensors["blk.0.ffn_down.weight"] = weights(WIDTH, HIDDEN)
    norms = ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm")
    tensors |= {f"{name}.weight": np.ones(WIDTH, np.float32) for name in norms}
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(directory: Path) -> None:
    """Start the server on a free port, and wait."""
    path = directory / "random.gguf"
    write_model(path)
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.warmup = False
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)  # the library's threads do not end by themselves


if __name__ == "__main__":
    main(Path(sys.argv[1]))
