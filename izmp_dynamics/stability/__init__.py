"""From a contact wrench to a point on the ground, and from there to a verdict."""
