"""The data sets of the judge's record: which rows, what is asked, and what is right.

BBC (2,225 articles in five classes), SpamAssassin (6,046 mails), VADER (tweets with the mean of
twenty raters), BANKING77 (CC BY 4.0). None of the texts is part of this repository. Rows are drawn
with a seed; a text is given by its first words, which is part of the task, not a cut by the tool.
"""

import csv
import email
import json
import random
import re

SEED = 2026
BANK_INTENTS = 20
# The first rows of a set that its wording was chosen with; they are not measured.
TRIED = {"spam": 100}


def begins(text, words):
    """The first words of a text, blanks as they are."""
    end = 0
    for count, found in enumerate(re.finditer(r"\S+", text), 1):
        end = found.end()
        if count == words:
            break
    return text[:end]


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def bbc(models, _):
    rows = lines(models / "datasets/bbc-news/bbc-news.jsonl")
    return [(row["id"], begins(row["text"], 100), row["label"]) for row in rows]


def mail(text):
    """Subject and plain text of a mail; headers of transport tell too much and mean nothing."""
    message = email.message_from_string(text)
    bodies = [part for part in message.walk() if part.get_content_maintype() == "text"]
    plain = [part for part in bodies if part.get_content_subtype() == "plain"] or bodies
    body = str(plain[0].get_payload()) if plain else ""
    body = re.sub(r"<[^>]*>", " ", body)
    body = re.sub(r"\s+", " ", body).strip()
    subject = re.sub(r"\s+", " ", str(message.get("subject", ""))).strip()
    return f"Subject: {subject}\n\n{body}"


def spam(models, _):
    rows = lines(models / "datasets/spamassassin/spamassassin.jsonl")
    kinds = {"spam": "advertisement", "ham": "discussion"}
    told = ((row["id"], begins(mail(row["text"]), 100), kinds[row["label"]]) for row in rows)
    return [(name, text.replace("\ufffd", " "), label) for name, text, label in told]


def vader(models, _):
    path = models / "datasets/vader-ratings/tweets_GroundTruth.txt"
    with open(path, encoding="utf-8", errors="replace") as file:
        rows = [line.rstrip("\n").split("\t", 2) for line in file]
    # Twenty raters from -4 to 4: near zero they do not agree on the side themselves.
    clear = [(name, text, float(score)) for name, score, text in rows if abs(float(score)) >= 1]
    return [(name, text, score > 0) for name, text, score in clear]


def bank(_, train):
    with open(train, newline="", encoding="utf-8") as file:
        rows = [(row["text"], row["category"]) for row in csv.DictReader(file)]
    intents = sorted({intent for _, intent in rows})[:BANK_INTENTS]
    return [(str(at), *row) for at, row in enumerate(rows) if row[1] in intents]


def choice(instructions, criteria):
    return {"type": "choice", "instructions": instructions, "criteria": criteria}


def words(intent):
    return intent.replace("_", " ")


SETS = {
    "bbc": (
        bbc,
        lambda rows: choice(
            "Which section of the newspaper is this article from?",
            {
                "business": "companies, markets, the economy",
                "entertainment": "film, music, television, arts",
                "politics": "government, parliament, elections",
                "sports": "matches, players, competitions",
                "tech": "computers, phones, games, the internet",
            },
        ),
    ),
    "spam": (
        spam,
        lambda rows: choice(
            "What kind of e-mail is this?",
            {
                "advertisement": "it sells something, offers money or is a scam",
                "discussion": "people writing to each other, a mailing list, "
                "or a news item about technology",
            },
        ),
    ),
    "vader": (
        vader,
        lambda rows: {
            "type": "noul",
            "instructions": "The writer of this message feels good about it.",
            "criteria": {"true": "a positive feeling", "false": "a negative feeling"},
        },
    ),
    "bank": (
        bank,
        lambda rows: choice(
            "What is this customer's question to the bank about?",
            {intent: words(intent) for intent in sorted({label for *_, label in rows})},
        ),
    ),
}


def chosen(name, models, train, count):
    """Rows (id, text, label) and the question of a set."""
    read, question = SETS[name]
    rows = read(models, train)
    asked = question(rows)
    random.Random(f"{SEED}/{name}").shuffle(rows)
    first = TRIED.get(name, 0)
    return rows[first : first + count], asked
