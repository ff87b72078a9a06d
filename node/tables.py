#!/usr/bin/env python3
"""Write what the addon knows of libslotmq as tables in C: the fields of structs, and the calls that wait.

usage: tables.py SLOTMQ_JSON OUT

The offsets are left to the compiler.  Fields of other types are left out, and parameters of other types are NULL.
"""
import json
import re
import sys

STRUCTS = ["event", "health", "message", "message_info", "message_ref", "metrics", "filter", "receipt", "schedule",
           "schedule_info", "stats"]
CALLS = ["client_new", "client_health", "client_metrics", "metrics_text", "producer_new", "consumer_new", "consumer_stop",
         "consumer_set_max_in_flight", "limit_new", "limit_set", "topic_create", "topic_alter", "topic_get", "topic_pause",
         "topic_resume", "topic_delete", "topic_stats", "topic_purge", "message_each", "message_get", "message_rank",
         "message_remove", "message_reschedule", "dead_requeue", "schedule_put", "schedule_get", "schedule_each",
         "schedule_remove", "schedule_pause", "schedule_resume", "schedule_run"]
# Fields of options that no text has: they come as a further parameter.
FURTHER = {"consumer_new": ("limit", "smq_limit *"), "topic_create": ("name", "const char *"),
           "topic_alter": ("name", "const char *")}
KINDS = {"int64_t": "I64", "uint64_t": "U64", "int32_t": "I32", "unsigned": "I32", "void *": "U64",
         "bool": "BOOL", "const char *": "TEXT", "smq_bytes": "BYTES"}
OTHERS = {"void *": "call", "smq_error *": "&call->err"}
# Kinds of handles, and whether they have a descriptor.
HANDLES = {"client": True, "producer": True, "consumer": True, "limit": False}
HANDLE = "|".join(HANDLES)
FD = """
static int fd_{0}(const void *native)
{{
    return smq_{0}_fd(native);
}}"""
FREE = """
static void free_{0}(void *native)
{{
    smq_{0}_free(native);
}}"""
VISIT = """
static bool visit_{0}(const smq_{0} *found, void *call)
{{
    call_show(call, &record_{0}, found);
    return true;
}}"""


def camel(name):
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def fields(struct, structs, enums, within="0"):
    """Rows of its fields; of what the library describes, also of those of the struct to which it points."""
    for field in structs[struct]:
        kind = "I32" if field["type"] in enums else KINDS.get(field["type"])
        other = re.fullmatch(rf"(const )?smq_({'|'.join(STRUCTS)})( \*)?", field["type"])
        if field["array"]:
            kind = {"char": "CHARS", "uint64_t": "U64S"}.get(field["type"])
        elif field["name"] == "headers":
            kind = "HEADERS"
        elif other and struct.endswith("_info"):
            yield from fields(other[2], structs, enums, f"offsetof(smq_{struct}, {field['name']})")
        elif other:
            kind = "POINTER"
        if kind:
            yield (f'    {{"{camel(field["name"])}", FIELD_{kind}, offsetof(smq_{struct}, {field["name"]}), {field["size"]}, '
                   f"{within}, {f'&record_{other[2]}' if other else 'NULL'}}},")


def record(name, structs, enums):
    rows = "\n".join(fields(name, structs, enums))
    return (f"static const struct field fields_{name}[] = {{\n{rows}\n}};\nconst struct record record_{name} = "
            f'{{"{name}", sizeof(smq_{name}), sizeof(fields_{name}) / sizeof(fields_{name}[0]), fields_{name}}};')


def parameter_of(kind, value):
    """What reads it from JavaScript, and what the library gets of that; None: JavaScript does not give it."""
    plain = {"const char *": ("TEXT, 0, NULL", f"{value}.text"), "int32_t": ("NUMBER, 0, NULL", f"(int32_t) {value}.number"),
             "bool": ("NUMBER, 0, NULL", f"{value}.number != 0")}
    handle = re.fullmatch(rf"smq_({HANDLE}) \*", kind)
    struct = re.fullmatch(rf"const smq_(?:({HANDLE}|topic)_options|({'|'.join(STRUCTS)})) \*", kind)
    if handle:
        return f"HANDLE, HANDLE_{handle[1].upper()}, NULL", f"handle_native({value}.handle)"
    if struct and struct[1]:
        return f"OPTIONS, SMQ_OPTION_SET_{struct[1].upper()}, NULL", f"{value}.data"
    return (f"RECORD, 0, &record_{struct[2]}", f"{value}.data") if struct else plain.get(kind)


