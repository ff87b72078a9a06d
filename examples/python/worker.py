#!/usr/bin/env python3
"""A worker: 8 threads handle orders; what fails for a while comes again, what can never succeed becomes a dead letter.

usage: worker.py REDIS [ZOOKEEPER]

Start as many as you like, and end them with SIGTERM: handlers that run end first.
"""
import logging
import sys

import slotmq

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
client = slotmq.Client(sys.argv[1], zookeeper=sys.argv[2] if sys.argv[2:] else None)
client.create("orders", shared=True, max_retries=5)


@client.worker("orders", threads=8)
def handle(delivery):
    order = delivery.body.decode()
    if not order:
        raise slotmq.Reject("an order for nothing")
    if order == "too early" and delivery.attempt == 1:
        raise slotmq.Retry("the shop is closed", delay_ms=10)
    print(f"{delivery.key.decode()}: {order}", flush=True)


with client:
    client.run()
