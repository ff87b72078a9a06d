/* slotmq.hpp - the library from C++17: handles that free themselves, errors as exceptions, handlers
 * that are any callable, receipts as futures, and hooks as an object.  Structs and options are
 * those of the C headers.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause
 *
 * The rules of slotmq.h hold.  A function throws what its C function returns, as one of the
 * exceptions below.  Handles can be moved and not copied, and end in any order.  A consumer that
 * ends in its own handler, as by exit() there, is only stopped.  Nothing of this header is in the
 * library, so a program may have another compiler than that. */
#ifndef SLOTMQ_SLOTMQ_HPP
#define SLOTMQ_SLOTMQ_HPP

#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <slotmq/slotmq.h>

namespace slotmq
{

/* === Errors ============================================================= */

/* What a failed call says.  The class below says what to do, as smq_class. */
class error : public std::runtime_error
{
  public:
    error(smq_status status, const char *text) : std::runtime_error(text), status_(status)
    {
    }

    smq_status status() const noexcept
    {
        return status_;
    }

  private:
    smq_status status_;
};

/* Correct the program or the set-up. */
class usage_error : public error
{
    using error::error;
};
/* Nothing was done: repeat the call later. */
class retry_error : public error
{
    using error::error;
};
/* It may have been done. */
class unknown_error : public error
{
    using error::error;
};
/* The message belongs to another consumer now. */
class lost_error : public error
{
    using error::error;
};
/* Free the handle and make a new one. */
class fatal_error : public error
{
    using error::error;
};

/* The exception of a status that is not SMQ_OK. */
inline std::exception_ptr make_error(smq_status status, const char *text)
{
    switch (smq_status_class(status)) {
    case SMQ_CLASS_USAGE:
        return std::make_exception_ptr(usage_error(status, text));
    case SMQ_CLASS_RETRY:
        return std::make_exception_ptr(retry_error(status, text));
    case SMQ_CLASS_UNKNOWN:
        return std::make_exception_ptr(unknown_error(status, text));
    case SMQ_CLASS_ABORT:
        return std::make_exception_ptr(lost_error(status, text));
    default:
        return std::make_exception_ptr(fatal_error(status, text));
    }
}

/* Call a function of the C interface with `arguments` and an smq_error, and throw what it says. */
template <typename Function, typename... Arguments>
void check(Function function, Arguments... arguments)
{
    smq_error err = SMQ_ERROR_INIT;
    const smq_status status = function(arguments..., &err);

    if (status != SMQ_OK) {
        std::rethrow_exception(make_error(status, err.text));
    }
}

/* === Bytes ============================================================== */

/* The bytes are borrowed, as everywhere. */
inline smq_bytes bytes(std::string_view text)
{
    return smq_bytes{text.data(), text.size()};
}

inline std::string_view view(smq_bytes bytes)
{
    return std::string_view(static_cast<const char *>(bytes.data), bytes.len);
}

/* === Deliveries ========================================================= */

/* A delivery, which its handler or its poller answers once.  After that it throws usage_error.  It
 * is borrowed and may be copied; after the answer no copy may be used. */
class delivery
{
  public:
    explicit delivery(smq_delivery *handle) : handle_(handle)
    {
    }

    const smq_message_info &info() const
    {
        return *smq_delivery_info(open());
    }
    std::string_view body() const
    {
        return view(info().body);
    }
    std::string_view key() const
    {
        return view(info().key);
    }
    /* Its header of that name, if it has one. */
    std::optional<std::string_view> header(const char *name) const
    {
        const smq_header *const found = smq_header_get(&info(), name);

        return found != nullptr ? std::make_optional(view(found->value)) : std::nullopt;
    }

    void done()
    {
        check(smq_done, take());
    }
    void retry(int64_t delay_ms = SMQ_BACKOFF, const char *reason = nullptr)
    {
        check(smq_retry, take(), delay_ms, reason);
    }
    void reject(const char *reason = nullptr)
    {
        check(smq_reject, take(), reason);
    }
    void release(int64_t delay_ms = 0)
    {
        check(smq_release, take(), delay_ms);
    }
    void extend(int64_t lease_ms)
    {
        check(smq_extend, open(), lease_ms);
    }

