"""Random applications that do what an application must not do, and a judge of what they leave behind.

usage: hostile.py [--count N] [--seed SEED] [--only FORM] [--shrink] [--server HOST:PORT]

Each application follows from its number: its form, its threads, its topic, and what its handler does with each message
when that comes first, as names of the tables below.  One that fails is printed, and runs again with --seed NUMBER
--count 1; with --shrink it is made smaller.  Afterwards
  - the topic has claimed only what the application keeps by later(),
  - each thread lives, or run() has raised, by which a process ends with a status that is not 0,
  - every call has returned, and no message is lost.
"""
import argparse
import asyncio
import concurrent.futures
import contextlib
import datetime
import faulthandler
import gc
import itertools
import json
import logging
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
import warnings

import slotmq
import slotmq.testing

BOUND_S = 20
FORMS = ["threads", "batch", "asyncio", "poll", "process"]
AT_ONCE = 4
SETTLED, WRONG = "settled\n", 9

# === What an application may give ===


class Silent(Exception):
    """Has no text."""

    def __str__(self):
        raise ValueError("no text")

    __repr__ = __str__


class Leaving(Silent):
    def __str__(self):
        raise SystemExit("in a text")

    __repr__ = __str__


class NoText(Exception):
    def __str__(self):
        return 5


class Wild(BaseException):
    pass


class Nameless(type):
    @property
    def __name__(cls):
        raise ValueError("no name")


class Unnamed(Exception, metaclass=Nameless):
    pass


TEXTS = {"none": (), "empty": ("",), "plain": ("broken",), "half": ("x\ud83d",), "halves": ("\ud83d" * 500,),
         "nul": ("a\0b",), "only nul": ("\0",), "long": ("x" * (1 << 20),), "long wide": ("ü" * (1 << 19),),
         "bytes": (b"\xff\0",), "lines": ("one\ntwo\r\x1b[31m",), "bidi": ("\u202e\u2066",), "number": (5,),
         "several": ("one", 2, None), "object": (object(),), "silent": (Silent(),)}
KINDS = {kind.__name__: kind for kind in (
    Exception, ValueError, KeyError, StopIteration, StopAsyncIteration, GeneratorExit, KeyboardInterrupt, SystemExit,
    BaseException, MemoryError, OSError, RecursionError, TimeoutError, asyncio.CancelledError, RuntimeError, Silent,
    Leaving, NoText, Wild, slotmq.AnsweredError, slotmq.Reject)}
KINDS["Unnamed"] = Unnamed
DELAYS = {"0": 0, "below": -77, "back-off": slotmq.BACKOFF, "hour": 3_600_000, "over": 1 << 50, "far over": 1 << 70,
          "None": None, "text": "5", "fraction": 1.5, "nan": float("nan"), "span": datetime.timedelta(hours=1),
          "bool": True, "object": object()}
REASONS = {name: text[0] for name, text in TEXTS.items() if text} | {"None": None}
RETURNS = {"None": None, "False": False, "0": 0, "5": 5, "text": "done", "bytes": b"", "object": object(),
           "exception": ValueError("returned"), "class": slotmq.Retry, "list": [None, 5],
           "NotImplemented": NotImplemented}
VALUES = {"number": 3, "list": [72, 105], "None": None, "half": "\ud83d", "nul": "a\0", "object": object(),
          "class": bytes, "dict": {"a": 1}, "set": {1}, "array": bytearray(b"x"), "view": memoryview(b"abcd")[::2],
          "long": "x" * (2 << 20), "bool": True, "fraction": 1.5}

