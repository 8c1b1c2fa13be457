"""`agents invoke` against a scripted function URL."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from typer.testing import CliRunner

from infra.cli import app
from infra.cli.agui import Agent, Event, read_events, split_lines
from infra.cli.ask import NotAnAnswer, ask, describe, how_to_resume, resume_entries
from infra.cli.session import Session
from infra.cli.show import clean
from infra.cli.signing import signer_for
from tests.support.http_server import QuietHandler, serving

STARTED: Event = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
DONE: Event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success"}}
TALK: list[Event] = [
    STARTED,
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m:reasoning:0", "delta": "thinking"},
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "kb_search"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"query":'},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '"x"}'},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
    {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": "m2", "content": "found"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m3", "delta": "你好 "},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m3", "delta": "there"},
    DONE,
]
SHOWN = 'thinking\n→ kb_search {"query":"x"}\n← kb_search found\n你好 there\n'


def question(kind: str, number: int = 1, **payload: Any) -> Event:
    value = {"type": kind, "message": "Which?", **payload}
    return {"id": f"i{number}", "reason": kind, "message": "Which?", "metadata": {**value, "payload": value}}


def stopped(*interrupts: Event) -> list[Event]:
    return [STARTED, {**DONE, "outcome": {"type": "interrupt", "interrupts": list(interrupts)}}]


OPTIONS = [{"label": "Weather", "value": "weather"}, {"label": "Order", "value": "order"}]
SELECT = question("select", options=OPTIONS)


@dataclass
class FunctionUrl:
    """Answers each POST with the next of `runs` (events, or a status and a body); keeps what was posted."""

    runs: list[list[Event] | tuple[int, str]] = field(default_factory=list)
    interrupts: list[Event] = field(default_factory=list)
    posted: list[Event] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    address: str = ""


@pytest.fixture
def url() -> Iterator[FunctionUrl]:
    script = FunctionUrl()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            script.posted.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            run = script.runs.pop(0)
            if isinstance(run, tuple):
                self._answer(run[0], "application/json", run[1])
            else:
                self._answer(
                    200, "text/event-stream", "".join(f": note\n\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in run)
                )

        def do_GET(self) -> None:
            script.asked.append(self.path)
            self._answer(200, "application/json", json.dumps({"state": {}, "interrupts": script.interrupts}))

        def _answer(self, status: int, kind: str, body: str) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.end_headers()
            self.wfile.write(body.encode())

    with serving(Handler) as address:
        script.address = f"{address}/agents/dev"
        yield script


def agents(*arguments: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a command whose stdin is no terminal."""
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout, result.stderr


def test_a_run_is_shown(url: FunctionUrl) -> None:
    """Thinking, the tool call with its arguments and its result, and the text, each on lines of its own; one user message is sent."""
    url.runs = [TALK]
    assert agents("invoke", "dev", "hi", "--url", url.address, "--thread", "t") == (0, SHOWN, "")
    [body] = url.posted
    assert (body["threadId"], body["messages"][0]["content"], body["protocolVersion"]) == ("t", "hi", "1.0")
    assert "resume" not in body


def test_shared_state_goes_along(url: FunctionUrl) -> None:
    """`--state` is the run's state; what is no JSON object is refused before anything is sent."""
    url.runs = [[STARTED, DONE]]
    assert agents("invoke", "dev", "hi", "--url", url.address, "--state", '{"a": [1]}')[0] == 0
    for wrong in ("{", "[1]", "null"):
        code, _, err = agents("invoke", "dev", "hi", "--url", url.address, "--state", wrong)
        assert (code, "--state" in err) == (2, True)
    assert [body["state"] for body in url.posted] == [{"a": [1]}]


def test_shared_state_goes_along_with_the_answer(url: FunctionUrl) -> None:
    """What the terminal is asked is answered with the same state, and the command that is printed has it too."""
    state = {"documentBaseline": "it's 好\n"}
    url.runs = [stopped(SELECT), [STARTED, DONE], stopped(SELECT)]
    session = Session(Agent(url.address), "dev", "t", None, state, as_json=False, prompt=lambda label: "1")
    assert session.talk(text="hi") == 0
    given = ["--state", json.dumps(state, ensure_ascii=False)]
    code, _, err = agents("invoke", "dev", "hi", "--url", url.address, "--thread", "t", *given)
    assert code == 3
    [command] = [line for line in err.splitlines() if line.startswith("  agents invoke ")]
    url.runs, url.interrupts = [[STARTED, DONE]], [SELECT]
    assert agents(*shlex.split(command)[1:])[0] == 0
    assert [(body["state"], "resume" in body) for body in url.posted] == [(state, False), (state, True)] * 2


def test_only_line_feeds_end_lines(url: FunctionUrl) -> None:
    """JSON may hold U+2028, U+2029 and U+0085 as they are."""
    text = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a\u2028b\u2029c\u0085d"}
    url.runs = [[STARTED, text, DONE]]
    assert agents("invoke", "dev", "hi", "--url", url.address) == (0, "a\u2028b\u2029cd\n", "")


