"""Errors are checked by kind and data; their wording is for people and may change."""

from contextlib import contextmanager

import pytest


@contextmanager
def raising(error, kind='', **data):
    """Expect an error of exactly this kind whose data include `data`; yields `pytest.raises`'."""
    with pytest.raises(error) as caught:
        yield caught
    assert caught.value.kind == kind, str(caught.value)
    for name, value in data.items():
        assert caught.value.data[name] == value, str(caught.value)