# What another program may store where a queue of Celery is.
FOREIGN = {
    "text": "no message of kombu", "no UTF-8": b"\xff{}", "half": '"\\ud83d"', "number": "5", "null": "null",
    "list": "[1]", "deep": "[" * 100_000, "empty": "{}", "bytes": '{"__type__":"bytes","__value__":5}',
    "properties null": '{"properties":null,"body":"x"}',
    "properties a list": '{"properties":["delivery_info"],"body":"x"}',
    "properties a text": '{"properties":"delivery_info","body":"x"}',
    **{f"delivery_info {value}": f'{{"properties":{{"delivery_info":{value}}},"body":"x"}}'
       for value in ("null", "5", "[]", '"x"', "[[1,2]]")},
    **{f"{name} {value}": f'{{"properties":{{"delivery_info":{{}},"delivery_tag":[]}},"{name}":{value},"body":"x"}}'
       for name, value in [("headers", '"x"'), ("headers", "5"), ("headers", "[1]"), ("content-type", "[1]"),
                           ("content-encoding", "5")]},
    **{f"property {name} {value}":
       f'{{"properties":{{"delivery_info":{{}},"priority":"high","{name}":{value}}},"body":"x"}}'
       for name, value in [("body_encoding", '"rot13"'), ("body_encoding", '"base64"'), ("body_encoding", "[1]"),
                           ("slotmq_tick", "5"), ("slotmq_tick", '{"countdown":"x"}')]},
    **{f"body {value}": f'{{"properties":{{"delivery_info":{{}}}},"headers":null,"body":{value}}}'
       for value in ("null", "5", "[5]", "{}", "true")},
    "no body": '{"properties":{"delivery_info":{}}}'}
# And where a worker of Celery takes tasks.
FOREIGN_TASKS = [f'{{"properties":{{"delivery_info":{{}}}},"headers":{{"task":{task}}},"body":"x"}}'
                 for task in ("null", "[]", '"unknown"', '"shop.add"', '"shop.add","id":[1]')]

# === What a handler may do, with words of the tables ===


def fail(_, __, kind, text):
    raise KINDS[kind](*TEXTS[text])


def fail_as(_, __, answer, reason, delay):
    if answer == "Retry":
        raise slotmq.Retry(REASONS[reason], delay_ms=DELAYS[delay])
    if answer == "Reject":
        raise slotmq.Reject(REASONS[reason])
    raise slotmq.Release(delay_ms=DELAYS[delay])


def give(_, __, value):
    return RETURNS[value]


def give_running(_, __, how):
    async def coroutine():
        raise Wild()

    return coroutine() if how == "coroutine" else (one for one in "ab")


def answer(_, delivery, how, reason, delay, times):
    for _ in range(times):
        call_answer(delivery, how, reason, delay)


def call_answer(delivery, how, reason, delay):
    if how == "done":
        delivery.done()
    elif how == "retry":
        delivery.retry(REASONS[reason], delay_ms=DELAYS[delay])
    elif how == "reject":
        delivery.reject(REASONS[reason])
    else:
        delivery.release(delay_ms=DELAYS[delay])


def answer_elsewhere(_, delivery, how, reason, delay, later):
    """From another thread, for which the handler waits if it is not `later`."""
    def work():
        with contextlib.suppress(BaseException):
            call_answer(delivery, how, reason, delay)
        if later:
            with contextlib.suppress(slotmq.Error, slotmq.AnsweredError):
                delivery.done()

    thread = threading.Thread(target=work, daemon=True)
    if later:
        delivery.later()
    thread.start()
    if not later:
        thread.join()


def keep(program, delivery, and_fail):
    delivery.later()
    program.kept.append(delivery)
    if and_fail:
        raise Wild("after later()")


def look(_, delivery, name):
    """At what was answered."""
    with contextlib.suppress(slotmq.AnsweredError):
        delivery.done()
    getattr(delivery, name)()


def extend(_, delivery, delay):
    delivery.extend(DELAYS[delay])


def send(program, _, field, value):
    given = {"message": "x", field: VALUES[value]}
    with program.client.producer() as producer:
        producer.send(program.other, **given)


def send_batch(program, _, value):
    with program.client.producer() as producer:
        producer.send_batch(program.other, ["a", VALUES[value], "b"])


def drop(program, _, what):
    """Open what is never closed."""
    if what == "producer":
        program.client.producer().send(program.other, "x")
    elif what == "consumer":
        program.client.consumer(program.other).poll(0)
    else:
        slotmq.Client(program.address)


