# SPDX-License-Identifier: BSD-2-Clause
"""usage: complete_zsh.py AUXTAP LINE EXPECTED: zsh, on a terminal, completes LINE (\\t: Tab) to a
line that contains EXPECTED. It waits for that line as long as it takes; the test's watchdog ends
it where it does not come."""
import os
import pty
import sys

START = ("PROMPT='READY> '; RPROMPT=; PROMPT_EOL_MARK=; autoload -U compinit; compinit -D -u; "
         'source <("$AUXTAP" completion zsh)\n')


def read_until(terminal, text):
    got = b''
    while text not in got:
        got += os.read(terminal, 4096)


def main():
    auxtap, line, expected = sys.argv[1:]
    child, terminal = pty.fork()
    if child == 0:
        env = {'PATH': os.environ['PATH'], 'TERM': 'dumb', 'PS1': 'FIRST> ', 'AUXTAP': auxtap,
               'HOME': os.getcwd()}
        os.execvpe('zsh', ['zsh', '-f', '-i'], env)
    read_until(terminal, b'FIRST> ')
    os.write(terminal, START.encode())
    read_until(terminal, b'READY> ')
    os.write(terminal, line.replace('\\t', '\t').encode())
    read_until(terminal, expected.encode())
    os.close(terminal)


main()
