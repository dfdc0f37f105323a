# SPDX-License-Identifier: GPL-2.0-or-later
"""System V and POSIX message queues, semaphores and shared memory segments."""

from pyrr.model.grammar import ArgTimes, ByCommand, Bytes, FromResult, Syscall
from pyrr.model.syscalls._build import BLOCKS, addr, call, cmd, inp, out, string, val

# linux/ipc.h: IPC_64 is always on for 64-bit programs and masked off.
_IPC_MASK = 0xFFFF_FFFF & ~0x100

_SHM = ByCommand(
    arg="cmd",
    mask=_IPC_MASK,
    commands=(
        cmd("IPC_RMID", 0),
        cmd("IPC_SET", 1, inp("buf", "struct shmid_ds")),
        cmd("IPC_STAT", 2, out("buf", "struct shmid_ds")),
        cmd("IPC_INFO", 3, out("buf", "struct shminfo")),
        cmd("SHM_LOCK", 11),
        cmd("SHM_UNLOCK", 12),
        cmd("SHM_STAT", 13, out("buf", "struct shmid_ds")),
        cmd("SHM_INFO", 14, out("buf", "struct shm_info")),
        cmd("SHM_STAT_ANY", 15, out("buf", "struct shmid_ds")),
    ),
)

_MSG = ByCommand(
    arg="cmd",
    mask=_IPC_MASK,
    commands=(
        cmd("IPC_RMID", 0),
        cmd("IPC_SET", 1, inp("buf", "struct msqid_ds")),
        cmd("IPC_STAT", 2, out("buf", "struct msqid_ds")),
        cmd("IPC_INFO", 3, out("buf", "struct msginfo")),
        cmd("MSG_STAT", 11, out("buf", "struct msqid_ds")),
        cmd("MSG_INFO", 12, out("buf", "struct msginfo")),
        cmd("MSG_STAT_ANY", 13, out("buf", "struct msqid_ds")),
    ),
)

# GETALL writes one unsigned short for each semaphore of the set, a number that only the
# kernel knows: at most SEMMSL, by default 32000 (sem_nsems, linux/sem.h).
_ALL_SEMAPHORES = Bytes(count=64000, fact="unsigned short[SEMMSL]")

_SEM = ByCommand(
    arg="cmd",
    mask=_IPC_MASK,
    commands=(
        cmd("IPC_RMID", 0),
        cmd("IPC_SET", 1, inp("arg", "struct semid_ds")),
        cmd("IPC_STAT", 2, out("arg", "struct semid_ds")),
        cmd("IPC_INFO", 3, out("arg", "struct seminfo")),
        cmd("GETPID", 11),
        cmd("GETVAL", 12),
        cmd("GETALL", 13, out("arg", _ALL_SEMAPHORES)),
        cmd("GETNCNT", 14),
        cmd("GETZCNT", 15),
        cmd("SETVAL", 16),
        cmd("SETALL", 17),
        cmd("SEM_STAT", 18, out("arg", "struct semid_ds")),
        cmd("SEM_INFO", 19, out("arg", "struct seminfo")),
        cmd("SEM_STAT_ANY", 20, out("arg", "struct semid_ds")),
    ),
)

_FLG = val("flag", "octal")
_SOPS = inp("sops", ArgTimes(arg="nsops", ctype="struct sembuf"))
_MSG_OUT = out("msgp", FromResult(cap="msgsz", plus="long"))
_DEADLINE = inp("abs_timeout", "struct timespec")

SYSV: tuple[Syscall, ...] = (
    call(29, "shmget", val("key", "hex"), val("size"), _FLG),
    call(31, "shmctl", val("shmid", "int"), val("cmd", "int"), addr("buf"), by=_SHM),
    call(64, "semget", val("key", "hex"), val("nsems", "int"), _FLG),
    call(65, "semop", val("semid", "int"), _SOPS, val("nsops", "uint"), does=BLOCKS),
    call(
        220,
        "semtimedop",
        val("semid", "int"),
        _SOPS,
        val("nsops", "uint"),
        inp("timeout", "struct timespec"),
        does=BLOCKS,
    ),
    call(
        66,
        "semctl",
        val("semid", "int"),
        val("semnum", "int"),
        val("cmd", "int"),
        addr("arg"),
        by=_SEM,
    ),
    call(68, "msgget", val("key", "hex"), _FLG),
    call(69, "msgsnd", val("msqid", "int"), addr("msgp"), val("msgsz"), _FLG, does=BLOCKS),
    # The message type, a long, stands before the text; msgsz and the result leave it out.
    call(
        70,
        "msgrcv",
        val("msqid", "int"),
        _MSG_OUT,
        val("msgsz"),
        val("msgtyp"),
        _FLG,
        does=BLOCKS,
    ),
    call(71, "msgctl", val("msqid", "int"), val("cmd", "int"), addr("buf"), by=_MSG),
)

_MQDES = val("mqdes", "fd")

POSIX: tuple[Syscall, ...] = (
    call(
        240,
        "mq_open",
        string("name"),
        val("oflag", "hex"),
        val("mode", "octal"),
        inp("attr", "struct mq_attr"),
    ),
    call(241, "mq_unlink", string("name")),
    call(
        242,
        "mq_timedsend",
        _MQDES,
        addr("msg_ptr"),
        val("msg_len"),
        val("msg_prio", "uint"),
        _DEADLINE,
        does=BLOCKS,
    ),
    call(
        243,
        "mq_timedreceive",
        _MQDES,
        out("msg_ptr", FromResult(cap="msg_len")),
        val("msg_len"),
        out("msg_prio", "unsigned int"),
        _DEADLINE,
        does=BLOCKS,
    ),
    call(244, "mq_notify", _MQDES, inp("notification", "struct sigevent")),
    call(
        245,
        "mq_getsetattr",
        _MQDES,
        inp("mqstat", "struct mq_attr"),
        out("omqstat", "struct mq_attr"),
    ),
)

SYSCALLS = SYSV + POSIX
