#!/usr/bin/env python3
"""What makes and judges mutants must be able to fail, and leaves nothing behind."""
import contextlib
import functools
import importlib
import importlib.util
import io
import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
MUTANTS = ROOT / "tests" / "mutants"
sys.dont_write_bytecode = True
sys.path.insert(0, str(MUTANTS))
import coverage_map  # noqa: E402 (of MUTANTS)
import generate  # noqa: E402
import mutants  # noqa: E402
import named  # noqa: E402
import tree as trees  # noqa: E402


@functools.lru_cache
def all_mutants():
    return tuple(generate.of_tree(ROOT))


def made(file, text):
    """(line, operator, new line) of each mutant."""
    return {(one.line, one.operator, one.after.strip()) for one in generate.of_text(file, text)}


def body(*lines):
    return "static int f(int a)\n{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"


class GeneratorC(unittest.TestCase):
    def operators(self, line):
        return {(operator, after) for _, operator, after in made("a.c", body(line))}

    def test_comparisons_and_arithmetic(self):
        self.assertEqual(self.operators("if (a < b && c + 2 != d) {"), {
            ("< to <= 0", "if (a <= b && c + 2 != d) {"), ("&& to || 0", "if (a < b || c + 2 != d) {"),
            ("+ to - 0", "if (a < b && c - 2 != d) {"), ("!= to == 0", "if (a < b && c + 2 == d) {"),
            ("2 to 3 0", "if (a < b && c + 3 != d) {"), ("negate", "if (!(a < b && c + 2 != d)) {")})

    def test_calls_and_assignments_are_dropped(self):
        self.assertEqual(self.operators("call(a, b->c);"), {("drop", ";")})
        self.assertEqual(self.operators("a->b = c;"), {("drop", ";")})
        self.assertEqual(self.operators("a->b += c;"), {("drop", ";"), ("+= to -= 0", "a->b -= c;")})
        self.assertEqual(self.operators("a.b++;"), {("drop", ";"), ("++ to -- 0", "a.b--;")})

    def test_returns(self):
        self.assertEqual(self.operators("return a;"), {("return 0", "return 0;"), ("return 1", "return 1;")})
        self.assertEqual(self.operators("return true;"), {("true to false 0", "return false;")})
        self.assertEqual(self.operators("return;"), set())

    def test_what_is_no_statement_of_its_own_is_not_dropped(self):
        self.assertEqual(made("a.c", body("call(a,", "     other(b));")), set())

    def test_declarations_are_not_dropped(self):
        for line in ("int a = b;", "struct a *a = b;", "const char *a = b;", "int64_t a = b;", "bool a;"):
            self.assertEqual(self.operators(line), set(), line)

    def test_casts_pointers_and_signs_are_no_arithmetic(self):
        for line in ("f((char *) a, *b, -c, &d);", "g(a->b, x[-n]);"):
            self.assertEqual(self.operators(line), {("drop", ";")}, line)

    def test_comments_strings_invariants_and_messages_are_left_alone(self):
        for line in ("/* a < b */", "assert(a < b);", "CHECK(a_check(a));",
                     'status_set(err, SMQ_INVALID, "it is < 2");', 'events_log(a, 1 + b, "x");'):
            self.assertEqual(self.operators(line), set(), line)
        self.assertEqual(self.operators('f("a < b"); /* c < 2 */'), set())
        self.assertEqual(self.operators('f("a<1"); /* c < 2 */'), {("drop", ";")})
        self.assertEqual(self.operators("c = 'a' + 2;"),
                         {("drop", ";"), ("+ to - 0", "c = 'a' - 2;"), ("2 to 3 0", "c = 'a' + 3;")})

    def test_only_bodies_of_functions(self):
        self.assertEqual(made("a.c", "enum { A = 1, B = 2 };\nstatic const int c[] = {\n    1 < 2,\n};\n"), set())
        self.assertEqual(made("a.c", "static void a_check(int a)\n{\n    b(a);\n}\n"), set())
        self.assertEqual(len(made("a.c", "static void a_checks(int a)\n{\n    b(a);\n}\n")), 1)

    def test_a_comment_of_several_lines(self):
        self.assertEqual(made("a.c", body("/* one", " * call(a);", " * a < b */", "call(b);")),
                         {(6, "drop", ";")})


