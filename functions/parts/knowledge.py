"""What agents know: the bundled samples, and the knowledge bases in the settings' bucket."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from functions.settings import Settings
from graphs.knowledge import Embedder, bundled, hashing_embedder
from graphs.knowledge.collection import Collection
from graphs.knowledge.embedding import HASHING
from graphs.knowledge.shelf import MemoryShelf, Shelf
from graphs.models import MissingProvider, provider_advice

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from mypy_boto3_s3 import S3Client


def make(settings: Settings, client: S3Client | None = None) -> Collection:
    """Raises what `make_embedder` raises. Without a bucket there are the samples alone."""
    samples = bundled() if settings.sample_knowledge else None
    return Collection(_shelf(settings, client), samples, make_embedder(settings.embeddings))


def _shelf(settings: Settings, client: S3Client | None) -> Shelf:
    if not settings.bucket:
        return MemoryShelf()
    from functions.store.clients import s3_client
    from functions.store.shelf import S3Shelf

    return S3Shelf(client or s3_client(), settings.bucket, settings.table_prefix)


def make_embedder(name: str) -> Embedder | None:
    """`""`: none. `hashing`: the one that needs no key. Else `provider:model`, as `init_embeddings` of LangChain takes it.

    Raises:
        MissingProvider: its package is not installed.
        ValueError: a name of another form, or an unknown provider.
    """
    if not name:
        return None
    if name == HASHING:
        return hashing_embedder()
    try:
        make_one = import_module("langchain.embeddings").init_embeddings
        return Embedder(name, cast("Embeddings", make_one(name)))
    except ImportError as error:
        raise MissingProvider(provider_advice(name.partition(":")[0])) from error
