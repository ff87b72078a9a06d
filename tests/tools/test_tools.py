#!/usr/bin/env python3
"""The checks of tools/ must be able to fail: each is shown a bad case and a good one."""
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/support")]
import check  # noqa: E402 # tools/check.py
import script_table  # noqa: E402 # tools/script_table.py
import servers  # noqa: E402 # tools/servers.py
import watched  # noqa: E402 # tests/support/watched.py


def run(tool, *arguments):
    return subprocess.run([sys.executable, ROOT / "tools" / tool, *map(str, arguments)],
                          capture_output=True, text=True, check=False)


class Folder(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.kept.name)

    def tearDown(self):
        self.kept.cleanup()

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)


class Circles(Folder):
    def verdict(self, sources):
        for name, text in sources.items():
            self.write(f"{name}.c", text)
            path = self.root / "build" / "coord" / "libcoord.a.p" / f"{name}.c.o"
            path.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cc", "-c", "-o", path, self.root / f"{name}.c"], check=True)
        return run("circles.py", self.root / "build")

    def test_one_direction_is_allowed(self):
        self.assertEqual(self.verdict({"a": "void b(void); void a(void) { b(); }", "b": "void b(void) {}"}).returncode, 0)

    def test_a_circle_is_named(self):
        result = self.verdict({"a": "void b(void); void a(void) { b(); }", "b": "void a(void); void b(void) { a(); }"})
        self.assertEqual(result.returncode, 1)
        self.assertIn("coord/a.c calls coord/b.c: b", result.stderr)

    def test_nothing_compiled_is_no_success(self):
        self.assertEqual(run("circles.py", self.root).returncode, 1)


class TerminalPicture(Folder):
    def draw(self, script):
        return run("terminal_picture.py", self.root / "a.svg", "bash", "-c", script)

    def test_what_stands_there_at_the_end_is_drawn(self):
        done = self.draw(r"printf 'first <&>\nold\n\033[1A\033[Jnew\n  yes  kept\n'; test -t 1")
        self.assertEqual(done.returncode, 0, done.stderr)
        picture = (self.root / "a.svg").read_text()
        root = xml.etree.ElementTree.fromstring(picture)
        rows = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertEqual(rows, ["first <&>", "new", "  yes  kept"])
        self.assertIn('<tspan class="good">yes</tspan>', picture)

    def test_a_command_that_fails_is_not_drawn(self):
        self.assertEqual(self.draw("echo it; exit 3").returncode, 3)
        self.assertFalse((self.root / "a.svg").exists())


