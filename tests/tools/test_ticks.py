#!/usr/bin/env python3
"""When schedules are due, against croniter, zoneinfo and systemd.

    test_ticks.py TICKS [COUNT]

TICKS is the program of ticks.c.  COUNT random expressions (200; a release has 2,000) are asked for
in six zones, half of them near a change of a clock, between 1996 and 2036.

What the others do differently, and is therefore not asked for:
- croniter ORs a day of month such as */10 with a day of week, and not one such as 0-6; cron asks whether
  the field begins with '*'.  Its times around summer time do not exist, or are missing; so it is only
  asked for times without a zone, and zoneinfo says when these are.
- systemd wants both the day of month and the day of week, and leaves out what is in a gap.
"""
import datetime
import random
import re
import subprocess
import sys
import unittest
import zoneinfo

import croniter

UTC = datetime.timezone.utc
ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia", "Asia/Kolkata"]
MANY = 5
DAY = datetime.timedelta(hours=26)  # longer than any clock is set by
FIRST, LAST = datetime.datetime(1996, 1, 1, tzinfo=UTC), datetime.datetime(2036, 1, 1, tzinfo=UTC)
FIELDS = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]
TICKS = None
COUNT = 200


def random_field(chance, low, high, stars=True):
    """A field; whether it begins with '*'."""
    kind = chance.random()
    if stars and kind < 0.35:
        return "*"
    if stars and kind < 0.5:
        return f"*/{chance.randint(2, max(2, high // 2))}"
    if kind < 0.65:
        begin = chance.randint(low, high - 1)
        return f"{begin}-{chance.randint(begin + 1, high)}"
    if kind < 0.75:
        begin = chance.randint(low, high - 1)
        return f"{begin}-{high}/{chance.randint(1, max(1, (high - low) // 2))}"
    return ",".join(str(n) for n in sorted(chance.sample(range(low, high + 1), chance.randint(1, 3))))


def random_cron(chance):
    minute, hour, day, month, weekday = (random_field(chance, low, high) for low, high in FIELDS)
    if chance.random() < 0.5:  # the fixed times of most schedules
        minute, hour = (random_field(chance, low, high, stars=False).split("/", maxsplit=1)[0] for low, high in FIELDS[:2])
    if chance.random() < 0.6:
        month = "*"
    if day != "*" and weekday != "*":
        day, weekday = (random_field(chance, low, high - 1, stars=False).split("/")[0] for low, high in FIELDS[2::2])
    return " ".join([minute, hour, day, month, weekday])


def changes_of(zone, cache={}):
    """When its clocks are changed, to the second."""
    if zone.key not in cache:
        found, at, step = [], FIRST, datetime.timedelta(days=5)
        while at < LAST:
            low, high = at, at + step
            if low.astimezone(zone).utcoffset() != high.astimezone(zone).utcoffset():
                while high - low > datetime.timedelta(seconds=1):
                    middle = low + (high - low) // 2
                    middle = middle.replace(microsecond=0)
                    if middle.astimezone(zone).utcoffset() == low.astimezone(zone).utcoffset():
                        low = middle
                    else:
                        high = middle
                found.append(high)
            at += step
        cache[zone.key] = found
    return cache[zone.key]


def times_of(local, zone):
    """When clocks show a time; none: never."""
    both = {local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    return sorted(time for time in both if time.astimezone(zone).replace(tzinfo=None) == local)


def expected(cron, zone, after):
    """The next times by croniter and zoneinfo."""
    minute, hour = cron.split()[:2]
    is_interval = any(mark in minute + hour for mark in "*/")
    found = set()
    names = croniter.croniter(cron, (after - DAY).astimezone(zone).replace(tzinfo=None))
    while len([time for time in found if time > after + DAY]) < MANY:
        local = names.get_next(datetime.datetime)
        times = times_of(local, zone)
        if times:
            found |= set(times if is_interval else times[:1])
        elif not is_interval:  # in a gap: its end
            before = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
            found.add(next(change for change in changes_of(zone) if change >= before))
    return sorted(time for time in found if time > after)[:MANY]


def ask(questions):
    lines = "".join(f"{zone}\t{int(after.timestamp())}\t{MANY}\t{cron}\n" for cron, zone, after in questions)
    done = subprocess.run([TICKS], input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [[datetime.datetime.fromtimestamp(int(time), UTC) for time in line.split()] for line in done.stdout.splitlines()]


class Ticks(unittest.TestCase):
    maxDiff = None

    def test_random_expressions_are_due_when_croniter_and_zoneinfo_say(self):
        chance = random.Random(58)
        questions = []
        for _ in range(COUNT):
            zone = chance.choice(ZONES)
            near = changes_of(zoneinfo.ZoneInfo(zone))
            if near and chance.random() < 0.5:
                after = chance.choice(near) + datetime.timedelta(seconds=chance.randint(-100000, 100000))
            else:
                after = FIRST + datetime.timedelta(seconds=chance.randint(0, int((LAST - FIRST).total_seconds())))
            questions.append((random_cron(chance), zone, after))
        for (cron, zone, after), times in zip(questions, ask(questions), strict=True):
            with self.subTest(cron=cron, zone=zone, after=after.isoformat()):
                self.assertEqual([time.isoformat() for time in times],
                                 [time.isoformat() for time in expected(cron, zoneinfo.ZoneInfo(zone), after)])

    def test_random_expressions_are_due_when_systemd_says(self):
        chance = random.Random(58)
        base = datetime.datetime(2026, 2, 27, 22, 59, 58, tzinfo=UTC)
        questions, calendars = [], []
        while len(questions) < COUNT // 4:
            cron = random_cron(chance)
            minute, hour, day, month, weekday = cron.split()
            if weekday != "*" and day != "*":
                continue
            parts = [",".join(part.replace("-", "..") for part in field.replace("*/", f"{low}/").split(","))
                     for field, (low, _) in zip((minute, hour, day, month), FIELDS, strict=False)]
            days = [int(text) for text in re.findall(r"\d+", weekday)]
            if "/" in weekday:
                continue
            names = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
            if "-" in weekday:
                days = list(range(days[0], days[1] + 1))
            which = ",".join(names[one] for one in days)
            questions.append((cron, "UTC", base))
            calendars.append(f"{which} *-{parts[3]}-{parts[2]} {parts[1]}:{parts[0]}:00 UTC".strip())
        done = subprocess.run(["systemd-analyze", "calendar", f"--iterations={MANY}",
                               f"--base-time={base:%Y-%m-%d %H:%M:%S} UTC", *calendars],
                              capture_output=True, text=True, check=True, env={"TZ": "UTC", "PATH": "/usr/bin:/bin", "LC_ALL": "C"})
        told = [re.findall(r"(?:Next elapse|Iter(?:\.|ation) #\d): \w+ ([\d-]+ [\d:]+) UTC", part)
                for part in re.split(r"\n(?=Original form|Normalized form)", done.stdout)]
        told = [times for times in told if times]
        self.assertEqual(len(told), len(questions))
        for (cron, _, _), times, theirs in zip(questions, ask(questions), told, strict=True):
            with self.subTest(cron=cron):
                self.assertEqual([f"{time:%Y-%m-%d %H:%M:%S}" for time in times], theirs)


if __name__ == "__main__":
    TICKS = sys.argv[1]
    if len(sys.argv) > 2:
        COUNT = int(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