class GeneratorLua(unittest.TestCase):
    def operators(self, line):
        return {(operator, after) for _, operator, after in made("a.lua", line + "\n")}

    def test_conditions(self):
        self.assertEqual(self.operators("if a ~= b and c then"), {
            ("~= to == 0", "if a == b and c then"), ("and to or 0", "if a ~= b or c then"),
            ("negate", "if not (a ~= b and c) then")})

    def test_statements_are_dropped(self):
        self.assertEqual(self.operators("redis.call('HDEL', a, 'b 1')"), {("drop", "do end")})
        self.assertEqual(self.operators("a.b = c"), {("drop", "do end")})
        self.assertEqual(self.operators("a, b = c, d"), {("drop", "do end")})
        self.assertEqual(self.operators("    local a = f(b)"), set())

    def test_every_line_of_a_block_is_a_statement(self):
        self.assertEqual({line for line, operator, _ in made("a.lua", "if a then\n  f(b)\nend\ng(c)\nd = e\n")
                          if operator == "drop"}, {2, 4, 5})

    def test_what_is_no_statement_of_its_own_is_not_dropped(self):
        for text in ("f(a,\n  g(b))\n", "a =\n  g(b)\n", "return a and\n  g(b)\n", "a = b\n  or g(c)\n"):
            self.assertNotIn((2, "drop", "do end"), made("a.lua", text), text)

    def test_returns(self):
        self.assertEqual(self.operators("return a"), {("return nil", "return nil")})
        self.assertEqual(self.operators("return nil"), set())

    def test_comments_and_messages_are_left_alone(self):
        for line in ("-- a == b", "#!lua flags=allow-oom", "-- @include x",
                     "return redis.error_reply('a < 2')"):
            self.assertEqual(self.operators(line), set(), line)
        self.assertEqual(self.operators("f(a) -- b == 2"), {("drop", "do end")})