class Check(Folder):
    """Each rule of tools/check.py."""

    def found(self, rule, path, text):
        self.write(path, text)
        return list(rule(self.root))

    def test_names(self):
        text = "struct lane {\n    int a;\n};\n\nstatic void ab_go(void)\n{\n}\n\nvoid lane_go(void)\n{\n}\n"
        self.assertEqual(self.found(check.names, "coord/ab.c", text), [])
        self.assertEqual(self.found(check.names, "coord/ab.c", "static void finish(void)\n{\n}\n"),
                         ["coord/ab.c: finish() does not begin with the name of its module"])

    def test_paths(self):
        for page in check.PAGES:
            self.write(page, "")
        self.write("libsrc/core/core.c", "")
        page = "docs/architecture.md"
        self.assertEqual(self.found(check.paths, page, "`core/core.c`, `libsrc/core`, `libsrc/core/NAME.c`"), [])
        self.assertEqual(self.found(check.paths, page, "`core/hub.c`"), [f"{page}: there is no core/hub.c"])
        self.write(page, "")
        page = "libsrc/core/README.md"
        self.assertEqual(self.found(check.paths, page, "`core.c`, `libsrc/core/core.c`"), [])
        self.assertEqual(self.found(check.paths, page, "`hub.c`"), [f"{page}: there is no hub.c"])

    ROW = "| send | `smq_send` | `send` | | `unit/a.c:sends` |"

    def features(self, row):
        self.write("include/slotmq/a.h", "int smq_send(void);")
        self.write("docs/slotmq.1", ".Cm send")
        self.write("tests/unit/a.c", "static void sends(void **state) {}")
        table = f"## A queue\n\n| feature | call | command | note | test |\n|---|---|---|---|---|\n{row}\n"
        return self.found(check.features, "docs/FEATURES.md", table)

    def test_what_a_feature_names_must_exist(self):
        self.assertEqual(self.features(self.ROW), [])
        for name, other in (("smq_send", "smq_sent"), ("`send`", "`sand`"), ("a.c", "b.c"), (":sends", ":sand"),
                            ("`unit/a.c:sends`", "-")):
            self.assertEqual(len(self.features(self.ROW.replace(name, other))), 1, other)

    def test_a_feature_has_no_hole(self):
        self.assertEqual(len(self.features("| send | | `send` | | `unit/a.c:sends` |")), 1)
        self.assertEqual(len(self.features("| send | - | `send` | | `unit/a.c:sends` |")), 1)
        self.assertEqual(self.features("| send | - | `send` | not needed | `unit/a.c:sends` |"), [])

    def test_guarantees(self):
        self.write("tests/chaos/a.py", "class Dies:\n")
        page = "| fault | effect |\n|---|---|\n| it dies | again [1] |\n\n## Tests\n- [1] `chaos/a.py:Dies`\n"
        self.assertEqual(self.found(check.guarantees, check.GUARANTEES, page), [])
        for good, bad in (("again [1]", "again"), (":Dies", ":Lives"), ("- [1]", "- [2]"), ("`chaos/a.py:Dies`", "-")):
            self.assertTrue(self.found(check.guarantees, check.GUARANTEES, page.replace(good, bad)), bad)

    def test_reasons(self):
        self.write(check.REASONS, '[COORD_NO_SLOT_A] =\n    "others have "\n    "all; it waits",\n'
                                  '[COORD_NO_SLOT_B] = "it sleeps: say \\"wake\\"",\n')
        page = "docs/operations.md"
        self.assertEqual(self.found(check.reasons, page, "| *... because others have all* |\n| *it sleeps* |\n"), [])
        self.assertEqual(len(self.found(check.reasons, page, "| *because others have all* | it sleeps |\n")), 1)
        self.assertEqual(len(self.found(check.reasons, page, "")), 2)
        self.write(check.REASONS, "")
        self.assertEqual(len(self.found(check.reasons, page, "")), 1)

    def test_the_code_of_the_readme(self):
        install = "    apt-get update\n    ldconfig\n"
        pages = {"README.md": f"```c\nint a;\n```\n```cpp\nint b;\n```\n{install}", "docs/INSTALL.md": install,
                 "docs/start.md": "```c\n{\n    int a;\n}\n```\n", "examples/readme.c": "{\n    int a;\n}\n",
                 "examples/raii.cpp": "int b;\n", "docs/cpp.md": "```cpp\nint b;\n```\n"}
        long = "int a;\n" * (check.MOST_LINES + 1)

        def found(**changed):
            for path, text in {**pages, **changed}.items():
                self.write(path, text)
            return list(check.readme(self.root))

        self.assertEqual(found(), [])
        self.assertEqual(len(found(**{"examples/raii.cpp": "int c;\n"})), 2)
        self.assertEqual(len(found(**{"docs/cpp.md": "```cpp\n    int b;\n```\n"})), 1)
        self.assertEqual(len(found(**{"docs/start.md": "```c\nint a;\n```\n"})), 1)
        self.assertEqual(len(found(**{"docs/INSTALL.md": install + "    reboot\n"})), 1)
        self.assertEqual(len(found(**{"docs/start.md": f"```c\n{long}```\n", "examples/readme.c": long})), 1)
        self.assertEqual(len(found(**{"README.md": pages["README.md"].replace("int a;\n", long),
                                      "docs/start.md": f"```c\n{long}```\n", "examples/readme.c": long})), 2)

    def test_width(self):
        wide = "word " * 30
        text = f"| {wide} |\n\n    {wide}\n\n```c\n{wide}\n```\nhttps://example.org/{wide}\n" + "word " * 20 + "\n"
        self.assertEqual(self.found(check.width, "docs/a.md", text), [])
        self.assertEqual(self.found(check.width, "docs/a.md", text + "word " * 20 + "w\n"),
                         ["docs/a.md:10: 101 columns; wrap it at 100"])

    def test_words(self):
        for page in check.FIRST_HOUR:
            self.write(page, "word " * (check.MOST_WORDS // len(check.FIRST_HOUR)))
        self.assertEqual(list(check.words(self.root)), [])
        self.write(check.FIRST_HOUR[0], "word " * (check.MOST_WORDS // len(check.FIRST_HOUR) + 1))
        self.assertIn(f"{check.MOST_WORDS + 1} words", "".join(check.words(self.root)))

    def test_nothing_to_check_is_no_success(self):
        self.assertEqual(len(list(check.names(self.root))), 1)
        self.assertEqual(self.features(""), ["docs/FEATURES.md: no table of features"])
        self.assertNotEqual(run("check.py", self.root).returncode, 0)


class ScriptTable(Folder):
    """The table of scripts in docs/architecture.md is made from lua and libsrc."""

    STORE = ("static void ab_begin(int a)\n{\n    call_begin(&script_take);\n}\n\n"
             "void store_take(int a)\n{\n    ab_begin(a);\n}\n\nvoid store_take_all(int a,\n    int b)\n{\n"
             "    ab_begin(a);\n}\n\nvoid store_other(void)\n{\n    /* &script_take, ab_begin() */\n}\n")
    ROWS = [["take", "store_take()", "core/c.c, core/d.c"], ["", "store_take_all()", "core/d.c"]]

    def setUp(self):
        super().setUp()
        self.write("lua/take.lua", "#!lua\n")
        self.write("libsrc/store/ab.c", self.STORE)
        self.write("libsrc/core/c.c", "void c(void)\n{\n    store_take(1); /* not store_take_all() */\n}\n")
        self.write("libsrc/core/d.c", "void d(void)\n{\n    store_take(1);\n    store_take_all(1, 2);\n}\n")
        self.write(script_table.PAGE, f"# A\n\n{script_table.BEGIN}{script_table.END}\n## B\n")
        self.assertEqual(run("script_table.py", "--write", self.root).returncode, 0)

    def found(self):
        self.assertEqual(list(script_table.found(self.root)), list(check.scripts(self.root)))
        return list(script_table.found(self.root))

    def rows(self):
        lines = script_table.table(self.root).splitlines()
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]

    def test_what_is_written_is_found_right(self):
        page = (self.root / script_table.PAGE).read_text()
        self.assertTrue(page.startswith("# A\n") and page.endswith("\n## B\n"), page)
        self.assertIn(script_table.table(self.root), page)
        self.assertEqual(run("script_table.py", "--write", self.root).returncode, 0)
        self.assertEqual((self.root / script_table.PAGE).read_text(), page)

    def test_rows(self):
        self.assertEqual(self.rows(), self.ROWS)

    def test_each_source_can_make_the_page_old(self):
        self.assertEqual(self.found(), [])
        for path, good, bad in (("libsrc/store/ab.c", "take_all", "take_many"),
                                ("libsrc/core/c.c", "store_take(1)", "store_other()")):
            text = (self.root / path).read_text()
            self.write(path, text.replace(good, bad))
            self.assertEqual(self.found(), ["docs/architecture.md: the table of scripts is out of date: "
                                            "tools/script_table.py --write"], bad)
            self.write(path, text)

    def test_a_script_that_nobody_calls(self):
        self.write("libsrc/store/ab.c", self.STORE.replace("&script_take)", "&script_other)"))
        self.assertIn("lua/take.lua: no function of libsrc/store calls it", self.found())

    def test_a_page_without_a_place_for_it(self):
        self.write(script_table.PAGE, "# A\n")
        self.assertEqual(len(self.found()), 1)
        self.assertEqual(run("script_table.py", "--write", self.root).returncode, 1)

    def test_nothing_to_check_is_no_success(self):
        (self.root / "lua/take.lua").unlink()
        self.assertIn("lua: there is no script", self.found())


class Layers(Folder):
    def verdict(self, path, text):
        self.write(path, text)
        return run("layers.py", self.root)

    def test_down_is_allowed(self):
        result = self.verdict("libsrc/consume/slot/a.c",
                              '#include "store/store.h"\n#include "consume/slot/b.h"\n#include "consume/run/c.h"\n')
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_up_is_refused(self):
        result = self.verdict("libsrc/base/a.h", '#include "core/core.h"\n')
        self.assertEqual(result.returncode, 1)
        self.assertIn("libsrc/base/a.h: must not include core/core.h", result.stderr)

    def test_siblings_and_floors_above_are_refused(self):
        self.assertEqual(self.verdict("libsrc/produce/a.c", '#include "admin/admin.h"\n').returncode, 1)
        self.assertEqual(self.verdict("libsrc/produce/a.c", '#include "core/core.h"\n').returncode, 0)
        self.assertEqual(self.verdict("libsrc/consume/run/a.c", '#include "consume/slot/owned_slot.h"\n').returncode, 1)

    def test_coord_knows_no_redis(self):
        self.assertEqual(self.verdict("coord/a.c", '#include "redis/redis.h"\n').returncode, 1)

    def test_only_the_door_of_coord_is_open(self):
        self.assertEqual(self.verdict("libsrc/core/a.c", '#include "coord/member/member.h"\n').returncode, 1)

    def test_foreign_library_has_one_home(self):
        self.assertEqual(self.verdict("libsrc/core/a.c", "#include <hiredis/hiredis.h>\n").returncode, 1)

    def test_command_sees_public_headers_only(self):
        self.assertEqual(self.verdict("cli/a.c", '#include "base/buf.h"\n').returncode, 1)

    def test_rooms_of_the_command_point_down(self):
        for path, line, allowed in (
                ("cli/a.c", '#include "cli/verb/verb.h"', True), ("cli/consume/a.c", '#include "cli/http/port.h"', True),
                ("cli/text/a.c", '#include "cli/verb/flags.h"', False), ("cli/consume/a.c", '#include "serve/pool.h"', False),
                ("serve/a.c", "#include <microhttpd.h>", False)):
            with self.subTest(path=path, line=line):
                self.assertEqual(f"{path}: must not include" not in self.verdict(path, line + "\n").stderr, allowed)

    def test_nothing_to_check_is_no_success(self):
        self.assertEqual(run("layers.py", self.root).returncode, 1)


class Symbols(Folder):
    """A library of one function with the version script that is made from its header."""

    def verdict(self, source, script=None, soname="liba.so.0.1"):
        self.write("include/a.h", "#define SMQ_API\nSMQ_API int smq_one(void);\n/* SMQ_API int smq_not(void); */\n")
        self.write("a.c", source)
        shared, archive, versions = self.root / "a.so", self.root / "a.a", self.root / "a.map"
        made = run("version_script.py", versions, "0.1", self.root / "include")
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        if script is not None:
            versions.write_text(script)
        subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{soname}", f"-Wl,--version-script={versions}",
                        "-o", shared, self.root / "a.c"], check=True)
        subprocess.run(["cc", "-c", "-o", self.root / "a.o", self.root / "a.c"], check=True)
        subprocess.run(["ar", "rcs", archive, self.root / "a.o"], check=True)
        return run("symbols.py", self.root / "include", shared, archive)

    def test_exact(self):
        result = self.verdict("int smq_one(void) { return 1; }\n")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_more(self):
        result = self.verdict("int smq_one(void) { return 1; }\nint other(void) { return 1; }\n",
                              "SLOTMQ_0.1 { *; };\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn("a.so: other is visible", result.stderr)
        self.assertIn("a.a: other is visible", result.stderr)

    def test_the_script_hides_what_no_header_declares(self):
        result = self.verdict("int smq_one(void) { return 1; }\nint smq_not(void) { return 1; }\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn("a.a: smq_not is visible", result.stderr)
        self.assertNotIn("a.so", result.stderr)

    def test_less(self):
        result = self.verdict("static int smq_one(void) { return 1; }\nint (*x)(void) = smq_one;\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn("smq_one is declared, but missing", result.stderr)

    def test_the_version_is_that_of_the_soname(self):
        one = "int smq_one(void) { return 1; }\n"
        for script, soname, said in [("{ global: *; };\n", "liba.so.0.1", 'smq_one has the version ""'),
                                     (None, "liba.so.0.2", "it must be SLOTMQ_0.2"),
                                     (None, "liba.so", "it has no SONAME")]:
            result = self.verdict(one, script, soname)
            self.assertEqual(result.returncode, 1, script)
            self.assertIn(said, result.stderr)


CMOCKA = "[==========] Running 2 test(s).\n[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n"


class CountTests(Folder):
    def verdict(self, *tests):
        self.write("log", "".join(json.dumps(test) + "\n" for test in tests))
        result = run("count_tests.py", self.root / "log")
        return result.returncode, result.stdout.splitlines()[-1]

    def test_each_cmocka_test_counts(self):
        good = {"name": "x", "result": "OK", "stdout": CMOCKA + "[       OK ] b\n"}
        other = {"name": "y", "result": "OK", "stdout": "fine\n"}
        self.assertEqual(self.verdict(good, other), (0, "3 passed, 0 failed"))

    def test_a_group_may_have_a_name(self):
        named = CMOCKA.replace("Running", "tests: Running")
        self.assertEqual(self.verdict({"name": "x", "result": "OK", "stdout": named + "[       OK ] b\n"}),
                         (0, "2 passed, 0 failed"))

    def test_the_sum_of_a_named_group_is_no_test(self):
        bad = {"name": "x", "result": "FAIL", "stdout": CMOCKA.replace("Running", "tests: Running") + "[  FAILED  ] b\n",
               "stderr": "[  FAILED  ] tests: 1 test(s), listed below:\n[  FAILED  ] b\n"}
        self.assertEqual(self.verdict(bad), (1, "1 passed, 1 failed"))

    def test_failure_counts_once(self):
        bad = {"name": "x", "result": "FAIL", "stdout": CMOCKA + "[  FAILED  ] b\n",
               "stderr": "[  PASSED  ] 1 test(s).\n[  FAILED  ] 1 test(s), listed below:\n"
                         "[  FAILED  ] b\n"}
        self.assertEqual(self.verdict(bad), (1, "1 passed, 1 failed"))

    def test_what_failed_is_said_with_the_reason(self):
        bad = {"name": "x", "result": "FAIL", "stdout": CMOCKA,
               "stderr": "noise\n[  ERROR   ] --- 1 != 2\n[   LINE   ] --- a.c:7: error: Failure!\n[  FAILED  ] b\n"}
        plain = {"name": "y", "result": "FAIL", "stdout": "one\n\ntwo\n"}
        self.verdict(bad, plain)
        self.assertEqual(run("count_tests.py", self.root / "log").stdout.splitlines()[:-1], [
            "failed: x (FAIL)", "failed: x: [  ERROR   ] --- 1 != 2",
            "failed: x: [   LINE   ] --- a.c:7: error: Failure!", "failed: x: [  FAILED  ] b",
            "failed: y (FAIL)", "failed: y: one", "failed: y: two"])

    def test_the_ten_longest_are_named(self):
        self.verdict(*({"name": f"t{i}", "result": "OK", "stdout": "", "duration": i / 2} for i in range(14)))
        self.assertEqual(run("count_tests.py", self.root / "log").stdout.splitlines()[:2],
                         ["longest: 6 s t13", "longest: 6 s t12"])
        self.assertEqual(run("count_tests.py", self.root / "log").stdout.count("longest:"), 10)

    def test_crash_counts(self):
        self.assertEqual(self.verdict({"name": "x", "result": "FAIL", "stdout": CMOCKA}),
                         (1, "1 passed, 1 failed"))

    def test_time_out_without_output_counts(self):
        self.assertEqual(self.verdict({"name": "x", "result": "TIMEOUT"}), (1, "0 passed, 1 failed"))

    def test_skipped_is_failed(self):
        skipped = {"name": "x", "result": "OK", "stdout": CMOCKA + "[  SKIPPED ] b\n"}
        self.assertEqual(self.verdict(skipped), (1, "1 passed, 1 failed"))
        self.assertEqual(self.verdict({"name": "x", "result": "SKIP"}), (1, "0 passed, 1 failed"))

    def test_what_a_program_left_out_is_repeated(self):
        partly = {"name": "x", "result": "OK", "stdout": CMOCKA + "[       OK ] b\nSKIPPED: no such command\n"}
        self.assertEqual(self.verdict(partly), (0, "2 passed, 0 failed"))
        self.assertIn("x: SKIPPED: no such command\n", run("count_tests.py", self.root / "log").stdout)

    def test_no_tests_is_no_success(self):
        self.write("log", "")
        self.assertEqual(run("count_tests.py", self.root / "log").returncode, 1)


class Servers(unittest.TestCase):
    USED = ["http://mirror.example/debian-security/", "http://mirror.example/debian/", "http://other.example/debian/"]

    def test_upstream_versions(self):
        for version, upstream in [("5:7.0.15-1~deb12u5", "7.0.15"), ("8.1.1+dfsg1-3+deb13u1", "8.1.1"),
                                  ("9.1.0~rc1-1", "9.1.0"), ("9.1.2-1", "9.1.2")]:
            self.assertEqual(servers.upstream(version), upstream)

    def test_series(self):
        self.assertTrue(servers.is_of("5:8.0.2-3", "8.0"))
        self.assertFalse(servers.is_of("5:8.10.2-3", "8.1"))
        self.assertFalse(servers.is_of("9.2.0-1", "9.1"))

    def test_the_mirror_is_the_one_that_is_used(self):
        self.assertEqual(servers.mirror(self.USED, "debian"), "http://mirror.example/debian")
        self.assertEqual(servers.mirror(self.USED, "debian-security"), "http://mirror.example/debian-security")

    def test_without_one_it_is_debians(self):
        self.assertEqual(servers.mirror(["http://mirror.example/ubuntu/"], "debian"), "http://deb.debian.org/debian")

    def test_every_source_is_signed_and_none_is_trusted_blindly(self):
        for release in ("bookworm", "trixie", "sid"):
            text = servers.sources(release, self.USED)
            self.assertEqual(text.count("Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"),
                             text.count("Types: deb\n"))
            self.assertNotIn("rusted", text)

    def test_sid_has_no_security_updates(self):
        self.assertNotIn("security", servers.sources("sid", self.USED))
        self.assertIn("Suites: trixie-security\n", servers.sources("trixie", self.USED))

    def test_an_unknown_server_is_refused(self):
        result = run("servers.py", "redis-1.0", "/nonexistent/redis-1.0")
        self.assertEqual(result.returncode, 64)
        self.assertIn("redis-7.0, redis-8.0, valkey-8.1, valkey-9.1", result.stderr)


class Headers(Folder):
    def test_header_that_needs_another(self):
        self.write("slotmq/a.h", "size_t a(void);\n")
        self.assertEqual(run("headers.py", self.root).returncode, 1)

    def test_header_that_stands_alone(self):
        self.write("slotmq/a.h", "#include <stddef.h>\nsize_t a(void);\n")
        self.assertEqual(run("headers.py", self.root).returncode, 0)


class Configuration(Folder):
    PAGE = ("## Topic: `smq_topic_options`\n\n| `slots` | integer | 64 | 1 .. 65536 | Parts. |\n"
            "| `lease_ms` | duration | 30s | 100ms .. 1d | A claim lives. |\n"
            "| `ties` | arrival\\|bytes | arrival |  | By arrival, or by bytes (-8191 to 8191). |\n"
            "| `max_body` | integer | 1048576 (inline 65536) | 1 .. 67108864 (inline 65536) | Bytes. |\n"
            "| `ttl_ms` | duration | none | 1ms .. 101806d, or none | It lives. |\n")
    FIELDS = ("    int32_t slots; /* 1 .. 65536; default\n                      * 64 */\n"
              "    /* Default 30000. */\n    int64_t lease_ms;\n"
              "    int ties; /* up to 8191; default SMQ_TIES_ARRIVAL */\n"
              "    /* 1 .. 64 MiB, default 1 MiB; inline 1 .. 64 KiB. */\n    int64_t max_body;\n"
              "    int64_t ttl_ms; /* 1 .. 2^43; default none; 0: of the topic */\n")
    ROWS = ("slots\\tinteger\\t64\\t1 .. 65536\\tN\\t2\\nshared\\tfalse|true\\tfalse\\t\\t\\t1\\n"
            "delay_ms\\tduration\\tnone\\t0 .. 5s, or none\\tTIME\\t3\\n")
    SCHEMA = ('   "Definition": {\n    "required": [\n     "name",\n     "paused",\n     "damaged"\n    ],\n'
              '    "properties": {\n     "name": {"type": "string"},\n     "paused": {"type": "boolean"}\n')

    def verdict(self, page, fields, before=""):
        self.write("include/slotmq/topic.h", f"{before}typedef struct smq_topic_options {{\n    size_t struct_size;\n"
                   f"    smq_event_fn *event;\n{fields}}} smq_topic_options;\n")
        self.write("docs/CONFIGURATION.md", page)
        self.write("serve/openapi.json", self.SCHEMA)
        self.write("cli/topic/topic_flags.h", "")
        self.write("build/tools/configuration",
                   f"#!/bin/sh\n[ $# = 0 ] || exec printf '{self.ROWS}'\ncat <<'END'\n{self.PAGE}END\n")
        (self.root / "build/tools/configuration").chmod(0o755)
        run("configuration.py", "--write", self.root / "build", self.root)
        self.write("docs/CONFIGURATION.md", page)
        return run("configuration.py", self.root / "build", self.root)

    def test_exact(self):
        result = self.verdict(self.PAGE, self.FIELDS, "/* At most 2^43 ms. */\n")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_flags_and_the_schema_are_written(self):
        self.verdict(self.PAGE, self.FIELDS)
        for name, texts in (("cli/topic/topic_flags.h", ['TOPIC_FLAG("slots", "slots", "N")\nTOPIC_FLAG("shared", "shared", NULL)\n'
                                                   'TOPIC_FLAG("delay", "delay_ms", "TIME")\n']),
                            ("serve/openapi.json", ['"name",\n     "shared",\n     "slots",\n     "delay_ms",\n     "paused"',
                                                        '"string"},\n     "shared": {"type": "boolean"},\n     "slots": {"type":'
                                                        ' "integer"},\n     "delay_ms": {"type": ["integer", "null"]},\n'
                                                        '     "paused"'])):
            text = (self.root / name).read_text()
            for wanted in texts:
                self.assertIn(wanted, text)
            self.write(name, text.replace("slots", "slot"))
            result = run("configuration.py", self.root / "build", self.root)
            self.assertIn(f"{name} is out of date", result.stderr)
            self.write(name, text)

    def test_page_is_old(self):
        result = self.verdict("## Topic\n", self.FIELDS)
        self.assertEqual(result.returncode, 1)
        self.assertIn("out of date", result.stderr)

    def test_field_without_a_row(self):
        result = self.verdict(self.PAGE, self.FIELDS + "    bool shared;\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn("smq_topic_options.shared has no row", result.stderr)

    def test_comments_with_other_numbers(self):
        for good, bad, field in (("65536;", "65535;", "slots"), ("* 64 ", "* 32 ", "slots"), ("1 .. 65536", "2 .. 65536", "slots"),
                                 ("30000", "20000", "lease_ms"), ("8191", "8192", "ties"), ("ARRIVAL", "BYTES", "ties"),
                                 ("64 MiB", "65 MiB", "max_body"), ("1 MiB", "2 MiB", "max_body"), ("2^43", "2^42", "ttl_ms")):
            self.assertIn(good, self.FIELDS)
            result = self.verdict(self.PAGE, self.FIELDS.replace(good, bad))
            self.assertEqual(result.returncode, 1, bad)
            self.assertIn(f"smq_topic_options.{field}: its comment names", result.stderr)

    def test_a_comment_before_the_struct(self):
        result = self.verdict(self.PAGE, self.FIELDS, "/* At most 2^42 ms. */\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn("smq_topic_options: its comment names 4398046511104", result.stderr)


class Dev(Folder):
    """./dev with packages, compiler and tests left out."""

    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / "dev", self.root / "dev")
        for name in ("apt-get", "sudo", "meson", "ninja", "npm"):
            self.program(f"bin/{name}", "")
        table = (ROOT / "dev").read_text().partition("declare -A PACKAGES=(\n")[2].partition("\n)\n")[0]
        lists = re.findall(r'^    \[(\w+)\]="([^"]*)"$', table, re.MULTILINE)
        self.packages = {need: names.split() for need, names in lists}
        self.installed(name for names in self.packages.values() for name in names)

    def installed(self, names):
        self.program("bin/dpkg-query", "\n".join(f"echo installed {name}" for name in names))

    def program(self, path, text):
        self.write(path, f"#!/bin/sh\n{text}\n")
        (self.root / path).chmod(0o755)

    def dev(self, *arguments, **environment):
        own = {name: value for name, value in os.environ.items() if name not in ("DEV_WERROR", "CI_BASE")}
        environment = {**own, **environment, "PATH": f"{self.root}/bin:{os.environ['PATH']}"}
        return subprocess.run([self.root / "dev", *arguments], env=environment, capture_output=True, text=True, check=False)


class DevSetup(Dev):
    """What is installed for a verb is what it needs."""

    def setUp(self):
        super().setUp()
        self.program("bin/id", "echo 0")
        self.program("bin/apt-get", 'echo "$@" >>asked')
        self.installed([])

    def asked(self, *arguments):
        """The packages that apt-get is asked for."""
        self.write("asked", "")
        self.dev(*arguments)
        return {word for line in (self.root / "asked").read_text().splitlines() if line.startswith("install ")
                for word in line.split()[1:] if not word.startswith("-")}

    def of(self, *needs):
        return {name for need in needs for name in self.packages[need]}

    def test_a_verb_installs_what_it_needs_and_no_more(self):
        for arguments, needs in [
                (["build"], ["library", "command"]), (["demo"], ["library", "servers"]),
                (["sandbox", "up"], ["library", "servers"]), (["test", "unit"], ["library", "command", "tests"]),
                (["model"], ["models"]), (["docs"], ["pages"]), (["abi"], ["library", "interface"])]:
            self.assertEqual(self.asked(*arguments), self.of(*needs), arguments)

    def test_setup_installs_all_but_what_makes_packages(self):
        self.assertEqual(self.asked("setup"), self.of(*(set(self.packages) - {"packaging"})))

    def test_what_is_installed_is_not_asked_for(self):
        self.installed(self.of("library"))
        self.assertEqual(self.asked("build"), self.of("command"))
        self.installed(self.of("library", "command"))
        self.assertEqual(self.asked("build"), set())


class DevBuild(Dev):
    """A verb configures and builds what it needs; what was built for another one stays."""

    def setUp(self):
        super().setUp()
        self.program("bin/meson", 'echo "meson $@" >>asked\n[ "$1" != setup ] || { mkdir -p "$2"; touch "$2/build.ninja"; }')
        self.program("bin/ninja", 'echo "ninja $@" >>asked')

    def asked(self, *arguments, **environment):
        self.write("asked", "")
        self.dev(*arguments, **environment)
        return (self.root / "asked").read_text().splitlines()

    def test_a_folder_only_gets_more(self):
        self.assertEqual(self.asked("demo"), [
            "meson setup build -Dcli=false -Dtests=false -Dbench=false -Dwerror=false",
            "ninja -C build demo/slotmq-demo"])
        self.assertEqual(self.asked("build"), ["meson configure build -Dcli=true", "ninja -C build library cli/slotmq"])
        for arguments, target in (["demo"], "demo/slotmq-demo"), (["build"], "library cli/slotmq"):
            self.assertEqual(self.asked(*arguments), [f"ninja -C build {target}"])

    def test_a_demo_has_its_options_in_any_order(self):
        for arguments, run in [
                ([], "build/demo/slotmq-demo"), (["--redis-alone"], "build/demo/slotmq-demo --redis-alone"),
                (["--break", "fencing"], "build-break-fencing/demo/slotmq-demo"),
                (["--break", "fencing", "--redis-alone"], "build-break-fencing/demo/slotmq-demo --redis-alone"),
                (["--redis-alone", "--break", "fencing"], "build-break-fencing/demo/slotmq-demo --redis-alone")]:
            self.program(run.split()[0], 'echo "$0" "$@"')
            self.assertEqual(self.dev("demo", *arguments).stdout, f"{self.root}/{run}\n")
        self.assertEqual(self.dev("demo", "--redis-alone", "--break", "it").returncode, 64)

    def test_warnings_that_are_errors_stay_errors(self):
        self.asked("build")
        self.assertEqual(self.asked("build", DEV_WERROR="true")[0], "meson configure build -Dwerror=true")
        self.assertEqual(self.asked("build"), ["ninja -C build library cli/slotmq"])

    def test_a_folder_that_somebody_else_has_made_keeps_its_parts(self):
        self.write("build/build.ninja", "")
        self.assertEqual(self.asked("build")[0], "meson configure build -Dcli=true")

    def test_what_cannot_be_configured_is_not_built(self):
        self.program("bin/meson", 'echo "meson $@" >>asked; exit 1')
        self.assertEqual(len(self.asked("build")), 1)
        self.assertEqual(len(self.asked("build")), 1)


class DevTest(Dev):
    def setUp(self):
        super().setUp()
        self.program("bin/meson", '[ "$1" != test ] || { command -v redis-server; echo "$@"; } >>asked\n'
                                  "mkdir -p build-san/meson-logs; touch build-san/meson-logs/testlog.json")
        self.program("build-servers/valkey-8.1/bin/redis-server", "")
        self.write("tools/count_tests.py", "print('1 passed, 0 failed')\n")
        self.write("tools/servers.py", "print('valkey-server 8.1.1')\n")
        self.write("build-san/build.ninja", "")

    def suites(self, *arguments):
        """The suites that are run, and the server."""
        self.write("asked", "")
        result = self.dev("test", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        server, words = (self.root / "asked").read_text().splitlines()[-2:]
        return re.findall(r"--suite=(\S+)", words), server

    def test_the_servers_part_of_each_suite_is_run(self):
        server = f"{self.root}/build-servers/valkey-8.1/bin/redis-server"
        for what, suites in [("all", ["unit-redis", "lua", "integration"]), ("unit", ["unit-redis"]), ("lua", ["lua"]),
                             ("integration", ["integration"]), ("short", ["servers"])]:
            self.assertEqual(self.suites("--server", "valkey-8.1", what), (suites, server), what)

    def test_the_systems_server_is_the_default(self):
        self.program("bin/redis-server", "")
        for what, suites in [([], ["unit", "tools", "lua", "integration"]), (["unit"], ["unit"]), (["short"], ["servers"])]:
            self.assertEqual(self.suites(*what), (suites, f"{self.root}/bin/redis-server"))

    def test_a_server_that_cannot_be_had_is_skipped(self):
        self.write("tools/servers.py", "import sys\nprint('no mirror', file=sys.stderr)\nsys.exit(77)\n")
        result = self.dev("test", "--server", "valkey-8.1")
        self.assertEqual((result.returncode, result.stderr),
                         (77, "dev: SKIPPED: the tests with valkey-8.1: no mirror\n"))

    def test_a_server_is_fetched_for_chaos_too(self):
        result = self.dev("chaos", "--server")
        self.assertEqual((result.returncode, result.stderr), (64, "dev: --server takes a name: ./dev help\n"))
        self.write("tools/servers.py", "import sys\nprint('no mirror', file=sys.stderr)\nsys.exit(77)\n")
        result = self.dev("chaos", "--seed", "1", "--server", "valkey-9.1")
        self.assertEqual((result.returncode, result.stderr), (77, "dev: SKIPPED: the tests with valkey-9.1: no mirror\n"))

    def test_what_is_not_known_is_refused(self):
        for arguments in (["--server"], ["--server", "valkey-8.1", "--debian13"], ["some"]):
            self.assertEqual(self.dev("test", *arguments).returncode, 64, arguments)


class Changed(Dev):
    """What ./dev test quick and ./dev lint take of a change."""

    def setUp(self):
        super().setUp()
        for path in ["libsrc/produce/send.c", "libsrc/produce/send.h", "tests/integration/redis/a.c", "README.md"]:
            self.write(path, "")
        self.write("cli/a.c", '#include "cli/a.h"\n')
        self.write("cli/a.h", '#include "produce/send.h"\n')
        self.write("cli/b.c", "")
        self.write(".gitignore", "/build*/\n/asked\n/bin/\n/tools/\n")
        (self.root / "tools").mkdir()
        shutil.copy(ROOT / "tools/count_tests.py", self.root / "tools")
        shutil.copy(ROOT / "tests/suites.txt", self.root / "tests")
        self.git("init", "-q", "-b", "main")
        self.commit("2026-01-01T00:00:00Z")

    def git(self, *arguments, **environment):
        who = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        subprocess.run(["git", "-C", self.root, *arguments], check=True, capture_output=True,
                       env={**os.environ, **who, **environment})

    def commit(self, date):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x", GIT_COMMITTER_DATE=date, GIT_AUTHOR_DATE=date)


class Quick(Changed):
    LOG = "build-san/meson-logs/testlog.json"

    def setUp(self):
        super().setUp()
        self.write("build-san/build.ninja", "")

    def quick(self, *arguments, **environment):
        return self.dev("test", "quick", *arguments, **environment)

    def meson(self, *after):
        """meson with two tests, of which the first ends at once."""
        ended = json.dumps({"name": "one", "result": "OK"})
        self.program("bin/meson", "\n".join([
            'case "$*" in *--list*) printf "one\\ntwo\\n"; exit;; test*) echo "$@" >asked;; *) exit;; esac',
            f"mkdir -p build-san/meson-logs; echo '{ended}' >{self.LOG}", *after]))

    def test_the_suites_are_those_of_the_folders_that_changed(self):
        self.meson(f"""echo '{json.dumps({"name": "two", "result": "OK"})}' >>{self.LOG}""")
        for path in ["libsrc/produce/send.c", "tests/integration/redis/a.c", "tests/unit/new.c"]:
            self.write(path, "int a;\n")
        result = self.quick("main")
        self.assertEqual((result.returncode, result.stdout.splitlines()), (0, ["2 passed, 0 failed"]), result.stderr)
        self.assertEqual(re.findall(r"--suite=(\S+)", (self.root / "asked").read_text()),
                         ["unit", "lua", "produce", "redis"])

    def test_what_had_no_time_is_listed_and_no_failure(self):
        self.write("build-san/interrupted", json.dumps({"name": "two", "result": "INTERRUPT"}) + "\n")
        self.meson(f"trap 'kill $!; cat build-san/interrupted >>{self.LOG}; exit 1' TERM", "sleep 30 & wait")
        result = self.quick("main", QUICK_SECONDS="1")
        self.assertEqual((result.returncode, result.stdout.splitlines()), (0, ["left out: two", "1 passed, 0 failed"]))

    def test_a_test_that_fails_is_a_failure(self):
        self.meson(f"""echo '{json.dumps({"name": "two", "result": "FAIL"})}' >>{self.LOG}""", "exit 1")
        result = self.quick("main")
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (1, "1 passed, 1 failed"))

    def test_what_cannot_be_built_is_a_failure(self):
        self.program("bin/meson", '[ "$1" != test ]')
        self.assertEqual(self.quick("main").returncode, 1)

    def test_the_table_names_suites_and_folders_that_there_are(self):
        known = {path.parent.name for path in ROOT.glob("tests/integration/*/meson.build")} | {"tools", "chaos"}
        rows = [line.split() for line in (ROOT / "tests/suites.txt").read_text().splitlines() if line[:1] not in ("", "#")]
        for beginning, *suites in rows:
            self.assertLessEqual(set(suites), known)
            self.assertTrue(beginning == "*" or (ROOT / beginning).is_dir(), beginning)

    def test_a_commit_that_is_not_there_is_refused(self):
        result = self.quick()
        self.assertEqual((result.returncode, result.stderr),
                         (64, "dev: there is no commit origin/main here: ./dev test quick COMMIT\n"))


class Lint(Changed):
    """Of ./dev lint only clang-tidy; all other checks fail."""

    def setUp(self):
        super().setUp()
        for name in ("clang-format", "cppcheck", "shellcheck", "mandoc", "groff", "luac5.1", "cc"):
            self.program(f"bin/{name}", "exit 1")
        self.program("bin/clang-tidy", 'for file; do :; done; echo "$file" >>asked')

    def tidied(self, *arguments, **environment):
        self.write("asked", "")
        self.dev("lint", *arguments, **environment)
        return sorted((self.root / "asked").read_text().splitlines())

    def test_changed_files_and_who_includes_them(self):
        self.git("branch", "origin/main")
        self.write("cli/b.c", "int b;\n")
        self.commit("2026-01-01T01:00:00Z")
        self.assertEqual(self.tidied(), ["cli/b.c"])
        self.write("libsrc/produce/send.h", "int c;\n")
        self.assertEqual(self.tidied(), ["cli/a.c", "cli/b.c", "libsrc/produce/send.c"])

    def test_of_very_many_tests_are_last(self):
        self.git("branch", "origin/main")
        for number in range(99):
            self.write(f"cli/{number}.c", "int many;\n")
        self.write("bench/b.c", "int b;\n")
        self.write("tests/unit/c.c", "int c;\n")
        self.commit("2026-01-01T01:00:00Z")
        tidied = self.tidied()
        self.assertEqual(len(tidied), 100)
        self.assertIn("bench/b.c", tidied)

    def test_where_nothing_is_ahead_it_is_the_last_day(self):
        self.write("cli/a.c", "int a;\n")
        self.commit("2026-01-05T00:00:00Z")
        self.write("cli/b.c", "int b;\n")
        self.commit("2026-01-06T12:00:00Z")
        self.git("branch", "origin/main")
        self.assertEqual(self.tidied(), ["cli/b.c"])
        self.assertEqual(self.tidied(CI_BASE="HEAD~2"), ["cli/a.c", "cli/b.c"])

    def test_all_are_all_and_so_is_a_history_of_one_day(self):
        everything = ["cli/a.c", "cli/b.c", "libsrc/produce/send.c", "tests/integration/redis/a.c"]
        self.assertEqual(self.tidied(), everything)
        self.git("branch", "origin/main")
        self.write("cli/b.c", "int b;\n")
        self.assertEqual(self.tidied("all"), everything)

    def test_what_clang_tidy_finds_is_named(self):
        self.program("bin/clang-tidy", "echo found; exit 1")
        result = self.dev("lint")
        self.assertIn("found\nFAILED  clang and clang-tidy\n", result.stdout)
        self.assertEqual(result.returncode, 1)


class Ci(Folder):
    """.ci/run with a ./dev that does nothing."""

    def setUp(self):
        super().setUp()
        self.write(".ci/run", (ROOT / ".ci/run").read_text())
        self.write("dev", '#!/bin/sh\necho "$@" >>asked\ncase "$*" in\nlint) exit 1 ;;\n*valkey*) exit 77 ;;\n'
                          'test) echo "failed: x (FAIL)"; echo "3 passed, 1 failed"; exit 1 ;;\nesac\n')
        for name in (".ci/run", "dev"):
            (self.root / name).chmod(0o755)

    def ci(self, *arguments):
        """(exit status, lines printed, what ./dev was asked)"""
        self.write("asked", "")
        done = subprocess.run([self.root / ".ci/run", *arguments], capture_output=True, text=True, check=False)
        lines = [re.sub(r" \d+ s", " N s", line) for line in done.stdout.splitlines()]
        return done.returncode, lines, (self.root / "asked").read_text().splitlines()

    def test_every_part_runs_and_the_count_is_the_last_line(self):
        status, lines, asked = self.ci()
        self.assertEqual((status, asked), (1, [
            "test", "test --server valkey-8.1 short", "lint", "mixed", "tsan short", "fuzz --seconds 4", "model --short",
            "chaos --seed 1 --seconds 60"]))
        self.assertEqual(lines[-10:], [
            "failed: x (FAIL)", "ci: test N s, failed", "ci: valkey N s, SKIPPED: it cannot be had here",
            "ci: lint N s, failed", "ci: mixed N s", "ci: tsan N s", "ci: fuzz N s", "ci: model N s", "ci: chaos N s",
            "3 passed, 1 failed"])

    def test_one_part_runs_alone(self):
        self.assertEqual(self.ci("mixed"), (0, ["ci: mixed N s"], ["mixed"]))
        self.assertEqual(self.ci("mixed", "bogus"), (64, [], []))

    def test_the_night_keeps_figures(self):
        record = self.root / "record"
        self.assertEqual(self.ci("--nightly", "--record", record, "fuzz")[2],
                         [f"fuzz --seconds 60 --record {record}/fuzz.jsonl"])
        self.assertTrue(record.is_dir())
        asked = self.ci("--nightly")[2]
        for what in ["test", "test faults", "test nightly", "lint all", "tsan", "model --long", "mutants --named"]:
            self.assertIn(what, asked)


class Bench(Dev):
    """./dev bench without servers and benchmarks."""

    def setUp(self):
        super().setUp()
        for name in ("drain.js", "package.json", "package-lock.json"):
            self.write(f"bench/peers/bullmq/{name}", "")
        self.program("build/bench/slotmq-bench", 'echo "$@" >>asked')
        self.write("bench/figures.py", "import sys, pathlib\npathlib.Path(sys.argv[2]).write_text('new')\n")
        self.write("docs/BENCHMARKS.md", "published")

    def page_after(self, *arguments):
        result = self.dev("bench", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue((self.root / "asked").exists())
        return (self.root / "docs/BENCHMARKS.md").read_text()

    def test_some_leave_the_page_as_it_is(self):
        for arguments in (["drain"], ["drain", "send", "--json"], ["--rate", "100", "steady"], ["drain", "--resume"],
                          ["--quick"]):
            self.assertEqual(self.page_after(*arguments), "published", arguments)

    def test_all_and_those_for_the_page_write_it(self):
        for arguments in ([], ["--resume"], ["--rate", "100"], ["drain", "--page"]):
            self.write("docs/BENCHMARKS.md", "published")
            self.assertEqual(self.page_after(*arguments), "new", arguments)
        self.assertNotIn("--page", (self.root / "asked").read_text())


class Watched(unittest.TestCase):
    STUCK = """
import threading

def is_stuck():
    lock = threading.Lock()
    lock.acquire()
    print("it is", flush=True)
    lock.acquire()

is_stuck()
"""
    WAITS = """
import subprocess
import sys

def waits_for_child():
    subprocess.run([sys.executable, "-c", sys.argv[1]])

waits_for_child()
"""

    def test_a_run_that_hangs_says_where_each_process_stands_and_ends(self):
        limits, real = iter([None]), select.select  # the first words may take long
        with unittest.mock.patch("select.select", lambda *sets: real(*sets[:3], next(limits, sets[3]))):
            result = watched.run([sys.executable, "-c", self.WAITS, self.STUCK], 0.1)
        self.assertEqual(result.returncode, -signal.SIGKILL)
        self.assertRegex(result.stdout, r"(?s)^it is\n\nnothing was said for 0.1 s.*in waits_for_child.*in is_stuck")

    def test_a_run_that_ends_says_no_more(self):
        result = watched.run(["sh", "-c", "echo one; echo two >&2; exit 3"], 20)
        self.assertEqual((result.returncode, result.stdout), (3, "one\ntwo\n"))


class Version(Folder):
    PARTS = "#define SMQ_VERSION_MAJOR 1\n#define SMQ_VERSION_MINOR 20\n"

    def test_it_is_that_of_the_header(self):
        self.write("core.h", self.PARTS + "#define SMQ_VERSION_PATCH 3\n")
        self.assertEqual(run("version.py", self.root / "core.h").stdout, "1.20.3\n")

    def test_a_part_that_is_missing_is_named(self):
        self.write("core.h", self.PARTS)
        result = run("version.py", self.root / "core.h")
        self.assertEqual(result.returncode, 1)
        self.assertIn("SMQ_VERSION_PATCH", result.stderr)


if __name__ == "__main__":
    unittest.main()