def ask(program, _, what):
    topic = program.client.topic(program.topic)
    {"stats": topic.stats, "messages": lambda: list(topic.messages("waiting", "claimed", contains="\ud83d")),
     "delete": topic.delete, "health": program.client.health, "text": lambda: program.client.metrics_text("a\0b"),
     "nowhere": program.client.topic("nowhere").stats, "remove": lambda: topic.remove(id=5),
     "create": lambda: program.client.create(program.topic, slots=object())}[what]()


def end(program, _, what):
    """Make a call that ends the application, or would wait for its own handler."""
    program.ends = True
    {"stop": program.client.stop, "close": program.client.close, "stop one": program.stop_one,
     "close one": program.close_one, "wait": program.wait_one, "run": lambda: program.client.run(signals=())}[what]()


def block(_, __, how):
    if how == "collect":
        gc.collect()
    else:
        time.sleep(float(how))  # as an application does; the test does not wait by it


def recurse(program, delivery, how):
    """Answer where there is hardly a frame left."""
    try:
        recurse(program, delivery, how)
    except RecursionError:
        call_answer(delivery, how, "half", "0")
        raise


def fork(program, delivery, way):
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        raise RuntimeError("with AddressSanitizer a child of fork() may wait for ever")
    child = os.fork()
    if child:
        return program.await_child(child)
    if way == "exit":
        sys.exit(0)
    if way == "raise":
        raise Wild("in a child")
    with contextlib.suppress(slotmq.Error):
        {"_exit": int, "answer": delivery.done, "stats": program.client.topic(program.topic).stats,
         "close": program.client.close, "stop": program.client.stop}[way]()
    return os._exit(5)


def leave(_, __, how):
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "abort":
        os.kill(os.getpid(), signal.SIGABRT)
    os._exit(int(how))


HOW = ["done", "retry", "reject", "release"]
# The functions, the choices of their arguments, and how often they are chosen.
DEEDS = {function.__name__: (function, choices, often) for function, choices, often in [
    (fail, [KINDS, TEXTS], 8), (fail_as, [["Retry", "Reject", "Release"], REASONS, DELAYS], 5),
    (give, [RETURNS], 2), (give_running, [["coroutine", "generator"]], 1),
    (answer, [HOW, REASONS, DELAYS, [1, 2]], 5), (answer_elsewhere, [HOW, REASONS, DELAYS, [False, True]], 3),
    (keep, [[False, True]], 1), (look, [["check", "attempt", "later", "headers"]], 1), (extend, [DELAYS.keys() - {"hour", "span"}], 1),
    (send, [["message", "key", "id", "headers", "priority", "delay_ms", "due_at_ms", "ttl_ms"], VALUES], 3),
    (send_batch, [VALUES], 1), (drop, [["producer", "consumer", "client"]], 1),
    (ask, [["stats", "messages", "delete", "health", "text", "nowhere", "remove", "create"]], 2),
    (recurse, [HOW], 1), (block, [["0.01", "0.2", "collect"]], 1)]}
ENDS = {end.__name__: (end, [["stop", "close", "stop one", "close one", "wait", "run"]], 1)}
ALONE = {fork.__name__: (fork, [["_exit", "exit", "raise", "answer", "stats", "close", "stop"]], 2),
         leave.__name__: (leave, [["kill", "abort", "0", "7"]], 1)}
ALL = {**DEEDS, **ENDS, **ALONE}


def chosen(choice, table):
    name = choice.choices(list(table), [often for _, _, often in table.values()])[0]
    return [name, *(choice.choice(sorted(choices, key=str)) for choices in table[name][1])]


def described(number, only=None):
    """The application of this number, as data."""
    choice = random.Random(number)
    form = only or choice.choices(FORMS, [30, 20, 15, 15, 12])[0]
    deeds = [chosen(choice, DEEDS) for _ in range(choice.randint(1, 8))]
    if form == "process":
        deeds.append(chosen(choice, ALONE))
    elif choice.random() < 0.3:
        deeds.insert(choice.randint(0, len(deeds)), chosen(choice, ENDS))
    return {"number": number, "form": form, "threads": choice.randint(1, 3), "batch": choice.randint(1, 4),
            "shared": form == "process" or choice.random() < 0.7, "keys": choice.random() < 0.3,
            "log": choice.choice([None, None, "Exception", "Wild", "Leaving"]),
            "signal": choice.choice([None, "SIGINT", "SIGTERM"]), "deeds": deeds}


