#!/usr/bin/env python3
"""Recinto and an independent engine, in alternation, on the same files.

    bench/compare.py RECINTO OUT.csv MODEL.gguf [MODEL.gguf ...] [--threads 1,2] [--rounds 5]
                     [--prompt 512] [--generate 64] [--peer PYTHON]

One round is one new process of each engine for each model and number of threads, so that what
the machine does meanwhile meets both. Medians of the rounds are written, with least and most.
PEER is a Python that has the package `llama-cpp-python` (built for this CPU); without it only
Recinto is measured. Nothing else should run meanwhile.
"""
import argparse
import csv
import json
import os
import statistics
import subprocess
import sys

PEER = r"""
import json, sys, time
from llama_cpp import Llama
path, threads, prompt, generate = sys.argv[1], *map(int, sys.argv[2:5])
start = time.perf_counter()
model = Llama(path, n_ctx=prompt + generate + 16, n_batch=prompt, n_threads=threads,
              n_threads_batch=threads, flash_attn=True, verbose=False)
load = time.perf_counter() - start
ids = [(i * 7919 + 13) % 30000 for i in range(prompt)]
model.eval(ids[:16])
model.reset()
start = time.perf_counter()
model.eval(ids)
middle = time.perf_counter()
for i in range(generate):
    model.eval([(i * 31 + 5) % 30000])
end = time.perf_counter()
status = open("/proc/self/status").read()
peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
print(json.dumps({"load": load * 1e3, "prefill": prompt / (middle - start),
                  "decode": generate / (end - middle), "resident_peak": peak}))
"""

UNITS = {"load": "ms", "process_first_token": "ms", "prefill": "tokens/s", "decode": "tokens/s",
         "resident_peak": "bytes", "file": "bytes", "kv": "bytes"}


def ours(args, model, threads):
    command = [args.recinto, "bench", "--no-env-file", "--json", "-q", "-m", model, "--threads",
               str(threads), "--prompt", str(args.prompt), "--generate", str(args.generate),
               "--repeat", "1"]
    reply = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    values = {row["measure"]: row["median"] for row in reply["measures"]}
    return {name: values[name] for name in UNITS}, reply["engine"]


def theirs(args, model, threads):
    command = [args.peer, "-c", PEER, model, *map(str, (threads, args.prompt, args.generate))]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(out.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recinto")
    parser.add_argument("out")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--generate", type=int, default=64)
    parser.add_argument("--peer")
    args = parser.parse_args()
    rows = []
    for model in args.models:
        for threads in (int(t) for t in args.threads.split(",")):
            seen = {}
            for _ in range(args.rounds):
                mine, engine = ours(args, model, threads)
                label = f"recinto {engine['version']} ({engine['level']})"
                runs = [(label, mine)]
                if args.peer:
                    runs.append(("llama-cpp-python", theirs(args, model, threads)))
                for name, values in runs:
                    for measure, value in values.items():
                        seen.setdefault((name, measure), []).append(value)
            for (name, measure), values in seen.items():
                rows.append([os.path.basename(model), threads, args.prompt, args.generate, name,
                             measure, UNITS[measure], *(f"{f(values):.6g}" for f in
                             (statistics.median, min, max)), len(values)])
                print(" ".join(map(str, rows[-1])), file=sys.stderr, flush=True)
    with open(args.out, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow("model threads prompt generate engine measure unit median min max rounds"
                     .split())
        out.writerows(rows)


if __name__ == "__main__":
    main()
