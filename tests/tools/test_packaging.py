#!/usr/bin/env python3
"""The files for vcpkg, Conan and Debian, as far as that can be checked without them: they have one
version and one list of dependencies, and what they call is called with what the build knows."""
import contextlib
import fnmatch
import io
import json
import os
import pathlib
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "packaging")]
import chroot
import version

VERSION = version.read()
SOVERSION = version.soversion(VERSION)
NO_FILES = bytes(1024)  # a tar archive of nothing
LIBRARIES = {"hiredis", "libuv", "openssl", "zlib"}
OPTIONS = set(re.findall(r"^option\('(\w+)'", (ROOT / "meson_options.txt").read_text(), re.MULTILINE))

PORT = """
set(CURRENT_PORT_DIR "{port}")
set(CURRENT_PACKAGES_DIR "{packages}")
set(PORT slotmq)
set(VCPKG_LIBRARY_LINKAGE {linkage})
foreach(name vcpkg_configure_meson vcpkg_install_meson vcpkg_fixup_pkgconfig vcpkg_install_copyright)
  cmake_language(EVAL CODE "function(${{name}})
    message(STATUS \\"${{name}} \\${{ARGN}}\\")
  endfunction()")
endforeach()
include("{port}/portfile.cmake")
"""


class Vcpkg(unittest.TestCase):
    PORT = ROOT / "packaging/vcpkg/slotmq"

    def test_manifest(self):
        manifest = json.loads((self.PORT / "vcpkg.json").read_text())
        self.assertEqual((manifest["name"], manifest["version"]), ("slotmq", VERSION))
        names = [entry if isinstance(entry, str) else entry["name"] for entry in manifest["dependencies"]]
        self.assertEqual(names, sorted(names))
        self.assertEqual(set(names), LIBRARIES | {"uthash", "zookeeper", "vcpkg-tool-meson"})

    def installed(self, linkage):
        """What is left of both libraries, and what the port has called."""
        with tempfile.TemporaryDirectory() as folder:
            packages = pathlib.Path(folder) / "packages"
            for name in ["lib/libslotmq.so.1", "lib/libslotmq.a", "debug/lib/libslotmq.a", "debug/share/x"]:
                (packages / name).parent.mkdir(parents=True, exist_ok=True)
                (packages / name).write_text("")
            script = pathlib.Path(folder) / "port.cmake"
            script.write_text(PORT.format(port=self.PORT, packages=packages, linkage=linkage))
            run = subprocess.run(["cmake", "-P", script], text=True, capture_output=True, check=False)
            self.assertEqual(run.returncode, 0, run.stderr)
            left = {str(path.relative_to(packages)) for path in packages.rglob("*") if path.is_file()}
            return left, run.stdout

    def test_port(self):
        left, called = self.installed("static")
        self.assertEqual(left, {"lib/libslotmq.a", "debug/lib/libslotmq.a", "share/slotmq/usage"})
        self.assertIn(f"SOURCE_PATH;{ROOT};", called)
        self.assertLessEqual(set(re.findall(r"-D(\w+)=", called)), OPTIONS)
        left, _ = self.installed("dynamic")
        self.assertEqual(left, {"lib/libslotmq.so.1", "share/slotmq/usage"})


class Recorded:
    """In place of the classes and functions of Conan: notes how it is called."""

    def __init__(self, *arguments):
        self.project_options, self.c_args, self.c_link_args = {}, [], []
        RECORDED.append(self)

    def __getattr__(self, name):
        return lambda *arguments, **named: None


RECORDED = []


def conan_recipe():
    """The class of the recipe, with a Conan that does nothing."""
    conan = types.ModuleType("conan")
    conan.ConanFile = type("ConanFile", (), {"recipe_folder": str(ROOT / "packaging/conan")})
    modules = {"conan": conan}
    for name, has in {"files": ["copy", "rm", "rmdir"], "gnu": ["PkgConfigDeps"], "layout": ["basic_layout"],
                      "meson": ["Meson", "MesonToolchain"]}.items():
        module = modules[f"conan.tools.{name}"] = types.ModuleType(name)
        for one in has:
            setattr(module, one, Recorded)
    modules["conan.tools.files"].load = lambda recipe, path: pathlib.Path(path).read_text()
    sys.modules.update(modules)
    return runpy.run_path(str(ROOT / "packaging/conan/conanfile.py"))


