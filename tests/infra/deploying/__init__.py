"""An AWS account to deploy to: moto's, and the CDK command line. Also by hand: `python -m tests.infra.deploying`."""
