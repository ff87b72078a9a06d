"""What pyproject.toml cannot say: the extension, which build_native.py describes, and the version, which is
that of the library."""
import pathlib
import sys

from setuptools import setup

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
import build_native  # noqa: E402

setup(version=build_native.version(), cffi_modules=[f"{FOLDER / 'build_native.py'}:make"],
      # What was built before may be linked with another library.
      options={"bdist_wheel": {"py_limited_api": "cp39"}, "build_ext": {"force": True}})
