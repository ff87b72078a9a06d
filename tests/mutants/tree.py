"""A copy of the tree that is built, changed in one place and built again; the tree itself is never
touched.

The copy and its build folders stay in build-mutants, so that only what a mutant changes is built.
"""
import concurrent.futures
import contextlib
import fcntl
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build-mutants"
COMPILERS = 2
TESTS_AT_ONCE = 4  # most wait for servers
MARK = "SLOTMQ_MUTANT"
FILE_BYTES_MAX = 1 << 30  # of what a mutant that never ends may write into one file
RSS_MB_MAX = 2000

# The sanitizers kill more, and so do the invariants of the code, which run in such builds.  Without
# debug information and optimization a mutant is built sooner.
SANITIZED = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Doptimization=0",
             "-Ddebug=false", "-Db_coverage=true", "-Dc_args=-fno-sanitize-recover=all"]
ASAN = f"detect_leaks=1:halt_on_error=1:strict_string_checks=1:hard_rss_limit_mb={RSS_MB_MAX}"


class NotBuilt(Exception):
    """The compiler or the linker refused."""


class TakesTooLong(Exception):
    """A program did not end in time, and was ended."""


class Programs:
    """The programs that run now, each in a group of its own, so that an interrupt ends them all.

    Each has a folder, whose name is in its environment and is handed on.  By this, and by the
    folder in which they work, all programs that it started are found and ended, too.
    """

    def __init__(self):
        self.lock = threading.Lock()
        self.running = {}
        self.ended = False

    def run(self, command, seconds, cwd=None, env=None):
        """(return code, output).  Temporary files of the program are removed."""
        with tempfile.TemporaryDirectory(prefix="slotmq-mutant-",
                                         ignore_cleanup_errors=True) as folder:
            with open(pathlib.Path(folder) / "output", "w+", encoding="utf-8",
                      errors="replace") as output:
                child = self._start(command, folder, output, cwd, env)
                try:
                    child.wait(timeout=max(seconds, 0.1))
                except subprocess.TimeoutExpired:
                    raise TakesTooLong from None
                finally:
                    self._end(child, folder)
                output.seek(0)
                return child.returncode, output.read(1 << 22)

    def _start(self, command, folder, output, cwd, env):
        with self.lock:
            if self.ended:
                raise InterruptedError
            child = subprocess.Popen(
                ["nice", *map(str, command)], cwd=cwd, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=limit_files,
                env={**os.environ, "TMPDIR": folder, "GCOV_PREFIX": folder, **(env or {}),
                     MARK: folder})
            self.running[child] = folder
            return child

    def _end(self, child, folder):
        kill_all_of(child, folder)
        child.wait()
        with self.lock:
            self.running.pop(child, None)

    def end_running(self):
        """End what runs now; the callers see a program that was killed."""
        with self.lock:
            for child, folder in self.running.items():
                kill_all_of(child, folder)

    def end_all(self):
        """The same, and nothing starts after it."""
        with self.lock:
            self.ended = True
        self.end_running()


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, FILE_BYTES_MAX))


