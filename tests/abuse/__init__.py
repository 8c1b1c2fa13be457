"""What somebody with bad intentions sends, and what they get: a row each. Real functions over moto; every row can fail."""
