"""What the calls of a DynamoDB client cost by DynamoDB's rules, from the items on the wire: an emulator's own figures are wrong."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from functions.store.table import item_bytes
from infra.costs.units import read_units, write_units

READS = ("GetItem", "Query", "Scan", "BatchGetItem")


class Meter:
    """Calls, bytes and units of every client that is attached, since the last `clear`."""

    def __init__(self, *clients: Any) -> None:
        self.clear()
        for client in clients:
            client.meta.events.register("before-call.dynamodb", self._request)
            client.meta.events.register_first("after-call.dynamodb", self._answer)  # boto3 resources turn items into their own types

    def clear(self) -> None:
        self.operations: Counter[str] = Counter()
        self.written = self.write_units = 0
        self.read_units = 0.0

    @property
    def calls(self) -> int:
        return self.operations.total()

    def _request(self, model: Any, params: Mapping[str, Any], context: dict[str, Any], **_: Any) -> None:
        body = json.loads(params["body"])
        self.operations[model.name] += 1
        context["consistent"] = consistent(body)
        for size in written(model.name, body):
            self.written += size
            self.write_units += write_units(size)

    def _answer(self, model: Any, parsed: Mapping[str, Any], context: Mapping[str, Any], **_: Any) -> None:
        if model.name in READS:
            self.read_units += units_read(model.name, [item_bytes(item) for item in found(parsed)], context["consistent"])


def consistent(body: Mapping[str, Any]) -> bool:
    """A batch says it for each table; all of ours say the same."""
    tables = body.get("RequestItems") or {}
    return bool(body.get("ConsistentRead") or any(isinstance(one, Mapping) and one.get("ConsistentRead") for one in tables.values()))


def units_read(operation: str, sizes: Sequence[int], consistent: bool) -> float:
    """A query's items count together, each of a batch for itself. (A key of a batch that is not there is a unit that no answer shows.)"""
    if operation == "BatchGetItem":
        return sum(read_units(size, consistent=consistent) for size in sizes)
    return read_units(sum(sizes), consistent=consistent)


def written(operation: str, body: Mapping[str, Any]) -> Iterator[int]:
    """Bytes of each item. An update counts as what it sets, which is the whole item where it is new; a delete as one unit."""
    match operation:
        case "PutItem":
            yield item_bytes(unpacked(body["Item"]))
        case "UpdateItem":
            values = unpacked(body.get("ExpressionAttributeValues", {}))
            yield item_bytes(body["Key"]) + item_bytes(values)
        case "DeleteItem":
            yield 1
        case "BatchWriteItem":
            for request in (request for requests in body["RequestItems"].values() for request in requests):
                yield item_bytes(unpacked(request["PutRequest"]["Item"])) if "PutRequest" in request else 1


def found(parsed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if "Item" in parsed:
        yield parsed["Item"]
    yield from parsed.get("Items", ())
    for items in parsed.get("Responses", {}).values():
        yield from items


def unpacked(value: Any) -> Any:
    """On the wire binary is base64; only its length counts."""
    if isinstance(value, dict):
        return {name: base64.b64decode(part) if name == "B" and isinstance(part, str) else unpacked(part) for name, part in value.items()}
    return [unpacked(part) for part in value] if isinstance(value, list) else value
