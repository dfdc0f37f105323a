# SPDX-License-Identifier: GPL-2.0-or-later
"""Records or replays one program and writes what naming and finding places took as JSON.

    python -m tests.support.with_points record TRACE STATS SWITCH SLICE_NS PROGRAM ...
    python -m tests.support.with_points replay TRACE STATS CHECK

The file STATS appears only when all went well; the exit status is the program's.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from pyrr.errors import PyrrError
from pyrr.record import RecordOptions, record
from pyrr.replay import ReplayOptions, replay


def main(words: list[str]) -> int:
    """Does what the words say; returns the exit status."""
    action, trace, stats, how, *rest = words
    if action == "record":
        Path(trace).mkdir()
        options = RecordOptions(
            argv=tuple(rest[1:]), trace_dir=Path(trace), switch=how, slice_ns=int(rest[0])
        )
        recorded = record(options)
        points, status = recorded.points, recorded.exit_code
    else:
        replayed = replay(ReplayOptions(trace_dir=Path(trace), check=how))
        points, status = replayed.points, replayed.exit_code
    assert points is not None
    Path(stats).write_text(json.dumps(asdict(points)))
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except PyrrError as failed:
        print(f"pyrr: {failed.message}", file=sys.stderr)
        sys.exit(failed.exit_code)
