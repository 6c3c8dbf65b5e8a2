#!/usr/bin/env python3
"""Peer of `recinto bench --against`: another build or another setting of Recinto itself.

    export RECINTO_PEER_BIN=/path/to/recinto RECINTO_PEER_FLAGS='--pin memory'
    recinto bench -m MODEL --against 'python3 bench/peers/recinto.py'

| variable | holds |
|---|---|
| RECINTO_PEER_BIN | path of the program; needed |
| RECINTO_PEER_FLAGS | model flags of this setting |
| RECINTO_PEER_NAME | the name that is shown |

How the other variables are set: bench/README.md.
"""
import json
import os
import shlex
import subprocess
import sys


def var(name, default):
    return os.environ.get(f"RECINTO_BENCH_{name}", default)


def main():
    program = os.environ["RECINTO_PEER_BIN"]
    # As --no-config, which an older build does not know.
    os.environ["RECINTO_CONFIG"] = "none"
    flags = ["--no-env-file", "-m", var("MODEL", ""), "--threads", var("THREADS", "1"),
             *shlex.split(os.environ.get("RECINTO_PEER_FLAGS", ""))]
    name = os.environ.get("RECINTO_PEER_NAME", "recinto " + " ".join(flags[5:]))
    if var("WHAT", "speed") == "start":
        command = [program, "ask", *flags, "-q", "--completion", "--max-tokens", "1",
                   var("TEXT", "")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        print(json.dumps({"name": name}))
        return
    command = [program, "bench", *flags, "-q", "--json", "--no-start", "--repeat", "1",
               "--prompt", var("PROMPT", "512"), "--generate", var("GENERATE", "64"),
               "--context", var("CONTEXT", "0"), "--sequences", var("SEQUENCES", "1")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    found = {row["measure"]: row["median"] for row in json.loads(done.stdout)["measures"]}
    shown = ["prefill", "decode", "decode_context", "decode_sequences", "load", "resident_peak"]
    print(json.dumps({"name": name, **{key: found.get(key) for key in shown}}))


if __name__ == "__main__":
    sys.exit(main())
