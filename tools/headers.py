#!/usr/bin/env python3
"""Check that every public header compiles alone, as C99 to C23 and as C++11 to C++20, without a warning, one that ends
in .hpp as C++17 and C++20; and that those of earlier versions say what is in their place.

usage: headers.py INCLUDE_FOLDER
"""
import pathlib
import shutil
import subprocess
import sys

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
COMPILERS = [(compiler, language, standard)
             for compilers, language, standards in [(["cc", "clang"], "c", ["c99", "c11", "c17", "c2x"]),
                                                    (["c++", "clang++"], "c++", ["c++11", "c++14", "c++17", "c++20"])]
             for compiler in compilers for standard in standards]
STRUCTS = """client_options topic_options producer_options consumer_options message message_ref message_copy process_settings
             filter stats metrics topic_report""".split()
# Types of earlier versions, and what a program that names them is told.
FORMER = {"smq_worker": "is an smq_consumer with a handler now", "smq_worker_options": "is smq_consumer_options now"}
OPS_STRUCTS = ["fence", "fleet_visitor", "binding"]


def uses(language, structs):
    """A program that uses every initializer, so that its expansion is compiled too: in C also as an
    expression, with and without a field."""
    lines = ["int main(void)", "{", "    smq_error err = SMQ_ERROR_INIT;"]
    for name in structs:
        lines.append(f"    smq_{name} {name} = SMQ_{name.upper()}_INIT;")
        if language == "c":
            lines.append(f"    {name} = SMQ_{name.upper()}();")
        lines.append(f"    (void) {name};")
    if language == "c" and "message" in structs:
        lines += ["    const smq_message *delayed = &SMQ_MESSAGE(.delay_ms = 5, .ttl_ms = 7);",
                  "    (void) delayed;"]
    return "\n".join(lines + ["    return sizeof(err) == 256 ? 0 : 1;", "}", ""])


def compiles(folder, header, compiler, language, standard):
    source = f"#include <slotmq/{header}>\n"
    structs = {"slotmq.h": STRUCTS, "ops.h": OPS_STRUCTS}.get(header)
    source += uses(language, structs) if structs else "extern int not_empty;\n"
    command = [compiler, "-x", language, f"-std={standard}", *WARNINGS, "-I", folder,
               "-fsyntax-only", "-"]
    return subprocess.run(command, input=source, text=True, check=False).returncode == 0


def errors(folder, source):
    """What the compilers say of a program, one text each."""
    for compiler in ("cc", "clang", "c++"):
        if shutil.which(compiler):
            yield subprocess.run([compiler, "-x", "c++" if compiler == "c++" else "c", "-I", folder, "-fsyntax-only", "-"],
                                 input=source, check=False, capture_output=True, text=True).stderr


def main():
    folder = sys.argv[1]
    headers = sorted(path.name for path in (pathlib.Path(folder) / "slotmq").glob("*.h*"))
    failed = [f"slotmq/{header} as {standard} by {compiler}: does not compile"
              for header in headers
              for compiler, language, standard in COMPILERS
              if shutil.which(compiler)
              if not header.endswith(".hpp") or standard in ("c++17", "c++20")
              if not compiles(folder, header, compiler, language, standard)]
    failed += [f"{path} does not say what is in its place" for path in (pathlib.Path(folder) / "former").glob("*.h")
               if not all("is slotmq/" in text for text in errors(folder, path.read_text()))]
    failed += [f"{name} does not say what is in its place" for name, said in FORMER.items()
               if "slotmq.h" in headers and not all(f"{said}: see Upgrading" in text
                          for text in errors(folder, f"#include <slotmq/slotmq.h>\n{name} *used;\n"))]
    for what in failed:
        print(what, file=sys.stderr)
    sys.exit(1 if failed or not headers else 0)


main()
