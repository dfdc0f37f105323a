#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds pyrr's C core, the extension module pyrr.native._pyrr_core (cffi API mode).

Two ways in:

* setuptools takes `ffibuilder` from here (setup.py), for `pip install .` and wheels;
* `python scripts/build_core.py` builds in place and compiles only what has changed,
  for people who work on the C code. Several such builds at once wait for each other.

PYRR_WERROR=1 turns warnings into errors. CC names the compiler, as usual.
"""

import contextlib
import fcntl
import io
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cffi import FFI

ROOT = Path(__file__).resolve().parent.parent
HEADER = Path("csrc/include/pyrr_core.h")
MODULE = "pyrr.native._pyrr_core"
SOURCE_DIRS = ("csrc/shared", "csrc/record", "csrc/replay")
INCLUDE_DIRS = ["csrc/include", "csrc", "csrc/shared"]
WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wstrict-prototypes",
    "-Wmissing-prototypes",
    "-Wvla",
]
# cffi's own generated file is not ours to keep free of warnings.
GENERATED_QUIET = ["-Wno-missing-prototypes", "-Wno-unused-parameter", "-Wno-shadow"]
# Defined as nothing: equal to a `#define _GNU_SOURCE` that a file may have for itself.
CFLAGS = ["-std=gnu11", "-D_GNU_SOURCE=", "-O2", "-g", "-fvisibility=hidden"]
LIBRARIES = ("zstd", "z", "Zydis", "Zycore")
HEADERS_NEEDED = {
    "zstd.h": "libzstd-dev",
    "zlib.h": "zlib1g-dev",
    "Zydis/Zydis.h": "libzydis-dev",
    "Zycore/Types.h": "libzycore-dev",
}


def declarations(header: str) -> str:
    """The part of the public header that cffi's parser understands.

    Preprocessor lines (with their backslash continuations) and the two marker words go.
    """
    without_comments = re.sub(r"/\*.*?\*/", " ", header, flags=re.DOTALL)
    without_directives = re.sub(
        r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", "", without_comments, flags=re.MULTILINE
    )
    return re.sub(r"\b(?:PRR_API|PRR_MUST_USE)\b", "", without_directives)


def compiler() -> list[str]:
    """The C compiler's command: $CC, else the one Python was built with, else gcc."""
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "gcc")


def runs(command: list[str]) -> bool:
    """Whether a compiler command succeeds."""
    done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return done.returncode == 0


def check_headers() -> None:
    """Stops with the exact apt command if a needed header is missing."""
    missing = [
        package
        for header, package in HEADERS_NEEDED.items()
        if not runs(
            [*compiler(), "-E", "-include", header, "-x", "c", "/dev/null", "-o", os.devnull]
        )
    ]
    if missing:
        sys.exit(
            "pyrr: building the C core needs headers that are not installed\n"
            f"hint: apt-get install {' '.join(missing)}"
        )


def static_archive(library: str) -> str | None:
    """The path of lib*.a if it can be linked into a shared object, else None."""
    answer = subprocess.run(
        [*compiler(), f"-print-file-name=lib{library}.a"],
        capture_output=True,
        check=False,
        text=True,
    ).stdout.strip()
    if not Path(answer).is_absolute() or not Path(answer).exists():
        return None
    with tempfile.TemporaryDirectory() as scratch:
        whole = ["-Wl,--whole-archive", answer, "-Wl,--no-whole-archive"]
        out = str(Path(scratch) / "probe.so")
        linked = runs([*compiler(), "-shared", "-fPIC", *whole, "-pthread", "-o", out])
    return answer if linked else None


def link_arguments() -> list[str]:
    """Static archives where they exist and can be used, -l options elsewhere."""
    arguments: list[str] = []
    for library in LIBRARIES:
        archive = static_archive(library)
        arguments.append(archive or f"-l{library}")
    # Symbols of static libraries must not leak out of the extension module.
    return [*arguments, "-Wl,--exclude-libs,ALL", "-Wl,--as-needed", "-pthread"]


def compile_arguments() -> list[str]:
    """Flags for every C file."""
    werror = ["-Werror"] if os.environ.get("PYRR_WERROR") == "1" else []
    return [*CFLAGS, *WARNINGS, *werror]


