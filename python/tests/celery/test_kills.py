"""Workers that are killed, and masters that fail over, under load."""
import conftest
import kills
import pytest

SHORT = kills.Sizes(seconds=20, kills=8, failovers=0)
LONG = kills.Sizes(seconds=600, kills=40, failovers=3, queues=3)


def test_the_judge_counts_what_is_lost_early_and_repeated():
    sent = {1: 10.0, 2: 10.0, 3: 12.0, 4: 12.0}
    verdict = kills.judge(sent, 1, ["1 10.5", "1 11.0", "3 11.9", "4 12.0", "5 1.0"], 11.0)
    assert verdict == kills.Verdict(sent=4, refused=1, ran=3, again=1, lost=1, early=1, last_s=1.0)


@pytest.mark.long
def test_the_judge_finds_a_transport_that_answers_before_a_task_runs():
    verdict = kills.run_on_cluster(conftest.SANDBOX, SHORT, "early_ack:Transport")
    print(verdict)
    assert verdict.lost > 0 and verdict.early == 0, verdict


@pytest.mark.long
def test_killed_workers_and_failovers_lose_no_task_and_none_is_early():
    verdict = kills.run_on_cluster(conftest.SANDBOX, LONG)
    print(verdict)
    assert (verdict.lost, verdict.early) == (0, 0), verdict
    assert verdict.refused < verdict.sent / 100, verdict