def test_lines_are_whole_though_packets_are_not() -> None:
    """A character and a line end may be cut anywhere."""
    raw = "data: 你\r\n\nrest".encode()
    assert list(split_lines(bytes([byte]) for byte in raw)) == ["data: 你", "", "rest"]


def test_a_thread_is_one_part_of_the_path(url: FunctionUrl) -> None:
    """Whatever the thread is called, its state is asked for and nothing else."""
    url.runs, url.interrupts = [[STARTED, DONE]], [SELECT]
    assert agents("invoke", "dev", "--url", url.address, "--thread", "../a?b#c", "--resume", "1")[0] == 0
    assert url.asked == ["/agents/dev/threads/..%2Fa%3Fb%23c/state"]


def test_no_url() -> None:
    """What cannot be a URL is named, without a traceback."""
    code, _, err = agents("invoke", "dev", "hi", "--url", "http://[x")
    assert (code, err.startswith("http://[x is no URL: ")) == (2, True)


def test_json_prints_the_events(url: FunctionUrl) -> None:
    """`--json` is the stream itself, one event a line; interrupts are left to the reader."""
    url.runs = [stopped(SELECT)]
    code, out, _ = agents("invoke", "dev", "hi", "--url", url.address, "--json")
    assert [json.loads(line) for line in out.splitlines()] == stopped(SELECT)
    assert code == 3


def test_an_interrupt_without_a_terminal_is_printed_with_its_answer(url: FunctionUrl) -> None:
    """The question, its options, and the command that answers it; exit code 3."""
    url.runs = [stopped(SELECT)]
    code, _, err = agents("invoke", "dev", "hi", "--url", url.address, "--thread", "t")
    assert code == 3
    assert "? Which?\n  1. Weather\n  2. Order\n" in err
    assert f'agents invoke dev --thread t --url {url.address} --resume \'{{"value": "weather"}}\'' in err


@pytest.mark.parametrize(
    ("resume", "expected"),
    [
        ('{"value": "order"}', [{"interruptId": "i1", "status": "resolved", "payload": {"value": "order"}}]),
        ("null", [{"interruptId": "i1", "status": "resolved", "payload": None}]),
        ('[{"interruptId": "i9", "status": "cancelled"}]', [{"interruptId": "i9", "status": "cancelled"}]),
        ('{"interruptId": "i9", "payload": 1}', [{"interruptId": "i9", "status": "resolved", "payload": 1}]),
    ],
)
def test_resume(url: FunctionUrl, resume: str, expected: list[Event]) -> None:
    """A bare answer is for the one interrupt that is open; entries go as they are."""
    url.runs, url.interrupts = [[STARTED, DONE]], [SELECT]
    assert agents("invoke", "dev", "--url", url.address, "--thread", "t", "--resume", resume)[0] == 0
    [body] = url.posted
    assert body["resume"] == expected
    assert body["messages"] == []


@pytest.mark.parametrize(
    ("arguments", "run", "code", "said"),
    [
        (["hi"], [STARTED, {"type": "RUN_ERROR", "message": "Try later.", "code": "LLM_RATE_LIMITED"}], 1, "LLM_RATE_LIMITED: Try later."),
        (["hi"], [STARTED], 1, "The stream ended before the run did."),
        (["hi"], (422, '{"error": {"code": "BAD_INPUT", "message": "no"}}'), 2, "HTTP 422 BAD_INPUT: no"),
        (["hi"], (502, "<html>"), 2, "HTTP 502: <html>"),
        (["--thread", "t", "--resume", "{"], [], 2, "--resume is not JSON"),
        (["--thread", "t", "--resume", "{}"], [], 2, "A bare answer needs exactly one open interrupt; open are: none"),
        (["--resume", "{}"], [], 2, "--resume"),
        (["hi", "--thread", "t", "--resume", "{}"], [], 2, "--resume"),
    ],
)
def test_exit_codes(url: FunctionUrl, arguments: list[str], run: Any, code: int, said: str) -> None:
    """1 for a run error, 2 for what never became a run; the reason is on stderr."""
    url.runs = [run]
    found, _, err = agents("invoke", "dev", *arguments, "--url", url.address)
    assert found == code
    assert said in err


def test_nobody_there() -> None:
    """A refused connection names the address and the command that is missing."""
    code, _, err = agents("invoke", "dev", "hi", "--url", "http://127.0.0.1:9/")
    assert code == 2
    assert "Nothing answers at http://127.0.0.1:9/" in err
    assert "`agents dev`" in err


def test_a_session_asks_until_nothing_is_open(url: FunctionUrl) -> None:
    """At a terminal every interrupt is asked, the answers are sent together, and the run goes on to its end."""
    url.runs = [stopped(SELECT, question("approval", 2, details={"a": 1})), TALK]
    answers = iter(["2", "n", "too dear"])
    session = Session(Agent(url.address), "dev", "t", None, {}, as_json=False, prompt=lambda label: next(answers))
    assert session.talk(text="hi") == 0
    assert url.posted[1]["resume"] == [
        {"interruptId": "i1", "status": "resolved", "payload": {"value": "order"}},
        {"interruptId": "i2", "status": "resolved", "payload": {"approved": False, "reason": "too dear"}},
    ]


