#!/usr/bin/env python3
"""What tools/embed_lua.py accepts, leaves out and refuses."""

import os
import subprocess
import sys
import tempfile
import unittest

EMBED, LUAC = sys.argv.pop(1), sys.argv.pop(1)

GOOD = """#!lua flags=allow-oom
-- KEYS store, slot
-- ARGV token
-- RETURN OK
--
-- What it does.

-- @include part
-- fence: begin
if redis.call('HGET', slot, 'token') ~= token then
    return { 'FENCED' }
end
-- fence: end
redis.call('ZADD', store, 1, 'a "quoted" \\\\ one')
return { 'OK' }
"""
PART = "-- GIVES now\n\n-- A module.\nlocal now = redis.call('TIME')\n"


class Embed(unittest.TestCase):
    def run_embed(self, text, *options, part=PART):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "lib"))
            for name, data in (("good.lua", text), ("lib/part.lua", part)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(data)
            out = [os.path.join(folder, name) for name in ("s.h", "s.c")]
            done = subprocess.run(
                [EMBED, "--luac", LUAC, *options, *out, os.path.join(folder, "good.lua")],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                return done.stderr, ""
            with open(out[0], encoding="ascii") as header, open(out[1], encoding="ascii") as source:
                return header.read(), source.read()

    def refused(self, word, old, new, part=PART):
        self.assertIn(old, GOOD)
        error, source = self.run_embed(GOOD.replace(old, new), part=part)
        self.assertEqual(source, "")
        self.assertIn(word, error)

    def test_embeds(self):
        header, source = self.run_embed(GOOD)
        self.assertIn("extern const struct script script_good;", header)
        self.assertIn(" * KEYS store, slot", header)
        self.assertIn('"#!lua flags=allow-oom\\n"', source)
        self.assertIn("redis.call('TIME')", source)
        self.assertIn('"local store, slot = KEYS[1], KEYS[2]\\n"', source)
        self.assertIn('"local token = ARGV[1]\\n"', source)
        self.assertIn("SCRIPT_GOOD_ARGV_TOKEN = 1\n", header)
        self.assertIn("FENCED", source)
        self.assertIn('\'a \\"quoted\\" \\\\\\\\ one\'', source)
        self.assertNotIn("What it does", source)

    def test_leaves_out_functions_of_modules_that_are_not_used(self):
        part = PART.replace("GIVES now", "GIVES now, used, unused") + (
            "local function used()\n    return 1\nend\n"
            "local function helper()\n    return 2\nend\n"
            "local function unused()\n    return helper()\nend\n"
        )
        text = GOOD.replace("return { 'OK' }", "local function own()\n    return 3\nend\n-- unused\nreturn used()")
        error, source = self.run_embed(text, part=part)
        self.assertNotEqual(source, "", error)
        self.assertIn("function used", source)
        self.assertIn("function own", source)
        self.assertNotIn("unused", source)
        self.assertNotIn("helper", source)
        self.assertIn("return used()", source)

    def arguments(self, argv, used):
        """The lines of C and Lua that bind them."""
        text = GOOD.replace("-- ARGV token", argv).replace("~= token", f"~= {used}")
        header, source = self.run_embed(text.replace("slot\n-- ARGV", "slot, [body]\n-- ARGV"))
        places = [line.strip() for line in header.splitlines() if "_ARGV_" in line]
        lines = [line.strip()[1:-3] for line in source.splitlines() if line.startswith('    "local')]
        return places, [line for line in lines if "'TIME'" not in line]

    def test_binds_arguments_by_name(self):
        keys = "local store, slot, body = unpack(KEYS)"
        self.assertEqual(self.arguments("-- ARGV (none)", "1"), ([], [keys]))
        self.assertEqual(
            self.arguments("-- ARGV def (its stamp, or empty), lease_ms", "def .. lease_ms"),
            (
                ["SCRIPT_GOOD_ARGV_DEF = 1,", "SCRIPT_GOOD_ARGV_LEASE_MS = 2"],
                [keys, "local def, lease_ms = ARGV[1], ARGV[2]"],
            ),
        )
        self.assertEqual(
            self.arguments("-- ARGV a, b (a word\n--      or two),\n--      c", "a .. b .. c")[1],
            [keys, "local a, b, c = unpack(ARGV)"],
        )
        self.assertEqual(
            self.arguments("-- ARGV a, b, c, rests... (of any length)", "a .. b .. c .. ARGV[RESTS]"),
            (
                [f"SCRIPT_GOOD_ARGV_{name}" for name in ("A = 1,", "B = 2,", "C = 3,", "RESTS = 4")],
                [keys, "local a, b, c = unpack(ARGV, 1, 3)", "local RESTS = 4"],
            ),
        )
        self.assertEqual(
            self.arguments("-- ARGV all...", "#ARGV - ALL"),
            (["SCRIPT_GOOD_ARGV_ALL = 1"], [keys, "local ALL = 1"]),
        )

    def test_keys_of_any_number(self):
        text = GOOD.replace("KEYS store, slot", "KEYS store, slot, rests... (of any number)")
        error, source = self.run_embed(text.replace("return { 'OK' }", "return { KEYS[RESTS + 1] }"))
        self.assertEqual("", "" if source else error)
        self.assertIn('"local store, slot = KEYS[1], KEYS[2]\\n"', source)
        self.assertIn('"local RESTS = 3\\n"', source)
        self.assertIn('", 2, 0, true};', source.replace("    ", ""))

    def test_another_script_as_a_function(self):
        """It takes its keys and its arguments as two tables, and has its modules of its own, but for the
        clock of its caller."""
        other = GOOD.replace("-- ARGV token", "-- ARGV token, more...").replace("{ 'OK' }", "{ ARGV[MORE] }")
        other = other.replace("-- @include part", "-- @include part\n-- @include clock")
        caller = (
            "#!lua\n-- KEYS all...\n-- ARGV stamp\n-- RETURN OK\n\n-- @include clock\n-- @include part\n"
            "-- @script other\nreturn other({ KEYS[ALL], KEYS[ALL + 1] }, { stamp, 'one' })\n"
        )
        clock = PART.replace("now", "day").replace("'TIME'", "'INFO'")
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "lib"))
            for name, data in (("other.lua", other), ("caller.lua", caller), ("lib/part.lua", PART),
                               ("lib/clock.lua", clock)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(data)
            out = [os.path.join(folder, name) for name in ("s.h", "s.c", "s.d")]
            subprocess.run([EMBED, "--depfile", out[2], *out[:2], os.path.join(folder, "caller.lua")], check=True)
            with open(out[1], encoding="ascii") as source, open(out[2], encoding="ascii") as read:
                text = source.read()
                self.assertIn("other.lua", read.read())
        self.assertIn('"local OTHER_MORE = 2\\n"', text)
        self.assertIn('"local function other(KEYS, ARGV)\\n"', text)
        self.assertIn('"local MORE = 2\\n"', text)
        self.assertEqual([text.count(f"redis.call('{word}')") for word in ("TIME", "INFO")], [2, 1])
        self.assertEqual(text.count("#!lua"), 1)

    def test_several_optional_keys(self):
        _, source = self.run_embed(GOOD.replace("slot\n-- ARGV", "slot, [body], [done]\n-- ARGV"))
        self.assertIn('"local store, slot, body, done = unpack(KEYS)\\n"', source)
        self.assertRegex(source, r'"[0-9a-f]{40}", 4, 2, true\}')

    def test_breaks_the_fence(self):
        _, source = self.run_embed(GOOD, "--break", "fencing")
        self.assertNotIn("FENCED", source)
        self.assertIn("ZADD", source)

    def test_tells_what_it_read(self):
        """A file that it does not tell is not built again when it was edited."""
        with tempfile.TemporaryDirectory() as folder:
            paths = {name: os.path.join(folder, name)
                     for name in ("good.lua", "lib/part.lua", "other.lua", "s.h", "s.c", "s.d")}
            os.mkdir(os.path.join(folder, "lib"))
            for name, data in (("good.lua", GOOD), ("lib/part.lua", PART), ("other.lua", PART)):
                with open(paths[name], "w", encoding="utf-8") as file:
                    file.write(data)
            for options, part in ([], "lib/part.lua"), (["--replace", f"part={paths['other.lua']}"], "other.lua"):
                subprocess.run([EMBED, *options, "--depfile", paths["s.d"], paths["s.h"], paths["s.c"],
                                paths["good.lua"]], check=True)
                with open(paths["s.d"], encoding="ascii") as file:
                    self.assertEqual(file.read(), f"{paths['s.h']}: {paths['good.lua']} {paths[part]}\n")

    def part(self, part, *lines, old="-- @include part\n"):
        """What the generator prints of GOOD with this part, and these lines before its end."""
        body = "\n".join(lines)
        return self.run_embed(GOOD.replace(old, f"{old}{body}\n"), part=part)

    def test_a_module_names_what_it_takes(self):
        part = "-- GIVES own\n-- TAKES slot\n\nlocal function own()\n    return redis.call('HGET', slot, 'owner')\nend\n"
        error, source = self.part(part, "own()")
        self.assertIn("'owner'", source, error)
        self.assertNotIn("TAKES", source)
        self.assertIn("lib/part.lua:4: slot is not", self.part(part.replace("-- TAKES slot\n", ""), "own()")[0])
        self.assertIn("names store, which", self.part(part.replace("TAKES slot", "TAKES slot, store"))[0])
        self.assertIn("names slot, which", self.part(part.replace("TAKES slot", "TAKES slot, slot"))[0])
        self.assertIn("gives other, which", self.part(part.replace("GIVES own", "GIVES own, other"))[0])
        many = "-- TAKES a, b, c, d, e, f, g\nlocal _ = { a, b, c, d, e, f, g }\n"
        self.assertIn("it takes 7 names", self.part(many)[0])

    def test_what_a_module_takes_is_defined_before_it(self):
        part = "-- TAKES kind, seq\nseq = seq + kind\n"
        before, after = "local kind, seq = 1, 2", "-- @include part\n"
        error, source = self.run_embed(GOOD.replace(after, f"{before}\n{after}"), part=part)
        self.assertIn("seq = seq + kind", source, error)
        for text in (
            f"{after}{before}\n",
            f"if redis then\n{before}\nend\n{after}",
            f"local kind = 1\nfor seq = 1, 2 do\nend\n{after}",
            f"local kind = 1\nlocal function f(seq)\nreturn seq\nend\n{after}",
        ):
            error, source = self.run_embed(GOOD.replace(after, text), part=part)
            self.assertEqual(source, "")
            self.assertIn("is not local, given by Redis, or given by a module", error)

    def test_names_of_a_module_are_its_own(self):
        """But those that it gives, also where the script has others of the same name."""
        part = "-- GIVES shown\n\nlocal secret = 1\nlocal function shown()\n    return secret\nend\n"
        error, source = self.part(part, "local secret = shown()", "do return secret end")
        self.assertIn('"local shown\\n"\n    "do\\n"\n    "local secret = 1\\n"\n    "function shown()\\n"', source, error)
        self.assertIn("secret is not local", self.part(part, "do return secret end")[0])
        self.assertIn("one line makes", self.part(part.replace("local secret =", "local shown, secret = nil,"))[0])

    def test_what_a_module_uses_is_given_by_another(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "lib"))
            for name, data in (
                ("lib/part.lua", PART),
                ("lib/late.lua", "-- GIVES late\n-- USES now\nlocal late = now + 1\n"),
                ("good.lua", GOOD.replace("@include part", "@include part\n-- @include late")),
                ("early.lua", GOOD.replace("@include part", "@include late\n-- @include part")),
            ):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(data)
            done = [
                subprocess.run([EMBED, "--luac", LUAC, *(os.path.join(folder, name) for name in ("s.h", "s.c", script))],
                               capture_output=True, text=True, check=False)
                for script in ("good.lua", "early.lua")
            ]
        self.assertEqual(done[0].stderr, "")
        self.assertIn("now is not given by a module before", done[1].stderr)

    def test_sizes_of_functions(self):
        def function(parameters=0, results=0, lines=1):
            names = [f"a{i}" for i in range(max(parameters, results))]
            return [f"local function f({', '.join(names[:parameters])})", *["local _"] * (lines - 3),
                    f"return {', '.join(['1'] * results)}", "end"]

        self.assertNotEqual(self.part(PART, *function(6, 3, 60))[1], "")
        self.assertIn("takes 7; 6 are", self.part(PART, *function(parameters=7))[0])
        self.assertIn("returns 4; 3 are", self.part(PART, *function(results=4))[0])
        self.assertIn("has lines: 61; 60 are", self.part(PART, *function(lines=61))[0])
        self.assertIn("returns 4; 3 are", self.part(PART, "local function f() return 1, 2, 3, f() end")[0])
        self.assertIn("takes 7; 6 are", self.part(PART + "\n".join(function(parameters=7)) + "\n")[0])

    def test_names_of_a_script(self):
        """Local, or of Redis: Redis would say so only where the line is run."""
        for line in (
            "local a, b = 1, 2 return a + b",
            "local function f(n) return n > 0 and f(n - 1) or n end",
            "local t = { store = 1, [slot] = { 2; 3 } } t.store, t[slot] = t.x:y(slot) .. 'z', #t",
            "for i, key in ipairs({ store }) do redis.call('DEL', key) end",
            "for i = 1, 2 do if i > 1 then break elseif i < 0 then local b = i else i = 3 end end",
            "local n = 0 repeat local x = n n = n + 1 until n > 1e3",
            "local n = 0 while not n do n = -n ^ 2 end do local z = n end",
            "local t = {} function t.f(...) return ... end t.f 'x' t.f { 1 } (function() end)()",
        ):
            error, source = self.part(PART, f"do {line} end")
            self.assertNotEqual(source, "", f"{line}: {error}")
        for line in (
            "undefined = 1",
            "local a = a",
            "do local inner = 1 end return inner",
            "for i = 1, 2 do end return i",
            "local f = function() return f() end",
            "if slot then local x = 1 else x = 2 end",
            "local t = { store = early } local early",
            "function undefined.f() end",
        ):
            error, source = self.part(PART, f"do {line} end")
            self.assertEqual(source, "", line)
            self.assertIn("is not local, given by Redis", error, line)
        for line in ("local a = ?", "local a = (1", "end"):
            self.assertIn("not Lua", self.part(PART, line)[0])

    def test_refuses(self):
        self.refused("first line", "#!lua flags=allow-oom", "#!lua flags=no-cluster")
        self.refused("header", "-- KEYS store, slot\n", "")
        self.refused("header", "-- ARGV token\n", "")
        self.refused("header", "-- RETURN OK\n", "")
        self.refused("ARGV is a list of names, and to-ken", "ARGV token", "ARGV to-ken")
        self.refused("ARGV is a list of names, and more...", "ARGV token", "ARGV more..., token")
        self.refused("KEYS is a list of names, and store...", "KEYS store, slot", "KEYS store..., slot")
        self.refused("token is not local", "ARGV token", "ARGV (none)")
        self.refused("KEYS[1]", "return { 'OK' }", "return { KEYS[1] }")
        self.refused("KEYS[i]", "return { 'OK' }", "return { KEYS[i] }")
        self.refused("ARGV[1]", "return { 'OK' }", "return { ARGV[1] }")
        self.refused("not a declared key", "'ZADD', store", "'ZADD', other")
        self.refused("not a declared key", "'ZADD', store", "'ZADD', 'x'")
        self.refused("redis.call", "'ZADD', store", "command, store")
        self.refused("ASCII", "What it does", "Wh\u00e4t it does")
        self.refused("ASCII", "    return", "\treturn")
        self.refused("100 columns", "What it does", "x" * 100)
        self.refused("long strings", "'OK'", "[[OK]]")
        self.refused("fence", "-- fence: end\n", "")
        self.refused("fence", "-- fence: begin\n", "")
        self.refused("No such file", "@include part", "@include other")
        self.refused("own", "-- @include part", "local x -- @include part")
        self.refused("includes nothing", "What", "That", part="-- @include part\n")


if __name__ == "__main__":
    unittest.main()
