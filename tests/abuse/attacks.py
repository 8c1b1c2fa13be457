"""The attacks. Each says in its docstring what is tried, raises AssertionError where it works, and returns what came instead."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import httpx
import pytest

from functions.own_event import PATH as OWN_EVENT
from tests.abuse.ground import ANN, BEN, SECRET, Ground
from tests.functions.web.test_app import body
from tests.functions.web.test_threads import ROUTES
from tests.support.chat_wire import chat_wire
from tests.support.sse import read_sse
from tests.support.streams import check_stream

Attack = Callable[[Ground], Awaitable[str]]
_ATTACKS: dict[str, Attack] = {}
INSIDE = ("Traceback", 'File "/', "botocore", "langgraph", "site-packages", "DynamoDB table")


def attack(function: Attack) -> Attack:
    _ATTACKS[function.__name__] = function
    return function


ATTACKS: Mapping[str, Attack] = MappingProxyType(_ATTACKS)


async def victim(ground: Ground) -> None:
    """Ann's thread `t`."""
    async with ground.client(ANN) as ann:
        answer = await ann.post("/", json=body(f"start demo {SECRET}"))
        assert read_sse(answer.content)[-1]["type"] == "RUN_FINISHED"


def harmless(answer: httpx.Response) -> int:
    """Its status. No failure of ours, no word of Ann's, nothing of the inside."""
    assert answer.status_code < 500, f"{answer.status_code}: {answer.text[:300]}"
    assert SECRET not in answer.text, "it shows what Ann has said"
    if answer.status_code >= 400:
        found = [word for word in INSIDE if word in answer.text]
        assert not found, f"it tells {found} of the inside"
    return answer.status_code


def counted(statuses: Iterable[int]) -> str:
    return ", ".join(f"{count} × {status}" for status, count in sorted(Counter(statuses).items()))


def legal(answer: httpx.Response, input: dict[str, Any]) -> str:
    """The end of a legal stream."""
    assert answer.status_code == 200, answer.text[:300]
    events = read_sse(answer.content)
    check_stream(input, events, raw=answer.content)
    return str(events[-1].get("code") or events[-1]["type"])


# whose thread it is


@attack
async def every_route_of_a_foreign_thread(ground: Ground) -> str:
    """Ben asks for Ann's thread by its id, by every route and verb"""
    await victim(ground)
    async with ground.client(ANN) as ann, ground.client(BEN) as ben:
        before = (await ann.get("/threads/t/messages")).json()
        said = [harmless(await ben.request(method, path, json=json)) for method, path, json in ROUTES]
        assert set(said) == {404}
        assert (await ann.get("/threads/t/messages")).json() == before
    return counted(said)


@attack
async def paths_that_lead_elsewhere(ground: Ground) -> str:
    """Ben writes the path otherwise: encoded, doubled, with dots, with Ann's name in it"""
    await victim(ground)
    owner = "arn%3Aaws%3Aiam%3A%3A1%3Auser%2Fann"
    paths = [
        *("/threads/%74/messages", "/threads/t%00/messages", "/threads//t/messages", "//threads/t/messages", "/threads/./t/messages"),
        *("/threads/x/../t/messages", "/threads/%2e%2e/threads/t/messages", "/threads/t;a=b/messages", "/threads/T/messages"),
        *(f"/threads/{owner}!t/messages", f"/threads/..%2F{owner}%2Ft/messages", "/threads/t%2F/messages", "/threads/t/messages/"),
        *("/threads/dev%3At/messages", "/threads/t%0D%0AX-A:%20b/messages", "/threads/%C0%AF/messages", "/threads/t/runs/../messages"),
    ]
    async with ground.client(BEN) as ben:
        said = [harmless(await ben.send(httpx.Request("GET", httpx.URL("http://url", raw_path=path.encode())))) for path in paths]
    assert 200 not in said
    return counted(said)


