"""The independent engine (llama-cpp-python): logits, greedy continuation and tokens of a file."""

import ctypes
import hashlib

import llama_cpp
import numpy as np

F32, F16, BF16 = 0, 1, 30

_quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
llama_cpp.llama_log_set(_quiet, ctypes.c_void_p(0))


def version():
    """What stands in every golden as the engine that made it."""
    return f"llama-cpp-python {llama_cpp.__version__}"


def sha256(path):
    """Lower-case hexadecimal SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Reference:
    """An opened file. No flash attention, whole prompt in one batch, full-size windowed caches."""

    def __init__(self, path, context, kv=F32, threads=1, all_rows=True):
        self.llama = llama_cpp.Llama(
            str(path), n_ctx=context, n_batch=context, n_ubatch=context, n_threads=threads,
            n_threads_batch=threads, n_gpu_layers=0, type_k=kv, type_v=kv, flash_attn=False,
            swa_full=True, logits_all=all_rows, verbose=False)
        self.all_rows = all_rows

    def tokenize(self, text, special=False):
        """Ids of the text, with BOS where the file asks for it."""
        return self.llama.tokenize(text.encode(), add_bos=True, special=special)

    def logits(self, ids):
        """Logits of every position `[len(ids)][vocabulary]`, or of the last one `[1][…]`."""
        self.llama.reset()
        self.llama.eval(ids)
        if self.all_rows:
            return self.llama.scores[:len(ids)].copy()
        return self.last()[None]

    def last(self):
        """Logits of the last position fed."""
        row = llama_cpp.llama_get_logits_ith(self.llama.ctx, -1)
        return np.ctypeslib.as_array(row, (self.llama.n_vocab(),)).copy()

    def greedy(self, count):
        """Continues after `logits`: ids of the largest logit and the margin to the second."""
        ids, margins = [], []
        row = self.last()
        while True:
            second, first = np.argsort(row, kind="stable")[-2:]
            ids.append(int(first))
            margins.append(round(float(row[first] - row[second]), 6))
            if len(ids) == count:
                return ids, margins
            self.llama.eval([ids[-1]])
            row = self.last()

    def close(self):
        self.llama.close()