def result_of(kind, enums):
    """The result of a call with such a parameter: (what JavaScript gets, a variable, the argument, what keeps it)."""
    made = re.fullmatch(rf"smq_(?:({HANDLE})|({'|'.join(STRUCTS)})) (\*\*?)", kind)
    if made and made[1]:
        return f"call_handle, HANDLE_{made[1].upper()}", f"smq_{made[1]} *made = NULL", "&made", "call->made = made"
    if made and made[3] == "**":
        return ("call_shown, 0", f"smq_{made[2]} *made = NULL", "&made",
                f"call_show(call, &record_{made[2]}, made);\n    smq_{made[2]}_free(made)")
    if made:
        return ("call_shown, 0", f"smq_{made[2]} made = {{.struct_size = sizeof(made)}}", "&made",
                f"call_show(call, &record_{made[2]}, &made)")
    if kind == "char **":
        return "call_text, 0", "char *made = NULL", "&made", "call->made = made"
    if kind.removesuffix(" *") in enums | {"uint64_t"}:
        return "call_number, 0", f"{kind.removesuffix(' *')} made = 0", "&made", "call->number = (double) made"
    visited = re.fullmatch(r"smq_(message|schedule)_fn \*", kind)
    return ("call_shown, 0", None, f"visit_{visited[1]}_info", None) if visited else None


def handles():
    for name, has_fd in HANDLES.items():
        yield (FD + FREE if has_fd else FREE).format(name)
    yield "const struct handle_calls handle_kinds[] = {"
    for name, has_fd in HANDLES.items():
        yield f"    [HANDLE_{name.upper()}] = {{{f'fd_{name}' if has_fd else 'NULL'}, free_{name}}},"
    yield "};"


def call(function, enums):
    """The function that runs the call, and its row."""
    name = function["name"].removeprefix("smq_")
    rows, words, result, first, last = [], [], "NULL, 0", [], []
    for parameter in function["parameters"]:
        kind, value = parameter["type"], f"call->args[{len(rows)}]"
        given = parameter_of(kind, value) if parameter["name"] != "out" else None
        made = None if given else result_of(kind, enums)
        if given:
            rows.append(given[0])
        elif made:
            result, variable, _, keep = made
            first += [variable] if variable else []
            last += [keep] if keep else []
        words.append(given[1] if given else made[2] if made else OTHERS.get(kind, "NULL"))
        if kind.endswith("_options *") and name in FURTHER:
            field, its_kind = FURTHER[name]
            further = parameter_of(its_kind, f"call->args[{len(rows)}]")
            rows.append(further[0])
            first.append(f"(({kind.removeprefix('const ')}) {value}.data)->{field} = {further[1]}")
    status = "call->status = " if function["returns"] == "smq_status" else ""
    lines = [*first, f"{status}{function['name']}({', '.join(words)})", *last]
    parameters = ", ".join(f"{{PARAMETER_{row}}}" for row in rows)
    return (f"static void run_{name}(struct call *call)\n{{\n" + "".join(f"    {line};\n" for line in lines) + "}\n",
            f'    {{"{name}", run_{name}, {result}, {{{parameters}}}}},')


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        described = json.load(file)
    structs = {struct["name"].removeprefix("smq_"): struct["fields"] for struct in described["structs"]}
    functions = {function["name"]: function for function in described["functions"]}
    enums = {enum["name"] for enum in described["enums"]}
    runs, rows = zip(*(call(functions[f"smq_{name}"], enums) for name in CALLS))
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        print('#include <stddef.h>\n\n#include "addon.h"\n', file=out)
        print(*(record(name, structs, enums) for name in STRUCTS), sep="\n", file=out)
        print("const struct record *const records[] = {", ", ".join(f"&record_{name}" for name in STRUCTS), ", NULL};", file=out)
        print(*handles(), sep="\n", file=out)
        print(*(VISIT.format(name) for name in ("message_info", "schedule_info")), *runs, sep="\n", file=out)
        print("const struct call_kind call_kinds[] = {", *rows, "};", sep="\n", file=out)


main()
