#!/usr/bin/env python3
"""What tools/embed_lua.py accepts, leaves out and refuses."""

import os
import subprocess
import sys
import tempfile
import unittest

EMBED = sys.argv.pop(1)

GOOD = """#!lua flags=allow-oom
-- KEYS store, slot
-- ARGV a
-- RETURN OK
--
-- What it does.

local store, slot = KEYS[1], KEYS[2]

-- @include part
-- fence: begin
if redis.call('HGET', slot, 'token') ~= ARGV[1] then
    return { 'FENCED' }
end
-- fence: end
redis.call('ZADD', store, 1, 'a "quoted" \\\\ one')
return { 'OK' }
"""
PART = "-- A part.\nlocal now = redis.call('TIME')\n"


class Embed(unittest.TestCase):
    def run_embed(self, text, *options, part=PART):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "lib"))
            for name, data in (("good.lua", text), ("lib/part.lua", part)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(data)
            out = [os.path.join(folder, name) for name in ("s.h", "s.c")]
            done = subprocess.run(
                [EMBED, *options, *out, os.path.join(folder, "good.lua")],
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
        self.assertIn("FENCED", source)
        self.assertIn('\'a \\"quoted\\" \\\\\\\\ one\'', source)
        self.assertNotIn("What it does", source)

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

    def test_refuses(self):
        self.refused("first line", "#!lua flags=allow-oom", "#!lua flags=no-cluster")
        self.refused("header", "-- ARGV a\n", "")
        self.refused("header", "-- RETURN OK\n", "")
        self.refused("bind the keys", "KEYS[1], KEYS[2]", "KEYS[2], KEYS[1]")
        self.refused("KEYS[3]", "return { 'OK' }", "return { KEYS[3] }")
        self.refused("KEYS[i]", "return { 'OK' }", "return { KEYS[i] }")
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
        self.refused("already", "-- @include part\n", "-- @include part\n-- @include part\n")
        self.refused("own", "-- @include part", "local x -- @include part")
        self.refused("includes nothing", "What", "That", part="-- @include part\n")


if __name__ == "__main__":
    unittest.main()
