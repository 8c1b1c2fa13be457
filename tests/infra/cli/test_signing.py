"""What `agents invoke --url` sends proves who is calling: its SigV4 signature by a verifier that shares no code with the signer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import pytest
from typer.testing import CliRunner

from infra.cli import app
from infra.cli.agui import Agent, NoAnswer, run_input
from infra.cli.signing import SigV4
from tests.support.edge import at_the_edge, signed_by_cloudfront
from tests.support.http_server import QuietHandler, serving
from tests.support.sigv4 import WrongSignature, signing_key, verify

REGION = "eu-west-1"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
FINISHED = 'data: {"type": "RUN_STARTED"}\n\ndata: {"type": "RUN_FINISHED"}\n\n'


@dataclass
class Sent:
    """One request as it came over the wire."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    def verify(self, **instead: object) -> None:
        said = {"method": self.method, "target": self.target, "headers": self.headers, "body": self.body} | instead
        verify(**said, secret=SECRET, region=REGION)  # type: ignore[arg-type]  # a test may say something else


@dataclass
class Listener:
    address: str = ""
    sent: list[Sent] = field(default_factory=list)


@pytest.fixture
def listener() -> Iterator[Listener]:
    """Keeps what it is sent; every POST is a run that is done."""
    heard = Listener()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            heard.sent.append(Sent(self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(FINISHED.encode())

        do_GET = do_PATCH = do_POST

    with serving(Handler) as address:
        heard.address = f"{address}/"
        yield heard


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


def test_the_verifier_is_right() -> None:
    """It derives the key that AWS's documentation gives as its example."""
    key = signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20120215", "us-east-1", "iam")
    assert key.hex() == "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d"


def test_a_signed_run_is_accepted(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own POST, body and all; the hash of the body is sent and signed."""
    monkeypatch.setattr("infra.cli.agui.signer_for", lambda host: SigV4(REGION))
    assert list(Agent(listener.address).run(run_input("t", text="你好, hello")))[-1]["type"] == "RUN_FINISHED"
    [sent] = listener.sent
    sent.verify()
    assert "x-amz-security-token" not in sent.headers


def test_a_session_token_is_signed_too(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary credentials, as roles and single sign-on give them."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", "FwoGZXIvYXdzEXAMPLE//token==")
    httpx.post(listener.address, content=b"{}", auth=SigV4(REGION), trust_env=False)
    assert listener.sent[0].headers["x-amz-security-token"] == "FwoGZXIvYXdzEXAMPLE//token=="
    listener.sent[0].verify()


@pytest.mark.parametrize("path", ["threads/t/state", "threads/..%2Fa%3Fb%23c/state", "threads/%E4%BD%A0/events?after=2&b=&a=x%20y%2Bz%2F"])
def test_every_address_is_signed_as_it_is_sent(listener: Listener, path: str) -> None:
    """Encoded characters in the path and the query."""
    httpx.get(listener.address + path, auth=SigV4(REGION), trust_env=False)
    listener.sent[0].verify()


@pytest.mark.parametrize(
    "change",
    [{"body": b'{"a":2}'}, {"method": "GET"}, {"target": "/connect"}, {"target": "/?x=1"}],
    ids=["body", "method", "path", "query"],
)
def test_what_was_changed_on_the_way_is_seen(listener: Listener, change: dict[str, object]) -> None:
    """The verifier does refuse: it accepts what was signed and nothing else."""
    httpx.post(listener.address, content=b'{"a":1}', auth=SigV4(REGION), trust_env=False)
    listener.sent[0].verify()
    with pytest.raises(WrongSignature):
        listener.sent[0].verify(**change)


def test_a_token_is_sent_instead_of_a_signature(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--token`, or AGENTS_TOKEN, which no list of processes shows; it beats the AWS credentials."""
    monkeypatch.setattr("infra.cli.agui.signer_for", lambda host: SigV4(REGION))
    invoke = ["invoke", "dev", "hi", "--url", listener.address]
    assert CliRunner().invoke(app, [*invoke, "--token", "a.b.c"]).exit_code == 0
    assert CliRunner().invoke(app, invoke, env={"AGENTS_TOKEN": "d.e.f"}).exit_code == 0
    assert [sent.headers["authorization"] for sent in listener.sent] == ["Bearer a.b.c", "Bearer d.e.f"]
    assert "x-amz-date" not in listener.sent[0].headers


def test_a_token_is_not_shown_to_the_network() -> None:
    """Plain http is for this machine; elsewhere nothing is sent."""
    with pytest.raises(NoAnswer, match="https only"):
        Agent("http://agents.example/", "a.b.c")


@pytest.mark.parametrize("token", ["a.b.c", None])
def test_a_run_goes_through_cloudfront(listener: Listener, token: str | None) -> None:
    """CloudFront signs the hash that the client sent of its body, and Lambda compares it with the body that comes; the token arrives under
    its other name, and the path is the app's own."""
    agent = Agent(f"{listener.address}agents/dev/", token)
    assert list(agent.run(run_input("t", text="你好, hello")))[-1]["type"] == "RUN_FINISHED"
    agent._client.patch(f"{agent.url}threads/t%201?x=1", json={"title": "标题"})
    for sent, target in zip(listener.sent, ("/", "/threads/t%201?x=1"), strict=True):
        (left,) = at_the_edge({"method": sent.method, "uri": sent.target, "headers": sent.headers})
        assert left["uri"] == target
        signed = signed_by_cloudfront(sent.method, left["uri"], left["headers"], SECRET, region=REGION)
        Sent(sent.method, left["uri"], signed, sent.body).verify()
        assert signed.get("x-forwarded-authorization") == (f"Bearer {token}" if token else None)


def test_without_the_hash_lambda_refuses_what_cloudfront_signed(listener: Listener) -> None:
    """What a client that knows nothing of it gets: CloudFront signs no body, and there is one."""
    httpx.post(listener.address, content=b'{"a":1}', trust_env=False)
    (sent,) = listener.sent
    signed = signed_by_cloudfront("POST", "/", sent.headers, SECRET, region=REGION)
    with pytest.raises(WrongSignature, match="the body is another"):
        Sent("POST", "/", signed, sent.body).verify()
