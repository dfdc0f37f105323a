# SPDX-License-Identifier: GPL-2.0-or-later
"""Hypothesis strategies for events, weighted towards what recordings look like."""

from hypothesis import strategies as st

from pyrr.model import events as ev
from pyrr.model import fields as fl

U32 = st.integers(0, 2**32 - 1)
I32 = st.integers(-(2**31), 2**31 - 1)
U64 = st.one_of(st.integers(0, 7), st.integers(0, 2**64 - 1))

task_uids = st.builds(ev.TaskUid, tid=st.integers(-1, 3), serial=st.integers(1, 3))
registers = st.dictionaries(st.sampled_from(ev.REGISTER_NAMES), U64, max_size=5).map(
    lambda values: ev.Registers(**values)
)
positions = st.one_of(
    st.just(ev.Position()), st.builds(ev.Position, waypoint=U64, site=U64, hits=U64, steps=U64)
)


@st.composite
def outputs(draw: st.DrawFn) -> ev.Output:
    kind = draw(st.sampled_from(ev.OutputKind))
    as_uid, addr = draw(U32), draw(st.integers(0, 2**48))
    if kind is ev.OutputKind.BYTES:
        data = draw(st.binary(min_size=1, max_size=40))
        return ev.Output(as_uid=as_uid, kind=kind, addr=addr, length=len(data), data=data)
    length = draw(st.integers(1, ev.OUTPUT_MAX))
    if kind is ev.OutputKind.HOLE:
        return ev.Output(as_uid=as_uid, kind=kind, addr=addr, length=length)
    store_id, store_offset = draw(U32), draw(st.integers(0, 2**60))
    return ev.Output(
        as_uid=as_uid, kind=kind, addr=addr, length=length,
        store_id=store_id, store_offset=store_offset,
    )  # fmt: skip


typed_fields: st.SearchStrategy[ev.Field] = st.one_of(
    st.builds(fl.SyscallField, result=st.integers(-(2**63), 2**63 - 1), nr=I32, flags=U32),
    st.builds(fl.RegsAfterField, regs=registers),
    st.builds(fl.XStateAfterField, data=st.binary(max_size=100)),
    st.builds(
        fl.MappingField, start=U64, len=U64, offset=U64, dev=U64, ino=U64, object_size=U64,
        prot=U32, flags=U32, store_id=U32, kind=st.sampled_from(fl.MappingKind),
        path=st.binary(max_size=9),
    ),
    st.builds(fl.UnmapField, start=U64, len=U64),
    st.builds(
        fl.NewTaskField, tid=I32, serial=U32, ns_tid=I32, as_uid=U32, group=U32, parent=U32,
        flags=U64, stack=U64, tls=U64,
    ),
    st.builds(
        fl.ExecField, as_uid=U32, old_tid=I32, stack_limit=U64, brk_start=U64,
        path=st.binary(max_size=9),
    ),
    st.builds(
        fl.SignalField, signo=I32, place=st.sampled_from(fl.SignalPlace),
        effect=st.sampled_from(fl.SignalEffect), altstack_flags=U32, mask=U64,
        altstack_sp=U64, altstack_size=U64,
    ),
    st.builds(fl.SigInfoField, data=st.binary(min_size=128, max_size=128)),
    st.builds(
        fl.InstructionField, instruction=st.sampled_from(fl.Instruction), length=U32
    ),
    st.builds(fl.ExitField, status=I32, group_exit=U32),
    st.builds(
        fl.FileChangeField, dev=U64, ino=U64, offset=U64, size=U64, len=U64,
        data=st.binary(max_size=9),
    ),
    st.builds(
        fl.PatchField, addr=U64, original=st.binary(min_size=8, max_size=8),
        patched=st.binary(min_size=8, max_size=8), length=U32,
        instruction=st.sampled_from(fl.Instruction),
    ),
    st.builds(fl.TextField, text=st.text(max_size=9)),
    st.builds(
        fl.ArgvField,
        argv=st.lists(
            st.binary(max_size=5).filter(lambda argument: b"\0" not in argument), max_size=3
        ).map(tuple),
    ),
    st.builds(fl.PageHashesField, pages=st.lists(st.tuples(U64, U64), max_size=3).map(tuple)),
    st.builds(fl.BrkField, old_end=U64, new_end=U64),
    st.builds(fl.RLimitField, resource=U32, soft=U64, hard=U64),
    st.builds(fl.EchoField, stream=U32, data=st.binary(max_size=9)),
    st.builds(fl.EchoFdField, fd=I32, stream=U32, cloexec=U32),
    st.builds(fl.StoredFileField, store_id=U32, size=U64, hash=U64),
    st.builds(
        fl.PointField, method=st.sampled_from(fl.PointMethod), varying=U32, flags=U32,
        code_len=U32, code=st.binary(min_size=16, max_size=16),
    ),
    st.builds(fl.PageField, addr=U64, data=st.binary(max_size=9)),
    st.builds(fl.WordsField, words=st.lists(st.tuples(U64, U32, U32), max_size=3).map(tuple)),
    st.builds(fl.UnknownField, tag=st.integers(1000, 0x7FFF), data=st.binary(max_size=9)),
)  # fmt: skip

events = st.builds(
    ev.Event,
    kind=st.sampled_from(ev.EventKind),
    origin=st.sampled_from(ev.Origin),
    task=task_uids,
    as_uid=U32,
    time_ns=U64,
    position=positions,
    regs=registers,
    outputs=st.lists(outputs(), max_size=3).map(tuple),
    fields=st.lists(typed_fields, max_size=3).map(tuple),
)
