/* topic_rows.h - the options of a topic, a row for each: its field in struct topic has this type
 * and the name of the field in smq_topic_options.  The order is that of the public struct.
 *
 * PLACES(STORED, SHOWN): its place in the stored text of a definition, and that where a definition
 * is shown.  A new option takes the next number of both; the stored ones never change.  What else a
 * row may have is in option_table.c.  TOPIC_TEXT rows are texts, which struct topic has in another
 * form.
 *
 * It is included wherever TOPIC_OPTION() and TOPIC_TEXT() say what becomes of a row.  Pure. */

TOPIC_OPTION(smq_topic_type, type, FIXED, PLACES(1, 1), OPERAND("TYPE"),
             CHOICE("range_merge|priority|fixed_time|fifo", SMQ_TYPE_RANGE_MERGE, SMQ_TYPE_FIFO),
             CHOSEN("fixed_time", SMQ_TYPE_FIXED_TIME),
             TEXT("What decides which message comes first."))
TOPIC_OPTION(
    smq_layout, layout, FIXED, PLACES(2, 2), OPERAND("LAYOUT"),
    CHOICE("inline|keyed", SMQ_LAYOUT_INLINE, SMQ_LAYOUT_KEYED),
    MADE(option_layout, "keyed (inline for a type given by name but fifo)"),
    TEXT("What identifies a message: its key and body, or its key and id; fifo needs keyed."))
TOPIC_OPTION(int32_t, slots, FIXED, PLACES(3, 3), INTEGER(1, TOPIC_SLOTS_MAX), .power_of_two = true,
             DEFAULT(64), TEXT("Number of slots, a power of two."))
TOPIC_OPTION(bool, shared, FIXED, PLACES(4, 4), SWITCH,
             TEXT("Slots have no owners, and messages of one key may be handled at the same time."))
TOPIC_OPTION(smq_ties, ties, FIXED, PLACES(5, 5), OPERAND("TIES"),
             CHOICE("arrival|bytes", SMQ_TIES_ARRIVAL, SMQ_TIES_BYTES),
             CHOSEN("arrival", SMQ_TIES_ARRIVAL),
             TEXT("Which of equal priorities comes first: the first sent " ARRIVAL_RANGE
                  ", or the larger bytes " BYTES_RANGE "."))
TOPIC_OPTION(int32_t, max_retries, PLACES(6, 6), INTEGER_OR_NONE(0, TOPIC_RETRIES_MAX),
             WORD("none", SMQ_NONE), MEANING("SMQ_NONE", 0), DEFAULT(16),
             TEXT("Retries before a message is dead."))
TOPIC_TEXT(
    backoff, PLACES(7, 7), OPERAND("BACKOFF"), BACKOFF, .fallback_text = "exp:1000:600000",
    SHOWN("exp:1000:600000"),
    TEXT("Rest after a failure, as none, fixed:MS, exp:MS:MAX (full jitter) or ladder:MS,MS,MS."))
TOPIC_OPTION(int64_t, lease_ms, PLACES(8, 8), DURATION(100, ms, 1, d), LASTING(30, s),
             TEXT("How long a claim lasts without renewal."))
/* SMQ_NONE is a delay of 0, the word "none" that the topic has none: both mean at once. */
TOPIC_OPTION(
    int64_t, delay_ms, PLACES(9, 9), TIME_OR_NONE(0, "0"), WORD("none", 0), MEANING("SMQ_NONE", 0),
    .fallback = SMQ_NONE, SHOWN("none"),
    TEXT("Range_merge: delay of sends that ask for that of the topic; none: they are due at "
         "once."))
TOPIC_OPTION(
    int64_t, debounce_ms, PLACES(11, 12), TIME_OR_NONE(1, "1ms"), NONE,
    TEXT("Keyed range_merge: each re-send moves the due time, at most to first send + this."))
TOPIC_OPTION(int64_t, ttl_ms, PLACES(12, 13), TIME_OR_NONE(1, "1ms"), NONE,
             TEXT("Keyed: time to live of messages without their own."))
