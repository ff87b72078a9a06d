/* raii.cpp - the library from C++17: handles that free themselves, errors as exceptions, handlers
 * that are any callable, receipts as futures.
 *
 * usage: raii REDIS */
#include <cstdio>
#include <future>
#include <stdexcept>
#include <string>

#include <slotmq/slotmq.hpp>

namespace {

void send_and_consume(slotmq::client &client)
{
    std::promise<std::string> errand;

    client.create("errands");
    slotmq::producer(client).send("errands", "two books");
    slotmq::consumer consumer(client, "errands", [&](slotmq::delivery &delivery) {
        errand.set_value(std::string(delivery.body()));
        return SMQ_DONE;
    });
    consumer.start();
    std::puts(errand.get_future().get().c_str());
    consumer.stop();
    consumer.wait();
}

/* The message is delivered again, because its handler throws the first time. */
void fail_once(slotmq::client &client)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;
    slotmq::producer producer(client);
    bool failed = false;

    options.topic = "errands";
    options.threads = 1;
    options.max_messages = 2;
    std::future<slotmq::receipt> receipt = producer.send_async("errands", "a map");
    slotmq::consumer consumer(client, options, [&](slotmq::delivery &delivery) {
        if (!failed) {
            failed = true;
            throw std::runtime_error("the shop is closed");
        }
        std::puts(std::string(delivery.body()).c_str());
        return SMQ_DONE;
    });
    consumer.start();
    consumer.wait();
    (void) receipt.get(); /* throws if the send has failed */
}

/* A poll on this thread; and what a mistake looks like. */
void poll_one(slotmq::client &client)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;

    options.topic = "errands";
    slotmq::producer(client).send("errands", "a lamp");
    slotmq::consumer consumer(client, options);
    for (slotmq::delivery &delivery : consumer.poll(1, SMQ_FOREVER)) {
        std::puts(std::string(delivery.body()).c_str());
        delivery.done();
    }
    consumer.flush(SMQ_FOREVER);
    try {
        consumer.start();
    } catch (const slotmq::usage_error &error) {
        std::puts(smq_status_name(error.status()));
    }
}

} // namespace

int main(int argc, char **argv)
{
    try {
        slotmq::client client(argc > 1 ? argv[1] : "127.0.0.1:6379");

        send_and_consume(client);
        fail_once(client);
        poll_one(client);
        return 0;
    } catch (const slotmq::error &error) {
        std::fprintf(stderr, "raii: %s\n", error.what());
        return 1;
    }
}
