"""Answers as JUnit XML, which every CI server reads."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from izmp_dynamics.verdict.expect.check import Expectation

_FORBIDDEN = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')
"""What XML 1.0 cannot hold."""


def junit_xml(suite: str, expectations: Sequence[Expectation], note: str = '') -> str:
    """Write one test case for each limit.

    Args:
        suite: name of the suite, e.g. the recording.
        expectations: the limits.
        note: for the output of the suite.
    """
    failed = [expectation for expectation in expectations if not expectation.met]
    root, tests = _suite(suite, len(expectations), failures=len(failed))
    for expectation in expectations:
        case = _case(tests, expectation.name)
        if not expectation.met:
            _add(case, 'failure', expectation.sentence)
    if note:
        ElementTree.SubElement(tests, 'system-out').text = _allowed(note)
    return _text(root)


def junit_error(suite: str, sentence: str) -> str:
    """Write that nothing could be evaluated."""
    root, tests = _suite(suite, 1, errors=1)
    _add(_case(tests, 'evaluation'), 'error', sentence)
    return _text(root)


def _suite(
    name: str, tests: int, *, failures: int = 0, errors: int = 0
) -> tuple[ElementTree.Element, ElementTree.Element]:
    counts = {'tests': str(tests), 'failures': str(failures), 'errors': str(errors)}
    root = ElementTree.Element('testsuites', counts)
    return root, ElementTree.SubElement(root, 'testsuite', {'name': _allowed(name)} | counts)


def _case(suite: ElementTree.Element, name: str) -> ElementTree.Element:
    case = {'classname': 'izmp.replay', 'name': _allowed(name)}
    return ElementTree.SubElement(suite, 'testcase', case)


def _add(case: ElementTree.Element, kind: str, sentence: str) -> None:
    text = _allowed(sentence)
    ElementTree.SubElement(case, kind, {'message': text}).text = text


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub('\ufffd', text)


def _text(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        + ElementTree.tostring(root, encoding='unicode')
        + '\n'
    )
