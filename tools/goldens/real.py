#!/usr/bin/env python3
"""Goldens of the real files: what the independent engine says after six prompts.

Needs the Python packages `llama-cpp-python` and `numpy`. Run from the root of the repository:

    python3 tools/goldens/real.py MODELS [NAME ...]

Writes tests/golden/real/NAME.json: for each prompt its ids, the 64 largest logits of the last
position, mean, standard deviation and log-sum-exp of its whole row, and 24 ids of greedy
continuation with the margin of each. Keys and values are kept in f16, the engine's default.
"""

import json
import pathlib
import sys

import numpy as np

import reference
from real_models import MODELS

OUT = pathlib.Path("tests/golden/real")
TOP, GREEDY, CONTEXT = 64, 24, 512

PROMPTS = {
    "short-es": "La capital de Francia es París, la de Italia es Roma y la de España es",
    "short-en": "The three primary colours are red, yellow and blue. If you mix yellow and blue, "
                "the colour you get is",
    "message-es": "Buenos días: hice un pedido el martes y todavía no ha llegado. El número es el "
                  "48213 y pagué con tarjeta. ¿Podrían decirme dónde está el paquete y cuándo lo "
                  "recibiré? Si no llega antes del viernes, prefiero que me devuelvan el dinero. "
                  "Gracias de antemano, Begoña Núñez.\n\nEn resumen, la clienta quiere saber",
    "code-en": "# Returns the largest number in a list, or None when the list is empty.\n"
               "def largest(numbers):\n    if not numbers:\n        return None\n"
               "    best = numbers[0]\n    for number in numbers[1:]:\n        if",
    "story-es": "Había una vez, en un pueblo junto al mar, un farero que no sabía nadar. Cada "
                "noche subía los ciento veinte escalones, limpiaba los cristales y encendía la "
                "lámpara. Los pescadores le llevaban pan, sardinas y noticias; él, a cambio, les "
                "decía si el viento iba a cambiar. Una tarde de noviembre, cuando ya oscurecía, "
                "vio a lo lejos una barca pequeña que daba vueltas sobre sí misma. Pensó en "
                "llamar al puerto, pero el teléfono llevaba tres días sin funcionar. Entonces "
                "recordó que en el almacén quedaban dos bengalas rojas, una cuerda muy larga y "
                "un viejo chaleco. Bajó corriendo, abrió la puerta y",
    "report-en": "Summary of the maintenance visit. The pump on the second floor was making a "
                 "loud noise because two screws of its base were missing; they were replaced and "
                 "the noise stopped. The filter of the air conditioning had not been changed "
                 "since last year and was almost blocked, so a new one was installed and the old "
                 "one was photographed for the file. The emergency light next to the stairs does "
                 "not work: the battery is old, and the part has been ordered but will take about "
                 "ten days to arrive. Nothing else was found. The next visit is planned for the "
                 "third week of March, in the morning, and somebody with the keys of the roof "
                 "should be present. To sum up, the only problem that is still open is",
}


def record(engine, text):
    """One prompt's golden."""
    ids = engine.tokenize(text)
    row = engine.logits(ids)[-1].astype(np.float64)
    order = np.argsort(-row, kind="stable")[:TOP]
    greedy, margins = engine.greedy(GREEDY)
    return {
        "text": text,
        "ids": ids,
        "top_ids": [int(i) for i in order],
        "top": [round(float(row[i]), 5) for i in order],
        "mean": round(float(row.mean()), 6),
        "std": round(float(row.std()), 6),
        "logsumexp": round(float(np.log(np.exp(row - row.max()).sum()) + row.max()), 6),
        "greedy": greedy,
        "margins": margins,
    }


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    OUT.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or MODELS:
        path = folder / MODELS[name]
        if not path.exists():
            print(f"skipped: {name}: {path} is not there")
            continue
        engine = reference.Reference(path, CONTEXT, kv=reference.F16, threads=2, all_rows=False)
        prompts = {key: record(engine, text) for key, text in PROMPTS.items()}
        for key, p in prompts.items():
            said = engine.llama.detokenize(p["greedy"]).decode(errors="replace")
            print(f"{name} {key}: {len(p['ids'])} ids, std {p['std']:.2f}, "
                  f"margin {p['margins'][0]:.2f}: {said!r}", flush=True)
        engine.close()
        head = {
            "name": name, "file": MODELS[name], "sha256": reference.sha256(path),
            "engine": reference.version(),
            "settings": {"kv": "f16", "threads": 2, "flash_attention": False, "one_batch": True},
        }
        lines = [f' "{k}": {json.dumps(v, ensure_ascii=False)}' for k, v in head.items()]
        inner = ",\n".join(f'  "{k}": {json.dumps(v, ensure_ascii=False)}'
                           for k, v in prompts.items())
        lines.append(f' "prompts": {{\n{inner}\n }}')
        (OUT / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
