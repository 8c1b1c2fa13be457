"""Conversations: one row per agent and thread, listed with the latest first. The messages themselves are in the checkpoints."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from botocore.exceptions import ClientError

from functions.store import keys
from functions.store.clients import Calls
from functions.store.errors import refused
from functions.store.expiry import alive, now
from functions.store.table import Item, Table
from functions.store.tables import BY_RANK

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Titled = Literal["rule", "model", "user"]
"""Who named a conversation: the rule (nobody yet), a model (or it has the right to), its user."""
LONGEST_TITLE = 200
DELETED_KEPT = 86_400
"""Seconds: longer than any run that could still touch what was deleted."""
LONGEST_THREAD = 700
"""Bytes of a thread id that stay readable in a sort key of 1,024, beside the agent's name."""


class BadCursor(ValueError):
    """The cursor was not made by `Threads.list` of this version."""


class ConversationDeleted(Exception):
    """It was deleted while a run was at work on it."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One thread as its owner sees it, and who gave it its title. Times are milliseconds since 1970."""

    thread_id: str
    agent: str
    title: str
    created_at: int
    updated_at: int
    titled: Titled = "rule"
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Up to the limit asked for; `cursor` is for the next page and None on the last."""

    rows: tuple[Conversation, ...]
    cursor: str | None


class Threads:
    """Rows under their principal, over all agents; the same thread id with two agents is two conversations.

    The index `by_rank` orders them; a rank starts with 0, that of a pinned row with 1. Of a deleted conversation a row without a rank stays
    for a day, which nobody is shown: a run that began before must not list it again.

    With `ttl_seconds` a row is listed for so long after its last touch. Like its thread's items it goes by itself, objects in S3 do not:
    DynamoDB tells nobody what it removed. They stay until `DynamoDBSaver.delete_thread` or a lifecycle rule of yours deletes them.
    """

    def __init__(self, table_name: str, *, client: DynamoDBClient, ttl_seconds: int | None = None) -> None:
        self._table = Table(table_name, client, Calls())
        self._ttl_seconds = ttl_seconds

    def touch(
        self, principal: str, thread_id: str, *, agent: str, title: str, titled: Titled = "rule", began: float | None = None
    ) -> Conversation:
        """Creates the row or moves it to the top. The title stays that of the first touch.

        `began`: when what touches it began, in seconds since 1970. Raises `ConversationDeleted` if it was deleted after that.
        """
        for pinned in (False, True):
            try:
                return self._touch(principal, thread_id, agent, (title, titled), began or now(), pinned=pinned)
            except ClientError as error:
                if not refused(error):
                    raise
        raise ConversationDeleted(thread_id)

    def _touch(self, principal: str, thread_id: str, agent: str, name: tuple[str, Titled], began: float, *, pinned: bool) -> Conversation:
        """Refused where the row is pinned and should not be, or the other way round."""
        moment = now()
        millis = int(moment * 1_000)
        kept: Item = {} if self._ttl_seconds is None else {":expiry": {"N": str(int(moment) + self._ttl_seconds)}}
        row = self._table.update(
            _owner(principal),
            _row_key(agent, thread_id),
            UpdateExpression=(
                "SET id = :id, #agent = :agent, title = if_not_exists(title, :title), titled = if_not_exists(titled, :titled), "
                "created_at = if_not_exists(created_at, :now), updated_at = :now, #rank = :rank"
                + (", expires_at = :expiry REMOVE deleted_at" if kept else " REMOVE expires_at, deleted_at")
            ),
            ConditionExpression=(
                f"attribute_{'' if pinned else 'not_'}exists(pinned) AND (attribute_not_exists(deleted_at) OR deleted_at < :began)"
            ),
            ExpressionAttributeNames={"#rank": BY_RANK.sort_key, "#agent": "agent"},
            ExpressionAttributeValues={
                ":id": {"S": thread_id},
                ":agent": {"S": agent},
                ":title": {"S": name[0][:LONGEST_TITLE]},
                ":titled": {"S": name[1]},
                ":now": {"N": str(millis)},
                ":rank": {"S": _rank(millis, pinned=pinned)},
                ":began": {"N": str(int(began * 1_000))},
                **kept,
            },
            ReturnValues="ALL_NEW",
        )
        return _conversation(row)

    def get(self, principal: str, thread_id: str, *, agent: str) -> Conversation | None:
        row = self._table.get(_owner(principal), _row_key(agent, thread_id))
        return _conversation(row) if row and "id" in row and alive([row]) else None

    def pin(self, principal: str, thread_id: str, *, agent: str, pinned: bool) -> Conversation | None:
        """Before all others in the list, or among them again. None: there is no such conversation."""
        while (row := self.get(principal, thread_id, agent=agent)) is not None and row.pinned != pinned:
            request: dict[str, Any] = {
                "UpdateExpression": f"SET #rank = :rank{', pinned = :pinned' if pinned else ' REMOVE pinned'}",
                "ConditionExpression": "updated_at = :seen",
                "ExpressionAttributeNames": {"#rank": BY_RANK.sort_key},
                "ExpressionAttributeValues": {
                    ":rank": {"S": _rank(row.updated_at, pinned=pinned)},
                    ":seen": {"N": str(row.updated_at)},
                    **({":pinned": {"BOOL": True}} if pinned else {}),
                },
            }
            try:
                self._table.update(_owner(principal), _row_key(agent, thread_id), **request)
            except ClientError as error:
                if not refused(error):
                    raise  # a run has touched it in between: again
        return row

    def rename(self, principal: str, thread_id: str, *, agent: str, title: str) -> Conversation | None:
        """The user's own title, which nothing replaces. None: there is no such conversation."""
        renamed = self._entitle(principal, thread_id, agent, "user", title=title)
        return self.get(principal, thread_id, agent=agent) if renamed else None

    def claim_title(self, principal: str, thread_id: str, *, agent: str) -> bool:
        """The right to name it by a model, once: False if another run has it, or the user has named it."""
        return self._entitle(principal, thread_id, agent, "model", was="rule")

    def suggest_title(self, principal: str, thread_id: str, *, agent: str, title: str) -> bool:
        """A model's title, for whoever claimed it; False if the user has named it meanwhile, or deleted it."""
        return self._entitle(principal, thread_id, agent, "model", title=title, was="model")

    def _entitle(
        self, principal: str, thread_id: str, agent: str, by: Titled, *, title: str | None = None, was: Titled | None = None
    ) -> bool:
        """Writes title and `by`, if the row is there and `was` has named it (None: whoever has)."""
        given = {} if title is None else {":title": {"S": title[:LONGEST_TITLE]}}
        expected = {} if was is None else {":was": {"S": was}}
        request = {
            "UpdateExpression": "SET titled = :by" + (", title = :title" if given else ""),
            "ConditionExpression": "attribute_exists(id)" + (" AND titled = :was" if expected else ""),
            "ExpressionAttributeValues": {":by": {"S": by}, **given, **expected},
        }
        try:
            self._table.update(_owner(principal), _row_key(agent, thread_id), **request)
        except ClientError as error:
            if not refused(error):
                raise
            return False
        return True

    def delete(self, principal: str, thread_id: str, *, agent: str) -> None:
        """Only the row; a missing one is no error."""
        moment = now()
        told = {"deleted_at": {"N": str(int(moment * 1_000))}, "expires_at": {"N": str(int(moment) + DELETED_KEPT)}}
        self._table.put({"pk": {"S": _owner(principal)}, "sk": {"S": _row_key(agent, thread_id)}, **told})

    def list(self, principal: str, *, limit: int = 20, cursor: str | None = None) -> Page:
        """The pinned ones first, then the latest. Raises `BadCursor`."""
        owner = _owner(principal)
        answer = self._table.index_page(BY_RANK.name, owner, limit, _start(owner, cursor) if cursor else None)
        last = answer.get("LastEvaluatedKey")
        return Page(tuple(_conversation(row) for row in alive(answer["Items"])), _cursor(last) if last else None)