@pytest.mark.parametrize(
    ("interrupt", "typed", "expected"),
    [
        (question("input"), ["words"], {"value": "words"}),
        (SELECT, ["1"], {"value": "weather"}),
        (SELECT, ["Order"], {"value": "order"}),
        (SELECT, ["something else"], {"value": "something else"}),
        (SELECT, ["7"], {"value": "7"}),
        (question("multiSelect", options=OPTIONS), ["2, free text"], {"values": ["order", "free text"]}),
        (question("multiSelect", options=OPTIONS), [""], {"values": []}),
        (question("modal", title="Sure?", body="Really", actions=["ok", "no"]), ["2"], {"action": "no"}),
        (question("approval"), ["y"], {"approved": True}),
        (question("approval"), ["", ""], {"approved": False}),
        (question("unlock", key="k"), [""], {}),
        (question("other"), ['{"a": 1}'], {"a": 1}),
        (question("other"), ["text"], "text"),
        ({"id": "i1", "reason": "input_required"}, ["5"], 5),
    ],
)
def test_answers(interrupt: Event, typed: list[str], expected: Any) -> None:
    """Each kind is asked its own way and gives its own shape of answer; words outside the options are answers too."""
    given = iter(typed)
    assert ask(interrupt, lambda label: next(given)) == {"interruptId": "i1", "status": "resolved", "payload": expected}


@pytest.mark.parametrize(
    ("interrupt", "expected"),
    [
        (question("modal", title="Sure?", body="Really", actions=["ok", "no"]), "? Sure?\nReally\n  1. ok\n  2. no"),
        (question("approval", details={"a": "你"}), '? Which?\n{\n  "a": "你"\n}'),
        ({"id": "i", "reason": "confirmation"}, "? confirmation"),
        (question("input") | {"message": "a\x1b[2Jb"}, "? a[2Jb"),
    ],
)
def test_describe(interrupt: Event, expected: str) -> None:
    """What is asked, with all that is needed to answer it, and nothing that moves the cursor."""
    assert describe(interrupt) == expected


def test_nothing_of_a_question_drives_the_terminal() -> None:
    """Its placeholder becomes the prompt, its options the command that is printed."""
    assert ask(question("input", placeholder="name\x1b]0;x\x07?"), str)["payload"] == {"value": "name]0;x?"}
    command = how_to_resume("dev", "t", None, [question("select", options=[{"label": "a", "value": "\x9b2Jb"}])])
    assert command.endswith("""--resume '{"value": "2Jb"}'""")


def test_how_to_resume_several() -> None:
    """Several open interrupts are answered by their ids."""
    command = how_to_resume("dev", "t", None, [SELECT, question("approval", 2)])
    entries = json.loads(command.partition("--resume ")[2].strip("'"))
    assert [entry["interruptId"] for entry in entries] == ["i1", "i2"]
    assert resume_entries(json.dumps(entries), list) == entries


def test_a_bare_answer_to_several_is_refused() -> None:
    """Nobody can tell which one is meant: the ids are named."""
    with pytest.raises(NotAnAnswer, match="i1, i2"):
        resume_entries("1", lambda: [SELECT, question("input", 2)])


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (['data: {"a":1}', ""], [{"a": 1}]),
        ([": ping", "", 'data:{"a":1}', "id: 5", ""], [{"a": 1}]),
        (['data: {"a":', "data: 1}", ""], [{"a": 1}]),
        (['data: {"a":1}'], []),
    ],
)
def test_read_events(lines: list[str], expected: list[Event]) -> None:
    """Comments, ids and split data lines are as in the SSE standard; what was not ended is not an event."""
    assert list(read_events(lines)) == expected


def test_clean() -> None:
    """Text of a model cannot drive the terminal; lines and tabs stay."""
    assert clean("a\x1b[31mb\r\x07c\n\td\x9b") == "a[31mbc\n\td"


@pytest.mark.parametrize(
    ("host", "signs"),
    [("abc.lambda-url.eu-west-1.on.aws", True), ("127.0.0.1", False), ("abc.lambda-url.eu-west-1.on.aws.evil.test", False)],
)
def test_only_function_urls_are_signed(host: str, signs: bool) -> None:
    """Credentials sign requests to AWS's own host names and no others."""
    assert (signer_for(host) is not None) is signs


def test_a_signed_request_carries_the_hash_of_its_body() -> None:
    """Lambda takes no unsigned payload."""
    import httpx

    signer = signer_for("abc.lambda-url.eu-west-1.on.aws")
    assert signer is not None
    request = next(signer.auth_flow(httpx.Request("POST", "https://abc.lambda-url.eu-west-1.on.aws/", content=b"{}")))
    assert request.headers["x-amz-content-sha256"] == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert "/eu-west-1/lambda/aws4_request" in request.headers["authorization"]
