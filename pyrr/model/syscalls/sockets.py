# SPDX-License-Identifier: GPL-2.0-or-later
"""Sockets."""

from pyrr.model.grammar import (
    Arg,
    ByCommand,
    Bytes,
    FromPointee,
    FromResult,
    Mmsghdr,
    Msghdr,
    Syscall,
    When,
)
from pyrr.model.syscalls._build import BLOCKS, call, cmd, fd, how, inout, inp, out, val

_FD = fd()
_FLAGS = val("flags", "hex")
_ADDR_IN = inp("addr", Arg(arg="addrlen"))
_ADDRLEN = val("addrlen", "int")
# The kernel writes at most a sockaddr_storage, however large the room is said to be.
_ADDR_OUT = out("addr", FromPointee(arg="addrlen", limit="struct sockaddr_storage"))
_ADDRLEN_OUT = inout("addrlen", "int")
_DOMAIN = (val("family", "int"), val("type", "hex"), val("protocol", "int"))

# linux/socket.h: AF_XDP. Its rings are shared with the kernel, as are packet rings.
_RING = "rings are memory that the kernel writes at any time"
_SOCKET_FAMILIES = ByCommand(
    arg="family",
    commands=(cmd("AF_XDP", 44, does=how(refuse=("EAFNOSUPPORT", _RING))),),
    unknown=None,
)

_SOL_PACKET = 263
_IPPROTO_TCP = 6
_SOL_SOCKET = 1


def _option(level: int, optname: int) -> int:
    return level << 32 | optname


_NO_OPTION = how(refuse=("ENOPROTOOPT", _RING))
_SET_OPTIONS = ByCommand(
    arg="optname",
    high_arg="level",
    commands=(
        cmd("PACKET_RX_RING", _option(_SOL_PACKET, 5), does=_NO_OPTION),
        cmd("PACKET_TX_RING", _option(_SOL_PACKET, 13), does=_NO_OPTION),
    ),
    unknown=None,
)
_GET_OPTIONS = ByCommand(
    arg="optname",
    high_arg="level",
    commands=(
        # SO_GET_FILTER: its length counts instructions, not bytes; only CRIU uses it.
        cmd(
            "SO_GET_FILTER",
            _option(_SOL_SOCKET, 26),
            does=how(refuse=("ENOPROTOOPT", "its length counts instructions, not bytes")),
        ),
        cmd(
            "TCP_ZEROCOPY_RECEIVE",
            _option(_IPPROTO_TCP, 35),
            does=how(refuse=("ENOPROTOOPT", "maps pages of the network card's making")),
        ),
    ),
    unknown=None,
)

SYSCALLS: tuple[Syscall, ...] = (
    call(41, "socket", *_DOMAIN, by=_SOCKET_FAMILIES, note="AF_XDP is refused"),
    call(53, "socketpair", *_DOMAIN, out("usockvec", Bytes(count=8, fact="int[2]"))),
    call(42, "connect", _FD, _ADDR_IN, _ADDRLEN, does=BLOCKS),
    call(43, "accept", _FD, _ADDR_OUT, _ADDRLEN_OUT, does=BLOCKS),
    call(288, "accept4", _FD, _ADDR_OUT, _ADDRLEN_OUT, _FLAGS, does=BLOCKS),
    call(
        44,
        "sendto",
        _FD,
        inp("buff", Arg(arg="len")),
        val("len"),
        _FLAGS,
        _ADDR_IN,
        _ADDRLEN,
        does=BLOCKS,
    ),
    # With MSG_TRUNC the result may exceed the room: the outputs do not.
    call(
        45,
        "recvfrom",
        _FD,
        out("ubuf", FromResult(cap="size")),
        val("size"),
        _FLAGS,
        _ADDR_OUT,
        _ADDRLEN_OUT,
        does=BLOCKS,
    ),
    call(46, "sendmsg", _FD, inp("msg", Msghdr()), _FLAGS, does=BLOCKS),
    call(47, "recvmsg", _FD, inout("msg", Msghdr()), _FLAGS, does=BLOCKS),
    call(
        299,
        "recvmmsg",
        _FD,
        inout("mmsg", Mmsghdr(count="vlen")),
        val("vlen", "uint"),
        _FLAGS,
        inout("timeout", "struct timespec", When.POSITIVE),
        does=BLOCKS,
    ),
    call(
        307,
        "sendmmsg",
        _FD,
        inout("mmsg", Mmsghdr(count="vlen", sent=True)),
        val("vlen", "uint"),
        _FLAGS,
        does=BLOCKS,
    ),
    call(48, "shutdown", _FD, val("how", "int")),
    call(49, "bind", _FD, _ADDR_IN, _ADDRLEN),
    call(50, "listen", _FD, val("backlog", "int")),
    call(51, "getsockname", _FD, _ADDR_OUT, _ADDRLEN_OUT),
    call(52, "getpeername", _FD, _ADDR_OUT, _ADDRLEN_OUT),
    call(
        54,
        "setsockopt",
        _FD,
        val("level", "int"),
        val("optname", "int"),
        inp("optval", Arg(arg="optlen")),
        val("optlen", "int"),
        by=_SET_OPTIONS,
        note="PACKET_RX_RING and PACKET_TX_RING are refused",
    ),
    # SO_PEERSEC and SO_PEERGROUPS write the length needed also when they fail (ERANGE).
    call(
        55,
        "getsockopt",
        _FD,
        val("level", "int"),
        val("optname", "int"),
        inout("optval", FromPointee(arg="optlen")),
        inout("optlen", "int", When.ALWAYS),
        by=_GET_OPTIONS,
        note="TCP_ZEROCOPY_RECEIVE and SO_GET_FILTER are refused",
    ),
)
