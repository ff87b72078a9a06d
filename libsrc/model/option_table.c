/* option_table.c - the table of options, and the defaults that are not constant.
 *
 * A field that is added to one of these structs gets a row here, one of smq_topic_options a row in
 * topic_rows.h; all else that knows options by name follows (docs/architecture.md).  A number and
 * its text are made from the same words of a row.
 *
 * Pure, except for the number of the machine's cores. */
#include <unistd.h>

#include <slotmq/slotmq.h>

#include "model/option.h"
#include "model/topic.h"

#define FIELD(struct_, set_, field)                                                                \
    .offset = offsetof(struct_, field), .size = sizeof(((struct_ *) NULL)->field),                 \
    .info.struct_size = sizeof(smq_option_info), .info.set = (set_), .info.name = #field
#define CLIENT(field)   FIELD(smq_client_options, SMQ_OPTION_SET_CLIENT, field)
#define TOPIC(field)    FIELD(smq_topic_options, SMQ_OPTION_SET_TOPIC, field)
#define PRODUCER(field) FIELD(smq_producer_options, SMQ_OPTION_SET_PRODUCER, field)
#define CONSUMER(field) FIELD(smq_consumer_options, SMQ_OPTION_SET_CONSUMER, field)

#define DIGITS_OF(number) #number
#define DIGITS(number)    DIGITS_OF(number)
#define THREADS_MAX       1024
#define PER_SLOT_MAX      1000
#define RATE_MAX          1000000000
#define BYTES_MAX         1099511627776 /* 2^40; also the limit of max_waiting */

/* Of priorities. */
#define UP_TO(number) "(from -" DIGITS(number) " to " DIGITS(number) ")"
#define ARRIVAL_RANGE UP_TO(TOPIC_PRIORITY_ARRIVAL)
#define BYTES_RANGE   UP_TO(TOPIC_PRIORITY_BYTES)

/* Durations are written as a number and its unit: (30, s). */
#define UNIT_ms INT64_C(1)
#define UNIT_s  INT64_C(1000)
#define UNIT_m  INT64_C(60000)
#define UNIT_d  INT64_C(86400000)

