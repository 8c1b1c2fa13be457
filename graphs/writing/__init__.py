"""What the writing agents share: rewriting, the changes it makes, their summaries, the offline script."""
