"""A vocabulary of single bytes, so that any text can be fed to a random model.

It has the form of GPT-2's byte-level BPE without merges: one token per byte, then a few specials.
"""

from engine.bench_models.gguf_writer import Metadata, boolean, i32s, string, strings, u32

_NORMAL, _CONTROL, _UNUSED = 1, 3, 5
_SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
ENDOFTEXT, IM_START, IM_END = range(256, 259)
# Filled up with unused tokens, so that the output matrix fits kernels that take 16 rows at once.
N_VOCAB = 272

CHATML = (
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}"
)


def byte_symbols() -> list[str]:
    """The character that stands for each byte: itself if printable in Latin-1, else from U+0100."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    symbols = []
    n_moved = 0
    for byte in range(256):
        if byte in printable:
            symbols.append(chr(byte))
        else:
            symbols.append(chr(256 + n_moved))
            n_moved += 1
    return symbols


def byte_tokenizer() -> Metadata:
    """The tokenizer.* keys of the byte vocabulary."""
    n_unused = N_VOCAB - 256 - len(_SPECIALS)
    tokens = [*byte_symbols(), *_SPECIALS, *(f"<|unused_{i}|>" for i in range(n_unused))]
    types = [_NORMAL] * 256 + [_CONTROL] * len(_SPECIALS) + [_UNUSED] * n_unused
    return {
        "tokenizer.ggml.model": string("gpt2"),
        "tokenizer.ggml.pre": string("qwen2"),
        "tokenizer.ggml.tokens": strings(tokens),
        "tokenizer.ggml.token_type": i32s(types),
        "tokenizer.ggml.merges": strings([]),
        "tokenizer.ggml.bos_token_id": u32(ENDOFTEXT),
        "tokenizer.ggml.eos_token_id": u32(IM_END),
        "tokenizer.ggml.padding_token_id": u32(ENDOFTEXT),
        "tokenizer.ggml.add_bos_token": boolean(False),
        "tokenizer.chat_template": string(CHATML),
    }


def printable_bytes() -> list[int]:
    """Tokens that make readable text: printable ASCII and the newline."""
    return [0x0A, *range(0x20, 0x7F)]
