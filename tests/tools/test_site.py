#!/usr/bin/env python3
"""The documentation as HTML: every page is there and can be found, no link leads nowhere, and in a
browser the search answers what users ask.

usage: test_site.py [--pictures FOLDER] [TEST...]    --pictures: keep pictures of some pages in a folder
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
PICTURES = None
if sys.argv[1:2] == ["--pictures"]:
    PICTURES = pathlib.Path(sys.argv[2]).resolve()
    del sys.argv[1:3]
sys.path.insert(0, str(ROOT / "tests/support"))
import browser  # noqa: E402  the path comes first
from waiting import wait_until  # noqa: E402

# What somebody types into the search, and where its first answer leads.
QUESTIONS = [
    ("ack", "reference/delivery.html#smq_done"),
    ("nack", "reference/delivery.html#smq_retry"),
    ("smq_send", "reference/producer.html#smq_send"),
    ("smq_topic_create", "reference/topic.html#smq_topic_create"),
    ("back-pressure", "configuration.html#max_waiting"),
    ("docker", "deployment.html#in-a-container"),
    ("kubernetes", "deployment.html#in-kubernetes"),
    ("systemd", "deployment.html#as-a-service-of-systemd"),
    ("keda", "deployment.html#scaling-with-keda"),
    ("cron", "schedules.html#schedules"),
    ("how many slots", "choosing.html#how-many-slots"),
    ("which layout", "choosing.html#which-layout"),
    ("SMQ_FULL", "errors.html#smq_full"),
    ("lease_lost", "errors.html#smq_lease_lost"),
    ("topic create", "reference/command.html#topic_create"),
    ("dead requeue", "reference/command.html#dead_requeue"),
    ("--exit-when-empty", "reference/command.html#exit-when-empty"),
    ("max_in_flight", "configuration.html#max_in_flight"),
    ("rate limit", "configuration.html#rate_per_s"),
    ("deduplication", "configuration.html#dedup_window_ms"),
    ("visibility", "configuration.html#lease_ms"),
    ("delay", "configuration.html#delay_ms"),
    ("backoff", "configuration.html#backoff"),
    ("tls", "configuration.html#tls_ca"),
    ("password", "security.html#passwords"),
    ("failover", "guarantees.html"),
    ("lost messages", "guarantees.html"),
    ("valkey", "compatibility.html#servers"),
    ("bullmq", "migrating.html#from-bullmq"),
    ("migrate from streams", "migrating.html#from-redis-streams"),
    ("upgrade", "upgrading.html#upgrading"),
    ("backup", "operations.html#backup-restore-and-another-cluster"),
    ("install", "index.html#install"),
    ("tutorial", "start.html"),
    ("opentelemetry", "tracing.html"),
    ("tracing", "tracing.html"),
    ("fifo", "lifecycle.html#order-fifo"),
    ("poll", "reference/consumer.html#smq_consumer_poll"),
    ("c++", "cpp.html"),
    ("std::future", "cpp.html#failures-and-receipts-as-futures"),
    ("idempotent", "cookbook.html#an-idempotent-handler"),
    ("exactly once", "faq.html#is-a-message-handled-exactly-once"),
    ("outbox", "cookbook.html#a-message-for-each-row-the-outbox"),
    ("request reply", "cookbook.html#request-and-reply"),
    ("fan-out", "cookbook.html#fan-out"),
    ("drain node", "cookbook.html#draining-a-node"),
    ("another cluster", "cookbook.html#moving-to-another-cluster"),
    ("why not streams", "faq.html#why-not-streams"),
    ("stuck job", "faq.html#how-do-i-find-a-stuck-job"),
    ("workflow", "faq.html#are-there-workflows"),
    ("is one redis enough", "faq.html#is-one-redis-enough"),
    ("sizing", "sizing.html"),
    ("how many masters", "sizing.html#how-many-masters"),
    ("how much memory", "sizing.html#how-much-memory"),
    ("python", "python.html"),
    ("asyncio", "python.html#asyncio"),
    ("epoll", "event-loops.html"),
    ("node.js", "node.html"),
    ("headers", "headers.html"),
]
# The widths of a phone and of a laptop.
WINDOWS = [(390, 844), (1280, 800)]


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
        links = {part["link"] for part in parts}
        self.assertIn("operations.html#a-damaged-topic", links)
        named = {part["name"]: part["link"] for part in parts if "name" in part}
        self.assertEqual(named["smq_send"], "reference/producer.html#smq_send")
        self.assertEqual(named["max_waiting"], "configuration.html#max_waiting")
        for link in links:
            page, _, anchor = link.partition("#")
            self.assertTrue(not anchor or f'id="{anchor}"' in self.pages[page], link)

    def test_a_page_has_a_table_of_its_headings(self):
        for name, page in self.pages.items():
            main = page.partition("<main>")[2]
            headings = re.findall(r'<h[23][^>]*id="([^"]+)"', main)
            table = re.search(r'<aside class="toc">(.*?)</aside>', page, re.DOTALL)
            if len(headings) > 1:
                listed = re.findall(r'href="#([^"]+)"', table[1])
                self.assertEqual([link for link in listed if link in headings], headings, name)

    def test_llms_txt_lists_all_pages(self):
        text = (self.folder / "llms.txt").read_text()
        self.assertEqual(set(re.findall(r"^- \[.*?\]\((\S+)\): ", text, re.MULTILINE)), set(self.pages))
        self.assertTrue(text.startswith("# slotmq\n\n> "))
        self.assertIn("# Coordination", (self.folder / "llms-full.txt").read_text())


@unittest.skipIf(browser.missing(), f"SKIPPED: the pages in a browser, for want of {browser.missing()}")
class InABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="slotmq-site-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name) / "site"
        done = site(ROOT, cls.folder)
        assert done.returncode == 0, done.stderr
        cls.browser = browser.Browser(cls.temporary.name)
        cls.addClassCleanup(cls.browser.close)

    def open(self, page, window=WINDOWS[1], scheme="light"):
        self.browser.show(*window, scheme)
        self.browser.open(f"file://{self.folder}/{page}")

    def is_shown(self, selector):
        return self.browser.run("return document.querySelector(arguments[0]).getClientRects().length > 0", selector)

    def test_the_search_answers_questions(self):
        self.open("index.html")
        for question, wanted in QUESTIONS:
            with self.subTest(question=question):
                found = self.browser.run("return answers(arguments[0]).map(part => part.link)", question)
                self.assertTrue(found, "nothing was found")
                self.assertEqual(found[0] if "#" in wanted else found[0].partition("#")[0], wanted, found[:3])

    def test_what_is_typed_is_found(self):
        self.open("reference/producer.html")
        self.browser.type("//input[@id='search']", "smq_consumer_poll")
        self.browser.click("//ul[@id='found']/li[1]/a")
        wait_until(lambda: self.browser.run("return location.href").endswith("reference/consumer.html#smq_consumer_poll"),
                   browser.TIMEOUT_S, "the entry of the function is open")
        self.assertEqual(self.browser.console(), [])

    def test_code_is_copied_without_what_it_prints(self):
        self.open("start.html")
        self.browser.command("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
        self.browser.click("//pre[code[@class='language-console'][contains(., 'topic create jobs')]]/../button")
        self.browser.find("//button[.='Copied']")
        copied = self.browser.run("return navigator.clipboard.readText()").splitlines()
        self.assertEqual(copied[:2], ["slotmq topic create jobs", 'slotmq send jobs "two books" --key "customer 7"'])
        self.assertNotIn("topic jobs is ready", copied)

    def test_a_phone_folds_navigation_and_contents(self):
        self.open("lifecycle.html", WINDOWS[0])
        self.assertFalse(self.is_shown("nav .groups"))
        self.assertFalse(self.is_shown(".toc ul"))
        self.browser.click("//label[@for='pages']")
        self.assertTrue(self.is_shown("nav .groups"))
        self.browser.click("//label[@for='contents']")
        self.assertTrue(self.is_shown(".toc ul"))
        self.browser.click("//aside//a[.='Order: fifo']")
        self.assertFalse(self.is_shown(".toc ul"))
        self.open("lifecycle.html")
        self.assertTrue(self.is_shown("nav .groups"))
        self.assertTrue(self.is_shown(".toc ul"))

    def test_no_page_is_wider_than_its_window(self):
        for window in WINDOWS:
            for path in sorted([*self.folder.glob("*.html"), *self.folder.glob("reference/*.html")]):
                page = path.relative_to(self.folder)
                self.open(page, window)
                wide = self.browser.run("return document.documentElement.scrollWidth - innerWidth")
                self.assertLessEqual(wide, 0, f"{page} at {window[0]}")

    if PICTURES:
        def test_pictures(self):
            PICTURES.mkdir(parents=True, exist_ok=True)
            for window in WINDOWS:
                for scheme in ("light", "dark"):
                    for page in ("index", "lifecycle", "reference/producer", "configuration"):
                        self.open(f"{page}.html", window, scheme)
                        self.browser.picture(PICTURES / f"{page.replace('/', '-')}-{window[0]}-{scheme}.png")


class Faults(unittest.TestCase):
    def copy(self, folder):
        root = pathlib.Path(folder) / "root"
        for part in ("docs", "include", "lua", "tools"):
            shutil.copytree(ROOT / part, root / part)
        for path in ROOT.glob("*.md"):
            shutil.copy(path, root)
        for part in ("bench", "cli", "coord", "debian", "demo", "deploy", "examples", "libsrc", "packaging", "serve", "tests"):
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
