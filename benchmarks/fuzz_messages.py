"""Mutations of serialized messages and of the times at which they came."""

from collections.abc import Sequence
from dataclasses import replace

from fuzz_bytes import mutated_bytes
from fuzz_values import double, word
from numpy.random import Generator

from izmp_dynamics.bags.batch import Message

_YEAR = 365 * 86400 * 10**9
_FIRST, _LAST = 0, 2**63 - 1


def mutated_messages(rng: Generator, messages: Sequence[Message], rounds: int) -> list[Message]:
    """Change messages of some topics, all or some of them, at random or all alike."""
    changed = list(messages)
    for _ in range(rounds):
        topic = changed[int(rng.integers(len(changed)))].topic
        places = [k for k, message in enumerate(changed) if message.topic == topic]
        share = (1.0, 1.0, 0.3, 0.01)[rng.integers(4)]
        places = [k for k in places if rng.random() <= share]
        match int(rng.integers(6)):
            case 0:
                for k in places:
                    changed[k] = replace(changed[k], raw=mutated_bytes(rng, changed[k].raw))
            case 1 | 2 | 3 if places:
                _patch(rng, changed, places)
            case 4:
                _retime(rng, changed, places)
            case _:
                gone = set(places)
                changed = [message for k, message in enumerate(changed) if k not in gone]
        if not changed:
            return list(messages[:1])
    return changed


def _patch(rng: Generator, messages: list[Message], places: list[int]) -> None:
    """Write the same bytes at the same place into all, aligned as numbers are."""
    size = len(messages[places[0]].raw)
    at = 4 + 4 * int(rng.integers(max((size - 4) // 4, 1)))
    wanted = rng.random()
    new = double(rng) if wanted < 0.7 else word(rng, 4)
    if wanted < 0.2:  # several numbers in a row
        new *= int(rng.integers(1, 9))
    for k in places:
        raw = messages[k].raw
        messages[k] = replace(messages[k], raw=(raw[:at] + new + raw[at + len(new) :])[:size])


def _retime(rng: Generator, messages: list[Message], places: list[int]) -> None:
    """Change when messages were received, and in a third of the cases in which order."""
    what, shift = int(rng.integers(6)), int(rng.integers(1, 10**10))
    for k in places:
        received = messages[k].received
        new = (_FIRST, _LAST, received + shift, received - shift, received + 30 * _YEAR,
               messages[places[0]].received)[what]  # fmt: skip
        messages[k] = replace(messages[k], received=min(max(new, _FIRST), _LAST))
    if rng.random() < 0.3:
        order = rng.permutation(len(messages))
        messages[:] = [messages[int(k)] for k in order]
