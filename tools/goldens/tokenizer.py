#!/usr/bin/env python3
"""Writes the golden ids of crates/tokenizer/tests/golden/ids.json with an independent engine.

Needs llama_cpp (0.3.36 was used). The models are those of RECINTO_TEST_MODELS.
Usage: RECINTO_TEST_MODELS=… python3 tools/goldens/tokenizer.py > crates/tokenizer/tests/golden/ids.json
"""

import ctypes
import json
import os
import sys

import llama_cpp

MODELS = {
    "smollm2": "smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf",
    "qwen05": "qwen2.5-coder-0.5b-instruct/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    "gemma3": "gemma3-270m/gemma-3-270m-q4_k_m.gguf",
}

# Our own sentences. No user-defined mark such as <tool_call>: there content differs on purpose.
TEXTS = [
    "",
    " ",
    "  ",
    "\n",
    "\n\n\n\n",
    " \n \n\t",
    "\r\n\r\nfin\r\n",
    "Hola, ¿qué tal estás?",
    "El pingüino de Logroño comió ñoras, ¡vaya día!",
    "  La cigüeña   vuela\thacia el río.  ",
    "ESPAÑA España eSPAÑA ñÑ",
    "Precio: 1.234,56 € (IVA 21 %), el 03/11/2026 a las 08:45h.",
    "12345678901234567890 1 22 333 4444",
    "I'm sure they'll've said it's Bob's; DON'T SHOUT, we'd say.",
    "The quick brown fox doesn't jump over 13 lazy dogs.",
    "fn main() {\n    let x: Vec<u8> = vec![0; 16]; // ¿ocho o dieciséis?\n    println!(\"{x:?}\");\n}\n",
    "def f(a, *args, **kw):\n\tif a != 0x1F:\n\t\treturn {k: v for k, v in kw.items()}\n",
    "SELECT nombre, COUNT(*) FROM clientes WHERE año >= 2020 GROUP BY 1;",
    '{"clave": [1, 2.5e-3, null, true], "otra": "va\\u006cor"}',
    "https://ejemplo.es/buscar?q=caf%C3%A9&n=10#sección",
    "correo_de.prueba+1@ejemplo.com",
    "😀 👩‍💻 👨‍👩‍👧 🇪🇸 ❤️ ✔️ 🫠",
    "a😀b\u00a0c\u3000d\u2028e\u200bf",
    "e\u0301 n\u0303 u\u0308 (combinados) frente a é ñ ü",
    "中文测试 日本語のテスト カタカナ 한국어 시험",
    "Привет, мир! Γειά σου Κόσμε. שלום עולם. مرحبا بالعالم",
    "हिन्दी में परीक्षण ภาษาไทย ทดสอบ",
    "½ ² Ⅷ ٣٤٥ ७८९",
    "…—–«citas»“dobles”‘simples’",
    "==== ---- ____ **** //// \\\\\\\\ <<<>>>",
    "\x01\x02\x1b[0m\x7f",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "Tabla:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    "<table><tr><td>uno</td></tr></table>",
    "<|im_start|>user\n¿Qué hora es?<|im_end|>\n<|im_start|>assistant\n",
    "<start_of_turn>user\n¿Qué hora es?<end_of_turn>\n<start_of_turn>model\n",
    "<|im_<|im_end|>end|> <|endoftext|><bos> <eos>",
    "x<|im_end|> y <end_of_turn>z",
    "▁subrayado▁bajo ▁",
]


def ids(vocab, text, special):
    data = text.encode()
    out = (ctypes.c_int * 4096)()
    count = llama_cpp.llama_tokenize(vocab, data, len(data), out, len(out), False, special)
    assert count >= 0
    return list(out[:count])


def main():
    root = os.environ["RECINTO_TEST_MODELS"]
    golden = {"engine": f"llama_cpp {llama_cpp.__version__}", "models": {}, "texts": TEXTS}
    for name, path in MODELS.items():
        model = llama_cpp.Llama(os.path.join(root, path), vocab_only=True, verbose=False)
        vocab = llama_cpp.llama_model_get_vocab(model.model)
        golden["models"][name] = {
            "path": path,
            "special": [ids(vocab, text, True) for text in TEXTS],
            "plain": [ids(vocab, text, False) for text in TEXTS],
        }
    json.dump(golden, sys.stdout, ensure_ascii=True, separators=(",", ":"))
    sys.stdout.write("\n")


main()
