#!/usr/bin/env python3
"""The whole matrix for a record: models × threads × prompts, each by `recinto bench`.

    bench/compare.py RECINTO OUT MODEL.gguf [MODEL.gguf ...] [--threads 1,2] [--rounds 5]
                     [--prompts 512,2048] [--generate 128] [--context 4096] [--sequences 8]
                     [--against CMD ...]

Writes OUT.csv (all that was measured, see `recinto bench --csv`) and OUT.md (tables of medians
and ratios, and what they were made with). Context, sequences and starts are measured with the
first prompt only. A context that a model does not know is left out. `bench/README.md` says how a
peer's command line is written. Nothing else should run meanwhile.
"""
import argparse
import csv
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile

SHOWN = ["prefill", "decode", "decode_context", "decode_sequences", "first_token", "load",
         "start_peak", "resident_peak"]


def context_of(args, model):
    """The positions a model knows; `None` where its file does not say."""
    command = [args.recinto, "inspect", "--no-env-file", "--json", model]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    known = [row for key, row in found["metadata"].items() if key.endswith(".context_length")]
    return int(known[0]) if known and str(known[0]).isdigit() else None


def measured(args, model, threads, prompt, first, known):
    """The envelope and the CSV rows of one run."""
    context = args.context if first and (known is None or
                                         args.context + args.generate <= known) else 0
    command = [args.recinto, "bench", "--no-env-file", "--json", "-m", model, "--threads",
               str(threads), "--prompt", str(prompt), "--generate", str(args.generate),
               "--repeat", str(args.rounds), "--context", str(context),
               "--sequences", str(args.sequences if first else 1)]
    for peer in args.against:
        command += ["--against", peer]
    if not first:
        command.append("--no-start")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.csv")
        done = subprocess.run([*command, "--csv", path], stdout=subprocess.PIPE)
        if done.returncode:
            raise SystemExit(f"recinto bench ended with {done.returncode}")
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    return json.loads(done.stdout), rows


def tables(rows):
    """Markdown: one table a model, number of threads and prompt."""
    groups = {}
    for row in rows:
        key = row["model"], row["threads"], row["prompt"]
        groups.setdefault(key, []).append(row)
    out = []
    for (model, threads, prompt), group in groups.items():
        engines = list(dict.fromkeys(row["engine"] for row in group))
        out += ["", f"## {model}, threads: {threads}, prompt: {prompt}", "",
                "| measure | " + " | ".join(engines) + " | share of a limit |",
                "|---" * (len(engines) + 2) + "|"]
        at = {(row["engine"], row["measure"]): row for row in group}
        for measure in SHOWN:
            if (engines[0], measure) not in at:
                continue
            cells = []
            for engine in engines:
                row = at.get((engine, measure))
                if row is None:
                    cells.append("–")
                    continue
                size = 1 / 2**20 if row["unit"] == "bytes" else 1
                low, mid, high = (float(row[k]) * size for k in ("min", "median", "max"))
                text = f"{mid:.4g} ({low:.4g} – {high:.4g})"
                if row["ratio"]:
                    low, mid, high = (float(row[k]) for k in ("ratio_min", "ratio", "ratio_max"))
                    text += f", × {mid:.2f} ({low:.2f} – {high:.2f})"
                cells.append(text)
            row = at[engines[0], measure]
            unit = "MiB" if row["unit"] == "bytes" else row["unit"]
            what = {"int8_rate": "int8 rate", "read_rate": "read bandwidth"}.get(row["limit"])
            share = f"{float(row['share']) * 100:.0f} % of the {what}" if what else ""
            cells.append(share)
            out.append(f"| {measure.replace('_', ' ')}, {unit} | " + " | ".join(cells) + " |")
    return out


def main():
    # As --no-config, which an older build does not know.
    os.environ["RECINTO_CONFIG"] = "none"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recinto")
    parser.add_argument("out")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompts", default="512,2048")
    parser.add_argument("--generate", type=int, default=128)
    parser.add_argument("--context", type=int, default=4096)
    parser.add_argument("--sequences", type=int, default=8)
    parser.add_argument("--against", action="append", default=[])
    args = parser.parse_args()
    rows, digests = [], {}
    for model in args.models:
        known = context_of(args, model)
        for threads in map(int, args.threads.split(",")):
            for index, prompt in enumerate(map(int, args.prompts.split(","))):
                reply, more = measured(args, model, threads, prompt, index == 0, known)
                rows += more
                digests[os.path.basename(model)] = reply["digests"]["weights"]
                engine = reply["engine"]
                print(f"{os.path.basename(model)}: {threads} threads, prompt {prompt}",
                      file=sys.stderr, flush=True)
    with open(f"{args.out}.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
    peers = [f"- Peer: `{peer}`." for peer in args.against]
    head = [f"# {datetime.date.today()}, {platform.machine()}", "",
            f"- Recinto {engine['version']}, level `{engine['level']}`, numerics "
            f"{engine['numerics']}; {args.rounds} rounds in alternation, {args.generate} tokens "
            "generated. Cells: median (least – most), and × ours / theirs.", *peers,
            *(f"- {name}: `{digest}`." for name, digest in digests.items())]
    with open(f"{args.out}.md", "w", encoding="utf-8") as file:
        file.write("\n".join(head + tables(rows)) + "\n")


if __name__ == "__main__":
    main()
