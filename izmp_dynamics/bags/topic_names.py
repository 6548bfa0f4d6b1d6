"""Finding a topic by the name in a robot file, in whatever namespace it was recorded."""

from collections.abc import Iterable


def resolve_topic(wanted: str, topics: Iterable[str]) -> str | None:
    """Find a topic by the name in the robot file, in whatever namespace it was recorded.

    Args:
        wanted: name in the robot file, with or without a slash in front.
        topics: recorded names.

    Returns:
        The topic of exactly that name, else the only one that ends in it, else None.
    """
    if f'/{wanted.lstrip("/")}' in topics:
        return f'/{wanted.lstrip("/")}'
    ending = topics_ending_in(wanted, topics)
    return ending[0] if len(ending) == 1 else None


def topics_ending_in(wanted: str, topics: Iterable[str]) -> list[str]:
    """The topics whose last parts are the wanted name."""
    return [topic for topic in topics if topic.endswith(f'/{wanted.lstrip("/")}')]
