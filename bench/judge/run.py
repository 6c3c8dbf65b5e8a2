#!/usr/bin/env python3
"""How right a judge is, how well it knows it, and what a gate lets pass.

    cargo build --release -p recinto-cli && cargo build --release -p recinto-judge --example splits
    bench/judge/run.py judge  --set bbc --models FOLDER --model M.gguf --out FOLDER [--rows 600]
    bench/judge/run.py splits --out FOLDER
    bench/judge/run.py report --out FOLDER

`judge` reads each row once with `recinto judge run` and keeps the distribution, not the text, in
OUT/<set>.jsonl; what is done already is not done again. `splits` calibrates and fits gates on 200
random halves of each set and counts on the other halves (crates/judge/examples/splits.rs). The
sets, their rows and their questions: questions.py.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import questions


def judge(args):
    rows, asked = questions.chosen(args.set, args.models, args.train, args.rows)
    args.out.mkdir(parents=True, exist_ok=True)
    folder = args.work or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "q.json").write_text(json.dumps({"q": asked}), encoding="utf-8")
    with open(folder / "in.jsonl", "w", encoding="utf-8") as file:
        for name, text, _ in rows:
            file.write(json.dumps({"id": name, "state": text}) + "\n")
    command = [args.recinto, "judge", "run", "-Q", folder / "q.json", "--in", folder / "in.jsonl"]
    command += ["--out", folder / "judged", "-m", args.model, "--orders", args.orders]
    command += ["--no-config", "--no-env-file"]
    ran = subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL)
    labels = {name: label for name, _, label in rows}
    keys = list(asked["criteria"]) if asked["type"] == "choice" else [False, True]
    told = []
    for part in ["decided", "person", "unavailable"]:
        path = folder / "judged" / f"{part}.jsonl"
        told += [json.loads(line) for line in path.open(encoding="utf-8")] if path.exists() else []
    told.sort(key=lambda line: line["line"])
    with open(args.out / f"{args.set}.jsonl", "w", encoding="utf-8") as file:
        for line in told:
            answer = line["answers"]["q"].get("answer")
            if answer is None:
                continue
            row = {
                "id": line["id"],
                "type": asked["type"],
                "p": [share["p"] for share in answer["probabilities"]],
                "label": keys.index(labels[line["id"]]),
                "passes": (answer.get("option_mass") or 1.0) >= 0.5
                and (answer.get("order") or {"flips": 0})["flips"] == 0,
                "mass": answer.get("option_mass"),
            }
            file.write(json.dumps(row) + "\n")
    print(f"{args.set}: {len(told)} of {len(rows)} rows, exit code {ran.returncode}")


def splits(args):
    for path in sorted(args.out.glob("*.jsonl")):
        ran = subprocess.run([args.splits, path], stdout=subprocess.PIPE, check=True)
        path.with_suffix(".json").write_bytes(ran.stdout)


def percent(value):
    return f"{100 * value:.1f} %"


def report(args):
    print("| set | rows | may pass | accuracy | ECE before | after | risk | way | splits certified ", end="| ")
    print("coverage | decided | risk held out | splits above risk | coverage possible |")
    print("|" + "---|" * 14)
    for path in sorted(args.out.glob("*.json")):
        told = json.loads(path.read_text())
        for gate in told["gates"]:
            cells = [
                path.stem,
                told["rows"],
                told["may_pass"],
                percent(told["accuracy"]),
                f"{told['ece_before']:.3f}",
                f"{told['ece_after']:.3f}",
                percent(gate["risk"]),
                gate["way"],
                f"{gate['certified']} of {told['splits']}",
                percent(gate["coverage"]),
                f"{gate['decided']:.0f}",
                percent(gate["risk_held_out"]),
                gate["splits_above_risk"],
                percent(gate["coverage_possible"]),
            ]
            print("| " + " | ".join(str(cell) for cell in cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["judge", "splits", "report"])
    parser.add_argument("--set", choices=sorted(questions.SETS))
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--train", type=pathlib.Path, help="BANKING77's train.csv")
    parser.add_argument("--model")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, help="keeps what was judged, texts included")
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--orders", default="two")
    parser.add_argument("--recinto", default="target/release/recinto")
    parser.add_argument("--splits", default="target/release/examples/splits")
    args = parser.parse_args()
    if args.what == "judge" and not (args.set and args.models and args.model):
        sys.exit("--set, --models and --model say what is read")
    {"judge": judge, "splits": splits, "report": report}[args.what](args)


if __name__ == "__main__":
    main()
