"""Waiting for a condition, the only way in which a test may pass time."""
import time


def wait_until(condition, seconds, what):
    """Returns what the condition returned in the end."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"after {seconds} s still not: {what}")
        time.sleep(0.05)
    return found
