"""Errors are checked by kind and data; their wording is for people and may change."""

from contextlib import contextmanager

import pytest


@contextmanager
def raising(error, kind='', **data):
    """Expect an error of exactly this kind with these data or attributes; yields `pytest.raises`'.

    Of another error that an error carries as its `cause`, only the kind is compared.
    """
    with pytest.raises(error) as caught:
        yield caught
    check_error(caught.value, kind, **data)


def check_error(error, kind, **data):
    """Check kind and data of an error that is at hand."""
    assert error.kind == kind, str(error)
    found = vars(error) | error.data
    for name, value in data.items():
        if name == 'cause':
            assert found[name].kind == value, str(error)
        else:
            assert found[name] == value, str(error)
