"""What the cold start is measured beside, and the file that its bundle starts: `uvicorn cold_peer:app`.

The stack that a team would put together from packages: ag-ui-langgraph's own endpoint on FastAPI and uvicorn, langgraph-checkpoint-aws as
its README makes it. The graph is that of our agent, from the same files.
"""

from __future__ import annotations

import os
from typing import Any

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langgraph_checkpoint_aws import DynamoDBSaver  # type: ignore[import-untyped]

from graphs.catalog import AGENTS, Deps
from graphs.models import make_model

spec = AGENTS[os.environ["AGENTS_NAME"]]
saver: Any = DynamoDBSaver(os.environ["PEER_TABLE"], region_name=os.environ["AWS_REGION"], endpoint_url=os.environ["AWS_ENDPOINT_URL"])
graph: Any = spec.build(Deps(make_model("offline", offline_delay_ms=1))).compile(checkpointer=saver, name=spec.name)
app = FastAPI()
add_langgraph_fastapi_endpoint(app, LangGraphAgent(name=spec.name, graph=graph), "/")
