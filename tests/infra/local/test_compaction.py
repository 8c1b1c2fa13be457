"""What the journal holds after a start: the present, not the past."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from infra.local.compaction import is_data
from infra.local.journal import Journal, Record
from infra.local.journaled import JournaledApp, authorization, is_write
from infra.local.store_process import UnplayableJournal, emulator, restore

DYNAMODB = {"authorization": authorization(region="us-east-1", service="dynamodb"), "content-type": "application/x-amz-json-1.0"}
S3 = {"authorization": authorization(region="us-east-1", service="s3")}
TABLE = {
    "TableName": "t",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


class Calls:
    """Calls to one app, as they come over HTTP."""

    def __init__(self, app: JournaledApp) -> None:
        self._client = Client(app)

    def dynamodb(self, operation: str, **arguments: Any) -> dict[str, Any]:
        headers = {**DYNAMODB, "x-amz-target": f"DynamoDB_20120810.{operation}"}
        response = self._client.post("/", headers=headers, data=json.dumps(arguments))
        found: dict[str, Any] = json.loads(response.data)
        return {**found, "status": response.status_code}

    def s3(self, method: str, path: str, data: bytes = b"", **headers: str) -> Any:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        response = self._client.open(path, method=method, headers={**S3, **names}, data=data)
        assert response.status_code < 300, response.data
        return response


class Folder:
    """The journal's file over several starts of the store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._journal = Journal(path)

    def reopened(self) -> Calls:
        """Another start: the emulator is empty, its data being the process's."""
        self._journal.close()
        Client(emulator()).post("/moto-api/reset")
        self._journal = Journal(self.path)
        return Calls(restore(emulator(), self._journal)[0])

    def lines(self) -> list[Record]:
        return list(self._journal.records())

    def close(self) -> None:
        self._journal.close()
        Client(emulator()).post("/moto-api/reset")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    folder = Folder(tmp_path / "journal.jsonl")
    yield folder
    folder.close()


def test_many_writes_to_one_item_become_one(folder: Folder) -> None:
    """A hundred updates are one put after the next start; deleted items and tables of the past are gone."""
    calls = folder.reopened()
    calls.dynamodb("CreateTable", **TABLE)
    for number in range(100):
        calls.dynamodb(
            "UpdateItem",
            TableName="t",
            Key={"pk": {"S": "a"}},
            UpdateExpression="SET n = :n",
            ExpressionAttributeValues={":n": {"N": str(number)}},
        )
    calls.dynamodb("PutItem", TableName="t", Item={"pk": {"S": "b"}})
    calls.dynamodb("DeleteItem", TableName="t", Key={"pk": {"S": "b"}})
    assert len(folder.lines()) == 103
    calls = folder.reopened()
    assert [record.headers["x-amz-target"].partition(".")[2] for record in folder.lines()] == ["CreateTable", "BatchWriteItem"]
    assert calls.dynamodb("Scan", TableName="t")["Items"] == [{"pk": {"S": "a"}, "n": {"N": "99"}}]


def test_nothing_changes_from_start_to_start(folder: Folder) -> None:
    """A second start leaves the file as the first made it."""
    calls = folder.reopened()
    calls.dynamodb("CreateTable", **TABLE)
    for number in range(60):
        calls.dynamodb("PutItem", TableName="t", Item={"pk": {"S": str(number)}})
    folder.reopened()
    first = folder.path.read_bytes()
    calls = folder.reopened()
    assert folder.path.read_bytes() == first
    assert calls.dynamodb("Scan", TableName="t", Select="COUNT")["Count"] == 60


def test_what_failed_is_not_journalled(folder: Folder) -> None:
    """A refused write and any read leave no line."""
    calls = folder.reopened()
    calls.dynamodb("CreateTable", **TABLE)
    calls.dynamodb("PutItem", TableName="t", Item={"pk": {"S": "a"}})
    refused = calls.dynamodb("PutItem", TableName="t", Item={"pk": {"S": "a"}}, ConditionExpression="attribute_not_exists(pk)")
    assert refused["status"] == 400
    assert (
        calls.dynamodb("Query", TableName="t", KeyConditionExpression="pk = :a", ExpressionAttributeValues={":a": {"S": "a"}})["Count"] == 1
    )
    assert len(folder.lines()) == 2


