"""The study of the seesaw: runs, figures, page."""
