"""Many people at once against the real local stack, with what they do to a chat: questions, answers, stops, dropped connections; and, if
asked to, workers that are killed under them. Every stream is checked, every answer is compared with what it must be."""
