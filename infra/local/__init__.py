"""The whole stack on one machine: DynamoDB, function URLs, workers."""
