#!/usr/bin/env python3
"""The manual pages that are made from headers: they say all that the comments say, in the order of
the headers, and each name has a page.

usage: test_manual.py
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = sorted((ROOT / "include/slotmq").glob("*.h"))
COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
SMALL = """/* small.h - a small header.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_SMALL_H
#define SLOTMQ_SMALL_H

#define SMQ_MOST (-3) /* the most */

/* === A part ============================= */

/* Do it with `size` bytes.  It may take a moment.
 *
 *   ONE        the first
 *   TWO,THREE  the second,
 *              and the third
 *
 *  1. A rule.
 *  2. Another rule
 *     of two lines.
 * Blocks: 5 s.  Fails: INVALID (size is -1). */
SMQ_API smq_status smq_do(size_t size, int (*each)(int one, int two),
                          smq_error *err);

/* Values. */
typedef enum smq_value {
    SMQ_ONE = 1, /* the first
                    value */
    SMQ_TWO
} smq_value;

#endif
"""


def manual(*arguments, **environment):
    done = subprocess.run([sys.executable, ROOT / "tools/manual.py", *map(str, arguments)], text=True,
                          capture_output=True, check=True, env={**os.environ, **environment})
    return done.stdout


def page(header):
    return manual("page", header, ROOT / "docs/slotmq.1")


def words(text):
    return re.findall(r"\w+", text)


class Small(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder) / "small.h"
            header.write_text(SMALL)
            (pathlib.Path(folder) / "slotmq.h").write_text(SMALL.replace("small", "slotmq"))
            cls.page = page(header)

    def test_name_and_synopsis(self):
        self.assertIn(".Nm smq_do ,\n.Nm smq_value\n.Nd a small header\n", self.page)
        self.assertIn('.In slotmq/small.h\n.Ft "smq_status"\n.Fo smq_do\n.Fa "size_t size"\n'
                      '.Fa "int (*each)(int one, int two)"\n.Fa "smq_error *err"\n.Fc\n', self.page)

    def test_text_tables_lists(self):
        self.assertIn("Do it with \\fIsize\\fP bytes.\nIt may take a moment.\n", self.page)
        self.assertIn('.It "TWO,THREE"\nthe second, and the third\n.El\n', self.page)
        self.assertIn(".Bl -enum\n.It\nA rule.\n.It\nAnother rule of two lines.\n.El\n", self.page)
        self.assertIn(".Pp\nBlocks: 5 s.\n.Pp\nFails: INVALID (size is \\-1).\n", self.page)

    def test_values_and_constants(self):
        self.assertIn(".It Dv SMQ_MOST No = \\-3\nthe most\n", self.page)
        self.assertIn('.It Dv "SMQ_ONE = 1"\nthe first value\n.It Dv "SMQ_TWO"\n.El\n', self.page)
        self.assertIn(".Ss A part\n", self.page)


class Pages(unittest.TestCase):
    def test_no_word_of_a_comment_is_lost(self):
        for header in HEADERS:
            made = page(header)
            found = " ".join(words(re.sub(r"^\.\w+ ?|\\f[IP]|\\\\?&?|\(dq", " ", made, flags=re.MULTILINE)))
            text = header.read_text()
            for comment in COMMENT.findall(text[text.index("*/") + 2:]):
                for line in comment.replace("*", " ").splitlines():
                    line = line.strip(" =")
                    if line.startswith("SLOTMQ_") or not line:
                        continue
                    self.assertIn(" ".join(words(line)), found, f"{header.name}: {line}")

    def test_each_name_has_a_page(self):
        names = set(manual("names", *HEADERS).split())
        self.assertLessEqual({"slotmq.3", "slotmq_core.3", "smq_send.3", "smq_message.3", "smq_free.3"}, names)
        with tempfile.TemporaryDirectory() as folder:
            man = pathlib.Path(folder) / "man3"
            man.mkdir()
            for header in HEADERS:
                name = "slotmq" if header.stem == "slotmq" else "slotmq_" + header.stem
                (man / f"{name}.3").write_text(page(header))
            manual("links", "/man3", *HEADERS, DESTDIR=folder)
            self.assertEqual({path.name for path in man.iterdir() if path.exists()}, names)
            self.assertIn("smq_send_batch", (man / "smq_send.3").read_text())


if __name__ == "__main__":
    unittest.main()