def kill_all_of(child, folder):
    """End a program of ours and what it started, until nothing of its folder is left."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    for _ in range(100):
        left = programs_of(folder)
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def programs_of(folder):
    """The pids of living processes that have the folder in their environment, or work in it: a
    redis-server writes its title over its environment."""
    return [int(entry.name) for entry in os.scandir("/proc")
            if entry.name.isdigit() and is_of(pathlib.Path(entry.path), folder)]


def is_of(process, folder):
    with contextlib.suppress(OSError):
        if f"{MARK}={folder}".encode() in (process / "environ").read_bytes().split(b"\0"):
            return True
        return (process / "cwd").readlink().is_relative_to(folder)
    return False


class Test:
    """One group of tests, as meson runs it.  `sources`: the files that are its own."""

    def __init__(self, found, targets, build):
        self.name, self.suites = found["name"], [suite.split(":")[-1] for suite in found["suite"]]
        self.command, self.cwd = found["cmd"], found["workdir"] or str(build)
        self.env, self.seconds_max = found["env"], found["timeout"]
        needed = [targets[name] for name in found["depends"] if name in targets]
        self.targets = [os.path.relpath(file, build) for one in needed for file in one["filename"]]
        sources = [file for one in needed if one["type"] == "executable"
                   for part in one["target_sources"] for file in part["sources"]]
        self.sources = sorted(file for file in {*sources, *self.command}
                              if "/tests/" in file and file.endswith((".c", ".py", ".sh"))
                              and self._has(pathlib.Path(file)))

    def _has(self, file):
        """Is the file its own?  test_GROUP.c and fuzz_TARGET.c are those of what the command names."""
        kind, _, name = file.stem.partition("_")
        return file.suffix != ".c" or kind not in ("test", "fuzz") or name in self.command[1:]


def introspect(build, what):
    return json.loads(subprocess.run(["meson", "introspect", what, str(build)], check=True,
                                     stdout=subprocess.PIPE).stdout)


class Tree:
    """The copy, and its build folder."""

    def __init__(self, programs, root=ROOT, folder=FOLDER):
        self.programs, self.root, self.folder = programs, root, folder
        self.copy, self.build = folder / "tree", folder / "build"
        self.tests, self.locked = {}, None

    def sources(self):
        """What git knows, and new files."""
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                                 "--exclude-standard"], cwd=self.root, check=True,
                                stdout=subprocess.PIPE).stdout.decode()
        return [name for name in listed.split("\0") if name and (self.root / name).is_file()]

    def sync(self):
        """Make the copy like the tree; files that are the same are not touched."""
        names = set(self.sources())
        for path in [path for path in self.copy.rglob("*") if path.is_file()]:
            if str(path.relative_to(self.copy)) not in names:
                path.unlink()
        for name in names:
            source, target = self.root / name, self.copy / name
            if not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
            shutil.copymode(source, target)

    def configure(self, build, options):
        if (build / "build.ninja").exists():
            return
        compiler = "ccache cc" if shutil.which("ccache") else "cc"
        code, output = self.programs.run(["meson", "setup", build, self.copy, *options], 300,
                                         env={"CC": compiler})
        if code != 0:
            raise NotBuilt(output)

    def lock(self):
        """One run at a time has the copy, until it ends."""
        self.folder.mkdir(exist_ok=True)
        self.locked = open(self.folder / "lock", "w", encoding="utf-8")
        try:
            fcntl.flock(self.locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"mutants: another run uses {self.folder}") from None

    def prepare(self):
        self.lock()
        self.sync()
        self.configure(self.build, SANITIZED)
        self.make(["build.ninja"], 600)
        targets = {target["id"]: target for target in introspect(self.build, "--targets")}
        # The long forms run the same programs as their quick ones.
        self.tests = {test.name: test for test in (
            Test(found, targets, self.build) for found in introspect(self.build, "--tests")
            if not found["name"].startswith("faults_"))}

    def make(self, targets, seconds, build=None):
        code, output = self.programs.run(
            ["ninja", "-C", build or self.build, "-j", str(COMPILERS), *targets], seconds,
            env={"CCACHE_NOHASHDIR": "1"})
        if code != 0:
            raise NotBuilt(output)

    @contextlib.contextmanager
    def changed(self, name, text):
        """One file of the copy has another text for a while."""
        path = self.copy / name
        before = path.read_text(encoding="utf-8")
        path.write_text(text, encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(before, encoding="utf-8")

    def environment(self):
        return {"ASAN_OPTIONS": ASAN, "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
                "LSAN_OPTIONS": f"suppressions={self.copy}/tests/support/lsan.supp:"
                                "print_suppressions=0"}

    def run_test(self, name, seconds, env=None, only=None):
        """(return code, output) of one group, or `only` of that test of it."""
        test = self.tests[name]
        return self.programs.run([*test.command, *([only] if only else [])], seconds, cwd=test.cwd,
                                 env={**self.environment(), **test.env, **(env or {})})


@contextlib.contextmanager
def pool(programs):
    """Threads that run programs; when the block is left early, they are ended."""
    threads = concurrent.futures.ThreadPoolExecutor(TESTS_AT_ONCE)
    try:
        yield threads
    except BaseException:
        programs.end_all()
        raise
    finally:
        threads.shutdown(cancel_futures=True)
