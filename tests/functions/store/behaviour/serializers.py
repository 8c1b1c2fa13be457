"""Serializers: the caller's own, an encrypting one, and allowlists of types."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from tests.functions.store.behaviour.putting import pending, put, values, write
from tests.functions.store.behaviour.samples import asking, line
from tests.functions.store.behaviour.stores import Store
from tests.support import graphs
from tests.support.checkpoints import config

SECRET = "the-secret-word"
KEY = b"0123456789abcdef"


def encryption(store: Store) -> None:
    """With `EncryptedSerializer` neither a state nor a write nor what was asked is readable where it is stored, and all come back."""
    saver = store.saver(serde=EncryptedSerializer.from_pycryptodome_aes(key=KEY))
    at = put(saver, config("t"), {"n": SECRET})
    write(saver, at, [("ch", SECRET)])
    line(saver, asking("ask", SECRET)).invoke({"log": []}, config("u", None))
    assert not any(SECRET.encode() in part for part in store.content())
    again = store.saver(serde=EncryptedSerializer.from_pycryptodome_aes(key=KEY))
    assert (values(again, at), pending(again, at)) == ({"n": SECRET}, [("task", "ch", SECRET)])
    put(store.saver(), config("v"), {"n": SECRET})
    assert any(SECRET.encode() in part for part in store.content())


def a_wrong_key_is_an_error(store: Store) -> None:
    """Not an older state and not an empty one."""
    at = put(store.saver(serde=EncryptedSerializer.from_pycryptodome_aes(key=KEY)), config("t"), {"n": SECRET})
    other = store.saver(serde=EncryptedSerializer.from_pycryptodome_aes(key=KEY[::-1]))
    with pytest.raises(ValueError, match="MAC check failed"):
        other.get_tuple(at)


def an_allowlist(store: Store) -> None:
    """`with_allowlist` gives a saver that reads the types it names; the strict one it came from does not."""
    strict = store.saver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    allowing = strict.with_allowlist({(graphs.Money.__module__, "Money")})
    at = put(allowing, config("t"), {"price": graphs.Money(7)})
    write(allowing, at, [("price", graphs.Money(7))])
    for view, price in ((allowing, graphs.Money(7)), (strict, {"amount": 7}), (allowing, graphs.Money(7))):
        assert (values(view, at), pending(view, at)) == ({"price": price}, [("task", "price", price)])


def strict_msgpack(store: Store) -> None:
    """With LANGGRAPH_STRICT_MSGPACK=true a graph's dataclass and pydantic model come back as what its schema says, from a fresh saver."""
    command = [sys.executable, "-m", "tests.functions.store.behaviour.strict"]
    env = os.environ | {"LANGGRAPH_STRICT_MSGPACK": "true", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(command, input=pickle.dumps(store), env=env, capture_output=True, timeout=90, check=False)
    assert done.stdout.decode().split("\n")[-2:] == ["Money(amount=7) Order(price=Decimal('2.5')) [7]", ""], done.stderr.decode()
