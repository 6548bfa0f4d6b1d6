"""What a person looks at: the verdict, the figures and the page."""
