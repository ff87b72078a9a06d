/* option_table.c - every option that has a name: what it may be, and where it is stored.
 *
 * A field that is added to one of these structs gets a row here; smq_option_parse(), the flags of
 * the command and docs/CONFIGURATION.md follow.  The ranges are those that the library checks when
 * the struct is used.
 *
 * Pure. */
#include "client/option_table.h"

#include <slotmq/slotmq.h>

#define FIELD(struct_, set_, field)                                                                \
    .offset = offsetof(struct_, field), .size = sizeof(((struct_ *) NULL)->field),                 \
    .info.struct_size = sizeof(smq_option_info), .info.set = (set_), .info.name = #field
#define CLIENT(field)   FIELD(smq_client_options, SMQ_OPTIONS_CLIENT, field)
#define TOPIC(field)    FIELD(smq_topic_options, SMQ_OPTIONS_TOPIC, field)
#define PRODUCER(field) FIELD(smq_producer_options, SMQ_OPTIONS_PRODUCER, field)
#define WORKER(field)   FIELD(smq_worker_options, SMQ_OPTIONS_WORKER, field)
#define CONSUMER(field) FIELD(smq_consumer_options, SMQ_OPTIONS_CONSUMER, field)

#define STRING .kind = OPTION_STRING, .info.type = "string", .info.range = ""
#define INTEGER(min_, max_, range_)                                                                \
    .kind = OPTION_INTEGER, .info.type = "integer", .min = (min_), .max = (max_),                  \
    .info.range = (range_)
#define DURATION(min_, max_, range_)                                                               \
    .kind = OPTION_DURATION, .info.type = "duration", .min = (min_), .max = (max_),                \
    .info.range = (range_)
#define CHOICE(words, first_)                                                                      \
    .kind = OPTION_CHOICE, .info.type = (words), .info.range = "", .first = (first_)
#define SWITCH            CHOICE("false|true", false)
#define WORD(text, value) .word = (text), .word_value = (value)
#define DEFAULT(text)     .info.default_value = (text)
#define TEXT(text_)       .info.text = (text_)

#define SECOND   INT64_C(1000)
#define DAY      (86400 * SECOND)
#define MEBIBYTE INT64_C(1048576)
#define TIME_MAX (INT64_C(1) << 43)

