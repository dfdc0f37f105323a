# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of the model to and from `struct prr_event`."""

from collections.abc import Iterator

from pyrr.errors import InternalError, TraceError
from pyrr.model.events import (
    Arch,
    Event,
    EventKind,
    Origin,
    Output,
    OutputKind,
    Position,
    Registers,
    TaskUid,
)
from pyrr.model.fields import AnyTypedField, FieldTag, UnknownField, decode
from pyrr.native._pyrr_core import ffi, lib
from pyrr.native._status import CData, check, error_slot


def append(writer: CData, event: Event, required: frozenset[int] | None) -> int:
    """Commits an event to a `struct prr_trace_writer *`; its EventIndex.

    `required` are the tags a reader must know, None: all. Raises SystemFailure.
    """
    if required is None:
        required = frozenset(FieldTag)
    lib.prr_trace_writer_begin(writer, _head(event))
    index = ffi.new("uint64_t *")
    with error_slot() as error:
        for output in event.outputs:
            _append_output(writer, output, error)
        for field in event.fields:
            data = field.pack()
            mandatory = field.tag in required
            check(
                lib.prr_trace_writer_field(writer, field.tag, mandatory, data, len(data), error),
                error,
            )
        check(lib.prr_trace_writer_commit(writer, index, error), error)
    return int(index[0])


def _head(event: Event) -> CData:
    head = ffi.new("struct prr_event *")
    head.kind = event.kind
    head.arch = event.arch
    head.origin = event.origin
    head.task.tid = event.task.tid
    head.task.serial = event.task.serial
    head.as_uid = event.as_uid
    head.time_ns = event.time_ns
    position = event.position
    head.position = (position.waypoint, position.site, position.hits, position.steps)
    ffi.memmove(ffi.addressof(head, "regs"), event.regs.pack(), Registers.LAYOUT.size)
    return head


def _append_output(writer: CData, output: Output, error: CData) -> None:
    if output.kind is OutputKind.BYTES:
        data = output.data
        if data is None or len(data) != output.length:
            raise InternalError(f"an output of {output.length} bytes came without its bytes")
        status = lib.prr_trace_writer_output(
            writer, output.as_uid, output.addr, data, len(data), error
        )
    else:
        reference = ffi.new("struct prr_output *")
        reference.as_uid = output.as_uid
        reference.kind = output.kind
        reference.addr = output.addr
        reference.len = output.length
        reference.store_id = output.store_id
        reference.store_offset = output.store_offset
        status = lib.prr_trace_writer_output_ref(writer, reference, error)
    check(status, error)


def event(reader: CData, raw: CData, error: CData, *, with_data: bool) -> Event:
    """The Event of a `struct prr_event *` of this reader. Raises TraceError."""
    position = raw.position
    regs = bytes(ffi.buffer(ffi.addressof(raw, "regs"), Registers.LAYOUT.size))
    return Event(
        index=raw.index,
        kind=EventKind(raw.kind),
        arch=Arch(raw.arch),
        origin=Origin(raw.origin),
        task=TaskUid(tid=raw.task.tid, serial=raw.task.serial),
        as_uid=raw.as_uid,
        time_ns=raw.time_ns,
        position=Position(
            waypoint=position.waypoint,
            site=position.site,
            hits=position.hits,
            steps=position.steps,
        ),
        regs=Registers.unpack(regs),
        outputs=tuple(_outputs(reader, raw, error, with_data)),
        fields=tuple(_field(raw, i) for i in range(raw.field_count)),
    )


def _outputs(reader: CData, raw: CData, error: CData, with_data: bool) -> Iterator[Output]:
    slot = ffi.new("uint8_t **")
    for i in range(raw.output_count):
        output = raw.outputs[i]
        data = None
        if with_data and output.kind == OutputKind.BYTES:
            check(lib.prr_trace_reader_output_data(reader, i, slot, error), error)
            data = bytes(ffi.buffer(slot[0], output.len))
        yield Output(
            as_uid=output.as_uid,
            kind=OutputKind(output.kind),
            addr=output.addr,
            length=output.len,
            data=data,
            store_id=output.store_id,
            store_offset=output.store_offset,
        )


def _field(raw: CData, i: int) -> AnyTypedField:
    field = raw.fields[i]
    data = bytes(ffi.buffer(field.data, field.len))
    try:
        return decode(field.tag, data)
    except TraceError as malformed:
        if not field.required:
            return UnknownField(tag=field.tag, data=data)
        raise TraceError(f"event {raw.index}: {malformed.message}") from None
