# SPDX-License-Identifier: GPL-2.0-or-later
"""Frozen dataclasses to JSON and back, trusting nothing on the way back.

Known types: int, str, bool, tuple[X, ...], dataclasses, X | None. Strings hold bytes
that are not UTF-8 as lone surrogates (os.fsdecode), which JSON escapes.
"""

import dataclasses
import json
import types
import typing
from typing import Any, TypeVar

from pyrr.errors import TraceError

Data = TypeVar("Data")


def encode(value: object) -> str:
    """A dataclass instance as indented JSON text."""
    return json.dumps(dataclasses.asdict(value), indent=1) + "\n"  # type: ignore[call-overload]


def decode(kind: type[Data], text: str) -> Data:
    """The dataclass that JSON text holds; TraceError where it does not fit.

    Members without a value in the text take their defaults, unknown ones are skipped.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as malformed:
        raise TraceError(f"malformed JSON: {malformed}") from None
    result: Data = _convert(kind, value, kind.__name__)
    return result


def _convert(kind: Any, value: object, where: str) -> Any:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _dataclass(kind, value, where)
    origin = typing.get_origin(kind)
    if origin is tuple:
        if not isinstance(value, list):
            raise _mismatch(where, "a list", value)
        (item, _) = typing.get_args(kind)
        return tuple(_convert(item, element, f"{where}[{i}]") for i, element in enumerate(value))
    if origin is types.UnionType:
        (other,) = (part for part in typing.get_args(kind) if part is not type(None))
        return None if value is None else _convert(other, value, where)
    # A bool is an int to Python, not here.
    if type(value) is not kind:
        raise _mismatch(where, kind.__name__, value)
    return value


def _dataclass(kind: type, value: object, where: str) -> object:
    if not isinstance(value, dict):
        raise _mismatch(where, "an object", value)
    hints = typing.get_type_hints(kind)
    arguments: dict[str, Any] = {}
    for member in dataclasses.fields(kind):
        if member.name in value:
            hint = hints[member.name]
            arguments[member.name] = _convert(hint, value[member.name], f"{where}.{member.name}")
        elif member.default is dataclasses.MISSING:
            raise TraceError(f"{where} has no {member.name!r}")
    made: object = kind(**arguments)
    return made


def _mismatch(where: str, wanted: str, value: object) -> TraceError:
    return TraceError(f"{where} is {type(value).__name__} instead of {wanted}")
