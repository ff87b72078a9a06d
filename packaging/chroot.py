"""Commands in an empty Debian that mmdebstrap makes and removes again."""
import re
import shlex
import shutil
import subprocess

READY = "the chroot is ready"


class NoChroot(Exception):
    """It cannot be made; the text is the reason."""


class Failed(Exception):
    """A command in it failed; the text says which."""


def run(suite, variant, copied, commands, log, copied_out=None):
    """Copy files into the folder /slotmq of an empty Debian, and run the commands there.  Returns what
    they print, which is kept in the file `log`, too.  What fails before the first of them is a reason
    for NoChroot."""
    if not shutil.which("mmdebstrap"):
        raise NoChroot("there is no mmdebstrap")
    script = "set -eu\nexport DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8\ncd /slotmq\n" + "\n".join(commands)
    hooks = ["mkdir -p \"$1/slotmq\"",
             "copy-in " + " ".join(shlex.quote(str(path)) for path in copied) + " /slotmq",
             f"echo {shlex.quote(READY)}",
             f"chroot \"$1\" bash -c {shlex.quote(script)}"]
    if copied_out:
        hooks.append(f"sync-out /slotmq/out {shlex.quote(str(copied_out))}")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w+") as file:
        done = subprocess.run(["mmdebstrap", f"--variant={variant}", "--format=null", "--quiet",
                               *(f"--customize-hook={hook}" for hook in hooks), suite, "/dev/null"],
                              check=False, stdout=file, stderr=subprocess.STDOUT)
        file.seek(0)
        text = file.read()
    if done.returncode == 0:
        return text
    if READY not in text.splitlines():
        reasons = [line for line in text.splitlines() if re.match(r"E:|W:|\S+: ", line)]
        raise NoChroot(reasons[-1] if reasons else f"mmdebstrap failed: {log}")
    raise Failed(f"{suite}: failed in the chroot, see {log}\n" + "\n".join(text.splitlines()[-30:]))
