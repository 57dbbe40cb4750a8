# SPDX-License-Identifier: BSD-2-Clause
"""Saves the pictures of pages by their button, as a user would: draw.py IN.html OUT.svg [...]

A page that loads anything, or whose script fails, is an error.
"""
import os
import sys
import tempfile

import browser


def main(paths):
    b = browser.Browser(browser.find())
    try:
        with tempfile.TemporaryDirectory(dir='.') as directory:
            for page, picture in zip(paths[::2], paths[1::2]):
                b.open('file://' + os.path.abspath(page))
                os.replace(b.save('#save', os.path.abspath(directory)), picture)
                errors = b.errors()
                if errors:
                    sys.exit('%s: %s' % (page, errors))
    finally:
        b.close()


main(sys.argv[1:])
