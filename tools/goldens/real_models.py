"""The real files that goldens are made of when they are there, and where they lie under a folder
of models (the layout that the fetching script of tools/ makes)."""

MODELS = {
    "smollm2": "smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf",
    "gemma3": "gemma3-270m/gemma-3-270m-q4_k_m.gguf",
    "qwen05": "qwen2.5-coder-0.5b-instruct/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    "qwen15": "qwen2.5-coder-1.5b-instruct/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
}