    smq_delivery *get() const noexcept
    {
        return handle_;
    }

  private:
    smq_delivery *open() const
    {
        if (handle_ == nullptr) {
            throw usage_error(SMQ_INVALID, "the delivery was answered before");
        }
        return handle_;
    }
    smq_delivery *take()
    {
        smq_delivery *const taken = open();

        handle_ = nullptr;
        return taken;
    }

    smq_delivery *handle_; /* NULL after the answer */
};

/* === Hooks ============================================================== */

/* Hooks as the functions of an object; slotmq/hooks.h says when each runs, and on which thread.
 * Override those you need, and give get() to smq_client_options.hooks.  The object outlives the
 * client, its handles and its deliveries. */
class hooks
{
  public:
    hooks() = default;
    hooks(const hooks &) = delete;
    hooks &operator=(const hooks &) = delete;
    virtual ~hooks() = default;

    virtual void *send_begin(const smq_message_info & /* message */,
                             smq_hook_headers & /* headers */) noexcept
    {
        return nullptr;
    }
    virtual void send_end(const smq_message_info & /* message */, const smq_receipt & /* receipt */,
                          void * /* span */) noexcept
    {
    }
    virtual void *process_begin(const smq_message_info & /* message */) noexcept
    {
        return nullptr;
    }
    virtual void process_end(const smq_message_info & /* message */, smq_verdict /* verdict */,
                             void * /* span */) noexcept
    {
    }
    virtual void settled(const smq_message_info & /* message */,
                         const smq_settlement & /* settlement */) noexcept
    {
    }

    const smq_hooks *get() const noexcept
    {
        return &table_;
    }

  private:
    static hooks &of(void *user)
    {
        return *static_cast<hooks *>(user);
    }

    static smq_hooks table(hooks *self)
    {
        smq_hooks table = SMQ_HOOKS_INIT;

        table.send_begin = [](const smq_message_info *message, smq_hook_headers *headers,
                              void *user) { return of(user).send_begin(*message, *headers); };
        table.send_end = [](const smq_message_info *message, const smq_receipt *receipt, void *span,
                            void *user) { of(user).send_end(*message, *receipt, span); };
        table.process_begin = [](const smq_message_info *message, void *user) {
            return of(user).process_begin(*message);
        };
        table.process_end = [](const smq_message_info *message, smq_verdict verdict, void *span,
                               void *user) { of(user).process_end(*message, verdict, span); };
        table.settled = [](const smq_message_info *message, const smq_settlement *settlement,
                           void *user) { of(user).settled(*message, *settlement); };
        table.user = self;
        return table;
    }

    const smq_hooks table_ = table(this);
};

/* === Clients ============================================================ */

class client
{
  public:
    explicit client(const smq_client_options &options)
    {
        smq_client *made = nullptr;

        check(smq_client_new, &made, &options);
        handle_.reset(made);
    }

    /* With the addresses of Redis and of ZooKeeper; all other options have their defaults. */
    explicit client(const char *redis, const char *zookeeper = nullptr)
        : client(addresses(redis, zookeeper))
    {
    }

    /* Make a topic, unless an equal one exists. */
    void create(const smq_topic_options &topic)
    {
        smq_topic_report *const no_report = nullptr;

        check(smq_topic_create, handle_.get(), &topic, no_report);
    }

    void create(const char *name)
    {
        smq_topic_options topic = SMQ_TOPIC_OPTIONS_INIT;

        topic.name = name;
        create(topic);
    }

    smq_stats stats(const char *topic) const
    {
        smq_stats stats = SMQ_STATS_INIT;

        check(smq_topic_stats, handle_.get(), topic, &stats);
        return stats;
    }

    smq_schedule_change put_schedule(const char *topic, const char *id,
                                     const smq_schedule &schedule)
    {
        smq_schedule_change change = SMQ_SCHEDULE_SAME;

        check(smq_schedule_put, handle_.get(), topic, id, &schedule, &change);
        return change;
    }

