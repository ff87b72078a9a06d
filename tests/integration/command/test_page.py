#!/usr/bin/env python3
"""The page of slotmq serve, in a real browser on real servers: what an operator does most.

usage: test_page.py ROOT SANDBOX SLOTMQ [PICTURES]

PICTURES: a folder for pictures of the views."""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
import urllib.request

ROOT, SANDBOX, SLOTMQ = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
PICTURES = pathlib.Path(sys.argv[4]).resolve() if len(sys.argv) > 4 else None
TIMEOUT_S = 120
TOKEN = "token-of-a-test-of-the-page"
# The last one is what somebody would send who wants to take the page over.
HOSTILE = "<img src=x onerror=\"document.title='taken'\">"
REASONS = {"card declined": 3, "no such address": 2, HOSTILE: 1}
FLOOD = 20000

sys.path.insert(0, str(ROOT / "tests/support"))
import browser  # noqa: E402  the path comes first
from waiting import wait_until  # noqa: E402


def quoted(text):
    """A string of XPath."""
    return f"'{text}'" if "'" not in text else 'concat(' + ', "\'", '.join(f"'{part}'" for part in text.split("'")) + ')'


def button(text):
    return f"//main//button[normalize-space()={quoted(text)}]"


def link(text):
    return f"//main//a[normalize-space()={quoted(text)}]"


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as stack:
            cls.start(stack)
            cls.addClassCleanup(stack.pop_all().close)

    @classmethod
    def start(cls, stack):
        cls.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slotmq-page-")))
        box = cls.folder / "sandbox"
        subprocess.run([SANDBOX, "up", box, "--zookeeper"], check=True, capture_output=True)
        stack.callback(subprocess.run, [SANDBOX, "down", box], check=True, capture_output=True)
        said = subprocess.run([SANDBOX, "env", box], check=True, capture_output=True, text=True).stdout
        cls.environment = {**os.environ, **dict(re.findall(r"^export (\w+)=(\S+)$", said, re.MULTILINE))}
        cls.fill()
        (cls.folder / "token").write_text(TOKEN + "\n")
        process = cls.run_beside(stack, "serve", "--listen", "127.0.0.1:0", "--write", "--token-file", cls.folder / "token")
        first = process.stderr.readline()
        assert "listening" in first, first
        cls.address = re.search(r"http://\S+", first)[0]
        cls.browser = browser.Browser(cls.folder)
        stack.callback(cls.browser.close)
        cls.browser.show(1440, 900, "light")
        cls.browser.open(cls.address)
        cls.browser.click("//button[.='Token']")
        cls.browser.type("//dialog//input", TOKEN)
        cls.browser.click("//dialog//button[.='Go on']")
        cls.browser.find("//button[.='Forget token']")

    @classmethod
    def fill(cls):
        """Dead letters of three reasons, many dead letters, and a topic of which nothing is known yet."""
        program = cls.folder / "fail"
        program.write_text("#!/bin/sh\ncat >&2\nexit 65\n")
        program.chmod(0o755)
        cls.call("topic", "create", "orders", "--slots", "4")
        bodies = [reason for reason, count in REASONS.items() for _ in range(count)]
        cls.call("send", "orders", "--file", "-", text="\n".join(bodies) + "\n")
        cls.call("consume", "orders", "--exit-when-empty", "--", program)
        cls.call("topic", "create", "flood", "--slots", "4", "--ttl", "1ms", "--expired-to-dead")
        cls.call("send", "flood", "--file", "-", text="".join(f"{number}\n" for number in range(FLOOD)))
        cls.call("consume", "flood", "--exit-when-empty")
        cls.call("pause", "flood")
        cls.call("topic", "create", "reports")
        cls.call("topic", "create", "shop", "--slots", "4", "--groups", "billing,mail")
        cls.call("send", "shop", "--file", "-", text="declined\nunknown address\n")
        cls.call("consume", "shop/billing", "--exit-when-empty", "--", program)

    @classmethod
    def call(cls, *words, text=None):
        done = subprocess.run([SLOTMQ, *words], env=cls.environment, check=False, text=True, capture_output=True,
                              timeout=TIMEOUT_S, input=text)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    @classmethod
    def run_beside(cls, stack, *words):
        """One that runs until the stack ends it, and then ends well."""
        process = subprocess.Popen([SLOTMQ, *words], env=cls.environment, text=True, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)

        def stop():
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=TIMEOUT_S)[1]
            assert process.returncode == 0, said
        stack.callback(stop)
        return process

    def stat(self, topic):
        return json.loads(self.call("stat", topic, "--json"))["topics"][0]

    def go(self, view, **parameters):
        self.browser.open(f"{self.address}/#/{view}?{urllib.parse.urlencode(parameters)}")
        self.browser.run("scrollTo(0, 0)")

    def leave(self):
        """Go to the other server.  What the browser says of one that has ended may come until then."""
        self.go("topics")
        self.browser.console()

    def tearDown(self):
        """Nothing broke the policy of the page; a message that is done is not found."""
        self.assertEqual([line for line in self.browser.console() if "404 (Not Found)" not in line], [])
        self.assertNotIn("taken", self.browser.run("return document.title"))

    def test_a_dead_letter_is_found_by_its_reason_retried_and_done(self):
        self.go("topics")
        self.browser.click(link("orders"))
        self.browser.click("//nav[@class='tabs']//a[starts-with(., 'Dead letters')]")
        counts = {f"exit 65: {reason}": str(count) for reason, count in REASONS.items()}
        self.browser.find(link("exit 65: " + HOSTILE))
        rows = self.browser.run("return [...document.querySelectorAll('tbody tr')].map((row) => "
                                "[row.cells[0].textContent, row.cells[1].textContent])")
        self.assertEqual(dict(rows), counts)
        self.browser.click(link("exit 65: no such address"))
        self.browser.find("//main//td[.='exit 65: no such address']")
        self.browser.click("(//main//td//a)[1]")
        self.browser.find("//pre[.='no such address']")
        self.browser.find("//table[caption='Last tries']//tr[td[2]='rejected']/td[3][.='exit 65: no such address']")
        self.browser.click(link("Hex"))
        self.browser.find("//pre[starts-with(., '00000000  6e 6f 20 73')]")
        self.browser.click(button("Requeue"))
        self.browser.find("//main//header//span[.='waiting']")
        with contextlib.ExitStack() as stack:
            self.run_beside(stack, "consume", "orders")
            self.browser.find("//main//p[contains(., 'it is done')]")
        stat = self.stat("orders")
        self.assertEqual((stat["done"], stat["dead"], stat["waiting"]), (1, 5, 0))

    def test_those_that_are_selected_are_requeued(self):
        self.go("messages", topic="orders", state="dead", reason="card declined")
        self.browser.click("(//main//tbody//input)[1]")
        self.browser.click("(//main//tbody//input)[3]")
        self.browser.click(button("Requeue 2 selected"))
        wait_until(lambda: self.stat("orders")["waiting"] == 2, TIMEOUT_S, "two wait")
        self.browser.find("//main//nav[@class='pages']//span[starts-with(., '1 message')]")

    def test_a_group_of_one_reason_is_requeued_and_no_other(self):
        """Also when other reasons contain it."""
        program = self.folder / "code"
        program.write_text("#!/bin/sh\nread -r body\n[ $body = plain ] || echo $body >&2\nexit 65\n")
        program.chmod(0o755)
        self.call("topic", "create", "letters", "--slots", "2")
        self.call("send", "letters", "--file", "-", text="plain\nplain\nmore\n")
        self.call("consume", "letters", "--exit-when-empty", "--", program)
        self.go("dead", topic="letters")
        self.browser.click("//main//button[@aria-label='Requeue exit 65']")
        self.browser.find("//dialog//p[contains(., '2 dead letters') and contains(., 'whose reason is')]")
        self.browser.click("//dialog//button[.='Requeue']")
        self.browser.find("//article[.//a[contains(., 'letters')]]//span[.='ended']")
        stat = self.stat("letters")
        self.assertEqual((stat["waiting"], stat["dead"]), (2, 1))
        self.browser.click(link("exit 65: more"))
        self.browser.find("//main//span[@class='exact' and contains(., 'exit 65: more')]")
        self.browser.find("//main//nav[@class='pages']//span[starts-with(., '1 message')]")

    def test_a_topic_is_altered(self):
        self.go("topic", topic="reports")
        self.browser.click("//main//button[@aria-label='Change lease_ms']")
        self.browser.type("//dialog//input[@name='value']", "1ms")
        self.browser.click("//dialog//button[.='Change']")
        self.browser.find("//div[@class='said']//p[contains(., '100ms to 1d')]")
        self.assertEqual([line for line in self.browser.console() if "/alter" not in line], [])
        self.browser.click("//main//button[@aria-label='Change lease_ms']")
        self.browser.type("//dialog//input[@name='value']", "90s")
        self.browser.click("//dialog//button[.='Change']")
        self.browser.find("//main//dt[.='lease_ms']/following-sibling::dd[1][starts-with(., '1m30s')]")
        self.assertEqual(json.loads(self.call("topic", "show", "reports", "--json"))["lease_ms"], 90000)
        self.assertEqual(self.browser.run("return document.querySelectorAll('[aria-label=\"Change type\"]').length"), 0)

    def test_a_topic_is_paused_and_resumed(self):
        self.go("topic", topic="reports")
        self.browser.click(button("Pause"))
        self.browser.click("//dialog//button[.='Pause']")
        self.browser.find("//main//header//span[.='paused']")
        self.assertTrue(json.loads(self.call("topic", "show", "reports", "--json"))["paused"])
        self.browser.click(button("Resume"))
        self.browser.find(button("Pause"))
        self.assertFalse(json.loads(self.call("topic", "show", "reports", "--json"))["paused"])

    def test_a_schedule_is_shown_paused_run_and_resumed(self):
        self.call("topic", "create", "planned", "--slots", "1")
        self.call("schedule", "put", "planned", "nightly", "all shops", "--cron", "30 2 * * *", "--zone", "Europe/Berlin")
        self.go("topic", topic="planned")
        self.browser.click("//nav[@class='tabs']//a[.='Schedules']")
        row = "//main//tr[td[1][.='nightly'] and td[3][.='30 2 * * * Europe/Berlin'] and count(td[4]//time) = 3]"
        self.browser.find(f"{row}/td[2]/span[.='active']")
        self.browser.click(f"{row}//button[.='Pause']")
        self.browser.type("//dialog//input[@name='note']", "until the shops open")
        self.browser.click("//dialog//button[.='Pause']")
        self.browser.find(f"{row}[td[2]/span[.='paused'] and td[7][.='until the shops open']]")
        self.browser.click(f"{row}//button[.='Run now']")
        wait_until(lambda: self.stat("planned")["waiting"] == 1, TIMEOUT_S, "its message waits")
        self.browser.click(f"{row}//button[.='Resume']")
        self.browser.find(f"{row}/td[2]/span[.='active']")
        self.assertFalse(json.loads(self.call("schedule", "get", "planned", "nightly", "--json"))["paused"])

    def test_many_are_requeued_at_a_rate_until_it_is_stopped(self):
        self.go("dead", topic="flood")
        self.browser.click(button("Requeue all"))
        self.browser.type("//dialog//input[@name='rate']", "2000")
        self.browser.click("//dialog//button[.='Requeue']")
        self.browser.find("//article[.//a[contains(., 'flood')]]//span[.='running']")
        part = lambda: self.browser.run("const bar = document.querySelector('.job progress'); return [bar.value, bar.max]")
        self.browser.find("//article//progress")
        first = part()
        wait_until(lambda: part()[0] >= first[0] + 2000, TIMEOUT_S, "the bar grows")
        self.assertEqual(part()[1], FLOOD)
        if PICTURES:
            self.browser.picture(PICTURES / "dead-1440-light.png")
        self.browser.click(button("Stop"))
        self.browser.find("//article//span[.='stopped']")
        shown = int(part()[0])
        stat = self.stat("flood")
        self.assertEqual((stat["waiting"], stat["dead"]), (shown, FLOOD - shown))
        self.assertLess(shown, FLOOD)
        self.browser.click(button("Hide"))

    def test_messages_are_found_and_purged(self):
        self.call("send", "reports", "find me", "--id", "needle", "--key", "its key", "-H", "tenant=blue", "--delay", "1h")
        self.call("send", "reports", "another", "--id", "other", "--delay", "1h")
        for box, text in (("contains", "needle"), ("contains", "its key"), ("header", "tenant=blue")):
            self.go("messages", topic="reports")
            self.browser.find("//main//nav[@class='pages']//span[starts-with(., '2 messages')]")
            self.browser.type(f"//main//input[@name='{box}']", text)
            self.browser.find("//main//nav[@class='pages']//span[starts-with(., '1 message,')]")
            self.browser.find(link("needle"))
        self.browser.click(button("Purge all that match"))
        self.browser.type("//dialog//input[@name='confirmed']", "report")
        self.browser.click("//dialog//button[.='Delete']")
        self.assertEqual(self.browser.run("return document.querySelectorAll('dialog[open]').length"), 1)
        self.browser.type("//dialog//input[@name='confirmed']", "reports")
        self.browser.click("//dialog//button[.='Delete']")
        self.browser.find("//article[.//a[contains(., 'reports')]]//span[.='ended']")
        self.assertEqual(self.stat("reports")["waiting"], 1)

    def test_a_dead_letter_is_found_by_its_id_and_the_text_is_kept(self):
        self.call("topic", "create", "letter", "--slots", "1")
        self.call("send", "letter", "its body", "--id", "lost-1", "--key", "its key")
        self.call("consume", "letter", "--exit-when-empty", "--", self.folder / "fail")
        box = "//main//input[@name='contains']"
        self.go("messages", topic="letter")
        self.browser.find("//main//p[.='No message is waiting.']")
        self.browser.type(box, "lost-1")
        self.browser.find(link("lost-1"))
        self.assertEqual(self.browser.run("return document.querySelectorAll('main input:checked').length"), 4)
        self.browser.click("//main//label[.='dead']/input")
        self.browser.find("//main//p[contains(., 'looked at: waiting, claimed, resting. ')]")
        self.assertEqual(self.browser.run("return document.querySelector('main input[name=contains]').value"), "lost-1")
        self.browser.click(link("Look at all"))
        self.browser.find(link("lost-1"))
        self.browser.type(box, "lost-2")
        self.browser.find("//main//p[contains(., 'looked at: waiting, claimed, resting, dead. ')]")

    def test_reasons_that_differ_in_a_number_are_one_group(self):
        program = self.folder / "order"
        program.write_text('#!/bin/sh\nread -r order\necho "no stock for {\\"order\\":$order}" >&2\nexit 65\n')
        program.chmod(0o755)
        self.call("topic", "create", "stock", "--slots", "2")
        self.call("send", "stock", "--file", "-", text="1007\n1008\n1009\n")
        self.call("consume", "stock", "--exit-when-empty", "--", program)
        group = 'exit #: no stock for {"#":#}'
        self.go("dead", topic="stock")
        self.browser.find(f"//main//tr[td[.='{group}'] and td[.='3']]")
        self.browser.click(f"//main//button[@aria-label='Requeue {group}']")
        self.browser.find("//dialog//p[contains(., 'All dead letters') and q[.=': no stock for {']]")
        self.browser.click("//dialog//button[.='Requeue']")
        self.browser.find("//article[.//a[contains(., 'stock')]]//span[.='ended']")
        stat = self.stat("stock")
        self.assertEqual((stat["waiting"], stat["dead"]), (3, 0))
        self.browser.click(button("Hide"))

    def test_the_others_are_purged_at_a_rate_until_it_is_stopped(self):
        before = self.stat("flood")["dead"]
        self.go("dead", topic="flood")
        self.browser.click(button("Purge all"))
        self.browser.type("//dialog//input[@name='confirmed']", "flood")
        self.browser.type("//dialog//input[@name='rate']", "1000")
        self.browser.click("//dialog//button[.='Delete']")
        self.browser.find("//article[.//a[contains(., 'flood')]]//span[.='running']")
        bar = lambda: self.browser.run("const bar = document.querySelector('.job progress'); return [bar.value, bar.max]")
        self.browser.find("//article//progress")
        wait_until(lambda: bar()[0] > 0, TIMEOUT_S, "the bar grows")
        self.browser.click(button("Stop"))
        self.browser.find("//article//span[.='stopped']")
        shown, most = bar()
        self.assertLess(shown, most)
        self.assertEqual(self.stat("flood")["dead"], before - shown)
        self.browser.click(button("Hide"))

    def test_a_group_of_a_topic_is_shown_in_each_view(self):
        group = "shop/billing"
        self.go("topics", search="shop")
        self.browser.find(link("shop/mail"))
        self.browser.click(link(group))
        self.browser.find(f"//main[@data-view='topic']//h1[.='{group}']")
        self.browser.find("//main//div[contains(@class, 'tile')][span[.='Dead']]/b[.='2']")
        self.browser.click("//nav[@class='tabs']//a[starts-with(., 'Dead letters')]")
        self.browser.click(link("exit 65: declined"))
        self.browser.find("//main[@data-view='messages']//td[.='exit 65: declined']")
        self.browser.click("(//main//td//a)[1]")
        self.browser.find("//pre[.='declined']")
        self.browser.click(button("Requeue"))
        self.browser.find("//main//header//span[.='waiting']")
        stats = {topic: self.stat(topic) for topic in (group, "shop/mail")}
        self.assertEqual([(stat["waiting"], stat["dead"]) for stat in stats.values()], [(1, 1), (2, 0)])
        with contextlib.ExitStack() as stack:
            self.run_beside(stack, "consume", group, "--", "true")
            wait_until(lambda: self.stat(group)["waiting"] == 0, TIMEOUT_S, "it is done")
            self.go("fleet")
            self.browser.find(f"//main[@data-view='fleet']//*[.='{group}']")

    def test_a_move_is_shown(self):
        """The owner of a slot that moves cannot let go of it before its handlers have ended."""
        self.call("topic", "create", "moves", "--slots", "2")
        self.call("send", "moves", "--key-field", "1", text="".join(f"k{number}\n" for number in range(8)))
        gate = self.folder / "gate"
        with contextlib.ExitStack() as stack, gate.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            join = lambda name, *program: self.run_beside(stack, "consume", "moves", "-X", f"name={name}",
                                                          "--threads", "8", "--", *program)
            join("giver", "flock", "-s", gate, "true")
            wait_until(lambda: self.stat("moves")["claimed"] == 8, TIMEOUT_S, "all are handled")
            self.go("work", topic="moves")
            self.browser.find("//main//table[caption='In work']//tr[td='giver' and td/span[.='running']]//a[@class='go']")
            join("taker", "true")
            wait_until(lambda: '"drain"' in self.call("fleet", "show", "--json"), TIMEOUT_S, "a slot moves")
            self.go("fleet")
            self.browser.find("//main//table[caption='Moves']//tr[td='giver' and td='handlers to end']")

    def test_work_of_a_process_that_died_is_shown_and_needs_a_person(self):
        self.call("topic", "create", "stuck", "--slots", "1", "--lease", "1s")
        self.call("send", "stuck", "its body", "--id", "job", "--key", "customer")
        gate = self.folder / "gate"
        words = [SLOTMQ, "consume", "stuck", "-X", "name=killed", "--", "flock", "-s", gate, "true"]
        with gate.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with subprocess.Popen(words, env=self.environment) as process:
                work = lambda: json.loads(self.call("work", "stuck", "--json"))["work"]
                wait_until(lambda: work() and work()[0]["claimed_at_ms"], TIMEOUT_S, "it is noted")
                process.kill()
        self.go("topics")
        self.browser.find("//main//p[contains(., 'need you.')]")
        self.browser.find("//main//tr[td/span[.='1 stalled']]//a[.='stuck']")
        names = self.browser.run("return [...document.querySelectorAll('main tbody a.go')].map((one) => one.textContent)")
        self.assertLess(names.index("stuck"), names.index("reports"))
        if PICTURES:
            self.browser.picture(PICTURES / "topics-need-1440-light.png")
        self.go("work")
        self.browser.find("//main//table[caption='In work']//tr[td='killed' and td='customer' and td/span[.='1 stalled']]")
        if PICTURES:
            self.browser.picture(PICTURES / "work-1440-light.png")
        self.browser.click(link("job"))
        self.browser.find("//pre[.='its body']")

    def test_the_keyboard_is_enough(self):
        focused = lambda: self.browser.run("return document.activeElement.id || document.activeElement.textContent")
        self.go("doctor")
        self.browser.find("//main[@data-view='doctor']//h1")
        self.browser.press("t")
        self.browser.find(link("orders"))
        self.browser.press("/")
        self.assertEqual(focused(), "search")
        self.browser.press("orders")
        self.browser.find("//main[.//a[.='orders'] and not(.//a[.='flood'])]")
        self.browser.run("document.activeElement.blur()")
        self.browser.press("n")
        self.assertEqual(focused(), "orders")
        self.browser.press("\ue007")  # Enter
        self.browser.find("//main[@data-view='topic']//h1[.='orders']")
        self.browser.press("?")
        self.browser.find("//dialog[@open]//h2[.='Keys']")
        self.browser.press("\ue00c")  # Escape
        self.assertEqual(self.browser.run("return document.querySelectorAll('dialog').length"), 0)
        for key, view in (("w", "work"), ("f", "fleet"), ("s", "servers"), ("j", "jobs")):
            self.browser.press(key)
            self.browser.find(f"//main[@data-view='{view}']//h1")

    def server(self, kind):
        """The process of a server of the sandbox: of the first Redis node, or of ZooKeeper."""
        folder = next((self.folder / "sandbox").glob(f"{kind}-*"))
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.readlink(process / "cwd") == str(folder):
                    return int(process.name)
        raise LookupError(f"{kind} does not run")

    @contextlib.contextmanager
    def hanging(self, process):
        os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(process, signal.SIGCONT)

    @contextlib.contextmanager
    def serving(self, listen):
        """Another one, which may be killed."""
        words = [SLOTMQ, "serve", "--listen", listen, "-X", "request_timeout_ms=1s"]
        with subprocess.Popen(words, env=self.environment, text=True, stderr=subprocess.PIPE) as process:
            try:
                first = process.stderr.readline()
                assert "listening" in first, first
                yield process, re.search(r"http://(\S+)", first)[1]
            finally:
                process.kill()

    def test_what_cannot_be_seen_is_said_and_comes_back(self):
        """A Redis master hangs, and then ZooKeeper."""
        amiss = "contains(., 'silent') or contains(., 'unreadable') or contains(., 'cannot be read')"
        with self.serving("127.0.0.1:0") as (_, address):
            self.browser.open(f"http://{address}/#/topics")
            self.browser.find(f"//div[@id='app'][not({amiss})]//main//a[.='orders']")
            with self.hanging(self.server("redis")):
                self.browser.find(f"//div[@id='app'][{amiss}]")
            self.browser.find(f"//div[@id='app'][not({amiss})]//main//a[.='orders']")
            with self.hanging(self.server("zookeeper")):
                self.browser.open(f"http://{address}/#/fleet")
                self.browser.find("//main[@data-view='fleet']//p[contains(@class, 'bad')][contains(., 'ZooKeeper')]")
                self.browser.click("//header//a[.='Topics']")
                self.browser.find(link("orders"))
            self.browser.open(f"http://{address}/#/fleet")
            self.browser.find("//main[@data-view='fleet'][not(.//p[contains(@class, 'bad')])]//h1")
        self.leave()

    def test_others_go_on_while_serve_hangs_and_dies(self):
        self.call("topic", "create", "steady", "--slots", "2")
        with contextlib.ExitStack() as stack:
            self.run_beside(stack, "consume", "steady", "--", "true")
            done = lambda count: lambda: self.stat("steady")["done"] == count
            with self.serving("127.0.0.1:0") as (process, address):
                self.browser.open(f"http://{address}/#/topics?search=steady")
                self.browser.find(link("steady"))
                with self.hanging(process.pid):
                    self.call("send", "steady", "while it hangs")
                    wait_until(done(1), TIMEOUT_S, "it is done")
                    with urllib.request.urlopen(f"{self.address}/api/v1/topics", timeout=TIMEOUT_S) as other:
                        self.assertEqual(other.status, 200)
                process.kill()
                self.browser.find("//span[@id='status'][contains(., 'does not answer; trying again')]")
                self.call("send", "steady", "while it is dead")
                wait_until(done(2), TIMEOUT_S, "it is done")
            with self.serving(address):
                self.browser.find("//span[@id='status'][starts-with(., 'read ')]")
                self.browser.find(link("steady"))
        self.leave()

    def test_each_view_fits_into_two_widths_light_and_dark(self):
        views = {"topics": {}, "work": {}, "topic": {"topic": "orders"}, "messages": {"topic": "orders", "state": "dead"},
                 "dead": {"topic": "shop/billing"}, "fleet": {}, "servers": {}, "doctor": {}, "jobs": {}}
        try:
            for width, scheme in ((1440, "light"), (390, "dark")):
                self.browser.show(width, 900, scheme)
                for view, parameters in views.items():
                    with self.subTest(view=view, width=width):
                        self.go(view, **parameters)
                        self.browser.find(f"//main[@data-view='{view}']//h1")
                        wide = self.browser.run("return document.documentElement.scrollWidth")
                        self.assertLessEqual(wide, width)
                        self.assertEqual(self.browser.run("return document.querySelectorAll('main img').length"), 0)
        finally:
            self.browser.show(1440, 900, "light")

    def test_without_the_token_bodies_are_hidden(self):
        kept = self.browser.run("return sessionStorage.getItem('slotmq token')")
        self.go("topics")
        self.browser.click("//button[.='Forget token']")
        self.browser.find("//button[.='Token']")
        self.go("messages", topic="orders", state="dead")
        self.browser.find("//main//td[contains(., 'hidden without the token')]")
        self.assertEqual(self.browser.run("return document.querySelectorAll('main .view button').length"), 0)
        self.browser.run("sessionStorage.setItem('slotmq token', arguments[0]); location.reload()", kept)
        self.browser.find("//button[.='Forget token']")


if __name__ == "__main__":
    if browser.missing():
        print(f"SKIPPED: the page of slotmq serve, because there is no {' and no '.join(browser.missing())}")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
