#!/usr/bin/env python3
"""The vendors' own Python clients read the recordings, and take the requests.

    python3 -m venv venv && venv/bin/pip install openai anthropic
    venv/bin/python tools/check-wires.py

A server on loopback gives each recording of crates/remote/tests/recordings to the client of its
vendor; what the client reads must be what expected.json says, which is what the tests of the room
`remote` read too. Recordings of errors must become the client's error of that status, those in
OTHERS what stands there. The requests in recordings/requests must be valid by the clients' own
types. A recording that nothing here reads is a fault, too. Takes seconds; not part of CI, since it
fetches the two packages.
"""

import http.server
import json
import pathlib
import sys
import threading
import typing

import anthropic
import openai
import pydantic

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "crates/remote/tests/recordings"
STATUS = {400: "BadRequestError", 401: "AuthenticationError", 404: "NotFoundError",
          429: "RateLimitError", 500: "InternalServerError"}
FINISH = {"stop": "end", "length": "length", "tool_calls": "calls", "end_turn": "end",
          "max_tokens": "length", "stop_sequence": "stop", "tool_use": "calls"}


def recording(name):
    text = (FOLDER / f"{name}.http").read_text(encoding="utf-8")
    head, _, body = text.partition("\n\n")
    return (head.rstrip().replace("\n", "\r\n") + "\r\n\r\n" + body).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.wfile.write(recording(self.headers["x-recording"]))
        self.close_connection = True

    def log_message(self, *_):
        pass


def told(want, **found):
    """What a client read, in the form of expected.json."""
    found = {key: value for key, value in found.items() if value not in (None, [], "")}
    keep = {key: value for key, value in want.items() if key not in ("recording", "wire", "form")}
    if not keep["text"]:
        found["text"] = ""
    return found, keep


def read_chat(client, want, stream):
    ask = client.chat.completions
    args = dict(model="m", messages=[{"role": "user", "content": "x"}],
                extra_headers={"x-recording": want["recording"]})
    if not stream:
        got = ask.create(**args)
        choice, usage = got.choices[0], got.usage
    else:
        with ask.stream(**args, stream_options={"include_usage": True}) as events:
            for _ in events:
                pass
            got = events.get_final_completion() if want["finish"] != "length" else \
                events.current_completion_snapshot
        choice, usage = got.choices[0], got.usage
    calls = [{"id": c.id, "name": c.function.name, "arguments": json.loads(c.function.arguments)}
             for c in choice.message.tool_calls or []]
    tokens = choice.logprobs.content if choice.logprobs else []
    return dict(text=choice.message.content, finish=FINISH[choice.finish_reason], calls=calls,
                prompt_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens,
                cached_tokens=usage.prompt_tokens_details.cached_tokens,
                logprobs=[[t.token, t.logprob] for t in tokens or []])


def read_responses(client, want, stream):
    args = dict(model="m", input="x", extra_headers={"x-recording": want["recording"]})
    said = tokens = None
    if not stream:
        got = client.responses.create(**args)
    else:
        said, tokens = "", []
        for event in client.responses.create(**args, stream=True):
            if event.type == "response.output_text.delta":
                said += event.delta
                tokens += event.logprobs or []
            if event.type in ("response.completed", "response.incomplete"):
                got = event.response
    assert said is None or said == got.output_text, "pieces and whole"
    calls = [{"id": i.call_id, "name": i.name, "arguments": json.loads(i.arguments)}
             for i in got.output if i.type == "function_call"]
    thought = "".join(s.text for i in got.output if i.type == "reasoning" for s in i.summary)
    finish = "length" if got.status == "incomplete" else "calls" if calls else "end"
    return dict(text=got.output_text, finish=finish, calls=calls, reasoning=thought,
                prompt_tokens=got.usage.input_tokens, output_tokens=got.usage.output_tokens,
                cached_tokens=got.usage.input_tokens_details.cached_tokens,
                logprobs=[[t.token, t.logprob] for t in tokens or []])


def read_messages(client, want, stream):
    args = dict(model="m", max_tokens=100, messages=[{"role": "user", "content": "x"}],
                extra_headers={"x-recording": want["recording"]})
    if not stream:
        got = client.messages.create(**args)
    else:
        with client.messages.stream(**args) as events:
            got = events.get_final_message()
    form = want.get("form")
    calls = [{"id": b.id, "name": b.name, "arguments": b.input}
             for b in got.content if b.type == "tool_use"]
    text = "".join(b.text for b in got.content if b.type == "text")
    if form:
        value, calls = calls[0]["arguments"], []
        assert value == json.loads(want["text"]), "the form"
        text = want["text"]
    thought = "".join(b.thinking for b in got.content if b.type == "thinking")
    usage = got.usage
    read = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
    at = ["fin", "señal"].index(got.stop_sequence) if got.stop_sequence else None
    return dict(text=text, finish="end" if form else FINISH[got.stop_reason], calls=calls,
                reasoning=thought, prompt_tokens=read, output_tokens=usage.output_tokens,
                cached_tokens=usage.cache_read_input_tokens, stop_index=at)


def refusal_chat(client, name):
    args = dict(model="m", messages=[{"role": "user", "content": "x"}],
                extra_headers={"x-recording": name})
    with client.chat.completions.stream(**args) as events:
        for _ in events:
            pass
        said = events.get_final_completion().choices[0].message
    return said.refusal if not said.content else f"and says {said.content!r}"


def refusal_responses(client, name):
    got = client.responses.create(model="m", input="x", extra_headers={"x-recording": name})
    parts = [part for item in got.output for part in item.content]
    return "".join(p.refusal if p.type == "refusal" else f"and {p.type}" for p in parts)


