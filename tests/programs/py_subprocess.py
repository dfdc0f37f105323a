# SPDX-License-Identifier: GPL-2.0-or-later
"""subprocess: pipelines, input and output at once, time-outs, signals, statuses."""

import os
import signal
import subprocess
import sys


def main() -> None:
    """Run children in all the usual ways."""
    print(subprocess.run(["echo", "plain"], capture_output=True, text=True, check=True))
    first = subprocess.Popen(["seq", "1", "500"], stdout=subprocess.PIPE)
    second = subprocess.Popen(["grep", "-c", "3"], stdin=first.stdout, stdout=subprocess.PIPE)
    assert first.stdout is not None
    first.stdout.close()
    print(second.communicate()[0], first.wait())
    big = b"x" * 300_000
    both = subprocess.run(["cat"], input=big, stdout=subprocess.PIPE, check=True)
    assert both.stdout == big
    try:
        subprocess.run(["sleep", "1000"], timeout=0.05, check=False)
    except subprocess.TimeoutExpired as error:
        print(error)
    killed = subprocess.run(["sh", "-c", "kill -9 $$"], check=False)
    assert killed.returncode == -signal.SIGKILL
    shell = subprocess.run("echo out; echo err >&2; exit 5", shell=True, check=False)
    print(shell.returncode, os.getpid())
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.write(1, b"forked child %d\n" % os.getpid())
        os._exit(11)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    try:
        subprocess.run(["/nonexistent"], check=False)
    except FileNotFoundError as error:
        print(error)


main()
