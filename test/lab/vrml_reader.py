"""Reads Webots' files, as far as `izmp make-world` writes them."""

import re

from izmp_lab.simulation.webots.vrml import Document, Interface, Is, Node

_TOKEN = re.compile(r'#.*|"(?:[^"\\]|\\.)*"|[\[\]{}]|[^\s,"\[\]{}#]+')
_NUMBER = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?')
_WORDS = {'TRUE': True, 'FALSE': False, 'NULL': None}


def parse(text):
    """Read a world or a PROTO; comments are left out."""
    assert text.startswith('#VRML_SIM ')
    tokens = [token for token in _TOKEN.findall(text.partition('\n')[2]) if token[0] != '#']
    return _Parser(tokens).document()


class _Parser:
    def __init__(self, tokens):
        self.tokens = tokens[::-1]

    def takes(self, word):
        """Whether the next token is a word, which is left out then."""
        found = bool(self.tokens) and self.tokens[-1] == word
        return found and bool(self.tokens.pop())

    def document(self):
        document = Document([])
        while self.takes('EXTERNPROTO'):
            document.external.append(self.value())
        if self.takes('PROTO'):
            document.interface = Interface(self.tokens.pop())
            assert self.takes('[')
            while not self.takes(']'):
                assert self.takes('field')
                kind, name = self.tokens.pop(), self.tokens.pop()
                document.interface.fields[name] = kind, self.value()
            assert self.takes('{')
            document.nodes.append(self.value())
            assert self.takes('}')
            assert not self.tokens
        while self.tokens:
            document.nodes.append(self.value())
        return document

    def value(self):
        token = self.tokens.pop()
        if token == '[':
            items = []
            while not self.takes(']'):
                value = self.value()
                items += value if isinstance(value, tuple) else [value]
            return items
        if token[0] == '"':
            return re.sub(r'\\(.)', r'\1', token[1:-1])
        if _NUMBER.fullmatch(token):
            numbers = [float(token)]
            while _NUMBER.fullmatch(self.tokens[-1]):
                numbers.append(float(self.tokens.pop()))
            return tuple(numbers)
        if token in _WORDS:
            return _WORDS[token]
        if token == 'IS':
            return Is(self.tokens.pop())
        name = self.tokens.pop() if token == 'DEF' else ''
        node = Node(self.tokens.pop() if name else token, name=name)
        assert self.takes('{')
        while not self.takes('}'):
            key = self.tokens.pop()
            assert key not in node.fields, key
            node.fields[key] = self.value()
        return node
