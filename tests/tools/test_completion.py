#!/usr/bin/env python3
"""The completions of bash, zsh and fish, each in its own shell: verbs, flags of the verb, words of a
flag.  A shell that is not installed is SKIPPED.

usage: test_completion.py SLOTMQ
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SLOTMQ = pathlib.Path(sys.argv.pop(1)).resolve()

# What is typed before the cursor, and some of what must be offered and must not.
ROWS = [
    ("slotmq to", {"topic", "top"}, {"send"}),
    ("slotmq topic re", {"rebind", "repair"}, {"create", "requeue"}),
    ("slotmq -r host:1 --json dead ", {"list", "requeue", "purge"}, {"send", "rebind"}),
    ("slotmq topic create jobs --ty", {"--type"}, {"--ties"}),
    ("slotmq topic create jobs --type ", {"fifo", "priority"}, {"--type", "send"}),
    ("slotmq topic create jobs --max-", {"--max-retries", "--max-body"}, {"--file"}),
    ("slotmq topic create jobs --takeover ", {"fast", "strict"}, {"fifo"}),
    ("slotmq topic create jobs --takeover=s", {"strict"}, {"fifo"}),
    ("slotmq consume jobs --exit", {"--exit-when-empty"}, set()),
    ("slotmq send jobs --fi", {"--file"}, {"--filter"}),
    ("slotmq send jobs --file a", {"a-file"}, {"send"}),
    ("slotmq send jobs --file=a", {"a-file"}, {"send"}),
    ("slotmq consume jobs -- slot", {"slotmq"}, {"--threads"}),
    ("slotmq -X request", {"request_timeout_ms"}, {"redis"}),
    ("slotmq stat -", {"--slots", "--prometheus", "--zookeeper"}, {"--file"}),
    ("slotmq help to", {"topic", "top"}, {"send"}),
    ("slotmq help topic re", {"rebind", "repair"}, {"create"}),
    ("slotmq --config contexts --context ", {"prod", "staging"}, {"send"}),
    ("slotmq --config=contexts send jobs --context=p", {"prod"}, {"staging"}),
    ("slotmq context ", {"list"}, {"show"}),
    ("slotmq completion ", {"bash", "zsh", "fish"}, {"send"}),
]

BASH = r"""
source <(slotmq completion bash)
COMP_LINE=$1
COMP_POINT=${#1}
_slotmq slotmq "$2"
printf '%s\n' "${COMPREPLY[@]}"
"""
FISH = "slotmq completion fish | source; complete -C $argv[1]"
# zsh completes only in its line editor, so that runs in a terminal of its own, and what is offered
# goes into a file.
ZSH_SETUP = r"""
PROMPT=
fpath=(FOLDER $fpath)
autoload -U compinit
compinit -u -D
zstyle ':completion:*' insert-tab false
bindkey '^I' complete-word
compadd() {
    local -a hits
    if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
        builtin compadd -A hits "$@"
        (( ! $#hits )) || print -rl -- found:${^hits} >>FILE
    fi
    builtin compadd "$@"
}
ended() { print end >>FILE }
comppostfuncs=(ended)
print ready >>FILE
"""
ZSH = r"""
zmodload zsh/zpty
await() {
    until grep -qx $1 $2 2>/dev/null; do
        zpty -r -t editor output || sleep 0.02
    done
}
zpty editor zsh -f -i
zpty -w editor "source $1"
await ready $2
zpty -w -n editor "$3"$'\t'
await end $2
zpty -d editor
"""


class Completion(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.kept.name)
        (self.folder / "a-file").write_text("")
        (self.folder / "contexts").write_text("[context prod]\nredis = redis1\n[context staging]\n")
        (self.folder / "bin").mkdir()
        (self.folder / "bin/slotmq").symlink_to(SLOTMQ)

    def tearDown(self):
        self.kept.cleanup()

    def shell(self, *command):
        done = subprocess.run(list(map(str, command)), cwd=self.folder, text=True, capture_output=True, check=False,
                              env={"PATH": f"{self.folder}/bin:/usr/bin:/bin", "HOME": str(self.folder), "TERM": "dumb"})
        self.assertEqual(done.stderr, "")
        return done.stdout

    def check(self, name, offered):
        if not shutil.which(name):
            print(f"SKIPPED: {name} is not installed")
            return
        for typed, wanted, unwanted in ROWS:
            found = {word.rstrip("=").rpartition("=")[2] for word in offered(typed)}
            self.assertLessEqual(wanted, found, typed)
            self.assertFalse(unwanted & found, f"{typed}: {found}")

    def test_bash(self):
        self.check("bash", lambda typed: set(
            self.shell("bash", "-c", BASH, "bash", typed, re.split("[ =:]", typed)[-1]).split("\n")))

    def test_fish(self):
        self.check("fish", lambda typed: {line.partition("\t")[0] for line in self.shell(
            "fish", "--no-config", "-c", FISH, typed).split("\n")})

    def zsh(self, typed):
        found, setup = self.folder / "found", self.folder / "setup"
        found.write_text("")
        (self.folder / "_slotmq").write_text(self.shell("slotmq", "completion", "zsh"))
        setup.write_text(ZSH_SETUP.replace("FOLDER", str(self.folder)).replace("FILE", str(found)))
        self.shell("zsh", "-f", "-c", ZSH, "zsh", setup, found, typed)
        return {line[6:] for line in found.read_text().splitlines() if line.startswith("found:")}

    def test_zsh(self):
        self.check("zsh", self.zsh)


if __name__ == "__main__":
    unittest.main()
