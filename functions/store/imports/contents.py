"""What is copied, opened as far as the copy must look into it.

A value travels as the bytes that it was stored as. A checkpoint is opened as a map of its parts, and closed again without a change:
objects in it (msgpack's extension types) stay bytes. So no class of the application has to be there, nothing in the data is run, and
nothing is lost where a serializer would make a plain dict of what it does not know. With a serializer of the caller's, for what is
encrypted, everything is read with that one and written with the saver's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import ormsgpack
from langchain_core.messages import convert_to_messages
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from functions.store.imports.foreign import Payload, Sealed, SourceError

_KEYS = ormsgpack.OPT_NON_STR_KEYS
"""As LangGraph's serializer packs maps."""
READABLE = frozenset({"msgpack", "json", "null", "bytes", "bytearray"})
"""What LangGraph's own serializer reads wherever it runs (`JsonPlusSerializer.loads_typed`)."""


class Contents(Protocol):
    """How payloads are opened, and closed for the saver that they are copied to."""

    def open(self, sealed: Sealed) -> Any: ...

    def close(self, value: Any, kind: str) -> Sealed:
        """`kind`: what `value` was stored as."""
        ...

    def carry(self, sealed: Sealed) -> Sealed:
        """A value that nobody looks into, as the saver stores it."""
        ...

    def plain(self, carried: Sealed) -> Any:
        """What can be compared."""
        ...

    def objects(self, value: Any, kind: str) -> Any:
        """A part of what `open` gave, with its objects."""
        ...


class AsTheyAre:
    """Contents whose bytes are kept."""

    def open(self, sealed: Sealed) -> Any:
        match self.carry(sealed).kind:
            case "msgpack":
                return ormsgpack.unpackb(sealed.data, ext_hook=ormsgpack.Ext, option=_KEYS)
            case "json":
                return json.loads(sealed.data)
            case kind:
                raise SourceError(f"A checkpoint of it is stored as {kind!r}, which no checkpoint is: its table is damaged.")

    def close(self, value: Any, kind: str) -> Sealed:
        return Sealed(kind, json.dumps(value).encode() if kind == "json" else ormsgpack.packb(value, option=_KEYS))

    def carry(self, sealed: Sealed) -> Sealed:
        if sealed.kind in READABLE:
            return sealed
        raise SourceError(
            f"It is stored as {sealed.kind!r}, which needs the serializer that wrote it: import it in Python, with "
            "`functions.store.imports.import_threads(…, serde=…)`."
        )

    def plain(self, carried: Sealed) -> Any:
        return carried

    def objects(self, value: Any, kind: str) -> Any:
        return JsonPlusSerializer().loads_typed(self.close(value, kind))


class Through:
    """Contents that one serializer reads and another one writes."""

    def __init__(self, source: SerializerProtocol, target: SerializerProtocol) -> None:
        self._source = source
        self._target = target

    def open(self, sealed: Sealed) -> Any:
        return self._source.loads_typed(sealed)

    def close(self, value: Any, kind: str) -> Sealed:
        return Sealed(*self._target.dumps_typed(value))

    def carry(self, sealed: Sealed) -> Sealed:
        return self.close(self.open(sealed), sealed.kind)

    def plain(self, carried: Sealed) -> Any:
        return self._target.loads_typed(carried)

    def objects(self, value: Any, kind: str) -> Any:
        return value


class Sealing:
    """The serializer of the saver that is copied to: what is sealed goes in as it is and comes out sealed."""

    def __init__(self, contents: Contents, kind: str) -> None:
        self._contents = contents
        self._kind = kind

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return obj if isinstance(obj, Sealed) else self._contents.close(obj, self._kind)

    def loads_typed(self, data: tuple[str, bytes]) -> Sealed:
        return Sealed(*data)


def opened(contents: Contents, payload: Payload) -> tuple[dict[str, Any], dict[str, Any]]:
    """(checkpoint, metadata)."""
    if payload.metadata is None:
        both = contents.open(payload.state)
        return both["checkpoint"], both["metadata"]
    return contents.open(payload.state), contents.open(payload.metadata)


def asked(contents: Contents, checkpoint: Mapping[str, Any], kind: str) -> str:
    """The first thing the user said, as far as this checkpoint has it: in the state's messages or in the input; "" if it does not."""
    values = checkpoint["channel_values"]
    given = values.get("__start__")
    for found in (values.get("messages"), given.get("messages") if isinstance(given, dict) else None):
        if text := next(_said(contents.objects(found, kind)), ""):
            return text
    return ""


def _said(messages: object) -> Iterator[str]:
    """Texts of the user's messages, in any of the forms that LangChain takes."""
    messages = getattr(messages, "value", messages)  # a snapshot of a delta channel
    listed: list[Any] = messages if isinstance(messages, list) else [messages]
    try:
        found = convert_to_messages([message for message in listed if message])
    except (ValueError, NotImplementedError, TypeError, KeyError):
        return  # no messages at all
    yield from (text for message in found if message.type == "human" and (text := message.text.strip()))
