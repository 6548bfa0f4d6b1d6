"""Many recordings at once: a row per bag, one page about all of them, in several processes."""
