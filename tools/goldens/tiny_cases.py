"""The cases of `models.py`: one tiny model for each variant that an architecture file must carry.

`file` makes the model as it is stored. `equal` makes a file of the same mathematics in words that
the reference reads, where it does not read ours. `without` gives files that an engine would
compute which ignores the variant; their logits must be far away.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
from gguf.constants import GGMLQuantizationType as Type

import tiny_vocab as vocab
from tiny_file import Tiny, Weights

F32, F16, BF16 = Type.F32, Type.F16, Type.BF16


@dataclasses.dataclass
class Case:
    """One golden."""

    name: str
    about: str
    file: Callable[[], Tiny]
    without: dict = dataclasses.field(default_factory=dict)
    equal: Callable[[Tiny], Tiny] | None = None
    quantized: bool = False


CASES: list[Case] = []


def lacks(*names):
    """The file without these keys, or tensors (names with a dot and `weight` or `bias`)."""
    def change(tiny):
        tensors = [n for n in tiny.tensors if any(n.endswith(name) for name in names)]
        return tiny.changed({n: None for n in names if n in tiny.keys},
                            {n: None for n in tensors})
    return change


def sets(**keys):
    """The file with these keys set; `__` in a name stands for a dot."""
    return lambda t: t.changed({k.replace("__", "."): v for k, v in keys.items()})


def decoder(name, arch, *, words, layers=2, dim=32, heads=4, kv_heads=2, head=None, ffn=48,
            base=10000.0, tied=False, biases=(), kinds=None, keys=None, rotary=None, post=1.0,
            seed=0):
    """Keys and weights of a pre-norm decoder; `kinds` gives storage types by tensor, in turn."""
    head_dim = head or dim // heads
    vocabulary = len(words["tokenizer.ggml.tokens"][1])
    gemma, normed = arch == "gemma3", arch in ("qwen3", "gemma3")
    table = {
        "general.name": ("string", f"tiny {name}"),
        f"{arch}.context_length": ("uint32", 1024),
        f"{arch}.embedding_length": ("uint32", dim),
        f"{arch}.block_count": ("uint32", layers),
        f"{arch}.feed_forward_length": ("uint32", ffn),
        f"{arch}.attention.head_count": ("uint32", heads),
        f"{arch}.attention.head_count_kv": ("uint32", kv_heads),
        f"{arch}.attention.layer_norm_rms_epsilon": ("float32", 1e-6 if normed else 1e-5),
        f"{arch}.vocab_size": ("uint32", vocabulary),
    }
    if base:
        table[f"{arch}.rope.freq_base"] = ("float32", base)
    if head:
        table[f"{arch}.attention.key_length"] = ("uint32", head)
        table[f"{arch}.attention.value_length"] = ("uint32", head)
    if arch == "llama":
        table["llama.rope.dimension_count"] = ("uint32", rotary or head_dim)
    table.update(words)
    table.update(keys or {})

    draw = Weights(name, seed)
    turn = iter(())

    def kind(name, default):
        nonlocal turn
        if kinds is None:
            return default
        if name in kinds:
            return kinds[name]
        following = next(turn, None)
        if following is None:
            turn = iter(kinds["layers"])
            following = next(turn)
        return following

    def linear(name, rows, cols, std, bias=False):
        draw.matrix(name, rows, cols, std / cols ** 0.5, kind(name.split(".")[-1], matrices))
        if bias:
            draw.vector(f"{name}.bias", rows, 0.0, 0.5)

    # Gemma's many layers would not be small in F32; their reference runs on the same values.
    matrices = F16 if gemma else F32
    std = 2.0 / dim ** 0.5 if tied or gemma else 1.0
    draw.matrix("token_embd", vocabulary, dim, std, kind("token_embd", F32 if tied else F16))
    for i in range(layers):
        block = f"blk.{i}"
        draw.vector(f"{block}.attn_norm.weight", dim, 1.0, 0.2)
        linear(f"{block}.attn_q", heads * head_dim, dim, 1.3, "q" in biases)
        linear(f"{block}.attn_k", kv_heads * head_dim, dim, 1.3, "k" in biases)
        linear(f"{block}.attn_v", kv_heads * head_dim, dim, 1.2, "v" in biases)
        if normed:
            draw.vector(f"{block}.attn_q_norm.weight", head_dim, 1.3, 0.2)
            draw.vector(f"{block}.attn_k_norm.weight", head_dim, 1.3, 0.2)
        linear(f"{block}.attn_output", dim, heads * head_dim, 1.5, "o" in biases)
        if gemma:
            draw.vector(f"{block}.post_attention_norm.weight", dim, post, 0.2 * post)
        draw.vector(f"{block}.ffn_norm.weight", dim, 1.0, 0.2)
        linear(f"{block}.ffn_gate", ffn, dim, 1.2, "gate" in biases)
        linear(f"{block}.ffn_up", ffn, dim, 1.2, "up" in biases)
        linear(f"{block}.ffn_down", dim, ffn, 1.0, "down" in biases)
        if gemma:
            draw.vector(f"{block}.post_ffw_norm.weight", dim, post, 0.2 * post)
    # Signs at random: else a tied output would mostly repeat the last piece.
    draw.vector("output_norm.weight", dim, 1.0, 0.2)
    signs = np.where(draw.rng.random(dim) < 0.5, -1, 1).astype(np.float32)
    draw.tensors["output_norm.weight"][1][:] *= signs
    if not (tied or gemma):
        linear("output", vocabulary, dim, 2.0)
    return Tiny(arch, table, draw.tensors)


def case(name, about, arch, *, without=None, equal=None, tensors=None, **options):
    """Adds a case; `tensors` are more tensors than the drawn ones."""
    def file():
        tiny = decoder(name, arch, **options)
        return tiny.changed(tensors=tensors)
    CASES.append(Case(name, about, file, without or {}, equal, options.get("kinds") is not None))


# Llama -------------------------------------------------------------------------------------------

case("llama-plain", "two layers, grouped heads, own output", "llama", words=vocab.LLAMA3,
     base=500000.0, without={"rope.freq_base": lacks("llama.rope.freq_base")})
case("llama-tied", "the embedding is the output", "llama", words=vocab.SMOLLM, tied=True)
case("llama-spm", "as llama-plain with a SentencePiece-style vocabulary", "llama",
     words=vocab.LLAMA2)
case("llama-rope-freqs", "Llama 3.1: a tensor of factors divides the rotary frequencies", "llama",
     words=vocab.LLAMA3, head=16,
     tensors={"rope_freqs.weight": (F32, np.float32([1, 1.25, 2.5, 5, 8, 8, 8, 8]))},
     without={"rope_freqs": lacks("rope_freqs.weight")})
case("llama-mistral-head", "key_length is not dim / heads", "llama", words=vocab.LLAMA2, head=16)
LINEAR = {"llama.rope.scaling.type": ("string", "linear"),
          "llama.rope.scaling.factor": ("float32", 4.0)}
case("llama-linear", "rotary positions divided by 4", "llama", words=vocab.GPT2, keys=LINEAR,
     without={"rope.scaling.factor": lacks("llama.rope.scaling.factor")})
case("llama-scale-linear", "the older key of linear scaling", "llama", words=vocab.GPT2,
     keys={"llama.rope.scale_linear": ("float32", 4.0)},
     without={"rope.scale_linear": lacks("llama.rope.scale_linear")})


def yarn(arch, factor, original, attention=None):
    """Keys of yarn scaling."""
    keys = {f"{arch}.rope.scaling.type": ("string", "yarn"),
            f"{arch}.rope.scaling.factor": ("float32", factor),
            f"{arch}.rope.scaling.original_context_length": ("uint32", original)}
    if attention:
        keys[f"{arch}.rope.scaling.attn_factor"] = ("float32", attention)
    return keys


def unyarn(arch):
    """What an engine computes that ignores one of yarn's parts."""
    scaling = f"{arch}.rope.scaling"
    return {
        "rope.scaling": lacks(f"{scaling}.type", f"{scaling}.factor"),
        "rope.scaling.type (linear instead)":
            lambda t: t.changed({f"{scaling}.type": ("string", "linear")}),
        "rope.scaling.original_context_length": lacks(f"{scaling}.original_context_length"),
        # The magnitude 1 + 0.1 ln(factor), taken away by a factor that cancels it.
        "yarn's magnitude": lambda t: t.changed({f"{scaling}.attn_factor": (
            "float32", t.keys.get(f"{scaling}.attn_factor", (0, 1.0))[1]
            / (1 + 0.1 * np.log(t.keys[f"{scaling}.factor"][1])))}),
    }


