"""What survives a process: checkpoints and conversations in DynamoDB, large payloads in S3."""
