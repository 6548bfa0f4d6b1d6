"""Results of `izmp replay` in the formats of other tools."""
