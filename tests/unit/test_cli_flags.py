# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of flag words: against the model, and against Python's own constants."""

import mmap
import os
from types import ModuleType

import pytest

from pyrr.cli import _flags
from pyrr.model.syscalls import BY_NAME


@pytest.mark.parametrize(("call", "argument"), _flags.FLAG_WORDS)
def test_the_model_has_what_is_named(call: str, argument: str) -> None:
    assert argument in [known.name for known in BY_NAME[call].arguments]


@pytest.mark.parametrize(
    ("word", "module"),
    [
        (_flags.OPENING, os),
        (_flags.WAITING, os),
        (_flags.ACCESS, os),
        (_flags.SEEKING, os),
        (_flags.PROTECTION, mmap),
        (_flags.MAPPING, mmap),
        (_flags.CLONING, os),
    ],
)
def test_values_are_the_kernels(word: _flags.FlagWord, module: ModuleType) -> None:
    named = {**word.bits, **word.choices}
    shared = {value: name for value, name in named.items() if hasattr(module, name)}
    assert shared or word is _flags.CLONING  # os has CLONE_ constants from Python 3.12 on
    for value, name in shared.items():
        if name != "O_LARGEFILE":  # 0 to a 64-bit C library
            assert getattr(module, name) == value, name


@pytest.mark.parametrize(
    ("word", "value", "text"),
    [
        (_flags.OPENING, 0, "O_RDONLY"),
        (_flags.OPENING, 0o2000102, "O_CLOEXEC|O_CREAT|O_RDWR"),
        (_flags.OPENING, 0o20200000, "O_RDONLY|O_TMPFILE"),
        (_flags.PROTECTION, 0, "PROT_NONE"),
        (_flags.PROTECTION, 0x103, "PROT_READ|PROT_WRITE|0x100"),
        (_flags.MAPPING, 0x22, "MAP_PRIVATE|MAP_ANONYMOUS"),
        (_flags.CLONING, 0x1200011, "SIGCHLD|CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID"),
        (_flags.SIGNAL_SET, 2, "SIG_SETMASK"),
        (_flags.SIGNAL_SET, 9, "SIG_UNBLOCK|0x8"),
    ],
)
def test_names(word: _flags.FlagWord, value: int, text: str) -> None:
    assert set(_flags.names(word, value).split("|")) == set(text.split("|"))