def _owner(principal: str) -> str:
    return keys.principal_prefix(principal)


def _row_key(agent: str, thread_id: str) -> str:
    return f"t!{keys.encode(agent, keys.LONGEST_ID)}!{keys.encode(thread_id, LONGEST_THREAD)}"


def _conversation(row: Item) -> Conversation:
    times = int(row["created_at"]["N"]), int(row["updated_at"]["N"])
    titled = cast(Titled, row.get("titled", {"S": "rule"})["S"])
    return Conversation(row["id"]["S"], row["agent"]["S"], row["title"]["S"], *times, titled, "pinned" in row)


def _rank(updated_at: int, *, pinned: bool) -> str:
    return f"{int(pinned)}!{updated_at:015d}"


def _cursor(last: Item) -> str:
    """Without the principal: a cursor opens nothing of anybody else."""
    place = json.dumps([last["sk"]["S"], last[BY_RANK.sort_key]["S"]])
    return base64.urlsafe_b64encode(place.encode()).decode()


def _start(owner: str, cursor: str) -> Item:
    try:
        row_key, rank = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (binascii.Error, ValueError, TypeError) as error:
        raise BadCursor("Unknown cursor: use the one of the page before, unchanged.") from error
    if not (isinstance(row_key, str) and isinstance(rank, str) and row_key.startswith("t!") and rank):
        raise BadCursor("Unknown cursor: use the one of the page before, unchanged.")
    return {"pk": {"S": owner}, "sk": {"S": row_key}, BY_RANK.sort_key: {"S": rank}}
