"""`python -m infra.cli`, where the script `agents` is not installed."""

from infra.cli import main

main()