@attack
async def headers_that_claim_to_be_somebody(ground: Ground) -> str:
    """Ben says in headers that he is Ann, or that he asks for something else"""
    await victim(ground)
    names = {
        **dict.fromkeys(("x-forwarded-user", "x-amzn-iam-user", "x-amz-user-arn", "x-user", "remote-user", "x-amzn-oidc-identity"), ANN),
        **{"authorization": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.", "x-forwarded-for": "127.0.0.1"},
        **{"x-http-method-override": "DELETE", "x-original-url": "/threads/t", "x-rewrite-url": "/threads/t", "forwarded": f"by={ANN}"},
        **{"x-amzn-request-context": json.dumps({"authorizer": {"iam": {"userArn": ANN}}}), "host": "ann.example"},
    }
    async with ground.client(BEN) as ben, ground.client(ANN) as ann:
        said = [harmless(await ben.get("/threads/t/messages", headers={name: value})) for name, value in names.items()]
        assert set(said) == {404}
        assert (await ann.get("/threads/t")).status_code == 200
    return counted(said)


@attack
async def a_body_that_names_another_owner(ground: Ground) -> str:
    """Ben's run claims Ann's identity, checkpoint or namespace in every field that a graph's configuration could be made of"""
    await victim(ground)
    configurable = {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1", "principal": ANN, "__pregel_read": "x", "owner": ANN}
    claims = [{"configurable": configurable}, {"config": {"configurable": configurable}}, {"principal": ANN}, configurable]
    async with ground.client(BEN) as ben:
        for number, claim in enumerate(claims):
            input = body("hello", run=f"r{number}", forwardedProps=claim, state=claim, context=[{"description": "owner", "value": ANN}])
            harmless(answer := await ben.post("/", json=input))
            assert answer.status_code == 200
        harmless(found := await ben.get("/threads/t/messages"))
    return f"a thread of his own, {len(found.json()['messages'])} messages"


@attack
async def the_functions_own_events(ground: Ground) -> str:
    """Ben posts what only the function sends to itself, to go on with Ann's run"""
    await victim(ground)
    told = {"principal": ANN, "thread_id": "t", "run_id": "r", "holder": "h", "hop": 1}
    async with ground.client(BEN) as ben:
        said = [harmless(await ben.post(path, json={"agents": told, **told})) for path in (OWN_EVENT, f"{OWN_EVENT}/")]
    assert set(said) <= {404, 405}, said
    return counted(said)


# too much


@attack
async def a_body_over_the_limit(ground: Ground) -> str:
    """7 MB, with an honest length, a false one, and none"""
    large = b'{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"' + b"x" * 7_000_000 + b'"}]}'

    async def pieces() -> Any:
        for start in range(0, len(large), 500_000):
            yield large[start : start + 500_000]

    async with ground.client() as ben:
        said = [
            harmless(await ben.post("/", content=large)),
            harmless(await ben.post("/", content=pieces(), headers={"content-length": "10"})),
            harmless(await ben.post("/", content=pieces())),
        ]
    assert set(said) == {413}
    return counted(said)


@attack
async def a_body_just_under_the_limit(ground: Ground) -> str:
    """5.9 MB in one message: taken, and the thread goes on"""
    input = body("start demo " + "x" * 5_900_000)
    async with ground.client() as ben:
        since = time.monotonic()
        end = legal(await ben.post("/", json=input), input)
        seconds = time.monotonic() - since
        assert end == "RUN_FINISHED"
        assert (await ben.get("/threads/t/messages")).status_code == 200
    assert seconds < 60
    return "a legal stream"


@attack
async def a_hundred_thousand_messages(ground: Ground) -> str:
    """In one request"""
    input = body(None, messages=[{"id": f"{number}", "role": "user", "content": "a"} for number in range(100_000)])
    async with ground.client() as ben:
        since = time.monotonic()
        status = harmless(await ben.post("/", json=input))
        assert time.monotonic() - since < 30
    assert status == 413
    return f"{status}"


@attack
async def json_that_breaks_parsers(ground: Ground) -> str:
    """Nested 100,000 deep, numbers of 10,000 digits, infinite ones, NaN, half characters, other encodings, a key twice"""
    head = b'{"threadId":"t","runId":"r","messages":[],"forwardedProps":'
    bodies = [
        *(head + b"[" * 100_000 + b"]" * 100_000 + b"}", head + b'{"a":' * 100_000 + b"1" + b"}" * 100_001, head + b"[" * 100_000),
        *(head + b"9" * 10_000 + b"}", head + b"1e999}", head + b"NaN}", head + b"-Infinity}", head + b'"\\ud800"}'),
        *(head.decode().encode("utf-16"), head + b'"\xff"}', b"\x00", b"", b"null", b"[]", b'"t"'),
        *(b'{"threadId":"t","threadId":"u"}', b'{"threadId":{"$gt":""},"runId":"r","messages":[]}', b"<?xml version='1.0'?>"),
    ]
    async with ground.client() as ben:
        said = [harmless(await ben.post("/", content=sent)) for sent in bodies]
    assert set(said) <= {400, 422}, said
    return counted(said)


@attack
async def ids_that_are_keys(ground: Ground) -> str:
    """Thread and run ids with the store's separators, control characters, line ends, a path, 10,000 characters"""
    odd = ["a!b", "c!", "l!", "x\x00y", "a\r\nb", "../t", "a/b", "\u202et", "é" * 300, "x" * 10_000, "", " ", "%2e%2e", "${jndi:ldap://x}"]
    said = []
    async with ground.client() as ben:
        for name in odd:
            said.append(harmless(await ben.post("/", json=body("hello", thread=name))))
            said.append(harmless(await ben.post("/", json=body("hello", thread="mine", run=name))))
    assert set(said) <= {200, 422}
    return counted(said)


@attack
async def runs_without_end(ground: Ground) -> str:
    """Twenty runs in a minute where five are allowed"""
    async with ground.client(runs_a_minute=5) as ben:
        said = [harmless(await ben.post("/", json=body("hello", thread=f"t{number}"))) for number in range(20)]
    # a new minute may begin among them
    assert said.count(200) in range(5, 11)
    assert set(said) == {200, 429}
    return "429 from the sixth on" if said.count(200) == 5 else counted(said)


@attack
async def a_zip_bomb(ground: Ground) -> str:
    """A zip of some KB that holds 300 MB, one with paths out of its folder, one inside another, imported into a knowledge base"""

    def zipped(*files: tuple[str, bytes]) -> bytes:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, content in files:
                archive.writestr(name, content)
        return packed.getvalue()

    nothing = b"\n" * 30_000_000
    bombs = {
        "large": zipped(*((f"{number}.md", nothing) for number in range(10))),
        "out": zipped(("../../etc/cron.d/x.md", b"# x\n\nmine"), ("/abs.md", b"# y\n\nmine"), ("C:\\x.md", b"# z\n\nmine")),
        "nested": zipped(("inner.zip", zipped(("a.md", nothing)))),
        "broken": b"PK\x03\x04" + b"\x00" * 100,
    }
    said = []
    async with ground.client(agent="kb", auth="none") as ben:
        for name, bomb in bombs.items():
            assert len(bomb) < 400_000
            since = time.monotonic()
            answer = await ben.post("/kb/documents", params={"kb": "mine", "name": f"{name}.zip"}, content=bomb)
            said.append(harmless(answer))
            assert time.monotonic() - since < 20
            assert "etc/cron" not in json.dumps([line for line in answer.text.splitlines() if '"completed"' in line])
    return counted(said)


# what the server is made to do


@attack
async def pictures_of_the_inside(ground: Ground) -> str:
    """Pictures, sounds and documents whose URL is a place that only the server reaches, with a real provider's adapter"""
    places = [f"{ground.bait_url}/latest/meta-data/iam/", "http://169.254.169.254/latest/meta-data/", "file:///etc/passwd", "gopher://x:1/"]
    parts = [{"type": kind, "source": {"type": "url", "value": url}} for kind in ("image", "document", "audio", "video") for url in places]
    async with ground.client(agent="reactAgent") as offline:
        harmless(await offline.post("/", json=body(None, messages=[{"id": "u", "role": "user", "content": parts}])))
    with chat_wire() as provider, _openai(provider.url):
        provider.streams([{"role": "assistant", "content": "A picture."}])
        async with ground.client(agent="reactAgent", model="openai:wire") as ben:
            for number, part in enumerate(parts):
                content = [{"type": "text", "text": "what is this?"}, part]
                messages = [{"id": f"u{number}", "role": "user", "content": content}]
                harmless(await ben.post("/", json=body(None, thread=f"p{number}", messages=messages)))
        assert provider.asked
        assert "root:" not in json.dumps(provider.asked), "a file of the server went to the provider"
    assert ground.bait == [], f"the server has asked for {ground.bait}"
    return "the server asks for none of them"


@attack
async def a_webhook_to_the_inside(ground: Ground) -> str:
    """A background run whose webhook is the server's own network"""
    urls = [
        ground.bait_url,
        f"{ground.bait_url}@hooks.example",
        "http://169.254.169.254/",
        "https://[::ffff:127.0.0.1]/",
        "https://2130706433/",
    ]
    async with ground.client(webhook_hosts="hooks.example", webhook_secret="s") as ben:
        said = [
            harmless(await ben.post("/", json=body("hi", forwardedProps={"webhook": {"url": url}}), headers={"prefer": "respond-async"}))
            for url in urls
        ]
    assert set(said) == {422}
    assert ground.bait == []
    return counted(said)


@attack
async def text_that_is_an_event(ground: Ground) -> str:
    """A message, a title and an answer that hold line ends and frames of the stream"""
    frame = '\n\ndata: {"type":"RUN_FINISHED","threadId":"t","runId":"r"}\n\nid: 99\r\nevent: x\u2028\u2029'
    input = body(f"hello {frame}")
    async with ground.client() as ben:
        end = legal(await ben.post("/", json=input), input)
        assert (await ben.patch("/threads/t", json={"title": frame})).status_code in (200, 422)
        assert (await ben.get("/threads")).status_code == 200
    return f"a legal stream, {end}"


# what is said


@attack
async def what_the_log_says(ground: Ground) -> str:
    """Runs, answers, failures and refused requests with a canary in every text: none of it is in the log at INFO"""
    await victim(ground)
    async with ground.client(ANN, "reactAgent") as ann:
        for number, text in enumerate((f"ask two {SECRET}", f"fail now {SECRET}", f"search {SECRET}", f"count to 3 {SECRET}")):
            await ann.post("/", json=body(text, thread=f"l{number}"))
        await ann.post("/", json={"threadId": SECRET * 100, "runId": SECRET})
        await ann.post("/", content=f'{{"{SECRET}'.encode())
        await ann.patch("/threads/l0", json={"title": SECRET, "pinned": SECRET})
        await ann.get("/threads", params={"cursor": SECRET})
    written = ground.log.getvalue()
    assert written.count("\n") > 10, "the log is not looked at"
    lines = [line for line in written.splitlines() if SECRET in line]
    assert not lines, lines[:3]
    return f"{written.count(chr(10))} lines, none with it"


@attack
async def secrets_in_answers(ground: Ground) -> str:
    """The settings' secrets, in every answer that describes the function or fails"""
    keys = {"completion_key": "sk-canary-1", "webhook_secret": "sk-canary-2", "tushare_token": "sk-canary-3"}
    async with ground.client(**keys) as ben:
        asked = ("/info", "/agents", "/openapi.json", "/docs", "/health", "/threads", "/threads/x", "/nowhere", "/connect")
        answers = [await ben.get(path) for path in asked] + [await ben.post("/", json=body("fail now"))]
    for answer in answers:
        harmless(answer)
        assert "sk-canary" not in answer.text
    assert "sk-canary" not in ground.log.getvalue()
    return counted(answer.status_code for answer in answers)


@contextmanager
def _openai(url: str) -> Iterator[None]:
    """The place of OpenAI's API."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", url)
        patch.setenv("OPENAI_API_KEY", "test")
        yield
