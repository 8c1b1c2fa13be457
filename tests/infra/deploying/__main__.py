"""`python -m tests.infra.deploying`: an empty account. Prints its address and answers until its standard input ends."""

from __future__ import annotations

import sys

from tests.infra.deploying import site
from tests.infra.deploying.cloudformation import register
from tests.support.moto_server import moto_server

if __name__ == "__main__":
    site.register()
    register()
    with moto_server() as endpoint:
        # by name: the CDK's command line and moto agree on S3's addresses only for `localhost`
        print(endpoint.replace("127.0.0.1", "localhost"), flush=True)
        sys.stdin.read()