case("llama-yarn", "yarn by 4 from 256 positions, and an attention factor", "llama",
     words=vocab.GPT2, head=16, keys=yarn("llama", 4.0, 256, 0.85),
     without={**unyarn("llama"),
              "rope.scaling.attn_factor": lacks("llama.rope.scaling.attn_factor")})
case("llama-bias", "biases of q, k, v and the attention's output", "llama", words=vocab.SMOLLM,
     biases="qkvo",
     without={f"attn_{n}.bias": lacks(f"attn_{n}.bias") for n in ("q", "k", "v", "output")})
case("llama-mlp-bias", "biases of gate, up and down", "llama", words=vocab.SMOLLM,
     biases=("gate", "up", "down"),
     without={f"{n}.bias": lacks(f"{n}.bias") for n in ("ffn_gate", "ffn_up", "ffn_down")})


def by_factors(tiny):
    """Partial rotary in words the reference reads for llama: factors over the whole head."""
    head, rotary, base = 16, 8, 10000.0
    factors = np.full(head // 2, 1e30, np.float32)
    pairs = np.arange(rotary // 2)
    factors[:rotary // 2] = base ** (2 * pairs / rotary - 2 * pairs / head)
    return tiny.changed({"llama.rope.dimension_count": ("uint32", head)},
                        {"rope_freqs.weight": (F32, factors)})


case("llama-partial-rotary", "only the first 8 of 16 values of a head are rotated", "llama",
     words=vocab.GPT2, head=16, rotary=8, equal=by_factors,
     without={"rope.dimension_count": lacks("rope_freqs.weight")})
case("llama-quant", "the linear 4- to 8-bit types in one file", "llama", words=vocab.LLAMA3,
     dim=256, head=16, ffn=64, tied=True, base=500000.0,
     kinds={"token_embd": Type.Q6_K, "attn_output": Type.Q5_1, "ffn_down": Type.Q5_0, "layers": [
         Type.Q4_K, Type.Q5_K, Type.Q6_K, Type.Q4_0, Type.Q4_1,
         Type.Q5_0, Type.Q8_0, Type.Q4_K, Type.Q5_K, Type.Q6_K]})
case("llama-low-bits", "Q2_K, Q3_K, IQ4_NL, IQ4_XS and MXFP4 in one file", "llama",
     words=vocab.LLAMA3, dim=256, head=16, ffn=64, tied=True, base=500000.0,
     kinds={"token_embd": Type.IQ4_XS, "attn_output": Type.IQ4_NL, "ffn_down": Type.MXFP4,
            "layers": [Type.Q2_K, Type.Q3_K, Type.IQ4_XS, Type.IQ4_NL, Type.MXFP4, Type.Q3_K]})

case("llama-codebooks", "IQ1, IQ2, IQ3 and NVFP4 in one file", "llama", words=vocab.LLAMA3,
     dim=256, head=16, ffn=64, tied=True, base=500000.0,
     kinds={"token_embd": Type.IQ2_S, "attn_output": Type.NVFP4, "ffn_down": Type.NVFP4,
            "layers": [Type.IQ3_S, Type.IQ1_S, Type.IQ2_XS, Type.IQ3_XXS, Type.IQ2_XXS,
                       Type.IQ1_M, Type.IQ2_S]})
case("llama-ternary", "TQ1_0, TQ2_0 and Q1_0 in one file", "llama", words=vocab.LLAMA3, dim=256,
     head=32, ffn=128, tied=True, base=500000.0,
     kinds={"token_embd": Type.TQ2_0, "attn_output": Type.Q1_0, "ffn_down": Type.Q1_0,
            "layers": [Type.TQ1_0, Type.TQ2_0, Type.Q1_0]})


def only(kind):
    """Every matrix of a tied model in one type."""
    return {"token_embd": kind, "layers": [kind]}


case("llama-q2_k", "every matrix in Q2_K", "llama", words=vocab.LLAMA3, dim=256, heads=4,
     kv_heads=1, head=64, ffn=256, tied=True, base=500000.0, kinds=only(Type.Q2_K))
case("llama-mxfp4", "every matrix in MXFP4", "llama", words=vocab.GPT2, dim=64, ffn=96, tied=True,
     kinds=only(Type.MXFP4))

# Qwen --------------------------------------------------------------------------------------------

case("qwen2-plain", "biases of q, k, v; half pairs; own output", "qwen2", words=vocab.QWEN2,
     biases="qkv", base=1000000.0,
     without={"attn_q.bias": lacks("attn_q.bias"), "attn_v.bias": lacks("attn_v.bias"),
              "rope.freq_base": lacks("qwen2.rope.freq_base")})
case("qwen2-tied", "the embedding is the output", "qwen2", words=vocab.QWEN2, biases="qkv",
     tied=True, base=1000000.0)
case("qwen2-yarn", "yarn by 4 from 256 positions", "qwen2", words=vocab.QWEN2, biases="qkv",
     dim=64, heads=4, ffn=32, keys=yarn("qwen2", 4.0, 256), without=unyarn("qwen2"))
case("qwen2-quant", "legacy quantized types, BF16 and F16", "qwen2", words=vocab.QWEN2,
     biases="qkv", dim=64, ffn=96, base=1000000.0,
     kinds={"token_embd": Type.Q8_0, "output": Type.Q8_0, "layers": [
         Type.Q4_0, Type.Q8_0, Type.Q5_0, Type.Q4_1, BF16, Type.Q5_1, Type.Q8_0, F16]})
case("qwen3-plain", "q and k norms a head, own head size", "qwen3", words=vocab.QWEN3, head=16,
     base=1000000.0,
     without={"rope.freq_base": lacks("qwen3.rope.freq_base")})
case("qwen3-tied", "the embedding is the output", "qwen3", words=vocab.QWEN3, head=16, tied=True,
     base=1000000.0)
case("qwen3-yarn", "yarn by 4 from 256 positions", "qwen3", words=vocab.QWEN3, head=16,
     keys=yarn("qwen3", 4.0, 256), without=unyarn("qwen3"))
case("qwen3-quant", "legacy quantized types", "qwen3", words=vocab.QWEN3, head=16, dim=64, ffn=96,
     base=1000000.0,
     kinds={"token_embd": Type.Q8_0, "output": Type.Q8_0, "layers": [
         Type.Q8_0, Type.Q5_1, Type.Q4_0, Type.Q8_0, Type.Q5_0, Type.Q4_1, Type.Q8_0]})
case("qwen2-q3_k", "every matrix in Q3_K", "qwen2", words=vocab.QWEN2, biases="qkv", dim=256,
     heads=4, kv_heads=1, head=64, ffn=256, tied=True, base=1000000.0, kinds=only(Type.Q3_K))
case("qwen3-iq4_xs", "every matrix in IQ4_XS", "qwen3", words=vocab.QWEN3, dim=256, heads=4,
     kv_heads=1, head=64, ffn=256, tied=True, base=1000000.0, kinds=only(Type.IQ4_XS))

# Gemma 3 -----------------------------------------------------------------------------------------

WINDOW = {"gemma3.attention.sliding_window": ("uint32", 8)}
LOCAL = {"sliding_window": lacks("gemma3.attention.sliding_window"),
         "the global layer (all local)":
             sets(gemma3__attention__sliding_window_pattern=("uint32", 100)),
         "a window one longer": sets(gemma3__attention__sliding_window=("uint32", 9))}
GEMMA = dict(words=vocab.GEMMA, layers=7, head=16, ffn=32, base=1000000.0)

case("gemma3-1b-like", "window 8, five local layers to one global, one base in the file",
     "gemma3", keys=WINDOW, seed=19, **GEMMA,
     without={**LOCAL, "rope.freq_base": lacks("gemma3.rope.freq_base")})
case("gemma3-swa-base", "the local layers' base by its own key", "gemma3",
     keys={**WINDOW, "gemma3.rope.freq_base_swa": ("float32", 500.0)}, **GEMMA,
     without={"rope.freq_base_swa": lacks("gemma3.rope.freq_base_swa")})
SCALED = {**WINDOW, "gemma3.rope.scaling.type": ("string", "linear"),
          "gemma3.rope.scaling.factor": ("float32", 8.0)}
case("gemma3-linear", "4B to 27B: linear factor 8, global layers only", "gemma3",
     keys=SCALED, seed=13, **{**GEMMA, "base": 10000.0},
     without={"rope.scaling.factor": lacks("gemma3.rope.scaling.factor")})
case("gemma3-pattern-array", "which layers are local is an array of booleans", "gemma3",
     keys={**WINDOW, "gemma3.attention.sliding_window_pattern": (
         "array", [True, False, True, True, False, True, False])}, **GEMMA,
     without={"sliding_window_pattern": lacks("gemma3.attention.sliding_window_pattern")})
case("gemma3-pattern-number", "one layer in three is global", "gemma3",
     keys={**WINDOW, "gemma3.attention.sliding_window_pattern": ("uint32", 3)}, **GEMMA,
     without={"sliding_window_pattern": lacks("gemma3.attention.sliding_window_pattern")})
case("gemma3-softcap", "final logits between -4 and 4", "gemma3",
     keys={**WINDOW, "gemma3.final_logit_softcapping": ("float32", 4.0)}, **GEMMA,
     without={"final_logit_softcapping": lacks("gemma3.final_logit_softcapping")})


def other_bases(tiny):
    """The bases in words the reference reads."""
    return tiny.changed({
        "gemma3.rope.global.freq_base": None, "gemma3.rope.local.freq_base": None,
        "gemma3.rope.freq_base": tiny.keys["gemma3.rope.global.freq_base"],
        "gemma3.rope.freq_base_swa": tiny.keys["gemma3.rope.local.freq_base"]})


case("gemma3-ollama-keys", "the bases as rope.global.freq_base and rope.local.freq_base",
     "gemma3", keys={**WINDOW, "gemma3.rope.global.freq_base": ("float32", 200000.0),
                     "gemma3.rope.local.freq_base": ("float32", 500.0)},
     **{**GEMMA, "base": None}, equal=other_bases,
     without={"rope.global.freq_base": lacks("gemma3.rope.freq_base"),
              "rope.local.freq_base": lacks("gemma3.rope.freq_base_swa")})


def by_head(tiny):
    """27B with the attention scale of all other sizes: 1/sqrt(key_length)."""
    factor = np.float32((8 / 4) ** 0.5)
    return tiny.changed(tensors={n: (kind, data * factor) for n, (kind, data)
                                 in tiny.tensors.items() if n.endswith("attn_q_norm.weight")})


case("gemma3-27b", "62 layers: attention is scaled by 1/sqrt(dim / heads)", "gemma3",
     words=vocab.GEMMA, layers=62, dim=16, heads=2, kv_heads=1, head=4, ffn=16, base=1000000.0,
     keys=SCALED, post=0.15, without={"the scale of 62 layers": by_head})
case("gemma3-quant", "legacy quantized types", "gemma3", words=vocab.GEMMA, layers=7, head=16,
     dim=64, ffn=64, base=1000000.0, keys=WINDOW,
     kinds={"token_embd": Type.Q8_0, "layers": [
         Type.Q4_0, Type.Q8_0, Type.Q5_0, Type.Q4_1, Type.Q4_0, Type.Q5_1, Type.Q4_0]})
case("gemma3-iq4_nl", "every matrix in IQ4_NL", "gemma3", words=vocab.GEMMA, layers=7, head=16,
     dim=64, ffn=64, base=1000000.0, keys=WINDOW, kinds=only(Type.IQ4_NL))
