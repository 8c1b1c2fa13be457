"""`AGENTS_AUTH=jwt` against an OpenID provider over HTTP: which tokens are whose, and what is said about the others."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from langgraph.checkpoint.memory import InMemorySaver
from starlette.requests import Request

from functions.settings import Settings
from functions.store.threads import Threads
from functions.web import create_app
from functions.web.problems import Problem
from functions.web.signing_keys import FRESH_SECONDS, KEPT_SECONDS, PAUSE_SECONDS, SigningKeys
from functions.web.tokens import CLOCK_SKEW_SECONDS, LONGEST_TOKEN, Tokens
from tests.functions.web.test_app import body, client_of
from tests.support.dynamodb import Dynamo
from tests.support.oidc import AUDIENCE, DISCOVERY, KEYS, Provider, SigningKey, ec_key, jwk, oidc_provider, rsa_key
from tests.support.sse import read_sse

HELD: dict[str, SigningKey] = {"rsa": rsa_key(), "ec": ec_key()}
STRANGER, WEAK = rsa_key(), rsa_key(1024)


@dataclass
class Clock:
    """Seconds that a test moves on."""

    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def provider() -> Iterator[Provider]:
    with oidc_provider(**HELD) as provider:
        yield provider


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tokens(provider: Provider, clock: Clock) -> Tokens:
    return Tokens(settings_of(provider), SigningKeys(provider.issuer, now=clock))


def settings_of(provider: Provider, **more: Any) -> Settings:
    return Settings(auth="jwt", jwt_issuer=provider.issuer, jwt_audience=AUDIENCE, offline_delay_ms=0, **more)


def request(authorization: str | None) -> Request:
    headers = [] if authorization is None else [(b"authorization", authorization.encode())]
    return Request({"type": "http", "headers": headers})


def told(tokens: Tokens, token: str) -> str:
    """The code of the refusal, or the caller without the issuer."""
    try:
        return tokens.principal(request(f"Bearer {token}")).partition("#")[2]
    except Problem as problem:
        return problem.code if problem.status == 401 else f"{problem.status} {problem.code}"


def encoded(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unsigned(p: Provider) -> str:
    return jwt.encode({"iss": p.issuer, "aud": AUDIENCE, "sub": "ann", "exp": time.time() + 99}, "", "none", headers={"kid": "rsa"})


def hmac_with_the_public_key(p: Provider, *, as_pem: bool) -> str:
    """PyJWT itself refuses to sign so: made by hand. A verifier that lets the token choose its algorithm takes it."""
    import hashlib
    import hmac

    public = HELD["rsa"].public_key()
    secret = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo) if as_pem else jwk("rsa", HELD["rsa"])["n"].encode()
    signed = f"{encoded({'alg': 'HS256', 'kid': 'rsa'})}.{p.token().split('.')[1]}"
    return f"{signed}.{encoded(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"


def altered(token: str, **claims: Any) -> str:
    header, said, signature = token.split(".")
    old = json.loads(base64.urlsafe_b64decode(said + "=="))
    return f"{header}.{encoded(old | claims)}.{signature}"


def now(seconds: float) -> int:
    return int(time.time() + seconds)


TABLE: dict[str, tuple[Callable[[Provider], str], str]] = {
    "RS256": (lambda p: p.token(), "ann"),
    "ES256": (lambda p: p.token("ec"), "ann"),
    "several audiences": (lambda p: p.token(aud=["other", AUDIENCE]), "ann"),
    "without nbf and iat": (lambda p: p.token(nbf=None, iat=None), "ann"),
    "expired": (lambda p: p.token(exp=now(-CLOCK_SKEW_SECONDS - 5)), "TOKEN_EXPIRED"),
    "expired by a clock that is ahead": (lambda p: p.token(exp=now(-CLOCK_SKEW_SECONDS + 5)), "ann"),
    "not yet valid": (lambda p: p.token(nbf=now(CLOCK_SKEW_SECONDS + 5)), "TOKEN_NOT_YET_VALID"),
    "not yet valid by a clock that is behind": (lambda p: p.token(nbf=now(CLOCK_SKEW_SECONDS - 5)), "ann"),
    "issued in the future": (lambda p: p.token(iat=now(CLOCK_SKEW_SECONDS + 5)), "TOKEN_NOT_YET_VALID"),
    "issued by a clock that is ahead": (lambda p: p.token(iat=now(CLOCK_SKEW_SECONDS - 5)), "ann"),
    "never expires": (lambda p: p.token(exp=None), "TOKEN_CLAIMS"),
    "exp is no number": (lambda p: p.token(exp=[]), "TOKEN_MALFORMED"),
    "exp is no finite number": (lambda p: p.token(exp=float("inf")), "TOKEN_MALFORMED"),
    "wrong issuer": (lambda p: p.token(iss="https://evil.example"), "TOKEN_ISSUER"),
    "the issuer with a slash": (lambda p: p.token(iss=p.issuer + "/"), "TOKEN_ISSUER"),
    "no issuer": (lambda p: p.token(iss=None), "TOKEN_CLAIMS"),
    "wrong audience": (lambda p: p.token(aud="other"), "TOKEN_AUDIENCE"),
    "part of the audience": (lambda p: p.token(aud=AUDIENCE[:-1]), "TOKEN_AUDIENCE"),
    "no audience": (lambda p: p.token(aud=None), "TOKEN_CLAIMS"),
    "no subject": (lambda p: p.token(sub=None), "TOKEN_CLAIMS"),
    "empty subject": (lambda p: p.token(sub=""), "TOKEN_CLAIMS"),
    "endless subject": (lambda p: p.token(sub="x" * 256), "TOKEN_CLAIMS"),
    "none": (unsigned, "TOKEN_ALGORITHM"),
    "None": (lambda p: f"{encoded({'alg': 'None', 'kid': 'rsa'})}.{p.token().split('.')[1]}.", "TOKEN_ALGORITHM"),
    "HMAC": (lambda p: p.token(key="a secret that is long enough to be one", alg="HS256"), "TOKEN_ALGORITHM"),
    "HMAC with the public key": (lambda p: hmac_with_the_public_key(p, as_pem=True), "TOKEN_ALGORITHM"),
    "HMAC with the public modulus": (lambda p: hmac_with_the_public_key(p, as_pem=False), "TOKEN_ALGORITHM"),
    "PS256": (lambda p: p.token(alg="PS256"), "TOKEN_ALGORITHM"),
    "RS512": (lambda p: p.token(alg="RS512"), "TOKEN_ALGORITHM"),
    "the other key's algorithm": (lambda p: p.token("ec", key=HELD["rsa"]), "TOKEN_ALGORITHM"),
    "another key under a known id": (lambda p: p.token(key=STRANGER), "TOKEN_SIGNATURE"),
    "altered claims": (lambda p: altered(p.token(), sub="bob"), "TOKEN_SIGNATURE"),
    "no signature": (lambda p: p.token().rpartition(".")[0] + ".", "TOKEN_SIGNATURE"),
    "unknown key": (lambda p: p.token("new", key=STRANGER), "TOKEN_UNKNOWN_KEY"),
    "its own key in the header": (
        lambda p: p.token("x", key=STRANGER, headers={"jwk": jwk("x", STRANGER), "jku": p.issuer + KEYS}),
        "TOKEN_UNKNOWN_KEY",
    ),
    "no key id, two keys": (lambda p: p.token(headers={"kid": None}), "TOKEN_UNKNOWN_KEY"),
    "a key id that is no text": (lambda p: f"{encoded({'alg': 'RS256', 'kid': 7})}.e30.x", "TOKEN_MALFORMED"),
    "an unknown critical header": (lambda p: p.token(headers={"crit": ["x"], "x": 1}), "TOKEN_MALFORMED"),
    "huge": (lambda p: p.token(sub="x" * LONGEST_TOKEN), "TOKEN_TOO_LARGE"),
    "no JWT": (lambda p: "abc", "TOKEN_MALFORMED"),
    "dots": (lambda p: "...", "TOKEN_MALFORMED"),
    "encrypted": (lambda p: "a.b.c.d.e", "TOKEN_MALFORMED"),
    "a deep header": (lambda p: f"{encoded(b'[' * 5_000)}.e30.x", "TOKEN_MALFORMED"),
    "a header that is no object": (lambda p: f"{encoded([])}.e30.x", "TOKEN_MALFORMED"),
    "not ASCII": (lambda p: "é.é.é", "TOKEN_MALFORMED"),
    "claims that are no object": (lambda p: _signed(b"[]"), "TOKEN_MALFORMED"),
}


def _signed(payload: bytes) -> str:
    return jwt.api_jws.encode(payload, HELD["rsa"], "RS256", headers={"kid": "rsa"})


@pytest.mark.parametrize(("token", "result"), TABLE.values(), ids=TABLE)
def test_a_token_is_its_subject_or_is_refused_by_name(tokens: Tokens, provider: Provider, token: Any, result: str) -> None:
    """A token × what it is taken for; a refusal is 401 with a code that says which rule it breaks."""
    assert told(tokens, token(provider)) == result


HANDED_ON: dict[str, tuple[dict[str, str], str]] = {
    "beside CloudFront's signature": ({"authorization": "AWS4-HMAC-SHA256 Credential=…", "x-forwarded-authorization": "Bearer ann"}, "ann"),
    "alone": ({"x-forwarded-authorization": "bearer ann"}, "ann"),
    "the caller's own goes first": ({"authorization": "Bearer ann", "x-forwarded-authorization": "Bearer bob"}, "ann"),
    "a forged one": ({"x-forwarded-authorization": "Bearer nobody"}, "TOKEN_MALFORMED"),
    "no bearer": ({"x-forwarded-authorization": "Basic YTpi"}, "TOKEN_MISSING"),
}


@pytest.mark.parametrize(("headers", "result"), HANDED_ON.values(), ids=HANDED_ON)
def test_cloudfront_hands_a_token_on_in_another_header(tokens: Tokens, provider: Provider, headers: dict[str, str], result: str) -> None:
    """Its signature takes the place of `Authorization`; the other header is verified as strictly."""
    known = {who: provider.token(sub=who) for who in ("ann", "bob")}
    sent = {name: " ".join(known.get(word, word) for word in value.split(" ")) for name, value in headers.items()}
    asked = Request({"type": "http", "headers": [(name.encode(), value.encode()) for name, value in sent.items()]})
    try:
        told = tokens.principal(asked).partition("#")[2]
    except Problem as problem:
        told = problem.code
    assert told == result


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer  ", "Basic YTpi", "Token x"])
async def test_without_a_token_the_way_to_send_one_is_said(provider: Provider, authorization: str | None) -> None:
    """401 with `WWW-Authenticate: Bearer` and no error in it (RFC 6750 §3); health is answered all the same."""
    headers = {} if authorization is None else {"authorization": authorization}
    async with client_of(create_app("dev", settings_of(provider), checkpointer=InMemorySaver())) as client:
        refused = await client.post("/", json=body(), headers=headers)
        assert (await client.get("/health", headers=headers)).status_code == 200
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "TOKEN_MISSING")
    assert refused.headers["www-authenticate"] == "Bearer"
    assert provider.asked == []


async def test_a_refusal_names_the_rule_and_not_the_token(provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    """`WWW-Authenticate` has RFC 6750's `invalid_token`; neither the answer nor the log repeats what was sent."""
    token = provider.token(exp=now(-99))
    async with client_of(create_app("dev", settings_of(provider), checkpointer=InMemorySaver())) as client:
        refused = await client.get("/info", headers={"authorization": f"Bearer {token}"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "TOKEN_EXPIRED")
    assert refused.headers["www-authenticate"].startswith('Bearer error="invalid_token", error_description="The token has expired.')
    shown = refused.text + str(refused.headers) + caplog.text
    assert not any(part in shown for part in token.split("."))


async def test_the_scheme_is_read_in_any_case(provider: Provider) -> None:
    """RFC 9110 §11.1."""
    async with client_of(create_app("dev", settings_of(provider), checkpointer=InMemorySaver())) as client:
        assert (await client.get("/info", headers={"authorization": f"bEARER  {provider.token()}"})).status_code == 200


# -- the provider's keys


def test_keys_are_read_once(tokens: Tokens, provider: Provider) -> None:
    """Discovery and keys are asked for at the first token, and not at those after it."""
    assert [told(tokens, provider.token(kid)) for kid in ("rsa", "ec", "rsa")] == ["ann"] * 3
    assert provider.asked == [DISCOVERY, KEYS]


def test_a_named_address_needs_no_discovery(provider: Provider) -> None:
    """`AGENTS_JWT_JWKS_URL`."""
    tokens = Tokens(settings_of(provider, jwt_jwks_url=provider.issuer + KEYS))
    assert told(tokens, provider.token()) == "ann"
    assert provider.asked == [KEYS]


def test_a_rotated_key_is_found(tokens: Tokens, provider: Provider, clock: Clock) -> None:
    """A token of a new key makes the keys be read again; one that was withdrawn stops working then, or ten minutes later at the latest."""
    old = provider.token()
    assert told(tokens, old) == "ann"
    provider.keys = {"ec": HELD["ec"], "new": STRANGER}
    clock.now += PAUSE_SECONDS
    assert told(tokens, provider.token("new")) == "ann"
    assert told(tokens, old) == "TOKEN_UNKNOWN_KEY"
    provider.keys = {"ec": HELD["ec"]}
    clock.now += FRESH_SECONDS
    assert told(tokens, provider.token("new", key=STRANGER)) == "TOKEN_UNKNOWN_KEY"


def test_forged_key_ids_do_not_reach_the_provider(tokens: Tokens, provider: Provider, clock: Clock) -> None:
    """A hundred of them are one more request in ten seconds, and real tokens go on working meanwhile."""
    assert told(tokens, provider.token()) == "ann"
    provider.asked.clear()
    clock.now += PAUSE_SECONDS
    forged = [provider.token(f"k{n}", key=STRANGER) for n in range(100)]
    assert {told(tokens, token) for token in forged} == {"TOKEN_UNKNOWN_KEY"}
    assert provider.asked == [DISCOVERY, KEYS]
    assert told(tokens, provider.token()) == "ann"


def test_tokens_that_cannot_be_accepted_ask_for_no_key(tokens: Tokens, provider: Provider) -> None:
    """`none`, HMAC, malformed and huge ones are refused before the provider is asked for anything."""
    for name in ("none", "HMAC", "HMAC with the public key", "huge", "no JWT", "a deep header"):
        told(tokens, TABLE[name][0](provider))
    assert provider.asked == []


@pytest.mark.parametrize("status", [500, 302, 404])
def test_a_provider_that_is_down_from_the_start(tokens: Tokens, provider: Provider, clock: Clock, status: int) -> None:
    """503, asked for once in ten seconds; when it answers again, so do we. A redirect is no answer: it may lead anywhere."""
    provider.status = status
    assert [told(tokens, provider.token()) for _ in range(5)] == ["503 AUTH_UNAVAILABLE"] * 5
    assert provider.asked == [DISCOVERY]
    provider.status = 200
    clock.now += PAUSE_SECONDS
    assert told(tokens, provider.token()) == "ann"


def test_kept_keys_work_while_the_provider_is_down(tokens: Tokens, provider: Provider, clock: Clock) -> None:
    """For a day. A key that is not among them may be new: 503, not 401."""
    assert told(tokens, provider.token()) == "ann"
    provider.status = 500
    clock.now += FRESH_SECONDS
    assert told(tokens, provider.token()) == "ann"
    assert told(tokens, provider.token("new", key=STRANGER)) == "503 AUTH_UNAVAILABLE"
    clock.now += KEPT_SECONDS
    assert told(tokens, provider.token()) == "503 AUTH_UNAVAILABLE"


async def test_the_answer_says_when_to_come_back(provider: Provider) -> None:
    """503 is JSON with a code, and `Retry-After`; nobody listens at all here."""
    settings = settings_of(provider, jwt_jwks_url="http://127.0.0.1:9/keys")
    async with client_of(create_app("dev", settings, checkpointer=InMemorySaver())) as client:
        refused = await client.post("/", json=body(), headers={"authorization": f"Bearer {provider.token()}"})
    assert (refused.status_code, refused.json()["error"]["code"], refused.headers["retry-after"]) == (503, "AUTH_UNAVAILABLE", "10")


ODD: dict[str, dict[str, Any]] = {
    "the discovery of another issuer": {DISCOVERY: {"issuer": "https://evil.example", "jwks_uri": "https://evil.example/keys"}},
    "keys over plain http": {DISCOVERY: {"issuer": "{issuer}", "jwks_uri": "http://evil.example/keys"}},
    "no address of keys": {DISCOVERY: {"issuer": "{issuer}"}},
    "no object": {DISCOVERY: []},
    "no keys": {KEYS: {"keys": []}},
    "keys that are none": {KEYS: {"keys": [1, {}, {"kty": "RSA", "kid": "rsa"}, {"kty": "oct", "k": "AA", "kid": "rsa"}]}},
    "a key for encryption": {KEYS: {"keys": [jwk("rsa", HELD["rsa"]) | {"use": "enc"}]}},
    "a key of 1,024 bits": {KEYS: {"keys": [jwk("rsa", WEAK)]}},
    "a key of another algorithm": {KEYS: {"keys": [jwk("rsa", HELD["rsa"]) | {"alg": "RS512"}]}},
}


@pytest.mark.parametrize("documents", ODD.values(), ids=ODD)
def test_a_provider_in_trouble_is_down(tokens: Tokens, provider: Provider, documents: dict[str, Any]) -> None:
    """What it says and cannot mean is never trusted, and is 503: the token may be good."""
    provider.documents = json.loads(json.dumps(documents).replace("{issuer}", provider.issuer))
    assert told(tokens, provider.token()) == "503 AUTH_UNAVAILABLE"


def test_a_key_that_is_not_known_here_spoils_no_other(tokens: Tokens, provider: Provider) -> None:
    """A provider may publish more than this verifies with; with one usable key a token need not name it."""
    provider.documents = {KEYS: {"keys": [{"kty": "OKP", "crv": "X25519"}, {"kty": "EC", "crv": "P-999"}, jwk("rsa", HELD["rsa"])]}}
    assert told(tokens, provider.token(headers={"kid": None})) == "ann"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({}, "jwt_issuer"),
        ({"jwt_issuer": "https://a.example"}, "jwt_audience"),
        ({"jwt_issuer": "http://a.example", "jwt_audience": "x"}, "https"),
        ({"jwt_issuer": "https://a.example/#x", "jwt_audience": "x"}, "fragment"),
        ({"jwt_issuer": "https://a.example", "jwt_audience": "x", "jwt_jwks_url": "file:///keys"}, "jwt_jwks_url"),
    ],
)
def test_half_a_setting_is_no_auth(settings: dict[str, str], named: str) -> None:
    """A function that could not tell its callers apart does not start."""
    with pytest.raises(ValueError, match=named):
        Settings(auth="jwt", **settings)  # type: ignore[arg-type]  # field by field


