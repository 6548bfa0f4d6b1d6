"""The laboratory's subcommands of `izmp`, one per file."""
