#!/usr/bin/env python3
"""The documentation as HTML: every page is there and can be found, and no link leads nowhere.

usage: test_site.py
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def site(root, folder):
    return subprocess.run([sys.executable, ROOT / "tools/site.py", root, folder], text=True, capture_output=True,
                          check=False)


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="slotmq-site-")
        cls.folder = pathlib.Path(cls.temporary.name) / "site"
        done = site(ROOT, cls.folder)
        assert done.returncode == 0, done.stderr
        cls.pages = {str(path.relative_to(cls.folder)): path.read_text() for path in cls.folder.rglob("*.html")}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_each_page_and_header_is_there(self):
        wanted = {path.stem.lower() + ".html" for path in (ROOT / "docs").glob("*.md")}
        wanted |= {f"decisions/{path.stem}.html" for path in (ROOT / "docs/decisions").glob("*.md")}
        wanted |= {f"reference/{path.stem}.html" for path in (ROOT / "include/slotmq").glob("*.h")}
        self.assertEqual(wanted - set(self.pages), set())

    def test_links_lead_to_pages_and_headings(self):
        for name, page in self.pages.items():
            for link in re.findall(r'(?:href|src)="([^"]*)"', page):
                if re.match(r"https?:|mailto:", link):
                    self.assertNotIn(f'src="{link}"', page)
                    continue
                path, _, anchor = link.partition("#")
                target = (self.folder / name).parent / path if path else self.folder / name
                self.assertTrue(target.is_file(), f"{name}: {link}")
                if anchor:
                    self.assertIn(f'id="{anchor}"', target.read_text(), f"{name}: {link}")

    def test_the_search_knows_all_headings(self):
        text = (self.folder / "parts.js").read_text()
        parts = json.loads(re.fullmatch(r"const PARTS = (.*);\n", text, re.DOTALL)[1])
        self.assertEqual({part["link"].partition("#")[0] for part in parts}, set(self.pages))
        found = {part["link"] for part in parts if "smq_consumer_stop" in part["text"]}
        self.assertTrue(any(link.startswith("reference/consumer.html") for link in found), found)
        self.assertIn("operations.html#a-damaged-topic", {part["link"] for part in parts})

    def test_llms_txt_lists_all_pages(self):
        text = (self.folder / "llms.txt").read_text()
        self.assertEqual(set(re.findall(r"^- \[.*?\]\((\S+)\): ", text, re.MULTILINE)), set(self.pages))
        self.assertTrue(text.startswith("# slotmq\n\n> "))
        self.assertIn("# Coordination", (self.folder / "llms-full.txt").read_text())


class Faults(unittest.TestCase):
    def copy(self, folder):
        root = pathlib.Path(folder) / "root"
        for part in ("docs", "include", "lua", "tools"):
            shutil.copytree(ROOT / part, root / part)
        for path in ROOT.glob("*.md"):
            shutil.copy(path, root)
        for part in ("bench", "cli", "coord", "debian", "demo", "deploy", "examples", "libsrc", "packaging", "tests"):
            (root / part).symlink_to(ROOT / part)
        (root / "dev").symlink_to(ROOT / "dev")
        return root

    def test_a_link_that_leads_nowhere_and_a_page_without_a_group_are_errors(self):
        with tempfile.TemporaryDirectory(prefix="slotmq-site-") as folder:
            root = self.copy(folder)
            page = root / "docs/start.md"
            page.write_text(page.read_text() + "\n[here](nothing.md) [there](errors.md#nothing) ![it](nothing.png)\n")
            done = site(root, f"{folder}/site")
            self.assertEqual(done.returncode, 1)
            self.assertIn("docs/start.md: nothing.md", done.stderr)
            self.assertIn("docs/start.md: errors.md#nothing", done.stderr)
            self.assertIn("docs/start.md: nothing.png", done.stderr)
            (root / "docs/forgotten.md").write_text("# Forgotten\n")
            done = site(root, f"{folder}/site")
            self.assertEqual(done.returncode, 1)
            self.assertIn("docs/forgotten.md", done.stderr)


if __name__ == "__main__":
    unittest.main()