#define STRING_OF(type_)        .kind = OPTION_STRING, .info.type = (type_), .info.range = ""
#define STRING                  STRING_OF("string")
#define BACKOFF                 STRING_OF("back-off")
#define LIST                    STRING_OF("list")
#define OPERAND_OPTION_INTEGER  "N"
#define OPERAND_OPTION_DURATION "TIME"
#define OPERAND_OPTION_SIZE     "BYTES"
#define AMOUNT(kind_, type_, min_, max_, range_)                                                   \
    .kind = (kind_), .info.type = (type_), .min = (min_), .max = (max_), .info.range = range_,     \
    OPERAND(OPERAND_##kind_)
#define INTEGER(min, max)                                                                          \
    AMOUNT(OPTION_INTEGER, "integer", min, max, DIGITS(min) " .. " DIGITS(max))
#define INTEGER_OR_NONE(min, max)                                                                  \
    AMOUNT(OPTION_INTEGER, "integer", min, max, DIGITS(min) " .. " DIGITS(max) ", or none")
#define LASTS(min, min_text, max, unit, or_)                                                       \
    AMOUNT(OPTION_DURATION, "duration", min, (max) *UNIT_##unit, min_text " .. " #max #unit or_)
#define DURATION(min, min_unit, max, max_unit)                                                     \
    LASTS((min) *UNIT_##min_unit, #min #min_unit, max, max_unit, "")
#define DURATION_OR_NONE(min, min_unit, max, max_unit)                                             \
    LASTS((min) *UNIT_##min_unit, #min #min_unit, max, max_unit, ", or none")
#define TIME_OR_NONE(min, min_text)                                                                \
    AMOUNT(OPTION_DURATION, "duration", min, TOPIC_TIME_MAX_MS, min_text " .. 101806d, or none")
#define CHOICE(words, first, last)                                                                 \
    .kind = OPTION_CHOICE, .info.type = (words), .info.range = "", .min = (first), .max = (last)
#define SWITCH CHOICE("false|true", false, true), CHOSEN("false", false)

#define WORD(text, value)    .word = (text), .word_value = (value)
#define MEANING(name, value) .none_name = (name), .none = (value)
#define NONE                 WORD("none", SMQ_NONE), MEANING("SMQ_NONE", 0), SHOWN("none")
#define NO_LIMIT             WORD("none", 0), SHOWN("none") /* in the struct only by 0 */

#define SHOWN(text)           .info.default_value = (text)
#define DEFAULT(number)       .fallback = (number), SHOWN(DIGITS(number))
#define LASTING(number, unit) .fallback = (number) *UNIT_##unit, SHOWN(#number #unit)
#define CHOSEN(word, value)   .fallback = (value), SHOWN(word)
#define MADE(function, text)  .choose = (function), SHOWN(text)
#define TEXT(text_)           .info.text = (text_)

/* Of topics: the field in struct topic, and how a definition has it. */
#define AS_FIELD(field)        .topic = offsetof(struct topic, field)
#define FIXED                  .info.fixed = true
#define PLACES(stored_, shown) .stored = (stored_), .info.place = (shown)
#define OPERAND(text)          .info.operand = (text)
#define SINCE(version)         .info.since = (version)

/* Of consumers: which form a field is for. */
#define HANDLERS .applies = option_has_handlers, .owner = "consumers with handler or batch"
#define POLLED   .applies = option_is_polled, .owner = "consumers without handler and batch"

/* === Defaults that depend on the machine or on other options ============ */

static int64_t option_cores(const void *options)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    (void) options;
    return cores > 0 && cores <= THREADS_MAX ? cores : 1;
}

static bool option_has_handlers(const void *options)
{
    const smq_consumer_options *consumer = options;

    return consumer->handler != NULL || consumer->batch != NULL;
}

static bool option_is_polled(const void *options)
{
    return !option_has_handlers(options);
}

/* Ten batches for each thread. */
static int64_t option_in_flight(const void *options)
{
    const smq_consumer_options *consumer = options;

    return option_has_handlers(options) ? INT64_C(10) * consumer->threads * consumer->batch_size
                                        : 1000;
}

static int64_t option_layout(const void *options)
{
    const smq_topic_options *topic = options;

    return topic->type == SMQ_TYPE_FIFO ? SMQ_LAYOUT_KEYED : SMQ_LAYOUT_INLINE;
}

static int64_t option_body(const void *options)
{
    return topic_default_body(((const smq_topic_options *) options)->layout);
}

/* An option is read and written with the size that its field has in both structs. */
#define TOPIC_OPTION(type, name, ...)                                                              \
    _Static_assert(sizeof(((smq_topic_options *) NULL)->name) == sizeof(type), #name);
#define TOPIC_TEXT(name, ...)
#include "model/topic_rows.h"

/* === The table ========================================================== */

const struct option option_table[] = {
    {CLIENT(redis), STRING, SHOWN(""),
     TEXT("Addresses of Redis: host:port,... or redis://user:password@host:port,..., for TLS "
          "rediss://... (default port 6379), or a Unix socket: /path; required.")},
    {CLIENT(zookeeper), STRING, SHOWN("none"),
     TEXT("Addresses of ZooKeeper and the root of the fleet: host:port,.../root (default port "
          "2181, default root /slotmq).")},
    {CLIENT(zookeeper_auth), STRING, SHOWN("none"),
     TEXT("Credentials for ZooKeeper: user:password.")},
    {CLIENT(name), STRING, SHOWN("host-pid-random"),
     TEXT("Name of this member of the fleet; a fixed name gets its slots back.")},
    {CLIENT(connect_timeout_ms), DURATION(10, ms, 10, m), LASTING(5, s),
     TEXT("How long to try to connect to Redis.")},
    {CLIENT(request_timeout_ms), DURATION(10, ms, 10, m), LASTING(3, s),
     TEXT("How long to wait for the reply to one command.")},
    {CLIENT(session_timeout_ms), DURATION(10, ms, 10, m), LASTING(10, s),
     TEXT("How long a fleet waits for a silent member before it counts as dead.")},
    {CLIENT(on_coordination_loss),
     CHOICE("continue|stop", SMQ_COORDINATION_LOSS_CONTINUE, SMQ_COORDINATION_LOSS_STOP),
     CHOSEN("continue", SMQ_COORDINATION_LOSS_CONTINUE),
     TEXT("What owners of slots do while ZooKeeper, or the tree of the fleet in Redis, is away.")},
    {CLIENT(tls_ca), STRING, SHOWN("the system's"),
     TEXT("TLS: file of PEM certificates that are trusted, or a folder of them with names made by "
          "openssl rehash.")},
    {CLIENT(tls_cert), STRING, SHOWN("none"), TEXT("TLS: file of the client's PEM certificate.")},
    {CLIENT(tls_key), STRING, SHOWN("none"),
     TEXT("TLS: file of the client's private key, PEM without a passphrase.")},
    {CLIENT(tls_name), STRING, SHOWN("the host"),
     TEXT("TLS: name that the certificates of the servers must have.")},
    {CLIENT(redis_password_file), STRING, SHOWN("none"),
     TEXT("File whose first line is the password of Redis; it is followed when it changes.")},
    {CLIENT(zookeeper_auth_file), STRING, SHOWN("none"),
     TEXT("File whose first line is zookeeper_auth.")},
    {CLIENT(event_level), CHOICE("error|warn|info|debug|trace", SMQ_LEVEL_ERROR, SMQ_LEVEL_TRACE),
     CHOSEN("info", SMQ_LEVEL_INFO), TEXT("Events below this level are not reported.")},
    {CLIENT(poll_events), SWITCH,
     TEXT("Events wait until they are polled, instead of being given to a callback.")},
    {CLIENT(coordination), CHOICE("auto|redis", SMQ_COORDINATION_AUTO, SMQ_COORDINATION_REDIS),
     CHOSEN("auto", SMQ_COORDINATION_AUTO),
     TEXT("Who owns which slot is agreed on in Redis, or with auto in ZooKeeper if its addresses "
          "are given.")},
    {CLIENT(root), STRING, SHOWN("/slotmq"),
     TEXT("Root of the fleet, if it is in Redis: one for each application.")},

#define TOPIC_OPTION(type, name, ...) {TOPIC(name), AS_FIELD(name), __VA_ARGS__},
#define TOPIC_TEXT(name, ...)         {TOPIC(name), __VA_ARGS__},
#include "model/topic_rows.h"

    {PRODUCER(replicas), INTEGER(0, TOPIC_REPLICAS_MAX), DEFAULT(0),
     TEXT("Replicas that must have a message before its send is done.")},
    {PRODUCER(send_timeout_ms), DURATION(1, ms, 1, d), LASTING(10, s),
     TEXT("How long a send may take with all its repeats.")},
    {PRODUCER(no_repeat), SWITCH, TEXT("Do not repeat a send whose reply was lost.")},
    {PRODUCER(max_pending), INTEGER(1, 1000000000), DEFAULT(100000),
     TEXT("Sends that may wait for their receipt.")},
    {PRODUCER(max_pending_bytes),
     AMOUNT(OPTION_SIZE, "size", 1, BYTES_MAX, "1 .. " DIGITS(BYTES_MAX)), DEFAULT(67108864),
     TEXT("Bytes of their bodies, keys and ids.")},
    {PRODUCER(full_timeout_ms), LASTS(0, "0", 1, d, ", or forever"), DEFAULT(0),
     WORD("forever", SMQ_FOREVER), MEANING("SMQ_FOREVER", SMQ_FOREVER),
     TEXT("How long an asynchronous send waits for room among them.")},
    {PRODUCER(linger_ms), LASTS(0, "0", 2, m, ""), MEANING("SMQ_NONE", 0), LASTING(2, ms),
     TEXT("No asynchronous send waits longer for others, so that they go together: a quarter of "
          "this at most, and less when few come.")},
    {PRODUCER(poll_receipts), SWITCH,
     TEXT("Receipts of asynchronous sends without a callback wait until they are polled.")},

    {CONSUMER(topic), STRING, SHOWN(""), TEXT("The topic to consume; required.")},
    {CONSUMER(threads), HANDLERS, INTEGER(1, THREADS_MAX), MADE(option_cores, "number of cores"),
     TEXT("With handlers: those that run at the same time, and the weight of this member.")},
    {CONSUMER(batch_size), HANDLERS, INTEGER(1, 1000), DEFAULT(100),
     TEXT("With handlers: messages claimed from a slot in one call.")},
    {CONSUMER(max_messages), HANDLERS,
     AMOUNT(OPTION_INTEGER, "integer", 1, INT64_MAX, "at least 1, or none"), NO_LIMIT,
     TEXT("With handlers: stop after this number of answered messages, and never claim more.")},
    {CONSUMER(weight), POLLED, INTEGER(1, THREADS_MAX), DEFAULT(1),
     TEXT("Polled: this member's share of the slots, relative to the weights of others.")},
    {CONSUMER(per_slot), POLLED, INTEGER(1, PER_SLOT_MAX), DEFAULT(1000),
     TEXT("Polled: messages of one slot that may be polled and not yet answered.")},
    {CONSUMER(max_poll_gap_ms), POLLED, DURATION(100, ms, 1, d), LASTING(5, m),
     TEXT("Polled: after this time without a poll, the slots move to others.")},
    {CONSUMER(max_in_flight), INTEGER(1, 2147483647),
     MADE(option_in_flight, "10 * threads * batch_size; polled 1000"),
     TEXT("Messages claimed and not yet answered, also those that no handler or poll has taken.")},
    {CONSUMER(rate_per_s), INTEGER_OR_NONE(1, RATE_MAX), NO_LIMIT,
     TEXT("Messages per second that the consumer claims.")},
    {CONSUMER(handler_timeout_ms), DURATION_OR_NONE(1, ms, 1, d), NO_LIMIT,
     TEXT("How long an answer may take; then the slot continues without it.")},
    {CONSUMER(drain_timeout_ms), LASTS(0, "0", 1, d, ""), MEANING("SMQ_NONE", 0), LASTING(30, s),
     TEXT("How long handlers and answers may take when the consumer stops or a slot moves.")},
    {CONSUMER(push_slots), INTEGER(0, 65536), MEANING("SMQ_NONE", 0), DEFAULT(64),
     TEXT("Idle slots into which sends may push messages at once.")},
    {CONSUMER(linger_ms), LASTS(0, "0", 2, m, ""), MEANING("SMQ_NONE", 0), LASTING(2, ms),
     TEXT("No claim and no answer waits longer for others, so that they go together; while "
          "messages wait, a quarter of this at most, and less when few come.")},
};
const size_t option_count = sizeof(option_table) / sizeof(option_table[0]);
