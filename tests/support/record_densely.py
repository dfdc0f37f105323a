# SPDX-License-Identifier: GPL-2.0-or-later
"""`python -m tests.support.record_densely TRACE MODE CWD PROGRAM ...`: page hashes all the time.

Half of the time goes into hashing, so that nearly every event of a small program has hashes.
"""

import os
import sys
from pathlib import Path

from pyrr.record import RecordOptions, record

if __name__ == "__main__":
    trace, mode, work, *words = sys.argv[1:]
    Path(trace).mkdir()
    os.chdir(work)
    options = RecordOptions(argv=tuple(words), trace_dir=Path(trace), switch=mode, hash_ratio=1)
    sys.exit(record(options).exit_code)
