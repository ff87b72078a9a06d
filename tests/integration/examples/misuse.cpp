/* misuse.cpp - what a program in C++17 does wrong with slotmq.hpp, and what it is told.
 *
 * usage: misuse REDIS
 *
 * Prints one line for each mistake.  The last one ends the process in a handler. */
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <slotmq/slotmq.hpp>

namespace
{

const char topic[] = "mistakes";

class failure : public std::exception
{
  public:
    explicit failure(std::string text) : text_(std::move(text))
    {
    }
    const char *what() const noexcept override
    {
        return text_.empty() ? nullptr : text_.c_str();
    }

  private:
    std::string text_;
};

void say(const char *what, const std::function<void()> &mistake)
{
    try {
        mistake();
        std::printf("%s: nothing was said\n", what);
    } catch (const slotmq::error &error) {
        std::printf("%s: %s: %s\n", what, smq_status_name(error.status()), error.what());
    }
}

/* Each try of a message answers or ends in its own way; the topic gives one retry. */
const std::vector<std::function<smq_verdict(slotmq::delivery &)>> ways = {
    [](auto &) -> smq_verdict { throw failure("\xff\xfe"); },
    [](auto &) -> smq_verdict { throw failure(std::string(1 << 20, '\x80')); },
    [](auto &) -> smq_verdict { throw failure(""); },
    [](auto &) -> smq_verdict { throw 5; },
    [](auto &) -> smq_verdict {
        try {
            throw 5;
        } catch (int) {
            std::throw_with_nested(std::runtime_error("outer"));
        }
    },
    [](auto &delivery) -> smq_verdict {
        delivery.retry(-77);
        return SMQ_DONE;
    },
    [](auto &delivery) -> smq_verdict {
        slotmq::delivery copy = delivery;

        copy.retry();
        throw std::runtime_error("after an answer");
    },
    [](auto &delivery) -> smq_verdict {
        delivery.reject();
        delivery.done();
        return SMQ_DONE;
    },
    [](auto &) { return static_cast<smq_verdict>(77); },
};

smq_consumer_options options(const char *name = topic)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;

    options.topic = name;
    return options;
}

void fail_in_each_way(slotmq::client &client)
{
    const size_t dead = ways.size();
    smq_consumer_options work = options();
    slotmq::producer producer(client);

    work.threads = 1;
    work.max_messages = static_cast<int64_t>(2 * dead - 1); /* a reject has no second try */
    for (size_t i = 0; i < dead; i++) {
        producer.send(topic, std::to_string(i));
    }
    slotmq::consumer consumer(client, work, [](slotmq::delivery &delivery) {
        return ways[std::stoul(std::string(delivery.body()))](delivery);
    });
    consumer.start();
    consumer.wait();
    const smq_stats stats = client.stats(topic);
    std::printf("dead %d of %d, claimed %d\n", static_cast<int>(stats.dead), static_cast<int>(dead),
                static_cast<int>(stats.claimed));
}

/* The second answer would be that of another message. */
void answer_twice(slotmq::client &client)
{
    smq_consumer_options poll = options();

    poll.max_in_flight = 1;
    slotmq::producer(client).send(topic, "a");
    slotmq::producer(client).send(topic, "b");
    slotmq::consumer consumer(client, poll);
    std::vector<slotmq::delivery> first = consumer.poll(1, SMQ_FOREVER);
    first[0].done();
    std::vector<slotmq::delivery> second = consumer.poll(1, SMQ_FOREVER);
    say("a second answer", [&] { first[0].done(); });
    say("a look after the answer", [&] { (void) first[0].body(); });
    second[0].reject();
    consumer.flush(SMQ_FOREVER);
    std::printf("done %d\n", static_cast<int>(client.stats(topic).done));
}

void use_what_was_moved(slotmq::client &client)
{
    say("an empty handler", [&] { slotmq::consumer(client, topic, slotmq::handler()).start(); });
    slotmq::consumer consumer(client, options());
    slotmq::producer producer(client);
    slotmq::consumer other(std::move(consumer));
    slotmq::producer another(std::move(producer));
    say("a consumer that was moved", [&] { consumer.start(); });
    say("a producer that was moved", [&] { producer.send(topic, "x"); });
}

/* The callable lives on, because it runs. */
void end_the_consumer_in_its_handler(slotmq::client &client)
{
    std::promise<std::string> told;
    std::unique_ptr<slotmq::consumer> consumer;
    const std::string text = "a text of the handler that does not fit into the function";

    consumer = std::make_unique<slotmq::consumer>(client, options(),
                                                  [&consumer, &told, text](slotmq::delivery &) {
                                                      consumer.reset();
                                                      told.set_value(text);
                                                      return SMQ_DONE;
                                                  });
    slotmq::producer(client).send(topic, "c");
    consumer->start();
    std::puts(told.get_future().get().c_str());
}

void exit_in_a_handler(slotmq::client &client)
{
    static std::unique_ptr<slotmq::consumer> consumer;

    client.create("exits");
    consumer = std::make_unique<slotmq::consumer>(
        client, options("exits"), [](slotmq::delivery &) -> smq_verdict { std::exit(3); });
    slotmq::producer(client).send("exits", "d");
    consumer->start();
    consumer->wait();
}

} // namespace

int main(int, char **argv)
{
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    static slotmq::client client(argv[1]);
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;

    options.name = topic;
    options.slots = 1;
    options.shared = true;
    options.backoff = "none";
    options.max_retries = 1;
    client.create(options);
    fail_in_each_way(client);
    answer_twice(client);
    use_what_was_moved(client);
    end_the_consumer_in_its_handler(client);
    exit_in_a_handler(client);
}
