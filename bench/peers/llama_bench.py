#!/usr/bin/env python3
"""Peer of `recinto bench --against`: the benchmark programs of llama.cpp or of a fork.

    export RECINTO_PEER_BENCH=/path/to/llama-bench RECINTO_PEER_FLAGS='-fa 1'
    recinto bench -m MODEL --against 'python3 bench/peers/llama_bench.py'

| variable | holds |
|---|---|
| RECINTO_PEER_BENCH | path of `llama-bench`; needed |
| RECINTO_PEER_FLAGS | its flags for this setting, `-rtr 1 -mmp 0` for example |
| RECINTO_PEER_BATCHED, RECINTO_PEER_BATCHED_FLAGS | the same of `llama-batched-bench`: many sequences |
| RECINTO_PEER_CLI, RECINTO_PEER_CLI_FLAGS | the same of `llama-cli`: first token of a new process |
| RECINTO_PEER_NAME | the name that is shown |

What has no path is not measured. Two peers that differ in these variables are two command lines
that begin with them. How the other variables are set: bench/README.md.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import time


def var(name, default=""):
    return os.environ.get(f"RECINTO_BENCH_{name}", default)


def peer(name, default=""):
    return os.environ.get(f"RECINTO_PEER_{name}", default)


def run(command):
    """Both outputs of a program that must end well."""
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    sys.stderr.write(done.stderr)
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}")
    return done.stdout, done.stderr


def bench(*args):
    """The rows of one run of `llama-bench`."""
    command = [peer("BENCH"), "-m", var("MODEL"), "-t", var("THREADS", "1"), "-r", "1",
               "-o", "json", *shlex.split(peer("FLAGS")), *args]
    out = run(command)[0]
    # Some builds say something before the list.
    return json.loads(out[out.index("["):])


def decode(help_text, start, generate):
    """Tokens a second of `generate` tokens after `start` positions."""
    if "-gp " in help_text:
        rows = bench("-p", "0", "-n", "0", "-gp", f"{start},{generate}")
    else:
        rows = bench("-p", "0", "-n", generate, "-d", start)
    return next(row["avg_ts"] for row in rows if row["n_gen"])


def together(sequences, prompt, generate):
    """Tokens a second of all sequences at once: column `S_TG` of the table."""
    room = int(sequences) * (int(prompt) + int(generate) + 16)
    command = [peer("BATCHED"), "-m", var("MODEL"), "-t", var("THREADS", "1"), "-c", str(room),
               "-npp", prompt, "-ntg", generate, "-npl", sequences,
               *shlex.split(peer("BATCHED_FLAGS"))]
    for line in "\n".join(run(command)).splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) >= 8 and re.fullmatch(r"\d+", cells[0]) and cells[2] == sequences:
            return float(cells[7])
    raise SystemExit("the table of llama-batched-bench was not found")


def first_token():
    """Milliseconds of a whole process that gives one token."""
    command = [peer("CLI"), "-m", var("MODEL"), "-t", var("THREADS", "1"), "-p", var("TEXT"),
               "-n", "1", *shlex.split(peer("CLI_FLAGS"))]
    start = time.perf_counter()
    run(command)
    return (time.perf_counter() - start) * 1e3


def main():
    if not peer("BENCH"):
        raise SystemExit("RECINTO_PEER_BENCH names no llama-bench")
    out = {"name": peer("NAME", os.path.basename(peer("BENCH")))}
    if var("WHAT") == "start":
        out["first_token"] = first_token() if peer("CLI") else None
    else:
        prompt, generate = var("PROMPT", "512"), var("GENERATE", "64")
        context, sequences = var("CONTEXT", "0"), var("SEQUENCES", "1")
        help_text = subprocess.run([peer("BENCH"), "--help"], capture_output=True, text=True).stdout
        rows = bench("-p", prompt, "-n", "0")
        out["prefill"] = next(row["avg_ts"] for row in rows if row["n_prompt"])
        out["decode"] = decode(help_text, prompt, generate)
        if int(context):
            out["decode_context"] = decode(help_text, context, generate)
        if int(sequences) > 1 and peer("BATCHED"):
            out["decode_sequences"] = together(sequences, prompt, generate)
    print(json.dumps(out), flush=True)


main()