# -- whose threads


async def test_two_subjects_do_not_see_each_others_threads(provider: Provider, dynamo: Dynamo, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same thread id of two subjects is two threads, for run, connect, messages, state and the list; a third has none."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo.endpoint)
    app = create_app("dev", settings_of(provider, table_prefix=dynamo.tables["threads"].removesuffix("threads")))
    seen: dict[str, Any] = {}
    async with client_of(app) as client:
        bearer = {who: {"authorization": f"Bearer {provider.token(sub=who)}"} for who in ("ann", "bob", "eve")}
        for who, text in (("ann", "start demo"), ("bob", "hello from bob")):
            run = read_sse((await client.post("/", json=body(text), headers=bearer[who])).content)
            assert run[-1]["type"] == "RUN_FINISHED"
        for who, headers in bearer.items():
            answers = [await client.get(f"/threads/t/{part}", headers=headers) for part in ("messages", "state")]
            answers.append(await client.post("/connect", json={"threadId": "t"}, headers=headers))
            shown = "".join(answer.text for answer in answers)
            seen[who] = (*(answer.status_code for answer in answers), "start demo" in shown, "hello from bob" in shown)
    # a thread that is not there yet is connected to as an empty one
    assert seen == {"ann": (200, 200, 200, True, False), "bob": (200, 200, 200, False, True), "eve": (404, 404, 200, False, False)}
    threads = Threads(dynamo.tables["threads"], client=dynamo.client)
    listed = {who: [row.title for row in threads.list(f"{provider.issuer}#{who}").rows] for who in bearer}
    assert listed == {"ann": ["start demo"], "bob": ["hello from bob"], "eve": []}