# === The application ===


class Wrong(Exception):
    """What the judge has found."""


class Program:
    """An application, and what its handler knows of it."""

    def __init__(self, description, address):
        self.description, self.address = description, address
        self.deeds, self.form = description["deeds"], description["form"]
        self.topic, self.other = description["topic"], f"{description['topic']}-other"
        self.kept, self.seen, self.wrong = [], set(), []
        self.ends = False  # it has called what may end it
        self.broken = False  # a handler has raised what ends run()
        self.suspects = False  # what it kept when run() ended may be claimed alone only
        self.error, self.done = None, threading.Event()
        self.client = slotmq.Client(address, name=self.topic)
        self.worker = self.consumer = None

    def create(self):
        self.client.create(self.topic, shared=self.description["shared"], slots=1, backoff="none", lease_ms="1s")
        self.client.create(self.other, shared=True, slots=1)
        key = {"key": "one"} if self.description["keys"] else {}
        with self.client.producer() as producer:
            for index in range(len(self.deeds)):
                producer.send(self.topic, str(index), id=str(index), **key)

    def handle(self, delivery):
        """Do the deed of a message, when it comes first."""
        index = int(delivery.body)
        if index in self.seen:
            return None
        self.seen.add(index)
        name, *words = self.deeds[index]
        try:
            return ALL[name][0](self, delivery, *words)
        except Exception:
            raise
        except BaseException:
            self.broken = True
            raise

    def handle_batch(self, deliveries):
        for delivery in deliveries:
            self.handle(delivery)

    def await_child(self, child):
        """A child that does not end is an error, and killed."""
        ended = os.pidfd_open(child)
        try:
            if not select.select([ended], [], [], BOUND_S)[0]:
                self.wrong.append("a child of fork() does not end")
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        finally:
            os.close(ended)

    # --- forms ---

    def run(self, signals=()):
        """Until it is stopped; `error` is what has come out."""
        try:
            {"asyncio": self.run_asyncio, "poll": self.run_poll}.get(self.form, lambda: self.run_workers(signals))()
        except BaseException as error:  # what run() raises is judged
            self.error = error
        finally:
            self.done.set()

    def run_workers(self, signals):
        batch = self.description["batch"] if self.form == "batch" else 0
        declare = self.client.worker(self.topic, threads=self.description["threads"], batch=batch)
        self.worker = declare(self.handle_batch if batch else self.handle)
        while True:
            try:
                return self.client.run(signals=signals)
            except RuntimeError as error:
                if signals or self.ends or isinstance(error.__cause__, (Exception, type(None))):
                    raise
            self.suspects = self.suspects or bool(self.kept)
            self.answer_kept()  # too late
            self.broken = False

    def run_poll(self):
        with contextlib.suppress(slotmq.FatalError), self.client.consumer(self.topic) as self.consumer:
            while True:
                for delivery in self.consumer.poll(self.description["batch"], 1000):
                    self.try_one(delivery)
                delivery = None

    def run_asyncio(self):
        async def main():
            with self.client.consumer(self.topic) as self.consumer:
                async for delivery in self.consumer:
                    self.try_one(delivery)
                    del delivery

        with contextlib.suppress(slotmq.FatalError):
            asyncio.run(main())

    def try_one(self, delivery):
        """In a loop of the application.  What has raised is dropped."""
        with contextlib.suppress(BaseException):
            self.handle(delivery)
            if not delivery.answered and delivery not in self.kept:
                delivery.done()

    # --- ends ---

    def stop(self):
        for stop in (self.client.stop, self.stop_one):
            with contextlib.suppress(slotmq.Error, RuntimeError):
                stop()

    def stop_one(self):
        (self.worker or self.consumer).stop()

    def close_one(self):
        (self.worker or self.consumer).close()

    def wait_one(self):
        self.worker.wait(200) if self.worker else self.consumer.flush(200)

    def answer_kept(self):
        for delivery in self.kept:
            with contextlib.suppress(slotmq.Error, slotmq.AnsweredError):
                delivery.done()


