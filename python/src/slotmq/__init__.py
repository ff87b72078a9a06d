"""slotmq: message queues on Redis Cluster.  docs/python.md is the manual.

    with slotmq.Client("127.0.0.1:6379") as client:
        client.create("orders", shared=True)
        client.producer().send("orders", "two books", key="customer 7")

        @client.worker("orders", threads=8)
        def handle(delivery):
            print(delivery.body)

        client.run()
"""
from .client import Client, Topic
from .consumer import Consumer, Delivery, answer_done, answer_retry
from .errors import AnsweredError, Error, FatalError, LostError, RetryError, UnknownError, UsageError
from .producer import Producer
from .records import (BACKOFF, NONE, TOPIC_DELAY, Health, Message, Metrics, Receipt, Stats, StoredMessage,
                      TopicReport, Try)
from .worker import Reject, Release, Retry, Worker

__all__ = [
    "BACKOFF", "NONE", "TOPIC_DELAY",
    "AnsweredError", "Client", "Consumer", "Delivery", "Error", "FatalError", "Health", "LostError", "Message",
    "Metrics", "Producer", "Receipt", "Reject", "Release", "Retry", "RetryError", "Stats", "StoredMessage", "Topic",
    "TopicReport", "Try", "UnknownError", "UsageError", "Worker", "answer_done", "answer_retry",
]