def stop_messages(client, name):
    """Why the answer ended, and what of it was said."""
    args = dict(model="m", max_tokens=100, messages=[{"role": "user", "content": "x"}],
                extra_headers={"x-recording": name})
    with client.messages.stream(**args) as events:
        got = events.get_final_message()
    return got.stop_reason, "".join(b.text for b in got.content if b.type == "text")


def cut_messages(client, name):
    """A call of a tool that was cut: whether the client makes an argument of the half."""
    pieces, args = "", dict(model="m", max_tokens=100, messages=[{"role": "user", "content": "x"}],
                            extra_headers={"x-recording": name})
    for event in client.messages.create(**args, stream=True):
        if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            pieces += event.delta.partial_json
        if event.type == "message_delta":
            reason = event.delta.stop_reason
    return reason, pieces


def raised(ask):
    """The error that a client raises, and the type that the service gave it, if any."""
    def read(client, name):
        try:
            return f"nothing: {ask(client, name)!r}"
        except (openai.OpenAIError, anthropic.AnthropicError) as error:
            body = getattr(error, "body", None)
            told = body.get("error", {}).get("type") if isinstance(body, dict) else None
            return type(error).__name__, told
    return read


def plain_chat(client, name):
    # A redirect is followed by the client unless it is told not to; this house follows none.
    client = client.with_options(http_client=openai.DefaultHttpxClient(follow_redirects=False))
    return client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}],
                                          extra_headers={"x-recording": name})


# Answers without a value: vendor, how they are read, and what the client must say of them.
OTHERS = {
    "chat-refusal-stream": ("openai", refusal_chat, "I'm sorry, I can't help with that."),
    "responses-refusal-whole": ("openai", refusal_responses, "I can't help with that."),
    "messages-refusal-stream": ("anthropic", stop_messages, ("refusal", "Lo ")),
    "messages-cut-stream": ("anthropic", cut_messages, ("max_tokens", '{"año":20')),
    "anthropic-overloaded-stream": ("anthropic", raised(stop_messages),
                                    ("APIStatusError", "overloaded_error")),
    "redirect": ("openai", raised(plain_chat), ("APIStatusError", None)),
}


def request_types():
    from anthropic.types import message_create_params as m
    from openai.types.chat import completion_create_params as c
    from openai.types.responses import response_create_params as r
    return {"chat": (c.CompletionCreateParamsStreaming, c.CompletionCreateParamsNonStreaming),
            "responses": (r.ResponseCreateParamsStreaming, r.ResponseCreateParamsNonStreaming),
            "messages": (m.MessageCreateParamsStreaming, m.MessageCreateParamsNonStreaming)}


# Older models take them, and the newest types do not have them: sent only where a user says so.
OLDER = {"temperature", "top_p", "top_k"}


def unknown(kind, value):
    """Names in a request that the vendor's type does not have."""
    return sorted(set(value) - set(typing.get_type_hints(kind)) - OLDER)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    o = openai.OpenAI(api_key="x", base_url=base + "/v1", max_retries=0)
    a = anthropic.Anthropic(api_key="x", base_url=base, max_retries=0)
    wires = {"chat": (read_chat, o), "responses": (read_responses, o),
             "messages": (read_messages, a)}
    wrong, checked = 0, set()
    expected = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
    for want in expected:
        name = want["recording"]
        checked.add(name)
        stream = name.endswith("stream") or name == "chat-length"
        read, client = wires[want["wire"]]
        try:
            found, keep = told(want, **read(client, want, stream))
        except Exception as error:  # any fault of a client is a finding
            found, keep = f"{type(error).__name__}: {error}", want
        if found != keep:
            wrong += 1
            print(f"{name}: the client reads\n  {found}\n  expected\n  {keep}")
    errors = 0
    for path in sorted(FOLDER.glob("*-[45]*.http")):
        status = int(path.read_text(encoding="utf-8").split()[1])
        module, client = (openai, o) if path.name.startswith("openai") else (anthropic, a)
        want = getattr(module, STATUS.get(status, "InternalServerError"))
        args = dict(model="m", messages=[{"role": "user", "content": "x"}], max_tokens=9,
                    extra_headers={"x-recording": path.stem})
        try:
            (o.chat.completions if client is o else a.messages).create(**args)
            found = None
        except Exception as error:
            found = error
        errors += 1
        checked.add(path.stem)
        if not isinstance(found, want) or not isinstance(found.body, dict):
            wrong += 1
            print(f"{path.stem}: the client raises {found!r}, expected {want.__name__}")
    for name, (vendor, read, want) in OTHERS.items():
        checked.add(name)
        try:
            found = read({"openai": o, "anthropic": a}[vendor], name)
        except Exception as error:  # any fault of a client is a finding
            found = f"{type(error).__name__}: {error}"
        if found != want:
            wrong += 1
            print(f"{name}: the client says {found!r}, expected {want!r}")
    for name in sorted({path.stem for path in FOLDER.glob("*.http")} - checked):
        wrong += 1
        print(f"{name}: nothing here reads it; give it a row of expected.json or of OTHERS")
    requests = 0
    for path in sorted((FOLDER / "requests").glob("*.json")):
        body = json.loads(path.read_text(encoding="utf-8"))
        kind = request_types()[path.stem.split("-")[0]][0 if body.get("stream") else 1]
        names = unknown(kind, body)
        requests += 1
        try:
            pydantic.TypeAdapter(kind).validate_python(body)
        except pydantic.ValidationError as error:
            wrong += 1
            print(f"{path.stem}: {error}")
        if names:
            wrong += 1
            print(f"{path.stem}: the vendor's type has no {', '.join(names)}")
    print(f"openai {openai.__version__}, anthropic {anthropic.__version__}: "
          f"{len(expected)} answers, {errors} errors, {len(OTHERS)} others, {requests} requests; "
          f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
