"""What a recording must meet: limits from a file, checked against a report, reported to CI."""
