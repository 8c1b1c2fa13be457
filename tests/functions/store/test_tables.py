from __future__ import annotations

from functions.store.tables import TABLES, create_tables
from tests.support.dynamodb import Dynamo


def test_create_tables_twice(dynamo: Dynamo) -> None:
    """A second call changes nothing and returns the same names."""
    prefix = dynamo.tables["threads"].removesuffix("threads")
    assert create_tables(dynamo.client, prefix) == dynamo.tables == {key: f"{prefix}{key}" for key in TABLES}


def test_ttl_is_on_where_the_schema_says(dynamo: Dynamo) -> None:
    """The attribute that the table expires by is the one in the schema."""
    for key, name in dynamo.tables.items():
        found = dynamo.client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        assert found == {"TimeToLiveStatus": "ENABLED", "AttributeName": TABLES[key].ttl}


def test_a_server_without_ttl_is_no_error(dynalite: Dynamo) -> None:
    """dynalite knows no TTL and gets its tables all the same."""
    assert {
        name: dynalite.client.describe_table(TableName=name)["Table"]["TableStatus"] for name in dynalite.tables.values()
    } == dict.fromkeys(dynalite.tables.values(), "ACTIVE")
