"""The recipe of slotmq for Conan 2.  It packages the tree that it is a part of:

    conan create packaging/conan

The command is left out, because Conan has no libsmartcols.
"""
import os
import re

from conan import ConanFile
from conan.tools.files import copy, load, rm, rmdir
from conan.tools.gnu import PkgConfigDeps
from conan.tools.layout import basic_layout
from conan.tools.meson import Meson, MesonToolchain

required_conan_version = ">=2.0"

# What the build reads, and what it installs.
SOURCES = ["CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "meson.build", "meson_options.txt", "coord/*",
           "deploy/*", "docs/*", "examples/*", "include/*", "libsrc/*", "lua/*", "node/*", "packaging/cmake/*", "tools/*"]


class Slotmq(ConanFile):
    name = "slotmq"
    description = "Message queues on Redis Cluster, with one owner for each slot"
    license = "BSD-2-Clause"
    topics = ("message-queue", "redis", "redis-cluster", "zookeeper")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]
    languages = "C"

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self._root, "include", "slotmq", "core.h"))
        self.version = ".".join(re.search(rf"SMQ_VERSION_{part} (\d+)", header)[1]
                                for part in ["MAJOR", "MINOR", "PATCH"])

    def export_sources(self):
        for pattern in SOURCES:
            copy(self, pattern, self._root, self.export_sources_folder)

    def requirements(self):
        self.requires("hiredis/[>=1.0 <2]")
        self.requires("libuv/[>=1.44 <2]")
        self.requires("openssl/[>=3.0 <4]")
        self.requires("zlib/[>=1.2.11 <2]")
        self.requires("zookeeper-client-c/[>=3.8 <4]")

    def build_requirements(self):
        self.requires("uthash/[>=2.3 <3]", headers=True, libs=False, visible=False)
        self.tool_requires("meson/[>=1.2 <2]")
        if not self.conf.get("tools.gnu:pkg_config", check_type=str):
            self.tool_requires("pkgconf/[>=2 <3]")

    def layout(self):
        basic_layout(self, src_folder=".")

    def generate(self):
        PkgConfigDeps(self).generate()
        toolchain = MesonToolchain(self)
        for option in ["cli", "tests", "bench", "demo"]:
            toolchain.project_options[option] = False
        for name in ["zookeeper-client-c", "uthash"]:  # meson looks for them without pkg-config
            info = self.dependencies[name].cpp_info
            toolchain.c_args += [f"-I{folder}" for folder in info.includedirs]
            toolchain.c_link_args += [f"-L{folder}" for folder in info.libdirs]
        toolchain.generate()

    def build(self):
        meson = Meson(self)
        meson.configure()
        meson.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        Meson(self).install()
        libraries = os.path.join(self.package_folder, "lib")
        rm(self, "libslotmq.a" if self.options.shared else "libslotmq.so*", libraries)
        for folder in ["cmake", "pkgconfig"]:  # Conan makes its own
            rmdir(self, os.path.join(libraries, folder))
        rmdir(self, os.path.join(self.package_folder, "share"))

    def package_info(self):
        self.cpp_info.libs = ["slotmq"]
        self.cpp_info.system_libs = ["pthread"]
        self.cpp_info.set_property("cmake_file_name", "slotmq")
        self.cpp_info.set_property("cmake_target_name",
                                   "slotmq::slotmq" if self.options.shared else "slotmq::slotmq_static")
        self.cpp_info.set_property("pkg_config_name", "slotmq")