class Breaking(logging.Filter):
    """A logger of the application that fails with what is said of its topic."""

    def __init__(self, program):
        super().__init__()
        self.topic, self.kind = program.topic, KINDS.get(program.description["log"])

    def filter(self, record):
        if self.kind and self.topic in (getattr(record, "slotmq_topic", ""), *(record.args or ())):
            raise self.kind()
        return True


# === The judge ===


def until(condition, program, what):
    """Until the condition is true, or run() has ended."""
    end = time.monotonic() + BOUND_S
    while not condition():
        if program.done.wait(0.01):
            return
        if time.monotonic() > end:
            raise Wrong(f"{what()} after {BOUND_S} s")


def kept(program):
    return sum(not delivery.answered for delivery in list(program.kept))


def settle(program, admin):
    """All that is claimed is kept, or waits for the key of what is kept, and nothing waits that can be had.  A suspect
    that is first cannot be had, nor what is behind it, while anything is kept."""
    topic = admin.topic(program.topic)

    def settled():
        if program.broken:
            program.answer_kept()  # run() waits for it, and raises
        stats, held = topic.stats(), kept(program)
        if held and program.description["keys"]:
            return stats.claimed >= held
        return stats.claimed == held and (stats.waiting == 0 or program.ends or held > 0 and program.suspects)

    until(settled, program, lambda: f"{said(topic.stats())}, {kept(program)} kept by the application")


def said(stats):
    return (f"waiting {stats.waiting}, claimed {stats.claimed}, resting {stats.resting}, dead {stats.dead}, "
            f"done {stats.done}")


def check_threads(program):
    """Each lives, or run() has raised what a handler has raised."""
    if program.ends:
        return
    names = {f"slotmq-{program.topic}-{i}" for i in range(program.description["threads"])} if program.worker else set()

    def missing():
        program.answer_kept()  # a worker that a handler has ended waits for it
        return sorted(names - {thread.name for thread in threading.enumerate()})

    until(lambda: not missing(), program, lambda: f"{missing()} have ended, and run() has not,")
    if program.done.is_set() and not (program.error and isinstance(program.error.__cause__, BaseException)):
        raise Wrong(f"run() has ended by {program.error!r}")


def hangs(what):
    faulthandler.dump_traceback(sys.stdout)
    return Wrong(f"{what} has not ended after {BOUND_S} s")


def finish(program):
    end = time.monotonic() + BOUND_S
    while not program.done.wait(0.1):
        program.answer_kept()
        program.stop()  # again, because run() may have begun again
        if time.monotonic() > end:
            raise hangs("run()")
    closing = threading.Thread(target=program.client.close, daemon=True)
    closing.start()
    closing.join(BOUND_S)
    if closing.is_alive():
        raise hangs("close()")
    if program.wrong:
        raise Wrong(", ".join(program.wrong))


def drain(description, admin):
    """Another consumer gets what the application has left, and no message is lost."""
    topic, end = admin.topic(description["topic"]), time.monotonic() + BOUND_S
    with admin.consumer(topic.name) as consumer:
        while (stats := topic.stats()).claimed or stats.waiting:
            if time.monotonic() > end:
                raise Wrong(f"another consumer finds {said(stats)} after {BOUND_S} s")
            for delivery in consumer.poll(100, 50):
                delivery.done()
            consumer.flush()
    if stats.done + stats.dead + stats.resting != len(description["deeds"]):
        raise Wrong(f"{len(description['deeds'])} were sent: {said(stats)}")


