/* raii.cpp - the library from C++11: handles that free themselves, errors as exceptions, and a
 * handler that is any callable.  No exception leaves a handler: it becomes a retry.
 *
 * usage: raii REDIS */
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <slotmq/slotmq.h>

namespace {

class Error : public std::runtime_error {
public:
    explicit Error(const smq_error &err) : std::runtime_error(err.text), status(err.status) {}

    const smq_status status;
};

/* Runs `call` with an smq_error, and throws what that says. */
template <typename Call> void check(Call call)
{
    smq_error err = SMQ_ERROR_INIT;

    if (call(&err) != SMQ_OK) {
        throw Error(err);
    }
}

struct Free {
    void operator()(smq_client *client) const { smq_client_free(client); }
    void operator()(smq_producer *producer) const { smq_producer_free(producer); }
    void operator()(smq_consumer *worker) const { smq_consumer_free(worker); }
};

using Client = std::unique_ptr<smq_client, Free>;
using Producer = std::unique_ptr<smq_producer, Free>;
using Worker = std::unique_ptr<smq_consumer, Free>;
using Handler = std::function<void(const std::string &body)>;

Client connect(const char *redis)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_client *client = nullptr;

    options.redis = redis;
    check([&](smq_error *err) { return smq_client_new(&client, &options, err); });
    return Client(client);
}

void create(const Client &client, const char *name)
{
    smq_topic_options topic = SMQ_TOPIC_OPTIONS_INIT;

    topic.name = name;
    check([&](smq_error *err) { return smq_topic_create(client.get(), &topic, nullptr, err); });
}

void send(const Client &client, const char *topic, const std::string &body)
{
    smq_message message = SMQ_MESSAGE_INIT;
    smq_producer *made = nullptr;

    check([&](smq_error *err) { return smq_producer_new(&made, client.get(), nullptr, err); });
    const Producer producer(made);
    message.body = smq_bytes{body.data(), body.size()};
    check([&](smq_error *err) {
        return smq_send(producer.get(), topic, &message, nullptr, err);
    });
}

smq_verdict call(smq_delivery *delivery, void *user)
{
    const smq_bytes body = smq_delivery_info(delivery)->body;

    try {
        (*static_cast<const Handler *>(user))(
            std::string(static_cast<const char *>(body.data), body.len));
        return SMQ_DONE;
    } catch (const std::exception &failure) {
        smq_retry(delivery, SMQ_BACKOFF, failure.what(), nullptr);
        return SMQ_ANSWERED;
    }
}

/* Handles `count` messages. */
void consume(const Client &client, const char *topic, int64_t count, Handler handler)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;
    smq_consumer *made = nullptr;

    options.topic = topic;
    options.handler = call;
    options.user = &handler;
    options.max_messages = count;
    check([&](smq_error *err) { return smq_consumer_new(&made, client.get(), &options, err); });
    const Worker worker(made); /* freed before `handler` */
    check([&](smq_error *err) { return smq_consumer_start(worker.get(), err); });
    check([&](smq_error *err) { return smq_consumer_wait(worker.get(), SMQ_FOREVER, err); });
}

} // namespace

int main(int argc, char **argv)
{
    try {
        const Client client = connect(argc > 1 ? argv[1] : "127.0.0.1:6379");
        create(client, "errands");
        send(client, "errands", "two books");
        consume(client, "errands", 1, [](const std::string &body) { std::puts(body.c_str()); });

        /* It is delivered again, because its first handler throws. */
        bool failed = false;
        send(client, "errands", "a map");
        consume(client, "errands", 2, [&](const std::string &body) {
            if (!failed) {
                failed = true;
                throw std::runtime_error("the shop is closed");
            }
            std::puts(body.c_str());
        });
        return 0;
    } catch (const Error &error) {
        std::fprintf(stderr, "raii: %s\n", error.what());
        return 1;
    }
}
