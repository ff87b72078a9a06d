/* raii.cpp - the library from C++17: handles that free themselves, errors as exceptions, handlers
 * that are any callable, receipts as futures, hooks as an object.
 *
 * usage: raii REDIS */
#include <cstdio>
#include <future>
#include <stdexcept>
#include <string>

#include <slotmq/slotmq.hpp>

namespace
{

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

/* A tick of a schedule comes as any message. */
void tick_once(slotmq::client &client)
{
    smq_schedule schedule = SMQ_SCHEDULE_INIT;
    smq_message message = SMQ_MESSAGE_INIT;
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;

    message.body = slotmq::bytes("a newspaper");
    schedule.every_ms = 100;
    schedule.limit = 1;
    schedule.message = &message;
    options.topic = "errands";
    client.put_schedule("errands", "daily", schedule);
    slotmq::consumer consumer(client, options);
    for (slotmq::delivery &delivery : consumer.poll(1, SMQ_FOREVER)) {
        std::puts(std::string(delivery.body()).c_str());
        delivery.done();
    }
    consumer.flush(SMQ_FOREVER);
    client.remove_schedule("errands", "daily");
}

/* Hooks see each send and each message of a client. */
class signature : public slotmq::hooks
{
    void *send_begin(const smq_message_info &, smq_hook_headers &headers) noexcept override
    {
        smq_hook_headers_add(&headers, "from", smq_text("raii"), nullptr);
        return nullptr;
    }
};

void sign(const char *redis)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_consumer_options consume = SMQ_CONSUMER_OPTIONS_INIT;
    signature hooks;

    options.redis = redis;
    options.hooks = hooks.get();
    consume.topic = "errands";
    slotmq::client client(options);
    slotmq::producer(client).send("errands", "a pen");
    slotmq::consumer consumer(client, consume);
    for (slotmq::delivery &delivery : consumer.poll(1, SMQ_FOREVER)) {
        const std::string from(delivery.header("from").value_or("nobody"));

        std::puts((std::string(delivery.body()) + " from " + from).c_str());
        delivery.done();
    }
}

} // namespace

int main(int argc, char **argv)
{
    const char *const redis = argc > 1 ? argv[1] : "127.0.0.1:6379";

    try {
        slotmq::client client(redis);

        send_and_consume(client);
        fail_once(client);
        poll_one(client);
        tick_once(client);
        sign(redis);
        return 0;
    } catch (const slotmq::error &error) {
        std::fprintf(stderr, "raii: %s\n", error.what());
        return 1;
    }
}
