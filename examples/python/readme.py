#!/usr/bin/env python3
"""Send a message, and handle it.

usage: readme.py REDIS
"""
import sys

import slotmq

with slotmq.Client(sys.argv[1]) as client:
    client.create("orders", shared=True)
    with client.producer() as producer:
        producer.send("orders", "two books", key="customer 7")

    @client.worker("orders")
    def handle(delivery):
        print(delivery.body.decode())
        client.stop()

    client.run()
