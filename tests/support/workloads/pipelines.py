# SPDX-License-Identifier: GPL-2.0-or-later
"""Pipelines of subprocesses; argv: rounds."""

import subprocess
import sys


def main() -> None:
    """Run seq | sed | sort | head several times, in parallel and in turn."""
    for number in range(int(sys.argv[1])):
        stages = [["seq", "1", "400"], ["sed", f"s/{number}/x/g"], ["sort", "-r"], ["head", "-n3"]]
        last: subprocess.Popen[bytes] | None = None
        started = []
        for stage in stages:
            source = last.stdout if last else None
            process = subprocess.Popen(stage, stdin=source, stdout=subprocess.PIPE)
            if source:
                source.close()
            started.append(process)
            last = process
        assert last is not None
        print(number, last.communicate()[0], started[-1].returncode)
        for process in started:
            process.wait()
    done = subprocess.run(["cat"], input=b"z" * 500_000, capture_output=True, check=True)
    print(len(done.stdout))
    print(subprocess.run("exit 7", shell=True, check=False).returncode)


main()
