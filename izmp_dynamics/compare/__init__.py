"""Several results of `izmp replay` on one page: aligned, with their differences."""