const struct option option_table[] = {
    {CLIENT(redis), STRING, DEFAULT(""),
     TEXT("Where Redis is, as host:port,... or redis://user:password@host:port,...; required.")},
    {CLIENT(zookeeper), STRING, DEFAULT("none"),
     TEXT("Where ZooKeeper is, and the root of the link, as host:port,.../root.")},
    {CLIENT(zookeeper_auth), STRING, DEFAULT("none"),
     TEXT("Credentials for ZooKeeper: user:password.")},
    {CLIENT(name), STRING, DEFAULT("host-pid-random"),
     TEXT("Name of this member of the fleet; a fixed name gets its slots back.")},
    {CLIENT(connect_timeout_ms), DURATION(10, 600 * SECOND, "10ms .. 10m"), DEFAULT("5s"),
     TEXT("How long to try to connect to Redis.")},
    {CLIENT(request_timeout_ms), DURATION(10, 600 * SECOND, "10ms .. 10m"), DEFAULT("3s"),
     TEXT("How long to wait for the reply to one command.")},
    {CLIENT(session_timeout_ms), DURATION(10, 600 * SECOND, "10ms .. 10m"), DEFAULT("10s"),
     TEXT("How long ZooKeeper waits for a silent member before it takes it for dead.")},
    {CLIENT(on_zk_loss), CHOICE("continue|stop", SMQ_ZK_LOSS_CONTINUE), DEFAULT("continue"),
     TEXT("What owners of slots do while ZooKeeper is away.")},
    {CLIENT(event_level), CHOICE("error|warn|info|debug|trace", SMQ_LEVEL_ERROR), DEFAULT("info"),
     TEXT("Events below this level are not told.")},

    {TOPIC(type), CHOICE("range_merge|priority|fixed_time|fifo", SMQ_RANGE_MERGE), DEFAULT(""),
     TEXT("What decides which message comes first; required.")},
    {TOPIC(layout), CHOICE("inline|keyed", SMQ_INLINE), DEFAULT("inline (fifo keyed)"),
     TEXT("What identifies a message: its key and body, or its key and id; fifo needs keyed.")},
    {TOPIC(slots), INTEGER(1, 65536, "1 .. 65536"), DEFAULT("64"),
     TEXT("Parts of the topic, a power of two.")},
    {TOPIC(shared), SWITCH, DEFAULT("false"),
     TEXT("Slots have no owners, and messages of one key are not handled one at a time.")},
    {TOPIC(ties), CHOICE("arrival|bytes", SMQ_TIES_ARRIVAL), DEFAULT("arrival"),
     TEXT("Which of equal priorities comes first: the first sent, or the larger bytes.")},
    {TOPIC(max_retries), INTEGER(0, 63, "0 .. 63, or none"), WORD("none", SMQ_NONE),
     .zero = SMQ_NONE, DEFAULT("16"), TEXT("Retries before a message is dead.")},
    {TOPIC(backoff), STRING, DEFAULT("exp:1000:600000"),
     TEXT("Rest after a failure, as none, fixed:MS, exp:MS:MAX (full jitter) or ladder:MS,MS,MS.")},
    {TOPIC(lease_ms), DURATION(100, DAY, "100ms .. 1d"), DEFAULT("30s"),
     TEXT("How long a claim lives without being renewed.")},
    {TOPIC(delay_ms), DURATION(0, TIME_MAX, "0 .. 101806d, or none"), WORD("none", 0),
     .zero = SMQ_NONE, DEFAULT("none"),
     TEXT("Delay of the sends of a range_merge topic that give none; none: each must give one.")},
    {TOPIC(debounce_ms), DURATION(1, TIME_MAX, "1ms .. 101806d, or none"), WORD("none", 0),
     DEFAULT("none"),
     TEXT("Keyed range_merge: each re-send moves the time back, at most to first send + this.")},
    {TOPIC(ttl_ms), DURATION(1, TIME_MAX, "1ms .. 101806d, or none"), WORD("none", 0),
     DEFAULT("none"), TEXT("Keyed: time to live of messages without their own.")},
    {TOPIC(expired_to_dead), SWITCH, DEFAULT("false"),
     TEXT("Keyed: messages past their time to live become dead letters instead of being dropped.")},
    {TOPIC(skip_failed), SWITCH, DEFAULT("false"),
     TEXT("Fifo: let others pass a message that failed, instead of waiting for it.")},
    {TOPIC(takeover), CHOICE("fast|strict", SMQ_TAKEOVER_FAST), DEFAULT("fast"),
     TEXT("Claims of a dead owner come back at once, or when their lease has ended.")},
    {TOPIC(max_body), INTEGER(1, 64 * MEBIBYTE, "1 .. 67108864 (inline 65536)"),
     DEFAULT("1048576 (inline 65536)"), TEXT("Bytes that a body may have.")},
    {TOPIC(max_waiting), INTEGER(1, INT64_C(1) << 40, "1 .. 1099511627776, or none"),
     WORD("none", 0), DEFAULT("none"),
     TEXT("Messages that may wait; sends beyond it are refused.")},
    {TOPIC(rate_per_s), INTEGER(1, 1000000000, "1 .. 1000000000, or none"), WORD("none", 0),
     DEFAULT("none"),
     TEXT("Messages a second that the whole fleet claims; not for shared topics.")},

    {PRODUCER(replicas), INTEGER(0, 16, "0 .. 16"), DEFAULT("0"),
     TEXT("Replicas of its node that must have a message, too, before its send is done.")},
    {PRODUCER(send_timeout_ms), DURATION(1, DAY, "1ms .. 1d"), DEFAULT("10s"),
     TEXT("How long a send may take with all its repeats.")},
    {PRODUCER(no_repeat), SWITCH, DEFAULT("false"),
     TEXT("Do not repeat a send whose reply was lost.")},
    {PRODUCER(max_pending), INTEGER(1, 1000000000, "1 .. 1000000000"), DEFAULT("100000"),
     TEXT("Sends that may be without a receipt.")},
    {PRODUCER(max_pending_bytes), INTEGER(1, INT64_C(1) << 40, "1 .. 1099511627776"),
     DEFAULT("67108864"), TEXT("Bytes of their bodies, keys and ids.")},
    {PRODUCER(full_timeout_ms), DURATION(0, DAY, "0 .. 1d, or forever"),
     WORD("forever", SMQ_FOREVER), DEFAULT("0"),
     TEXT("How long an asynchronous send waits for room among them.")},

    {WORKER(topic), STRING, DEFAULT(""), TEXT("The topic to consume; required.")},
    {WORKER(threads), INTEGER(1, 1024, "1 .. 1024"), DEFAULT("cores"),
     TEXT("Handlers at once, and the weight of this member.")},
    {WORKER(batch_size), INTEGER(1, 1000, "1 .. 1000"), DEFAULT("100"),
     TEXT("Messages claimed at once from a slot.")},
    {WORKER(max_in_flight), INTEGER(1, INT32_MAX, "1 .. 2147483647"),
     DEFAULT("10 * threads * batch_size"), TEXT("Messages claimed and not yet answered.")},
    {WORKER(rate_per_s), INTEGER(1, 1000000000, "1 .. 1000000000, or none"), WORD("none", 0),
     DEFAULT("none"), TEXT("Messages a second that the worker claims.")},
    {WORKER(handler_timeout_ms), DURATION(1, DAY, "1ms .. 1d, or none"), WORD("none", 0),
     DEFAULT("none"),
     TEXT("How long a handler may take to answer; then the slot goes on without it.")},
    {WORKER(max_messages), INTEGER(1, INT64_MAX, "at least 1, or none"), WORD("none", 0),
     DEFAULT("none"), TEXT("Stop when so many messages are answered, and never claim more.")},
    {WORKER(drain_timeout_ms), DURATION(0, DAY, "0 .. 1d"), .zero = SMQ_NONE, DEFAULT("30s"),
     TEXT("How long handlers may take to end when the worker stops or a slot moves.")},

    {CONSUMER(topic), STRING, DEFAULT(""), TEXT("The topic to consume; required.")},
    {CONSUMER(weight), INTEGER(1, 1024, "1 .. 1024"), DEFAULT("1"),
     TEXT("This member's share of the slots, as against the weights of others.")},
    {CONSUMER(per_slot), INTEGER(1, 1000, "1 .. 1000"), DEFAULT("1"),
     TEXT("Messages of one slot that may be polled and not yet answered.")},
    {CONSUMER(max_in_flight), INTEGER(1, INT32_MAX, "1 .. 2147483647"), DEFAULT("1000"),
     TEXT("Messages claimed and not yet answered, also those not yet polled.")},
    {CONSUMER(rate_per_s), INTEGER(1, 1000000000, "1 .. 1000000000, or none"), WORD("none", 0),
     DEFAULT("none"), TEXT("Messages a second that the consumer claims.")},
    {CONSUMER(handler_timeout_ms), DURATION(1, DAY, "1ms .. 1d, or none"), WORD("none", 0),
     DEFAULT("none"), TEXT("How long an answer may take; then the slot goes on without it.")},
    {CONSUMER(drain_timeout_ms), DURATION(0, DAY, "0 .. 1d"), .zero = SMQ_NONE, DEFAULT("30s"),
     TEXT("How long answers may take when the consumer stops or a slot moves.")},
    {CONSUMER(max_poll_gap_ms), DURATION(100, DAY, "100ms .. 1d"), DEFAULT("5m"),
     TEXT("Without a poll for so long the slots move to others.")},
};
const size_t option_count = sizeof(option_table) / sizeof(option_table[0]);
