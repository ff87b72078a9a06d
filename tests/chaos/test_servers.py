#!/usr/bin/env python3
"""Which ends of a worker say that it could not begin, as opposed to a defect."""
import unittest

from servers import is_refusal


class Refusals(unittest.TestCase):
    def test_it_could_not_begin(self):
        for status, text in (
                ("SMQ_UNAVAILABLE", "cannot reach ZooKeeper at 10.77.0.17:2181"),
                ("SMQ_OTHER_FLEET", "the fence of topic jobs has to be raised"),
                ("SMQ_UNKNOWN", "cannot read topic fifo: 10.77.0.15:6379: no reply in time"),
                ("SMQ_UNKNOWN", "cannot consume topic fifo: 10.77.0.15:6379: no reply in time")):
            self.assertTrue(is_refusal(status, text), text)

    def test_it_ended_otherwise(self):
        for status, text in (
                ("SMQ_OK", "-"), ("SMQ_TIMED_OUT", "a handler has not ended"), (None, ""),
                ("SMQ_UNKNOWN", "it is not known whether its answer is stored"),
                ("SMQ_FENCED", "cannot read topic fifo")):
            self.assertFalse(is_refusal(status, text), text)


if __name__ == "__main__":
    unittest.main()
