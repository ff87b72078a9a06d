#!/usr/bin/env python3
"""Hold slotmq.json against the compiled library: a program that knows nothing but this file finds every
function and name, and reads fields at their offsets.

usage: test_interface.py SLOTMQ_JSON LIBRARY
"""
import ctypes
import json
import os
import subprocess
import sys
import unittest

PATH, LIBRARY = sys.argv.pop(1), sys.argv.pop(1)
INTERFACE = json.load(open(PATH, encoding="utf-8"))
SETS = {"smq_client_options": "SMQ_OPTION_SET_CLIENT", "smq_topic_options": "SMQ_OPTION_SET_TOPIC",
        "smq_producer_options": "SMQ_OPTION_SET_PRODUCER", "smq_consumer_options": "SMQ_OPTION_SET_CONSUMER"}


def load():
    """The library; one with a sanitizer needs its runtime before all others."""
    needed = subprocess.run(["readelf", "-dW", LIBRARY], capture_output=True, text=True, check=True).stdout
    if "libasan" in needed and "LD_PRELOAD" not in os.environ:
        runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True,
                                 check=True).stdout.strip()
        os.execve(sys.executable, [sys.executable, __file__, PATH, LIBRARY],
                  {**os.environ, "LD_PRELOAD": os.path.realpath(runtime), "ASAN_OPTIONS": "detect_leaks=0"})
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError as error:
        print(f"SKIPPED: the library cannot be loaded here: {error}")
        sys.exit(77)


LIB = load()


def named(kind):
    return {one["name"]: one for one in INTERFACE[kind]}


def values(enum):
    return {one["name"]: one["value"] for one in named("enums")[enum]["values"]}


class Interface(unittest.TestCase):
    def text(self, function, value):
        call = getattr(LIB, function)
        call.restype = ctypes.c_char_p
        return call(value).decode()

    def test_functions_are_those_of_the_library(self):
        symbols = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True,
                                 check=True).stdout
        shown = {line.split()[2].partition("@")[0] for line in symbols.splitlines() if len(line.split()) == 3}
        inline = {"smq_text"}
        self.assertEqual({name for name in shown if name.startswith("smq_")}, set(named("functions")) - inline)
        send = named("functions")["smq_send_async"]
        self.assertEqual([one["type"] for one in send["parameters"]],
                         ["smq_producer *", "const char *", "const smq_message *", "smq_sent_fn *", "void *", "smq_error *"])
        self.assertIn("Send without waiting for Redis", send["text"])
        self.assertEqual([one["name"] for one in named("callbacks")["smq_sent_fn"]["parameters"]], ["receipt", "user"])

    def test_enumerators_have_their_names(self):
        for name, value in values("smq_status").items():
            self.assertEqual(self.text("smq_status_name", value), name)
        for name, value in values("smq_level").items():
            self.assertEqual(self.text("smq_level_name", value), name.rpartition("_")[2].lower())
        for name, value in values("smq_state").items():
            self.assertEqual(self.text("smq_state_name", value), name.rpartition("_")[2].lower())
        for name, value in values("smq_try_how").items():
            self.assertEqual(self.text("smq_try_how_name", value), name.partition("TRY_")[2].lower())
        self.assertEqual(self.text("smq_try_how_name", 9), "unknown")
        self.assertEqual(self.text("smq_level_name", 99), "unknown")
        self.assertEqual(self.text("smq_state_name", 3), "unknown")
        self.assertEqual(values("smq_event_kind")["SMQ_EVENT_ASSIGNED"], 22)
        self.assertEqual({one["name"]: one["value"] for one in INTERFACE["constants"]}["SMQ_FOREVER"], -1)

    def test_version_is_that_of_the_library(self):
        LIB.smq_version.restype = ctypes.c_char_p
        self.assertEqual(INTERFACE["version"], LIB.smq_version().decode())

    def test_structs_have_room_for_their_fields(self):
        for struct in INTERFACE["structs"]:
            end = 0
            for field in struct["fields"]:
                self.assertGreaterEqual(field["offset"], end, (struct["name"], field["name"]))
                end = field["offset"] + field["size"]
            self.assertEqual(struct["opaque"], not struct["fields"])
            self.assertLessEqual(end, struct.get("size", 0))

    def test_options_by_name_are_at_their_offsets(self):
        """Each option is set by text, and read where slotmq.json says it is."""
        given = {"integer": "1", "duration": "1000", "size": "1", "string": "text"}
        checked = 0
        for name, which in SETS.items():
            struct = named("structs")[name]
            places = {field["name"]: field for field in struct["fields"]}
            for option, kind in self.options(values("smq_option_set")[which]):
                made = ctypes.c_void_p()
                value = "5" if option == "format" else given.get(kind, kind.rpartition("|")[2])
                self.assertEqual(LIB.smq_options_new(ctypes.byref(made), values("smq_option_set")[which], None), 0)
                self.assertEqual(ctypes.c_size_t.from_address(made.value).value, struct["size"])
                self.assertEqual(LIB.smq_options_set(made, option.encode(), value.encode(), None), 0, (option, value))
                place = places[option]
                number = int.from_bytes(ctypes.string_at(made.value + place["offset"], place["size"]), "little", signed=True)
                if kind == "string":
                    self.assertEqual(ctypes.string_at(number).decode(), value)
                else:
                    self.assertNotEqual(number, 0, option)
                rest = ctypes.string_at(made.value, struct["size"])
                rest = rest[8:place["offset"]] + rest[place["offset"] + place["size"]:]
                self.assertEqual(rest.strip(b"\0"), b"", option)
                LIB.smq_options_free(made)
                checked += 1
        self.assertGreater(checked, 50)

    def options(self, which):
        info = named("structs")["smq_option_info"]
        at = {field["name"]: field["offset"] for field in info["fields"]}
        found = []

        def visit(option, _):
            if ctypes.c_int.from_address(option + at["set"]).value == which:
                found.append(tuple(ctypes.c_char_p.from_address(option + at[name]).value.decode()
                                   for name in ("name", "type")))
            return True
        LIB.smq_option_each(ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)(visit), None)
        return found

    def test_mistakes_are_refused(self):
        made = ctypes.c_void_p()
        invalid = values("smq_status")["SMQ_INVALID"]
        for which in (0, 99):
            self.assertEqual(LIB.smq_options_new(ctypes.byref(made), which, None), invalid)
            self.assertIsNone(made.value)
        self.assertEqual(LIB.smq_options_new(ctypes.byref(made), values("smq_option_set")["SMQ_OPTION_SET_TOPIC"], None), 0)
        for name, value in ((b"slot", b"8"), (b"slots", b"many"), (b"slots", None), (None, b"8")):
            self.assertEqual(LIB.smq_options_set(made, name, value, None), invalid)
        self.assertEqual(LIB.smq_options_set(None, b"slots", b"8", None), invalid)
        LIB.smq_options_free(made)
        LIB.smq_options_free(None)


if __name__ == "__main__":
    unittest.main()
