"""From an evaluation to statistics, events and a verdict."""
