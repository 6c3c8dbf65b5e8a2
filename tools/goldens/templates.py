"""Goldens of chat templates: what Jinja2 gives when set up as the transformers library does.

usage: templates.py [MODELS]            writes templates.json and expressions.json
       templates.py MODELS TEMPLATE CONVERSATION    prints one rendering

The goldens are in crates/chat/tests/golden. MODELS is the folder of RECINTO_TEST_MODELS.
Without it only the templates of the repository are rendered. Needs jinja2; for the templates
inside model files also gguf.
"""

import datetime
import functools
import json
import pathlib
import re
import sys

# Other scripts of this folder have names of packages.
HERE = pathlib.Path(__file__).resolve().parent
sys.path = [place for place in sys.path if pathlib.Path(place or ".").resolve() != HERE]

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

CHAT = HERE.parents[1] / "crates/chat"
DATE = datetime.datetime(2026, 2, 3, 14, 5, 6)
# What `messages` is in the expressions.
EXPRESSIONS = [{"role": "user", "content": "añb"}, {"role": "assistant", "content": ""}]
REASONING = ("reasoning_content", "thinking", "reasoning")


class Generation(jinja2.ext.Extension):
    """`{% generation %}` renders its body in a scope of its own."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_body", [])
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


class Raised(jinja2.exceptions.TemplateError):
    """The template's own refusal."""


def raise_exception(message):
    raise Raised(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(
        x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = DATE.strftime
    return env


def reasoning_key(env, source):
    """The name the template uses for thoughts, as the engine chooses it."""
    words = set()
    for _, kind, value in env.lex(source):
        if kind == "name":
            words.add(value)
        elif kind == "string":
            words.add(value[1:-1])
    return next((key for key in REASONING if key in words), REASONING[0])


def message(given, key):
    out = {"role": given["role"], "content": given["content"]}
    if "reasoning" in given:
        out[key] = given["reasoning"]
    if "tool_calls" in given:
        out["tool_calls"] = [
            ({"id": call["id"]} if "id" in call else {})
            | {
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in given["tool_calls"]
        ]
    for field in ("name", "tool_call_id"):
        if field in given:
            out[field] = given[field]
    return out


@functools.cache
def compiled(source):
    env = environment()
    return env.from_string(source), reasoning_key(env, source)


def render(source, conversation):
    try:
        template, key = compiled(source)
        text = template.render(
            messages=[message(m, key) for m in conversation["messages"]],
            tools=conversation.get("tools"),
            add_generation_prompt=conversation.get("add_generation_prompt", False),
            bos_token="<s>",
            eos_token="</s>",
            **({"documents": None} | conversation.get("variables", {})),
        )
    except Raised as error:
        return {"raised": str(error)}
    except Exception as error:  # noqa: BLE001 - every failure is a golden
        return {"error": type(error).__name__}
    # Addresses of Python objects cannot be goldens.
    if re.search(r"at 0x[0-9a-f]+>|<generator|dict_items\(", text):
        return {"error": "object address"}
    return {"text": text}


def digest(data):
    """FNV-1a of 64 bits: these goldens guard against mistakes, not against malice."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def sources(models):
    for path in sorted((CHAT / "tests/templates").glob("*.jinja")):
        yield f"own/{path.name}", path.read_bytes().decode()
    if models is None:
        return
    for path in sorted((models / "vocabs/chat-templates").glob("*.jinja")):
        yield f"vocabs/chat-templates/{path.name}", path.read_bytes().decode()
    for path in sorted(models.glob("*/*.gguf")):
        if "vocabs" in path.parts:
            continue
        import gguf

        field = gguf.GGUFReader(path).get_field("tokenizer.chat_template")
        if field is not None:
            yield str(path.relative_to(models)), field.contents()


def main():
    models = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
    conversations = json.loads((CHAT / "tests/golden/conversations.json").read_text())
    if len(sys.argv) == 4:
        source = dict(sources(models))[sys.argv[2]]
        chosen = next(c for c in conversations if c["name"] == sys.argv[3])
        print(json.dumps(render(source, chosen), ensure_ascii=False, indent=1))
        return
    out = {}
    for name, source in sources(models):
        out[name] = {c["name"]: render(source, c) for c in conversations}
    target = CHAT / "tests/golden/templates.json"
    lines = []
    for name, results in out.items():
        whole = name.startswith("own/")
        rows = []
        for conversation, result in results.items():
            if "text" in result and not whole:
                data = result["text"].encode()
                result = {"fnv1a": digest(data), "bytes": len(data)}
            rows.append(f"  {json.dumps(conversation)}: {json.dumps(result, ensure_ascii=False)}")
        lines.append(f" {json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n }")
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    golden = CHAT / "tests/golden"
    rows = []
    for expression in (golden / "expressions.txt").read_text().splitlines():
        result = render("{{ " + expression + " }}", {"messages": EXPRESSIONS})
        rows.append(f" {json.dumps(expression)}: {json.dumps(result, ensure_ascii=False)}")
    (golden / "expressions.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