class Conan(unittest.TestCase):
    def setUp(self):
        self.module = conan_recipe()
        self.recipe = self.module["Slotmq"]()

    def test_version_and_requirements(self):
        asked = []
        self.recipe.requires = lambda name, **_: asked.append(name.split("/")[0])
        self.recipe.set_version()
        self.recipe.requirements()
        self.assertEqual(self.recipe.version, VERSION)
        self.assertEqual(set(asked), LIBRARIES | {"zookeeper-client-c"})

    def test_options_of_the_build(self):
        info = types.SimpleNamespace(cpp_info=types.SimpleNamespace(includedirs=["i"], libdirs=["l"]))
        self.recipe.dependencies = {"zookeeper-client-c": info, "uthash": info}
        self.recipe.generate()
        toolchain = next(one for one in RECORDED if one.project_options)
        self.assertLessEqual(set(toolchain.project_options), OPTIONS)
        self.assertEqual(set(toolchain.project_options.values()), {False})
        self.assertIn("-Ll", toolchain.c_link_args)

    def test_what_the_build_reads_and_installs_is_exported(self):
        patterns = self.module["SOURCES"]
        for pattern in patterns:
            self.assertTrue(list(ROOT.glob(pattern)), pattern)
        build = (ROOT / "meson.build").read_text()
        always = build[:build.index("if get_option('cli')")]
        for folder in re.findall(r"subdir\('(\w+)", always) + re.findall(r"^install_subdir\('(\w+)", build, re.MULTILINE):
            self.assertTrue(any(pattern.startswith(folder + "/") for pattern in patterns), folder)
        files = re.search(r"^install_data\((.*), install_dir", build, re.MULTILINE)[1]
        for file in re.findall(r"'([^']+)'", files):
            self.assertTrue(any(fnmatch.fnmatch(file, pattern) for pattern in patterns), file)


