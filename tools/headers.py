#!/usr/bin/env python3
"""Check that every public header compiles alone, as C11 and as C++11, without a warning.

usage: headers.py INCLUDE_FOLDER
"""
import pathlib
import subprocess
import sys

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
# Every initializer is used, so that its expansion is compiled too.
USES = {
    "slotmq.h": """
int main(void)
{
    smq_client_options client = SMQ_CLIENT_OPTIONS_INIT;
    smq_topic_options topic = SMQ_TOPIC_OPTIONS_INIT;
    smq_producer_options producer = SMQ_PRODUCER_OPTIONS_INIT;
    smq_worker_options worker = SMQ_WORKER_OPTIONS_INIT;
    smq_consumer_options consumer = SMQ_CONSUMER_OPTIONS_INIT;
    smq_message message = SMQ_MESSAGE_INIT;
    smq_stats stats = SMQ_STATS_INIT;
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_filter filter = SMQ_FILTER_INIT;
    (void) client, (void) topic, (void) producer, (void) worker, (void) consumer, (void) message, (void) stats, (void) metrics;
    (void) filter;
    return sizeof(smq_error) == 256 ? 0 : 1;
}
""",
}


def compiles(folder, header, compiler, language, standard):
    source = f"#include <slotmq/{header}>\n" + USES.get(header, "extern int not_empty;\n")
    command = [compiler, "-x", language, f"-std={standard}", *WARNINGS, "-I", folder,
               "-fsyntax-only", "-"]
    return subprocess.run(command, input=source, text=True, check=False).returncode == 0


def main():
    folder = sys.argv[1]
    headers = sorted(path.name for path in (pathlib.Path(folder) / "slotmq").glob("*.h"))
    failed = [f"slotmq/{header} as {standard}"
              for header in headers
              for compiler, language, standard in [("cc", "c", "c11"), ("c++", "c++", "c++11")]
              if not compiles(folder, header, compiler, language, standard)]
    for what in failed:
        print(f"{what}: does not compile", file=sys.stderr)
    sys.exit(1 if failed or not headers else 0)


main()