TOPIC_OPTION(bool, expired_to_dead, PLACES(13, 14), SWITCH,
             TEXT("Keyed: expired messages become dead letters instead of being dropped."))
TOPIC_OPTION(bool, skip_failed, PLACES(14, 15), SWITCH,
             TEXT("Fifo: let others pass a message that failed, instead of waiting for it."))
TOPIC_OPTION(
    smq_takeover, takeover, PLACES(10, 10), OPERAND("MODE"),
    CHOICE("fast|strict", SMQ_TAKEOVER_FAST, SMQ_TAKEOVER_STRICT),
    CHOSEN("fast", SMQ_TAKEOVER_FAST),
    TEXT("Claims of a dead owner can be claimed again at once, or when their lease has ended; "
         "until then other messages of their keys wait."))
TOPIC_OPTION(
    int32_t, takeover_replicas, PLACES(18, 11), INTEGER(0, TOPIC_REPLICAS_MAX), DEFAULT(0),
    TEXT("Replicas that must know a slot's new owner before it begins handlers; not for shared "
         "topics."))
TOPIC_OPTION(
    int64_t, max_body, PLACES(15, 16),
    AMOUNT(OPTION_SIZE, "size", 1, TOPIC_BODY_KEYED_MAX,
           "1 .. " DIGITS(TOPIC_BODY_KEYED_MAX) " (inline " DIGITS(TOPIC_BODY_INLINE_MAX) ")"),
    MADE(option_body,
         DIGITS(TOPIC_BODY_KEYED_DEFAULT) " (inline " DIGITS(TOPIC_BODY_INLINE_MAX) ")"),
    TEXT("Largest size of a body in bytes."))
TOPIC_OPTION(int64_t, max_waiting, PLACES(16, 17), INTEGER_OR_NONE(1, BYTES_MAX), NONE,
             TEXT("Messages that may wait; further sends are refused."))
TOPIC_OPTION(int64_t, rate_per_s, PLACES(17, 18), INTEGER_OR_NONE(1, RATE_MAX), NONE,
             TEXT("Messages per second that the whole fleet claims; not for shared topics."))
TOPIC_OPTION(
    int64_t, dedup_window_ms, PLACES(19, 19), SINCE("0.2.0"), DURATION_OR_NONE(1, ms, 7, d), NONE,
    TEXT("Keyed: refuse sends of an id that is in flight, rests, or was done within this time."))
TOPIC_TEXT(groups, PLACES(0, 20), OPERAND("NAMES"), SINCE("0.2.0"), LIST, SHOWN("none"),
           TEXT("Groups, each of which gets every message: names separated by commas, at most 16."))
TOPIC_OPTION(
    int64_t, expires_ms, PLACES(20, 21), SINCE("0.2.0"), TIME_OR_NONE(1000, "1s"), NONE,
    TEXT("The topic is deleted when it was not used for this time, unless it holds messages."))
TOPIC_OPTION(bool, expires_with_messages, PLACES(21, 22), SINCE("0.2.0"), SWITCH,
             TEXT("With expires_ms: the topic is deleted also while it holds messages, with them."))
TOPIC_OPTION(
    int32_t, format, PLACES(22, 23), SINCE("0.3.0"),
    INTEGER(TOPIC_FORMAT_LEAST, TOPIC_FORMAT_NEWEST), DEFAULT(TOPIC_FORMAT_LEAST),
    TEXT("How its messages are stored; 5 is cheaper, and versions before 0.3.0 refuse it."))
TOPIC_OPTION(int32_t, whole_max, PLACES(23, 24), SINCE("0.3.0"),
             INTEGER_OR_NONE(1, TOPIC_WHOLE_MAX), WORD("none", SMQ_NONE), MEANING("SMQ_NONE", 0),
             DEFAULT(TOPIC_WHOLE_DEFAULT),
             TEXT("Format 5: most bytes, headers and body, of a message that is one entry."))

#undef TOPIC_OPTION
#undef TOPIC_TEXT