class Chroots(unittest.TestCase):
    """With a mmdebstrap that only fails: what was wrong with the machine is SKIPPED, what was wrong
    with the packages is not."""

    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.kept.name)
        self.path = os.environ["PATH"]
        self.module = runpy.run_path(str(ROOT / "packaging/package.py"))
        self.newcomer = runpy.run_path(str(ROOT / "packaging/newcomer.py"))

    def tearDown(self):
        os.environ["PATH"] = self.path
        self.kept.cleanup()

    def mmdebstrap(self, script):
        """Let this be mmdebstrap, or nothing."""
        for program in ["sh", "tar"]:
            (self.folder / program).symlink_to(shutil.which(program))
        if script:
            (self.folder / "mmdebstrap").write_text("#!/bin/sh\n" + script)
            (self.folder / "mmdebstrap").chmod(0o755)
        os.environ["PATH"] = str(self.folder)

    def said(self, function):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                status = function()
            except SystemExit as end:
                status = end.code
        return status, out.getvalue()

    def run_with(self, script):
        """(exit status, output) of the test of two suites"""
        self.mmdebstrap(script)
        package = self.module["test"].__globals__
        package["LOGS"] = self.folder
        package["test"] = lambda suite: package["in_chroot"](suite, "minbase", [], ["true"])
        return self.said(lambda: package["test_all"](["bookworm", "trixie"]))

    def follow_with(self, script):
        """(exit status, output) of the newcomer's way in one suite"""
        self.mmdebstrap(script)
        with unittest.mock.patch.multiple(self.newcomer["tarball"], commit_of_now=lambda: "HEAD",
                                          git=lambda *words: NO_FILES):
            return self.said(lambda: self.newcomer["follow_all"](["bookworm"], self.folder))

    def test_no_mmdebstrap(self):
        status, said = self.run_with("")
        self.assertEqual(status, 77)
        self.assertIn("SKIPPED packages in bookworm: there is no mmdebstrap", said)
        self.assertIn("SKIPPED packages in trixie", said)

    def test_no_mirror(self):
        status, said = self.run_with("echo 'E: apt-get update failed'; exit 25")
        self.assertEqual(status, 77)
        self.assertIn("SKIPPED packages in trixie: E: apt-get update failed", said)

    def test_what_fails_in_the_chroot_is_no_skip(self):
        status, said = self.run_with(f"echo '{chroot.READY}'; echo 'FAILED  ./static'; exit 1")
        self.assertEqual(status, 1)
        self.assertIn("FAILED  ./static", said)
        self.assertNotIn("SKIPPED", said)

    def test_a_good_run(self):
        status, said = self.run_with(f"echo '{chroot.READY}'")
        self.assertEqual((status, said), (0, "ok      packages in bookworm\nok      packages in trixie\n"))

    def newcomer_prints(self, at=None, without=()):
        """A chroot in which each language prints its message after 100 s, or after those of `at`."""
        printed = [f"echo '{chroot.READY}'"]
        for language, _, line in self.newcomer["programs"](self.newcomer["commands"]()):
            if language not in without:
                printed.append(f"echo '{self.newcomer['LANGUAGES'][language][1]}'")
            printed.append(f"echo {shlex.quote(f'after {(at or {}).get(language, 100)} s: {line}')}")
        return "; ".join(printed)

    def check_verdict(self, script, wanted, reason):
        """On the newcomer's way, with this exit status and reason."""
        with self.subTest(reason):
            status, said = self.follow_with(script)
            self.assertEqual(status, wanted, said)
            self.assertIn(reason, said)
        for name in self.folder.iterdir():
            name.unlink()
        os.environ["PATH"] = self.path

    def test_newcomer(self):
        """The commands are those of the pages, and each verdict has its reason."""
        commands = self.newcomer["commands"]()
        self.assertRegex("\n".join(commands), "(?s)^apt-get update\n.*\nldconfig\n./dev sandbox up\n.*\nslotmq consume .*"
                                               "\n./readme .*\n./raii .*/readme.py .*/tasks.py\n.*/readme.js [^\n]*$")
        for script, wanted, reason in [
                ("", 77, "SKIPPED bookworm: there is no mmdebstrap"),
                ("echo 'E: no mirror'; exit 25", 77, "SKIPPED bookworm: E: no mirror"),
                (f"echo '{chroot.READY}'; echo 'cc: not found'; exit 1", 1, "cc: not found"),
                *((self.newcomer_prints(without=[language]), 1, f"{language} printed \"{message}\" 0 times")
                  for language, (_, message) in self.newcomer["LANGUAGES"].items()),
                (self.newcomer_prints().replace("echo '5'", "echo '5'; echo '5'"), 1, "Celery printed \"5\" 2 times"),
                (self.newcomer_prints(at={"C++": 301}), 1, "took 301 s until C++"),
                (self.newcomer_prints(at={"Node.js": 601}), 1, "took 601 s until Node.js"),
                (self.newcomer_prints(at={"C++": 300, "Node.js": 600}), 0, f"ok      bookworm: {len(commands)} commands in 600 s")]:
            self.check_verdict(script, wanted, reason)

    def test_newcomer_with_too_many_commands(self):
        module = self.newcomer["follow"].__globals__
        commands = module["commands"]()
        numbers = {language: number for language, number, _ in self.newcomer["programs"](commands)}
        for language, most in ("C++", 16), ("Node.js", 25):
            at = numbers[language] - 1
            longer = commands[:at] + ["true"] * (most - at) + commands[at:]
            with unittest.mock.patch.dict(module, commands=lambda lines=longer: lines):
                self.check_verdict("", 1, f"took {most + 1} commands until {language} had")


class Debian(unittest.TestCase):
    def test_the_page_has_this_version(self):
        page = (ROOT / "docs/INSTALL.md").read_text()
        self.assertEqual(set(re.findall(r"\blibslotmq(\d+\.\d+)`|find_package\(slotmq (\S+) ", page)),
                         {(SOVERSION, ""), ("", SOVERSION)})

    def test_names_have_the_soversion(self):
        control = (ROOT / "debian/control").read_text()
        self.assertIn(f"\nPackage: libslotmq{SOVERSION}\n", control)
        self.assertIn(f"libslotmq{SOVERSION} (= ${{binary:Version}})", control)
        symbols = (ROOT / f"debian/libslotmq{SOVERSION}.symbols").read_text()
        self.assertTrue(symbols.startswith(f"libslotmq.so.{SOVERSION} libslotmq{SOVERSION} "))
        self.assertIn(f"(symver)SLOTMQ_{SOVERSION} ", symbols)

    def test_version(self):
        first = (ROOT / "debian/changelog").read_text().splitlines()[0]
        self.assertTrue(first.startswith(f"slotmq ({VERSION}-"), first)


if __name__ == "__main__":
    unittest.main()
