# SPDX-License-Identifier: GPL-2.0-or-later
"""The hash of a page against a second implementation, written from docs/TRACE_FORMAT.md."""

import struct

from hypothesis import example, given
from hypothesis import strategies as st

from pyrr.native import page_hash

PAGE = 4096
M = 0x9E3779B97F4A7C15
U64 = (1 << 64) - 1


def mix(state: int, word: int) -> int:
    x = state ^ word
    return (x << 27 | x >> 37) * M & U64


def oracle(page: bytes) -> int:
    words = struct.unpack("<512Q", page)
    lanes = [(i + 1) * M & U64 for i in range(8)]
    for k in range(64):
        for i in range(8):
            lanes[i] = mix(lanes[i], words[8 * k + i])
    h = 0
    for lane in lanes:
        h = mix(h, lane)
    h = (h ^ h >> 32) * M & U64
    return h ^ h >> 29


@given(st.binary(max_size=64), st.integers(0, PAGE - 64))
@example(b"", 0)
def test_page_hash_is_the_documented_one(data: bytes, at: int) -> None:
    page = (bytes(at) + data).ljust(PAGE, b"\0")
    assert page_hash(page) == oracle(page)


def test_a_dense_page() -> None:
    page = bytes((i * 7 + i // 256) % 256 for i in range(PAGE))
    assert page_hash(page) == oracle(page)


if __name__ == "__main__":  # the values in csrc/tests/test_page_hash.c
    print(hex(oracle(bytes(PAGE))))
    print(hex(oracle(bytes((i * 7 + i // 256) % 256 for i in range(PAGE)))))
