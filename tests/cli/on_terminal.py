# SPDX-License-Identifier: BSD-2-Clause
"""usage: on_terminal.py COMMAND...: runs it on a terminal of its own, prints what that shows, and
exits with the command's status. Waits until it ends: the test's watchdog bounds that."""
import os
import pty
import sys


def main():
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(sys.argv[1], sys.argv[1:])
    shown = b''
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # the terminal has no process any more
            break
        if not data:
            break
        shown += data
    sys.stdout.buffer.write(shown.replace(b'\r\n', b'\n'))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


sys.exit(main())
