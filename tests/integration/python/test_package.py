#!/usr/bin/env python3
"""The package with the library of the build folder, under its sanitizer.

usage: test_package.py ROOT BUILD LIBRARY RUNTIME"""
import json
import sys
import unittest

from installed import BUILD, SANITIZED, Installed


class Package(Installed):
    def test_the_package_is_installed_and_its_tests_pass(self):
        self.install(PKG_CONFIG_PATH=str(BUILD / "meson-uninstalled"))
        self.assertTrue((self.site / "slotmq/py.typed").is_file())
        [tagged] = self.site.glob("slotmq-*.dist-info/WHEEL")
        self.assertIn("Tag: cp39-abi3-", tagged.read_text())
        self.run_tests(**SANITIZED)
        said = self.run_python(str(self.sources / "bench/peers/redis_list.py"), "--count", "1000", "--runs", "1",
                               "--json", "--c", str(BUILD / "bench/batch-handler"), PYTHONPATH=str(self.site), **SANITIZED)
        self.assertEqual([json.loads(line)["way"] for line in said.splitlines()],
                         ["batch", "batch", "batch", "asyncio", "asyncio", "send", "send"])

    def test_another_library_is_linked_when_it_is_built_again(self):
        """From the same folder, in which an extension is left."""
        for name in ("first", "second"):
            folder, site = self.sources / name, self.site / name
            folder.mkdir()
            described = (BUILD / "meson-uninstalled/slotmq-uninstalled.pc").read_text()
            (folder / "slotmq.pc").write_text(described.replace("Libs: ", f"Libs: -L{folder} "))
            self.install(site=site, PKG_CONFIG_PATH=str(folder))
            self.assertIn(str(folder).encode(), (site / "slotmq/_native.abi3.so").read_bytes())

    def test_a_missing_library_is_said_in_a_sentence(self):
        said = self.install(fails=True, PKG_CONFIG_LIBDIR="/nowhere")
        self.assertIn("pkg-config finds no library slotmq.  Install it (docs/INSTALL.md)", said)

    def test_an_unknown_bundle_is_said_in_a_sentence(self):
        said = self.install(fails=True, SLOTMQ_LIBRARY="maybe")
        self.assertIn('SLOTMQ_LIBRARY is "maybe"; it may be bundled, without-zookeeper, shared', said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
