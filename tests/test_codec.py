"""What re-encoding alone does not show is refused all the same."""

from __future__ import annotations

import pytest

from syncmem.codec import unpack, unpack_each
from syncmem.errors import NotCanonical


@pytest.mark.parametrize(
    "data",
    [
        b"\x81\xc4\x01a\xc0",  # one key of bytes: was taken
        b"\x82\xc4\x01a\xc0\xc4\x01b\xc0",  # two: ended in an AttributeError
        b"\x91\x81\xc4\x01a\xc0",
    ],
)
def test_a_map_with_keys_of_bytes_is_refused(data: bytes) -> None:
    with pytest.raises(NotCanonical):
        unpack(data)
    assert unpack_each([data]) is None


@pytest.mark.parametrize(
    "data", [b"\xd6\xff\x00\x00\x00\x00", b"\x91\xd6\xff\x00\x00\x00\x05", b"\x81\xa1a\xd6\xff" + bytes(4)]
)
def test_a_timestamp_is_refused_like_any_extension(data: bytes) -> None:
    with pytest.raises(NotCanonical):
        unpack(data)
    assert unpack_each([data]) is None