def sources() -> list[str]:
    """All C files of the core, relative to the project, in a stable order."""
    found = [path for folder in SOURCE_DIRS for path in (ROOT / folder).glob("*.c")]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def headers() -> list[str]:
    """Everything that a C file may include, relative to the project."""
    found = [path for path in (ROOT / "csrc").rglob("*") if path.suffix in {".h", ".inc", ".S"}]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def make_ffibuilder() -> FFI:
    """The cffi builder that setup.py asks for."""
    check_headers()
    builder = FFI()
    builder.cdef(declarations((ROOT / HEADER).read_text(encoding="utf-8")))
    builder.set_source(
        MODULE,
        '#include "pyrr_core.h"\n',
        sources=sources(),
        depends=headers(),
        include_dirs=INCLUDE_DIRS,
        extra_compile_args=[*compile_arguments(), *GENERATED_QUIET],
        extra_link_args=link_arguments(),
    )
    return builder


def is_stale(target: Path, depfile: Path, stamp: Path) -> bool:
    """Whether an object must be compiled again: its depfile lists what it was made from."""
    if not target.exists() or not depfile.exists():
        return True
    made = target.stat().st_mtime
    text = depfile.read_text(encoding="utf-8").replace("\\\n", " ")
    inputs = [ROOT / word for word in text.partition(":")[2].split()] + [stamp]
    return any(not path.exists() or path.stat().st_mtime > made for path in inputs)


def compile_object(source: str, build: Path, flags: list[str], stamp: Path) -> tuple[Path, bool]:
    """Compiles one C file if needed; the object's path and whether it is new."""
    target = build / (source.replace("/", "_") + ".o")
    depfile = target.with_suffix(".d")
    if not is_stale(target, depfile, stamp):
        return target, False
    command = [*compiler(), *flags, "-fPIC", "-MMD", "-MF", str(depfile)]
    subprocess.run([*command, "-c", source, "-o", str(target)], check=True, cwd=ROOT)
    return target, True


def write_if_changed(path: Path, text: str) -> None:
    """Keeps the time stamp of a file whose contents stay the same."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def check_symbols(module: Path) -> None:
    """Stops, and leaves the old module in place, if functions are declared and not defined."""
    listed = subprocess.run(
        ["nm", "-D", "--undefined-only", str(module)], capture_output=True, check=True, text=True
    )
    missing = [word for word in listed.stdout.split() if word.startswith("prr_")]
    if missing:
        sys.exit(f"pyrr: the C core lacks functions that it calls: {', '.join(missing)}")


def build_in_place(build: Path) -> Path:
    """Compiles what has changed and links pyrr/native/_pyrr_core.abi3.so."""
    flags = [*compile_arguments(), *(f"-I{folder}" for folder in INCLUDE_DIRS)]
    stamp = build / "flags"
    write_if_changed(stamp, " ".join([*compiler(), *flags]))
    glue = build / "_pyrr_core.c"
    fresh = build / "_pyrr_core.new.c"
    with contextlib.redirect_stdout(io.StringIO()):  # it announces itself each time
        make_ffibuilder().emit_c_code(str(fresh))
    write_if_changed(glue, fresh.read_text(encoding="utf-8"))
    python = [f"-I{sysconfig.get_path('include')}", "-DPy_LIMITED_API=0x03020000"]
    glue_name = str(glue.relative_to(ROOT))
    jobs = [(name, flags) for name in sources()]
    jobs.append((glue_name, [*flags, *GENERATED_QUIET, *python]))
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        made = list(pool.map(lambda job: compile_object(job[0], build, job[1], stamp), jobs))
    target = ROOT / "pyrr/native/_pyrr_core.abi3.so"
    wanted = " ".join(str(path) for path, _ in made)
    listing = build / "objects"
    same = listing.exists() and listing.read_text(encoding="utf-8") == wanted
    if not same or not target.exists() or any(new for _, new in made):
        partial = build / "_pyrr_core.partial.so"
        objects = [str(path) for path, _ in made]
        subprocess.run(
            [*compiler(), "-shared", *objects, *link_arguments(), "-o", str(partial)], check=True
        )
        check_symbols(partial)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.replace(target)
        listing.write_text(wanted, encoding="utf-8")
    return target


def main() -> int:
    """Builds in place, one build at a time."""
    build = ROOT / "build/core"
    build.mkdir(parents=True, exist_ok=True)
    with (build / "lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            print(build_in_place(build).relative_to(ROOT))
        except subprocess.CalledProcessError as failed:
            return failed.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
elif __name__ == "__cffi__":  # how cffi's setuptools hook names what it runs
    ffibuilder = make_ffibuilder()