ATTRIBUTES = {
    "s": {"S": "你好"},
    "n": {"N": "1.5"},
    "b": {"B": "/wA="},
    "l": {"L": [{"B": "/wA="}, {"S": "x"}, {"L": []}]},
    "m": {"M": {"b": {"B": "/wA="}, "deep": {"M": {"t": {"BOOL": True}, "none": {"NULL": True}}}}},
    "bs": {"BS": ["/wA=", "AA=="]},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2"]},
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attribute_types(folder: Folder, name: str) -> None:
    """Every type of attribute, nested ones too, comes back as it was put."""
    item = {"pk": {"S": "a"}, name: ATTRIBUTES[name]}
    calls = folder.reopened()
    calls.dynamodb("CreateTable", **TABLE)
    assert calls.dynamodb("PutItem", TableName="t", Item=item)["status"] == 200
    for _ in range(2):
        assert folder.reopened().dynamodb("Scan", TableName="t")["Items"] == [item]


def test_objects(folder: Folder) -> None:
    """Objects keep their bytes, type and metadata; overwritten and deleted ones leave nothing."""
    calls = folder.reopened()
    calls.s3("PUT", "/bucket")
    calls.s3("PUT", "/bucket/a%20b", b"old")
    calls.s3("PUT", "/bucket/a%20b", b"\xff\x00new", content_type="image/png", x_amz_meta_k="v")
    calls.s3("PUT", "/bucket/gone", b"x")
    calls.s3("DELETE", "/bucket/gone")
    calls = folder.reopened()
    found = calls.s3("GET", "/bucket/a%20b")
    assert (found.data, found.headers["content-type"], found.headers["x-amz-meta-k"]) == (b"\xff\x00new", "image/png", "v")
    assert [(record.method, record.target) for record in folder.lines()] == [("PUT", "/bucket"), ("PUT", "/bucket/a%20b")]


def test_a_multipart_upload_is_one_object(folder: Folder) -> None:
    """Upload ids do not survive a restart, so what is journalled is the finished object."""
    calls = folder.reopened()
    calls.s3("PUT", "/bucket")
    upload = calls.s3("POST", "/bucket/big?uploads").data.decode().partition("<UploadId>")[2].partition("<")[0]
    etag = calls.s3("PUT", f"/bucket/big?partNumber=1&uploadId={upload}", b"part").headers["etag"]
    part = f"<Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>"
    calls.s3("POST", f"/bucket/big?uploadId={upload}", f"<CompleteMultipartUpload>{part}</CompleteMultipartUpload>".encode())
    assert len(folder.lines()) == 2
    assert folder.reopened().s3("GET", "/bucket/big").data == b"part"


def test_a_record_that_is_refused_stops_the_start(folder: Folder) -> None:
    """The file is kept as it was, and the line is named."""
    journal = Journal(folder.path)
    headers = {**DYNAMODB, "x-amz-target": "DynamoDB_20120810.PutItem"}
    journal.append(Record("POST", "/", headers, b'{"TableName": "none", "Item": {"pk": {"S": "a"}}}'))
    journal.close()
    before = folder.path.read_bytes()
    with pytest.raises(UnplayableJournal, match="line 1"):
        folder.reopened()
    assert folder.path.read_bytes() == before


def request(method: str, target: str, operation: str = "") -> Record:
    return Record(method, target, {"x-amz-target": f"DynamoDB_20120810.{operation}"} if operation else {}, b"")


@pytest.mark.parametrize(
    ("record", "write", "data"),
    [
        (request("POST", "/", "GetItem"), False, False),
        (request("POST", "/", "BatchGetItem"), False, False),
        (request("POST", "/", "TransactGetItems"), False, False),
        (request("POST", "/", "DescribeTimeToLive"), False, False),
        (request("POST", "/", "ListTables"), False, False),
        (request("POST", "/", "PutItem"), True, True),
        (request("POST", "/", "TransactWriteItems"), True, True),
        (request("POST", "/", "ExecuteStatement"), True, True),
        (request("POST", "/", "CreateTable"), True, False),
        (request("POST", "/", "UpdateTimeToLive"), True, False),
        (request("GET", "/bucket/key"), False, True),
        (request("HEAD", "/bucket"), False, False),
        (request("PUT", "/bucket"), True, False),
        (request("PUT", "/bucket?versioning"), True, False),
        (request("PUT", "/bucket/key"), True, True),
        (request("POST", "/bucket?delete"), True, True),
        (request("POST", "/bucket/?delete"), True, True),
    ],
)
def test_kinds_of_requests(record: Record, write: bool, data: bool) -> None:
    """Which requests are journalled, and which of those are replaced by their outcome at the next start."""
    assert (is_write(record), is_data(record)) == (write, data)
