"""A one-way copy of threads from the tables of two other checkpointers, read by their layouts: neither package is needed, nothing there
is changed.

`aws`: `langgraph-checkpoint-aws` (one table, large payloads in S3). `dynamodb`: `langgraph-checkpoint-dynamodb` (two tables).
"""

from functions.store.imports.aws import AwsTable
from functions.store.imports.copying import Copied
from functions.store.imports.dynamodb import TwoTables
from functions.store.imports.foreign import SourceError
from functions.store.imports.importing import Listing, import_threads

__all__ = ["AwsTable", "Copied", "Listing", "SourceError", "TwoTables", "import_threads"]
