#!/usr/bin/env python3
"""The main job through ctypes: create a topic, send a message, consume it, answer it done.

A struct begins with its size, so that a binding may name the first fields only: the library takes
the others as 0.

usage: job.py LIBRARY REDIS
"""
import ctypes
import sys


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("len", ctypes.c_size_t)]


class Sized(ctypes.Structure):
    def __init__(self, *fields):
        super().__init__(ctypes.sizeof(self), *fields)


class ClientOptions(Sized):
    _fields_ = [("struct_size", ctypes.c_size_t), ("redis", ctypes.c_char_p)]


class TopicOptions(Sized):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p)]


class ConsumerOptions(Sized):
    _fields_ = [("struct_size", ctypes.c_size_t), ("topic", ctypes.c_char_p)]


class Message(Sized):
    _fields_ = [("struct_size", ctypes.c_size_t), ("body", Bytes)]


class MessageInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("topic", ctypes.c_char_p),
                ("slot", ctypes.c_int32), ("state", ctypes.c_int), ("body", Bytes)]


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 252)]


class Slotmq:
    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        self.library.smq_delivery_info.restype = ctypes.POINTER(MessageInfo)

    def call(self, name, *arguments):
        """Call a function whose last argument is the error, which is raised."""
        err = Error()
        if getattr(self.library, name)(*arguments, ctypes.byref(err)) != 0:
            raise RuntimeError(f"{name}: {err.text.decode()}")


def main():
    slotmq = Slotmq(sys.argv[1])
    library = slotmq.library
    client, producer, consumer = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    delivery, count = ctypes.c_void_p(), ctypes.c_size_t()
    body = b"two books"

    slotmq.call("smq_client_new", ctypes.byref(client),
                ctypes.byref(ClientOptions(sys.argv[2].encode())))
    slotmq.call("smq_topic_create", client, ctypes.byref(TopicOptions(b"scripted")), None)
    slotmq.call("smq_producer_new", ctypes.byref(producer), client, None)
    slotmq.call("smq_send", producer, b"scripted",
                ctypes.byref(Message(Bytes(body, len(body)))), None)
    slotmq.call("smq_consumer_new", ctypes.byref(consumer), client,
                ctypes.byref(ConsumerOptions(b"scripted")))
    slotmq.call("smq_consumer_poll", consumer, ctypes.byref(delivery), ctypes.c_size_t(1),
                ctypes.byref(count), ctypes.c_int64(60000))
    if count.value != 1:
        sys.exit("nothing was delivered")
    info = library.smq_delivery_info(delivery).contents
    print(info.topic.decode(), ctypes.string_at(info.body.data, info.body.len).decode())
    slotmq.call("smq_done", delivery)
    slotmq.call("smq_consumer_flush", consumer, ctypes.c_int64(60000))
    library.smq_consumer_free(consumer)
    library.smq_producer_free(producer)
    library.smq_client_free(client)


main()
