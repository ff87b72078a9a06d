"""What pyproject.toml cannot say: the extension, which build_native.py describes, the version, which is that of the
library, and the sources of the library in a source distribution."""
import pathlib
import sys

from setuptools import setup
from setuptools.command.sdist import sdist

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
import build_native  # noqa: E402


class SourceDistribution(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        library = pathlib.Path(base_dir) / "library"
        library.mkdir()
        build_native.copy_library(library)


# To describe the package takes no extension, which takes long to build.
described = sys.argv[1:2] in (["egg_info"], ["dist_info"], ["sdist"])
setup(version=build_native.version(), cffi_modules=[] if described else [f"{FOLDER / 'build_native.py'}:make"],
      cmdclass={"sdist": SourceDistribution},
      # What was built before may be linked with another library.
      options={"bdist_wheel": {"py_limited_api": "cp39"}, "build_ext": {"force": True}})