    void remove_schedule(const char *topic, const char *id)
    {
        check(smq_schedule_remove, handle_.get(), topic, id);
    }

    smq_client *get() const noexcept
    {
        return handle_.get();
    }

  private:
    static smq_client_options addresses(const char *redis, const char *zookeeper)
    {
        smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;

        options.redis = redis;
        options.zookeeper = zookeeper;
        return options;
    }

    struct free {
        void operator()(smq_client *handle) const
        {
            smq_client_free(handle);
        }
    };
    std::unique_ptr<smq_client, free> handle_;
};

/* === Producers ========================================================== */

/* What is known of a send. */
struct receipt {
    int32_t slot = -1;
    bool merged = false;
    std::string id; /* that the library made; "" if it made none */

    explicit receipt(const smq_receipt &from) : slot(from.slot), merged(from.merged), id(from.id)
    {
    }
};

class producer
{
  public:
    explicit producer(client &from, const smq_producer_options *options = nullptr)
    {
        smq_producer *made = nullptr;

        check(smq_producer_new, &made, from.get(), options);
        handle_.reset(made);
    }

    /* Send and wait until the message is stored. */
    receipt send(const char *topic, const smq_message &message)
    {
        smq_receipt out = {};

        check(smq_send, handle_.get(), topic, &message, &out);
        return receipt(out);
    }

    receipt send(const char *topic, std::string_view body)
    {
        return send(topic, message_of(body));
    }

    /* Send without waiting.  The future gets the receipt, or the exception of the send; it need not
     * be kept.  The call itself throws when the send was not begun. */
    std::future<receipt> send_async(const char *topic, const smq_message &message)
    {
        auto promise = std::make_unique<std::promise<receipt>>();
        std::future<receipt> future = promise->get_future();

        check(smq_send_async, handle_.get(), topic, &message, &producer::sent,
              static_cast<void *>(promise.get()));
        (void) promise.release(); /* sent() has it now */
        return future;
    }

    std::future<receipt> send_async(const char *topic, std::string_view body)
    {
        return send_async(topic, message_of(body));
    }

    void flush(int64_t timeout_ms = SMQ_FOREVER)
    {
        check(smq_producer_flush, handle_.get(), timeout_ms);
    }

    smq_producer *get() const noexcept
    {
        return handle_.get();
    }

  private:
    struct free {
        void operator()(smq_producer *handle) const
        {
            smq_producer_free(handle);
        }
    };

    static smq_message message_of(std::string_view body)
    {
        smq_message message = SMQ_MESSAGE_INIT;

        message.body = bytes(body);
        return message;
    }

    static void sent(const smq_receipt *out, void *user)
    {
        const std::unique_ptr<std::promise<receipt>> promise(
            static_cast<std::promise<receipt> *>(user));

        if (out->status == SMQ_OK) {
            promise->set_value(receipt(*out));
        } else {
            promise->set_exception(make_error(out->status, out->text != nullptr ? out->text : ""));
        }
    }

    std::unique_ptr<smq_producer, free> handle_;
};

/* === Consumers ========================================================== */

/* How many deliveries several consumers may have unanswered together: get() is the field `limit` of
 * their options. */
class limit
{
  public:
    limit(client &from, int32_t most)
    {
        smq_limit *made = nullptr;

        check(smq_limit_new, &made, from.get(), most);
        handle_.reset(made);
    }

    void set(int32_t most)
    {
        check(smq_limit_set, handle_.get(), most);
    }

    smq_limit *get() const noexcept
    {
        return handle_.get();
    }

  private:
    struct free {
        void operator()(smq_limit *handle) const
        {
            smq_limit_free(handle);
        }
    };