class Names(unittest.TestCase):
    def test_a_name_stays_while_other_lines_change(self):
        before = {one.name for one in generate.of_text("a.c", body("f(a);", "g(b);"))}
        after = {one.name for one in generate.of_text("a.c", body("h(c);", "f(a);", "g(b);"))}
        self.assertEqual(len(before), 2)
        self.assertLess(before, after)

    def test_equal_lines_have_other_names(self):
        found = list(generate.of_text("a.c", body("f(a);", "f(a);")))
        self.assertEqual([one.nth for one in found], [0, 1])
        self.assertEqual(len({one.name for one in found}), 2)

    def test_a_seed_decides_the_order(self):
        first, again, other = (generate.shuffled(all_mutants(), seed) for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertEqual(len({one.name for one in first}), len(first))
        some = set(all_mutants()[::2])
        self.assertEqual(generate.shuffled(some, 1), [one for one in first if one in some])
        self.assertEqual({one.file.split("/")[0] for one in first}, set(generate.FOLDERS))


class Named(unittest.TestCase):
    PATCH = named.Patch("a", "why", "a.c", "b", "c", tests=("t",))

    def test_a_text_that_is_there_once_is_replaced(self):
        self.assertEqual(named.applied(self.PATCH, "abd"), "acd")

    def test_a_text_that_is_not_there_or_there_twice_is_an_error(self):
        for text, count in (("ad", 0), ("abbd", 2)):
            with self.assertRaisesRegex(named.DoesNotApply, f"stands {count} times in a.c"):
                named.applied(self.PATCH, text)

    def test_every_patch_applies_to_the_tree_and_has_one_killer(self):
        with contextlib.redirect_stdout(io.StringIO()) as listed:
            mutants.list_named()
        self.assertEqual(len({patch.name for patch in named.NAMED}), len(named.NAMED))
        self.assertGreaterEqual(sum(patch.history is not None for patch in named.PATCHES), 10)
        for mutant in named.NAMED:
            self.assertIn(mutant.name, listed.getvalue())
        for patch in named.PATCHES:
            self.assertNotEqual(bool(patch.tests), patch.history is not None, patch.name)

    def test_invariants_and_faults_are_those_of_chaos_runs(self):
        chaos = "".join(path.read_text() for path in (ROOT / "tests/chaos").glob("*.py"))
        for patch in named.PATCHES:
            if patch.history is not None:
                self.assertIn(f'"{patch.history.invariant}"', chaos)
                for _, fault, _ in patch.history.faults:
                    self.assertIn(f"class {fault}(", chaos)

    def test_tests_are_those_of_the_tree(self):
        for patch in named.PATCHES:
            for test in patch.tests:
                folder, _, name = test.partition("_")
                self.assertTrue(list((ROOT / "tests").rglob(f"{folder}/test_{name}.c")), test)


def is_there(module):
    """Has this Python the module?"""
    return importlib.util.find_spec(module.partition(".")[0]) is not None


class Seeds(unittest.TestCase):
    def setUp(self):
        """Faults are planned, and none is done, so the clients of servers may be missing."""
        names = ("redis", "kazoo", "kazoo.client", "kazoo.exceptions")
        missing = {name: unittest.mock.MagicMock() for name in names if not is_there(name)}
        modules = unittest.mock.patch.dict(sys.modules, missing)
        modules.start()
        self.addCleanup(modules.stop)

    def test_each_history_has_a_seed_whose_series_begin_with_its_faults(self):
        histories = [patch.history for patch in named.PATCHES if patch.history is not None]
        seeds = {history: mutants.seed_with(history) for history in histories}
        faults = importlib.import_module("faults")  # seed_with() has found it
        world = types.SimpleNamespace(seconds=60)
        for history, seed in seeds.items():
            self.assertGreater(seed, 0)
            for series, name, least_s in history.faults:
                with self.subTest(history.invariant, fault=name), \
                        unittest.mock.patch.object(faults.on_redis.MigrateAtomically, "is_possible",
                                                   lambda _: False), \
                        contextlib.redirect_stdout(io.StringIO()):
                    world.seconds = history.seconds
                    _, fault = next(faults.plan(world, seed, series))
                    self.assertEqual(fault.name, name)
                    self.assertGreaterEqual(fault.seconds, least_s)

    def test_what_servers_cannot_do_is_left_out_and_nothing_else_changes(self):
        mutants.seed_with(named.History(""))
        faults = importlib.import_module("faults")
        world, begin = types.SimpleNamespace(seconds=60), {}
        for possible in (True, False):
            with unittest.mock.patch.object(faults.on_redis.MigrateAtomically, "is_possible",
                                            lambda _, possible=possible: possible), \
                    contextlib.redirect_stdout(io.StringIO()) as told:
                plan = faults.plan(world, 7, "redis")
                begin[possible] = [(pause, fault.name, fault.seconds)
                                   for pause, fault in itertools.islice(plan, 40)]
            self.assertEqual("MigrateAtomically is left out" in told.getvalue(), not possible)
        some = [fault for fault in begin[True] if fault[1] != "MigrateAtomically"]
        self.assertLess(len(some), 40)
        self.assertEqual(begin[False][:len(some)], some)


class Equivalents(unittest.TestCase):
    def test_each_is_a_mutant_of_the_tree_and_has_a_reason(self):
        known = mutants.known_equivalents()
        there = {(one.file, one.before.strip(), one.operator, one.nth)
                 for one in all_mutants()}
        self.assertEqual([entry for entry in known if entry not in there], [])
        self.assertEqual([entry for entry, reason in known.items() if len(reason) < 20], [])


class Scores(unittest.TestCase):
    def test_equivalent_ones_do_not_count(self):
        verdicts = ["killed"] * 9 + ["survived"] + ["equivalent"] * 5
        self.assertEqual(mutants.summary([mutants.Result("a", verdict) for verdict in verdicts]),
                         {"count": 15, "killed": 9, "survived": 1, "equivalent": 5, "percent": 90.0})


class Folder(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.root = pathlib.Path(self.temporary.name) / "tree"
        self.folder = pathlib.Path(self.temporary.name) / "build"
        self.root.mkdir()
        self.tree = trees.Tree(trees.Programs(), self.root, self.folder)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Logs(Folder):
    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, mutants, "RESULTS", mutants.RESULTS)
        mutants.RESULTS = self.root
        with contextlib.redirect_stdout(io.StringIO()):
            log = mutants.Log("seed-1")
            for name, verdict in (("a", "survived"), ("b", "killed"), ("a", "killed"), ("c", "survived")):
                log.add(mutants.Result(name, verdict))

    def kept(self, *arguments):
        return {name: result.verdict for name, result in mutants.Log("seed-1", *arguments).results.items()}

    def test_a_resumed_run_keeps_the_last_result_of_each(self):
        self.assertEqual(self.kept("resume"), {"a": "killed", "b": "killed", "c": "survived"})

    def test_survivors_are_judged_again(self):
        self.assertEqual(self.kept("again"), {"a": "killed", "b": "killed"})

    def test_a_new_run_begins_with_nothing(self):
        self.assertEqual((self.kept(), self.kept("resume")), ({}, {}))


class FakeTree:
    """Tests that pass, fail or hang, without a build."""

    def __init__(self, **tests):
        self.results, self.ran, self.programs = tests, [], trees.Programs()
        self.tests = {name: trees.Test({"name": name, "suite": [], "cmd": [name], "workdir": None,
                                        "env": {}, "timeout": 1, "depends": []}, {}, ROOT)
                      for name in tests}

    def make(self, targets, seconds):
        pass

    def run_test(self, name, seconds, only=None):
        self.ran.append((name, seconds))
        self.only = only
        if self.results[name] == "hangs":
            raise trees.TakesTooLong
        result = self.results[name]
        return result, result if isinstance(result, str) else f"{name} said: error"


class Trials(unittest.TestCase):
    def trial(self, seconds=1000, **tests):
        tree = FakeTree(**tests)
        trial = mutants.Trial(tree, time.monotonic() + seconds)
        trial.run(list(tests), lambda name: 1.0)
        return trial, [name for name, _ in tree.ran]

    def test_a_test_that_fails_kills(self):
        trial, _ = self.trial(a=0, b=1)
        self.assertEqual((trial.killer, trial.shown), ("b", "b said: error"))

    def test_no_group_follows_the_one_that_killed(self):
        names = {f"t{i}": int(i == 0) for i in range(3 * mutants.FIRST_TESTS)}
        trial, ran = self.trial(**names)
        self.assertEqual(trial.killer, "t0")
        self.assertLessEqual(len(ran), mutants.FIRST_TESTS)

    def test_all_pass(self):
        names = {f"t{i}": 0 for i in range(3 * mutants.FIRST_TESTS)}
        trial, ran = self.trial(**names)
        self.assertEqual((trial.killer, trial.ran, sorted(ran)), (None, len(names), sorted(names)))

    def test_a_test_that_hangs_kills(self):
        trial, _ = self.trial(a="hangs")
        self.assertEqual(trial.killer, "a")
        self.assertIn("hangs", trial.shown)

    def test_a_test_for_which_the_time_was_too_short_does_not(self):
        trial, ran = self.trial(seconds=mutants.HANGS_S / 2, a="hangs")
        self.assertEqual((trial.killer, trial.ran, ran), (None, 0, ["a"]))


class Lockstep(unittest.TestCase):
    MISTAKE = named.Mistake("a reply is lost, and nobody sees it", "consume", "a", "b")
    OTHER = named.Mistake("a claim is made twice", "consume", "a", "b")

    def judged(self, output):
        tree = FakeTree(**{mutants.LOCKSTEP: output})
        [result] = mutants.judge_named(tree, [self.MISTAKE])
        self.assertEqual(tree.only, "a-reply-is-lost-and-nobody-sees-it")
        return result.verdict

    def test_several_are_judged_in_one_run(self):
        tree = FakeTree(**{mutants.LOCKSTEP: "[       OK ] a-claim-is-made-twice\n"
                                             "[  FAILED  ] a-reply-is-lost-and-nobody-sees-it\n"})
        results = mutants.judge_named(tree, [self.MISTAKE, self.OTHER])
        self.assertEqual([(result.name, result.verdict) for result in results],
                         [(self.MISTAKE.name, "survived"), (self.OTHER.name, "killed")])
        self.assertIsNone(tree.only)

    def test_it_is_killed_when_its_own_test_passes(self):
        self.assertEqual(self.judged("[       OK ] a-reply-is-lost-and-nobody-sees-it\n"), "killed")

    def test_else_it_survives(self):
        for output in ("[  FAILED  ] a-reply-is-lost-and-nobody-sees-it\n", "hangs",
                       "[==========] 0 test(s) run.\n[  PASSED  ] 0 test(s).\n"):
            self.assertEqual(self.judged(output), "survived", output)


class Copies(Folder):
    def setUp(self):
        super().setUp()
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.write("a/b.c", "one")
        self.write(".gitignore", "left-out\n")
        self.write("left-out", "x")
        self.tree.sync()

    def test_the_copy_follows_the_tree(self):
        self.assertEqual((self.tree.copy / "a/b.c").read_text(), "one")
        self.assertFalse((self.tree.copy / "left-out").exists())
        before = (self.tree.copy / ".gitignore").stat().st_mtime_ns
        self.write("a/c.c", "new")
        (self.root / "a/b.c").unlink()
        self.tree.sync()
        self.assertEqual([path.name for path in (self.tree.copy / "a").iterdir()], ["c.c"])
        self.assertEqual((self.tree.copy / ".gitignore").stat().st_mtime_ns, before)

    def test_a_second_run_is_refused(self):
        self.tree.lock()
        self.addCleanup(self.tree.locked.close)
        other = trees.Tree(trees.Programs(), self.root, self.folder)
        with self.assertRaisesRegex(SystemExit, "another run"):
            other.lock()
        other.locked.close()

    def test_a_change_ends_with_its_block_and_never_reaches_the_tree(self):
        with contextlib.suppress(KeyError), self.tree.changed("a/b.c", "two"):
            self.assertEqual((self.tree.copy / "a/b.c").read_text(), "two")
            self.assertEqual((self.root / "a/b.c").read_text(), "one")
            raise KeyError
        self.assertEqual((self.tree.copy / "a/b.c").read_text(), "one")


class SameCode(Folder):
    TEXT = "int f(int a)\n{\n    return a < 5 ? a : 2;\n}\n"

    def same(self, after):
        self.tree.copy.mkdir(parents=True)
        (self.tree.build).mkdir()
        (self.tree.copy / "a.c").write_text(self.TEXT)
        (self.tree.build / "compile_commands.json").write_text(json.dumps([{
            "directory": str(self.tree.build), "file": "../tree/a.c",
            "command": "cc -fsanitize=address --coverage -O0 -MD -MQ a.o -MF a.o.d -o a.o -c ../tree/a.c"}]))
        mutant = generate.Mutant("a.c", 3, self.TEXT.split("\n")[2], after, "", 0)
        found = mutants.same_code(self.tree, mutant, mutants.mutated(self.tree, mutant))
        self.assertEqual((self.tree.copy / "a.c").read_text(), self.TEXT)
        return found

    def test_the_same_code_is_equivalent(self):
        self.assertTrue(self.same("    return a <= 4 ? a : 2;"))

    def test_other_code_is_not(self):
        self.assertFalse(self.same("    return a <= 5 ? a : 2;"))


class Maps(Folder):
    def setUp(self):
        super().setUp()
        lua = {"lua/send.lua": "-- @include wake\n", "lua/owner.lua": "-- none\n",
               "lua/lib/wake.lua": "-- @include deep\n", "lua/lib/deep.lua": ""}
        for name, text in {"libsrc/a/thing.c": "1\n2\n3\n4\n5\n", **lua,
                           "libsrc/store/send.c": "x\ncall(&script_send);\n",
                           "libsrc/store/owner.c": "call(&script_owner);\n"}.items():
            path = self.tree.copy / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        suites = {"base_x": "unit", "a_b": "unit", "lua_send": "lua", "produce_send": "integration",
                  "store_unit": "unit", "command_top": "integration", "symbols": "tools",
                  "python_celery_long": "nightly", "node_package_short": "integration"}
        self.tree.tests = {name: trees.Test(
            {"name": name, "suite": [f"slotmq:{suite}"], "cmd": [name], "workdir": None, "env": {},
             "timeout": 1, "depends": []}, {}, ROOT) for name, suite in suites.items()}
        files = {name: coverage_map.digest(self.tree.copy / name)
                 for name in ("libsrc/a/thing.c", "libsrc/store/send.c")}
        self.map = coverage_map.Map(
            {"base_x": 0.1, "a_b": 0.2, "lua_send": 1, "produce_send": 2, "store_unit": 0.1, "gone": 1},
            {"libsrc/a/thing.c": {"2": [0, 1, 5], "4": [1]}, "libsrc/store/send.c": {"2": [3, 4]}}, files, {})

    def test_a_line_has_the_tests_that_run_it_those_of_its_folder_first(self):
        self.assertEqual(self.map.of_line(self.tree, "libsrc/a/thing.c", 2), ["a_b", "base_x"])

    def test_a_line_without_code_has_those_of_the_line_above(self):
        self.assertEqual(self.map.of_line(self.tree, "libsrc/a/thing.c", 3), ["a_b", "base_x"])
        self.assertEqual(self.map.of_line(self.tree, "libsrc/a/thing.c", 5), ["a_b"])
        self.assertEqual(self.map.of_line(self.tree, "libsrc/a/thing.c", 1), [])

    def test_a_changed_file_has_those_of_all_its_lines(self):
        (self.tree.copy / "libsrc/a/thing.c").write_text("other")
        self.assertEqual(self.map.of_line(self.tree, "libsrc/a/thing.c", 1), ["a_b", "base_x"])

    def test_a_test_that_is_new_or_has_changed_is_run_those_that_may_take_long_first(self):
        for seconds, (name, test) in enumerate(self.tree.tests.items()):
            path = self.tree.copy / f"test_{name}.c"
            path.write_text(name)
            test.targets, test.sources, test.seconds_max = ["program"], [path], -seconds
            if name not in ("command_top", "symbols", "python_celery_long", "node_package_short"):
                self.map.programs[name] = coverage_map.digest(path)
        self.assertEqual(self.map.unknown(self.tree), [])
        (self.tree.copy / "test_a_b.c").write_text("changed")
        del self.map.programs["base_x"]
        self.assertEqual(self.map.unknown(self.tree), ["base_x", "a_b"])

    def test_what_a_test_runs_now_is_in_place_of_what_it_ran(self):
        self.tree.tests["new"] = self.tree.tests["store_unit"]
        self.map.add(self.tree, "a_b", 0.3, {"libsrc/a/thing.c": {3, 4}})
        self.map.add(self.tree, "new", 1.234, {"libsrc/a/thing.c": {2}, "libsrc/store/owner.c": {1}})
        self.assertEqual(self.map.lines["libsrc/a/thing.c"], {"2": [0, 5, 6], "3": [1], "4": [1]})
        self.assertEqual(self.map.lines["libsrc/store/owner.c"], {"1": [6]})
        self.assertEqual((self.map.tests["a_b"], self.map.tests["new"]), (0.3, 1.23))
        self.assertIn("libsrc/store/owner.c", self.map.files)
        self.assertEqual(self.map.unknown(self.tree), [])

    def test_a_script_has_the_suite_lua_and_what_runs_its_caller(self):
        for file in ("lua/send.lua", "lua/lib/wake.lua", "lua/lib/deep.lua"):
            self.assertEqual(self.map.of_line(self.tree, file, 1), ["lua_send", "produce_send"], file)
        self.assertEqual(self.map.of_line(self.tree, "lua/owner.lua", 1), ["lua_send"])


class Sources(unittest.TestCase):
    def test_a_group_has_its_own_file_and_what_its_program_shares(self):
        program = {"type": "executable", "filename": ["/build/test_a"], "target_sources": [
            {"sources": ["/x/tests/a/test_one.c", "/x/tests/a/test_two.c", "/x/tests/a/shared.c"]}]}
        found = trees.Test(
            {"name": "a_two", "suite": ["slotmq:unit"], "cmd": ["/build/test_a", "two"],
             "workdir": None, "env": {}, "timeout": 1, "depends": ["a"]}, {"a": program}, "/build")
        self.assertEqual(found.sources, ["/x/tests/a/shared.c", "/x/tests/a/test_two.c"])
        self.assertEqual(found.targets, ["test_a"])


INTERRUPTED = """
import pathlib, signal, sys
sys.path.insert(0, {mutants!r})
import mutants, tree as trees
tree = trees.Tree(trees.Programs(), pathlib.Path({root!r}), pathlib.Path({folder!r}))
signal.signal(signal.SIGTERM, mutants.interrupted)
try:
    with tree.changed("a.c", "mutated"), trees.pool(tree.programs) as threads:
        list(threads.map(lambda _: tree.programs.run(["sh", "-c", {command!r}], 600), range(2)))
except KeyboardInterrupt:
    sys.exit(130)
"""


class Interrupt(Folder):
    def test_an_interrupt_leaves_nothing_behind(self):
        """Also not what the programs have started in sessions of their own, nor a program that has
        lost its environment."""
        self.tree.copy.mkdir(parents=True)
        (self.tree.copy / "a.c").write_text("as it was")
        scratch = pathlib.Path(self.temporary.name) / "scratch"
        scratch.mkdir()
        command = (f'setsid sleep 600 & one=$!; mkdir "$TMPDIR/r1"; cd "$TMPDIR/r1"; '
                   f'env -i setsid sleep 600 & echo $one $! >"$TMPDIR/new"; '
                   f'mv "$TMPDIR/new" {scratch}/../pid.$$; sleep 600')
        text = INTERRUPTED.format(mutants=str(MUTANTS), root=str(self.root), folder=str(self.folder),
                                  command=command)
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                child = subprocess.Popen([sys.executable, "-c", text], env={**os.environ, "TMPDIR": str(scratch)},
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                while len(pids := [path for path in self.folder.parent.glob("pid.*") if path.read_text()]) < 2:
                    self.assertIsNone(child.poll())
                    time.sleep(0.01)
                started = [int(pid) for path in pids for pid in path.read_text().split()]
                child.send_signal(number)
                output = child.communicate()[0]
                self.assertEqual((child.returncode, output), (130, b""))
                self.assertEqual([pid for pid in started if runs(pid)], [])
                self.assertEqual(os.listdir(scratch), [])
                self.assertEqual((self.tree.copy / "a.c").read_text(), "as it was")
                for path in pids:
                    path.unlink()


def runs(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


if __name__ == "__main__":
    unittest.main()