def judge(description, address, admin):
    """Run the application in this process."""
    program = Program(description, address)
    breaking, log = Breaking(program), logging.getLogger("slotmq")
    try:
        log.addFilter(breaking)
        program.create()
        threading.Thread(target=program.run, daemon=True).start()
        settle(program, admin)
        program.answer_kept()
        settle(program, admin)
        check_threads(program)
        finish(program)
    finally:
        log.removeFilter(breaking)
    drain(description, admin)


def judge_process(description, address, admin):
    """Run the application in a process of its own."""
    run = subprocess.run([sys.executable, __file__, "--alone", json.dumps(description), "--server", address],
                         capture_output=True, text=True, errors="replace", timeout=3 * BOUND_S, check=False)
    left = any(name == "leave" for name, *_ in description["deeds"])
    if run.returncode == WRONG or (run.returncode == 0 and run.stdout != SETTLED and not left):
        raise Wrong(f"the process has ended with {run.returncode}: {run.stdout} {run.stderr}")
    drain(description, admin)


def alone(description, address):
    """The process.  What run() raises ends it."""
    be_quiet()
    faulthandler.dump_traceback_later(2 * BOUND_S)
    program = Program(description, address)
    logging.getLogger("slotmq").addFilter(Breaking(program))
    program.create()

    def watch():
        try:
            with slotmq.Client(address, name="judge") as admin:
                settle(program, admin)
                program.answer_kept()
                settle(program, admin)
                check_threads(program)
        except Wrong as wrong:
            program.wrong.append(str(wrong))
        if description["signal"] and not program.done.is_set():
            os.kill(os.getpid(), getattr(signal, description["signal"]))
        else:
            program.stop()
        while not program.done.wait(0.1):
            program.answer_kept()

    watching = threading.Thread(target=watch)
    watching.start()
    program.run((signal.SIGINT, signal.SIGTERM))
    watching.join()
    if program.wrong:
        print(*program.wrong, sep="\n", flush=True)
        os._exit(WRONG)
    if program.error:
        raise program.error
    program.client.close()
    print(SETTLED, end="", flush=True)


# === The command ===

TOPICS = (f"hostile-{os.getpid()}-{number}" for number in itertools.count())


def failed(description, address, admin):
    """Why the application does not pass; None if it does."""
    description = {**description, "topic": next(TOPICS)}
    try:
        (judge_process if description["form"] == "process" else judge)(description, address, admin)
    except (Wrong, slotmq.Error) as wrong:
        return f"{type(wrong).__name__}: {wrong}"
    except subprocess.TimeoutExpired as late:
        return f"the process hangs: {late.stderr}"
    return None


def shrunk(description, address, admin):
    """The same with as few deeds as fail."""
    for index in reversed(range(len(description["deeds"]))):
        deeds = description["deeds"][:index] + description["deeds"][index + 1:]
        less = {**description, "deeds": deeds}
        if deeds and failed(less, address, admin):
            description = less
    return description


def be_quiet():
    """What fails on purpose is not printed."""
    threading.excepthook = lambda _: None
    logging.getLogger("slotmq").propagate = False
    logging.getLogger("slotmq").addHandler(logging.NullHandler())
    warnings.simplefilter("ignore")


def run_all(address, seed, count, only=None, shrink=False):
    """Run the applications `seed` and the following, and count those that fail."""
    be_quiet()

    def try_one(number):
        description = described(number, only)
        why = failed(description, address, admin)
        if why and shrink:
            description = shrunk(description, address, admin)
        if why:
            print(f"{why}\n  of --seed {number} --count 1: {json.dumps(description)}", flush=True)
        return bool(why)

    with slotmq.Client(address, name="judge") as admin, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return sum(pool.map(try_one, range(seed, seed + count)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--only", choices=FORMS)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--server", help="host:port; without it one is started")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        return alone(json.loads(options.alone), options.server)
    with contextlib.ExitStack() as stack:
        address = options.server or stack.enter_context(slotmq.testing.Server()).address
        found = run_all(address, options.seed, options.count, options.only, options.shrink)
    print(f"{options.count} applications from {options.seed} on, {found} failed")
    return os._exit(1 if found else 0)  # also where threads hang


if __name__ == "__main__":
    main()