    std::unique_ptr<smq_limit, free> handle_;
};

/* A handler returns its verdict.  An exception that leaves it becomes a retry, whose reason is the
 * text of the exception; so nothing is thrown into the library. */
using handler = std::function<smq_verdict(delivery &)>;

class consumer
{
  public:
    /* With a handler: start() begins.  The fields `handler`, `batch` and `user` of the options are
     * set here. */
    consumer(client &from, smq_consumer_options options, handler call)
        : call_(std::make_unique<handler>(std::move(call)))
    {
        if (!*call_) {
            throw usage_error(SMQ_INVALID, "the handler is empty");
        }
        options.handler = &consumer::handle;
        options.batch = nullptr;
        options.user = call_.get();
        make(from, options);
    }

    consumer(client &from, const char *topic, handler call)
        : consumer(from, options_of(topic), std::move(call))
    {
    }

    /* The running handlers of a consumer that is assigned to end before their callable does. */
    consumer(consumer &&other) noexcept = default;
    consumer &operator=(consumer &&other) noexcept
    {
        keep_running();
        handle_ = std::move(other.handle_);
        call_ = std::move(other.call_);
        return *this;
    }
    ~consumer()
    {
        keep_running();
    }

    /* Without one: poll() it. */
    consumer(client &from, const smq_consumer_options &options)
    {
        make(from, options);
    }

    void start()
    {
        check(smq_consumer_start, handle_.get());
    }

    /* At most `capacity` deliveries; with 0 a sign of life.  An empty vector: none came in time.
     * Throws fatal_error with SMQ_CLOSED after a stop. */
    std::vector<delivery> poll(size_t capacity, int64_t timeout_ms)
    {
        std::vector<smq_delivery *> out(capacity);
        std::vector<delivery> deliveries;
        size_t count = 0;

        deliveries.reserve(capacity);
        check(smq_consumer_poll, handle_.get(), out.data(), capacity, &count, timeout_ms);
        for (size_t i = 0; i < count; i++) {
            deliveries.emplace_back(out[i]);
        }
        return deliveries;
    }

    int fd() const
    {
        return smq_consumer_fd(handle_.get());
    }
    void flush(int64_t timeout_ms)
    {
        check(smq_consumer_flush, handle_.get(), timeout_ms);
    }
    void set_max_in_flight(int32_t most)
    {
        check(smq_consumer_set_max_in_flight, handle_.get(), most);
    }
    void stop() noexcept
    {
        smq_consumer_stop(handle_.get());
    }
    void wait(int64_t timeout_ms = SMQ_FOREVER)
    {
        check(smq_consumer_wait, handle_.get(), timeout_ms);
    }

    smq_consumer *get() const noexcept
    {
        return handle_.get();
    }

  private:
    struct free {
        void operator()(smq_consumer *handle) const
        {
            smq_consumer_free(handle);
        }
    };

    static smq_verdict handle(smq_delivery *given, void *user)
    {
        const char *reason = "the handler has thrown what is no std::exception";

        try {
            delivery taken(given);
            return (*static_cast<const handler *>(user))(taken);
        } catch (const std::exception &failure) {
            smq_retry(given, SMQ_BACKOFF, failure.what(), nullptr);
        } catch (...) {
            smq_retry(given, SMQ_BACKOFF, reason, nullptr);
        }
        return SMQ_ANSWERED;
    }

    /* A callable that runs below this call stays. */
    void keep_running() noexcept
    {
        if (smq_consumer_wait(handle_.get(), 0, nullptr) == SMQ_WRONG_THREAD) {
            (void) call_.release();
        }
    }

    static smq_consumer_options options_of(const char *topic)
    {
        smq_consumer_options options = SMQ_CONSUMER_OPTIONS_INIT;

        options.topic = topic;
        return options;
    }

    void make(client &from, const smq_consumer_options &options)
    {
        smq_consumer *made = nullptr;

        check(smq_consumer_new, &made, from.get(), &options);
        handle_.reset(made);
    }

    std::unique_ptr<handler> call_;              /* its address stays when the consumer is moved */
    std::unique_ptr<smq_consumer, free> handle_; /* freed first */
};

} // namespace slotmq

#endif /* SLOTMQ_SLOTMQ_HPP */
