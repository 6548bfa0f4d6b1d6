"""Mutations of bytes, of text, and of the records of mcap files."""

import re
import struct

from fuzz_values import double, encoded, name, number, word
from numpy.random import Generator

_MAGIC = b'\x89MCAP0\r\n'
_CHUNK = 0x06
_NUMBER = re.compile(rb'-?\d+\.?\d*(?:[eE][-+]?\d+)?')
_WORD = re.compile(rb'[A-Za-z_/][\w/.-]*')


def mutated_bytes(rng: Generator, content: bytes) -> bytes:
    """Change some bytes."""
    data = bytearray(content)
    if not data:
        return bytes(rng.bytes(3))
    at, other = (int(rng.integers(len(data))) for _ in range(2))
    size = int(min(2 ** rng.integers(1, 13), len(data)))
    match int(rng.integers(9)):
        case 0:
            for place in rng.integers(len(data), size=rng.integers(1, 9)):
                data[place] ^= 1 << int(rng.integers(8))
        case 1:
            del data[at:]
        case 2:
            del data[at : at + size]
        case 3:
            data[at:at] = data[other : other + size]
        case 4:
            block, swapped = data[at : at + size], data[other : other + size]
            count = min(len(block), len(swapped))
            data[at : at + count], data[other : other + count] = swapped[:count], block[:count]
        case 5:
            data[at : at + size] = bytes(len(data[at : at + size]))
        case 6:
            value = word(rng, int(2 ** rng.integers(4)))
            data[at : at + len(value)] = value
        case 7:
            at -= at % 4
            data[at : at + 8] = double(rng)
        case _:
            data[at:at] = rng.bytes(size)
    return bytes(data)


def mutated_text(rng: Generator, content: bytes) -> bytes:
    """Change lines, numbers or words of a text."""
    lines = content.split(b'\n')
    at, other = (int(rng.integers(len(lines))) for _ in range(2))
    match int(rng.integers(12)):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[other])
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            lines[at:at] = lines[at : at + 3] * int(10 ** rng.integers(5))
        case 4:
            lines[at] = b' ' * int(rng.integers(9)) + lines[at].lstrip()
        case 5:
            return _replaced(rng, content, _WORD, encoded(name(rng)))
        case 6:
            return _replaced(rng, content, _WORD, rng.choice(_WORD.findall(content) or [b'']))
        case 7:
            codec = ('utf-16', 'utf-8-sig', 'utf-32', 'cp037')[rng.integers(4)]
            return content.decode('utf-8', 'replace').encode(codec, 'replace')
        case 8:
            return mutated_bytes(rng, content)
        case _:
            return _replaced(rng, content, _NUMBER, encoded(number(rng)))
    return b'\n'.join(lines)


def mutated_mcap(rng: Generator, content: bytes) -> bytes:
    """Change the records of an mcap file, with the lengths made to fit again."""
    if not content.startswith(_MAGIC):
        return mutated_bytes(rng, content)
    records = _mutated_records(rng, _records(content[len(_MAGIC) :]))
    return _MAGIC + _joined(records) + _MAGIC


def _replaced(rng: Generator, content: bytes, pattern: re.Pattern[bytes], new: bytes) -> bytes:
    """Replace one match, or all that are equal to it."""
    found = list(pattern.finditer(content))
    if not found:
        return content + new
    match = found[int(rng.integers(len(found)))]
    if rng.random() < 0.2 and match[0]:
        return content.replace(match[0], new)
    return content[: match.start()] + bytes(new) + content[match.end() :]


def _records(content: bytes) -> list[tuple[int, bytes]]:
    """(opcode, body) of the records, as far as they are whole."""
    records, at = [], 0
    while at + 9 <= len(content):
        opcode, length = struct.unpack_from('<BQ', content, at)
        if at + 9 + length > len(content):
            break
        records.append((opcode, content[at + 9 : at + 9 + length]))
        at += 9 + length
    return records


def _joined(records: list[tuple[int, bytes]]) -> bytes:
    return b''.join(struct.pack('<BQ', opcode, len(body)) + body for opcode, body in records)


def _mutated_records(rng: Generator, records: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    if not records:
        return records
    chosen = rng.choice(sorted({opcode for opcode, _ in records}))
    places = [k for k, (opcode, _) in enumerate(records) if opcode == chosen]
    at, other = int(rng.choice(places)), int(rng.integers(len(records)))
    opcode, body = records[at]
    match int(rng.integers(6)):
        case 0:
            del records[at]
        case 1:
            records.insert(other, records[at])
        case 2:
            records[at], records[other] = records[other], records[at]
        case 3:
            records[at] = (int(rng.integers(20)), body)
        case _ if opcode == _CHUNK:
            records[at] = (opcode, _mutated_chunk(rng, body))
        case _:
            records[at] = (opcode, mutated_bytes(rng, body))
    return records


def _mutated_chunk(rng: Generator, body: bytes) -> bytes:
    """Change the records in an uncompressed chunk; of a compressed one, any bytes."""
    start, end, _, _, length = struct.unpack_from('<QQQII', body)
    if length or rng.random() < 0.2:
        return mutated_bytes(rng, body)
    inside = _joined(_mutated_records(rng, _records(body[40:])))
    return struct.pack('<QQQIIQ', start, end, len(inside), 0, 0, len(inside)) + inside
