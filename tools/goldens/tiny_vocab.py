"""Small vocabularies and chat templates for the tiny models: every byte is a piece, a few pieces
are merges, the specials are those of the family. Valid for any reader of GGUF tokenizers.

A vocabulary is a dict of metadata keys, each (kind, value) with kind as in `tiny_file.py`.
"""

CONTROL, NORMAL, UNKNOWN, USER, BYTE = 3, 1, 2, 4, 6

# Pairs to merge, in order of rank, in the alphabet of byte-level pieces (Ġ is a space, Ã± an ñ).
MERGES = """Ġ t|h e|Ġt he|Ġ d|Ġd e|q u|qu e|Ġ que|Ã ±|Ã ³|Ã ¡|Â ¿|e n|o s|a s|Ġ e|Ġe l|Ġ l|Ġl a
i n|in g|Ġ a|o r|e r|Ġ Â¿|a r|u n|Ġ un|1 2""".replace("\n", "|").split("|")

# SentencePiece-style pieces with scores falling in this order.
PIECES = """▁t|he|▁the|▁d|▁de|qu|que|▁que|ing|en|os|as|▁e|▁el|▁l|▁la|in|▁a|or|er|▁¿|ar|un|▁un|12
▁|e|a|o|s|n|r|i|l|d|t|u|c|m|p|b|h|q|y|v|g|f|j|z|k|w|x|ñ|á|é|í|ó|ú|¿|¡|.|,|?|1|2|E|L|M""".replace(
    "\n", "|").split("|")

CHATML = """{%- for message in messages -%}
{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] | trim + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}"""

THINKING = CHATML.replace(
    "{%- endif -%}",
    "{%- if enable_thinking is defined and enable_thinking is false -%}"
    "{{- '<think>\\n\\n</think>\\n\\n' -}}{%- endif -%}{%- endif -%}")

HEADERS = """{{- bos_token -}}
{%- for message in messages -%}
{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' -}}
{{- message['content'] | trim + '<|eot_id|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
{%- endif -%}"""

INST = """{{- bos_token -}}
{%- for message in messages -%}
{%- if message['role'] == 'user' -%}{{- '[INST] ' + message['content'] + ' [/INST]' -}}
{%- elif message['role'] == 'assistant' -%}{{- ' ' + message['content'] + eos_token -}}
{%- else -%}{{- raise_exception('only user and assistant may speak') -}}{%- endif -%}
{%- endfor -%}"""

TURNS = """{{- bos_token -}}
{%- for message in messages -%}
{%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}
{%- if role == 'system' -%}{{- raise_exception('no system messages here') -}}{%- endif -%}
{{- '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<start_of_turn>model\\n' -}}{%- endif -%}"""


def byte_alphabet():
    """The character that byte-level BPE writes for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    table = {b: chr(b) for b in plain}
    table.update({b: chr(256 + n) for n, b in enumerate(others)})
    return [table[b] for b in range(256)]


def bpe(pre, specials, bos=None, eos=None, pad=None, template=CHATML, users=()):
    """Byte-level BPE: 256 bytes, the merges, then specials (and `users`, ordinary added pieces)."""
    tokens = byte_alphabet() + ["".join(m.split(" ")) for m in MERGES]
    types = [NORMAL] * len(tokens) + [CONTROL] * len(specials) + [USER] * len(users)
    tokens += [*specials, *users]
    keys = {
        "tokenizer.ggml.model": ("string", "gpt2"),
        "tokenizer.ggml.pre": ("string", pre),
        "tokenizer.ggml.tokens": ("array", tokens),
        "tokenizer.ggml.token_type": ("array", types),
        "tokenizer.ggml.merges": ("array", MERGES),
        "tokenizer.ggml.add_bos_token": ("bool", bos is not None),
        "tokenizer.chat_template": ("string", template),
    }
    for name, piece in (("bos", bos), ("eos", eos), ("padding", pad)):
        if piece is not None:
            keys[f"tokenizer.ggml.{name}_token_id"] = ("uint32", tokens.index(piece))
    return keys


def spm(specials, bos, eos, unk, pad=None, template=INST, users=(), space=True):
    """SentencePiece-style: `specials` first, the 256 bytes, pieces with scores, then `users`."""
    tokens = list(specials) + [f"<0x{b:02X}>" for b in range(256)] + PIECES + list(users)
    types = [UNKNOWN if s == unk else CONTROL for s in specials] + [BYTE] * 256
    types += [NORMAL] * len(PIECES) + [CONTROL if u.startswith("<") else USER for u in users]
    scores = [0.0] * (len(specials) + 256) + [-float(n) for n in range(len(PIECES))]
    scores += [0.0] * len(users)
    keys = {
        "tokenizer.ggml.model": ("string", "llama"),
        "tokenizer.ggml.pre": ("string", "default"),
        "tokenizer.ggml.tokens": ("array", tokens),
        "tokenizer.ggml.scores": ("array", scores),
        "tokenizer.ggml.token_type": ("array", types),
        "tokenizer.ggml.add_bos_token": ("bool", True),
        "tokenizer.ggml.add_eos_token": ("bool", False),
        "tokenizer.ggml.add_space_prefix": ("bool", space),
        "tokenizer.chat_template": ("string", template),
    }
    for name, piece in (("bos", bos), ("eos", eos), ("unknown", unk), ("padding", pad)):
        if piece is not None:
            keys[f"tokenizer.ggml.{name}_token_id"] = ("uint32", tokens.index(piece))
    return keys


LLAMA3 = bpe("llama-bpe", ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>",
                           "<|end_header_id|>", "<|eot_id|>"],
             bos="<|begin_of_text|>", eos="<|eot_id|>", template=HEADERS)
SMOLLM = bpe("smollm", ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], eos="<|im_end|>",
             pad="<|im_end|>")
GPT2 = bpe("gpt-2", ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], eos="<|im_end|>")
QWEN2 = bpe("qwen2", ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], eos="<|im_end|>",
            pad="<|endoftext|>")
QWEN3 = bpe("qwen2", ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], eos="<|im_end|>",
            pad="<|endoftext|>", template=THINKING, users=["<think>", "</think>"])
LLAMA2 = spm(["<unk>", "<s>", "</s>"], bos="<s>", eos="</s>", unk="<unk>")
GEMMA = spm(["<pad>", "<eos>", "<bos>", "<unk>"], bos="<bos>", eos="<eos>", unk="<unk>",
            pad="<pad>", template=TURNS, space=False,
            users=["\n", "\n\n", "<start_of_turn>", "<end_of_turn>"])
