"""slotmq: message queues on Redis Cluster.  docs/python.md is the manual.

    with slotmq.Client("127.0.0.1:6379") as client:
        client.create("orders", shared=True)
        with client.producer() as producer:
            producer.send("orders", "two books", key="customer 7")

        @client.worker("orders", threads=8)
        def handle(delivery):
            print(delivery.body)

        client.run()
"""
from ._native import lib
from .client import Client, Topic
from .consumer import Consumer, Delivery, Limit, answer_done, answer_retry
from .errors import (AnsweredError, BadServer, Closed, Damaged, Denied, Duplicate, Error, FatalError, Fenced, Forked,
                     Full, Internal, Invalid, InWork, LeaseLost, LostError, NameTaken, NoMemory, NoMessage, NoSchedule,
                     NotEmpty, NoTopic, OtherFleet, RetryError, TimedOut, TooBig, TopicDiffers, Unavailable,
                     UnknownError, UsageError, WrongThread, WrongType)
from .producer import Producer
from .records import (BACKOFF, NONE, TOPIC_DELAY, Health, Message, Metrics, Receipt, Stats, StoredMessage,
                      TopicReport, Try)
from .schedules import Schedule, StoredSchedule
from .worker import Reject, Release, Retry, Worker

__version__ = f"{lib.SMQ_VERSION_MAJOR}.{lib.SMQ_VERSION_MINOR}.{lib.SMQ_VERSION_PATCH}"

__all__ = [
    "BACKOFF", "NONE", "TOPIC_DELAY",
    "AnsweredError", "BadServer", "Client", "Closed", "Consumer", "Damaged", "Delivery", "Denied", "Duplicate", "Error",
    "FatalError", "Fenced", "Forked", "Full", "Health", "InWork", "Internal", "Invalid", "LeaseLost", "Limit",
    "LostError", "Message", "Metrics", "NameTaken", "NoMemory", "NoMessage", "NoSchedule", "NoTopic", "NotEmpty",
    "OtherFleet", "Producer", "Receipt", "Reject", "Release", "Retry", "RetryError", "Schedule", "Stats",
    "StoredMessage", "StoredSchedule", "TimedOut", "TooBig", "Topic", "TopicDiffers", "TopicReport", "Try",
    "Unavailable", "UnknownError", "UsageError", "Worker", "WrongThread", "WrongType", "answer_done", "answer_retry",
]
