/* samples.c - Prometheus text of some topics. */
#include "serve/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text/say.h"

/* The beginning of the families that are wanted. */
#define PREFIX "slotmq_topic_"

/* === Numbers ============================================================ */

enum samples_kind { SAMPLES_A_COUNT, SAMPLES_A_LAG, SAMPLES_AN_OWNER, SAMPLES_A_MARK };

#define STAT(name, member)                                                                         \
    {                                                                                              \
        PREFIX name, NULL, offsetof(struct samples_topic, stats.member), SAMPLES_A_COUNT           \
    }
#define DEAD(cause)                                                                                \
    {                                                                                              \
        PREFIX "dead_letters_total", #cause, offsetof(struct samples_topic, stats.dead_##cause),   \
            SAMPLES_A_COUNT                                                                        \
    }

static const struct {
    const char *name, *cause;
    size_t offset;
    enum samples_kind kind;
} samples_numbers[] = {
    STAT("messages_waiting", waiting),
    STAT("messages_due", due),
    STAT("messages_claimed", claimed),
    STAT("messages_resting", resting),
    STAT("messages_dead", dead),
    {PREFIX "oldest_due_age_seconds", NULL, 0, SAMPLES_A_LAG},
    STAT("messages_sent_total", sent),
    STAT("messages_merged_total", merged),
    STAT("duplicates_total", duplicates),
    STAT("messages_done_total", done),
    STAT("messages_retried_total", retried),
    STAT("messages_rejected_total", rejected),
    STAT("messages_expired_total", expired),
    STAT("messages_released_total", released),
    STAT("messages_lease_lost_total", lease_lost),
    DEAD(rejected),
    DEAD(failed),
    DEAD(crashed),
    DEAD(timed_out),
    DEAD(expired),
    DEAD(bodiless),
    STAT("slots_paused", slots_paused),
    STAT("slots_damaged", slots_damaged),
    STAT("slots_silent", slots_silent),
    {PREFIX "owners", NULL, offsetof(struct samples_topic, owners), SAMPLES_AN_OWNER},
    {PREFIX "slots_unowned", NULL, offsetof(struct samples_topic, slots_unowned), SAMPLES_AN_OWNER},
    {SAMPLES_UNREADABLE, NULL, 0, SAMPLES_A_MARK},
};

/* A part of a text, without a NUL. */
struct samples_part {
    const char *text;
    size_t size;
};

static bool samples_is(struct samples_part part, const char *word)
{
    return strlen(word) == part.size && memcmp(word, part.text, part.size) == 0;
}

/* Digits, and three more behind a point; the result is in thousandths if `milli`. */
static bool samples_number(uint64_t *out, struct samples_part part, bool milli)
{
    uint64_t value = 0;
    size_t behind = 0;
    bool point = false;

    for (size_t i = 0; i < part.size; i++) {
        const char c = part.text[i];
        if (c == '.' && milli && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9' || value > (UINT64_MAX - 9) / 10) {
            return false;
        }
        value = value * 10 + (uint64_t) (c - '0');
        behind += point ? 1 : 0;
    }
    *out = value;
    return part.size > 0 && (!milli || behind == 3) && value <= INT64_MAX;
}

static void samples_set(struct samples_topic *topic, struct samples_part name,
                        struct samples_part cause, struct samples_part value)
{
    for (size_t i = 0; i < sizeof(samples_numbers) / sizeof(samples_numbers[0]); i++) {
        const char *wanted = samples_numbers[i].cause ? samples_numbers[i].cause : "";
        const enum samples_kind kind = samples_numbers[i].kind;
        uint64_t number = 0;
        if (!samples_is(name, samples_numbers[i].name) || !samples_is(cause, wanted)) {
            continue;
        }
        if (!samples_number(&number, value, kind == SAMPLES_A_LAG)) {
            return;
        }
        if (kind == SAMPLES_A_LAG) {
            topic->stats.oldest_due_age_ms = (int64_t) number;
            topic->has_lag = true;
        } else if (kind == SAMPLES_A_MARK) {
            topic->unreadable = number != 0;
        } else {
            memcpy((char *) topic + samples_numbers[i].offset, &number, sizeof(number));
            topic->has_owners = topic->has_owners || kind == SAMPLES_AN_OWNER;
        }
        return;
    }
}

/* === Lines ============================================================== */

struct samples_line {
    struct samples_part name, topic, cause, value;
};

/* The text up to `end`, which follows it; false: it does not. */
static bool samples_take(struct samples_part *out, struct samples_part *rest, const char *end)
{
    const char *found = memmem(rest->text, rest->size, end, strlen(end));

    if (!found) {
        return false;
    }
    *out = (struct samples_part){rest->text, (size_t) (found - rest->text)};
    rest->size -= out->size + strlen(end);
    rest->text = found + strlen(end);
    return true;
}

/* NAME{topic="T"} VALUE or NAME{topic="T",cause="C"} VALUE. */
static bool samples_split(struct samples_line *out, struct samples_part line)
{
    static const char cause[] = ",cause=\"";

    *out = (struct samples_line){.cause = {"", 0}};
    if (!samples_take(&out->name, &line, "{topic=\"") || !samples_take(&out->topic, &line, "\"")) {
        return false;
    }
    if (line.size >= sizeof(cause) - 1 && memcmp(line.text, cause, sizeof(cause) - 1) == 0) {
        line.text += sizeof(cause) - 1;
        line.size -= sizeof(cause) - 1;
        if (!samples_take(&out->cause, &line, "\"")) {
            return false;
        }
    }
    if (line.size < 2 || memcmp(line.text, "} ", 2) != 0) {
        return false;
    }
    out->value = (struct samples_part){line.text + 2, line.size - 2};
    return true;
}

static struct samples_family *samples_family_of(struct samples *samples, struct samples_part name)
{
    for (size_t i = 0; i < samples->count; i++) {
        if (samples_is(name, samples->families[i].name)) {
            return &samples->families[i];
        }
    }
    struct samples_family *grown =
        realloc(samples->families, (samples->count + 1) * sizeof(*grown));
    if (!grown) {
        say_no_memory();
    }
    samples->families = grown;
    struct samples_family *family = &grown[samples->count++];
    *family = (struct samples_family){.name = say_alloc(name.size + 1, 1)};
    memcpy(family->name, name.text, name.size);
    return family;
}

static void samples_append(char **text, size_t *size, size_t *room, struct samples_part line)
{
    if (!*text || *size + line.size + 1 > *room) {
        *room = 2 * (*size + line.size + 1);
        char *grown = realloc(*text, *room);
        if (!grown) {
            say_no_memory();
        }
        *text = grown;
    }
    memcpy(*text + *size, line.text, line.size);
    (*text)[*size + line.size] = '\n';
    *size += line.size + 1;
}

/* "# HELP NAME ..." or "# TYPE NAME ...": kept the first time. */
static void samples_add_head(struct samples *samples, struct samples_part line)
{
    struct samples_part kind, name;
    struct samples_part rest = {line.text + 2, line.size - 2};

    if (!samples_take(&kind, &rest, " ") || !samples_take(&name, &rest, " ") ||
        name.size < sizeof(PREFIX) || memcmp(name.text, PREFIX, sizeof(PREFIX) - 1) != 0) {
        return;
    }
    struct samples_family *family = samples_family_of(samples, name);
    size_t room = family->head_size;
    if (family->lines_size == 0 &&
        !(family->head &&
          memmem(family->head, family->head_size, line.text, 2 + kind.size + 1 + name.size + 1))) {
        samples_append(&family->head, &family->head_size, &room, line);
    }
}

static void samples_add_line(struct samples *samples, struct samples_part line,
                             samples_find_fn *find, void *user)
{
    struct samples_line parts;

    if (line.size > 2 && memcmp(line.text, "# ", 2) == 0) {
        samples_add_head(samples, line);
        return;
    }
    if (line.size < sizeof(PREFIX) || memcmp(line.text, PREFIX, sizeof(PREFIX) - 1) != 0 ||
        !samples_split(&parts, line)) {
        return;
    }
    struct samples_topic *topic = find(parts.topic.text, parts.topic.size, user);
    if (!topic) {
        return;
    }
    samples_set(topic, parts.name, parts.cause, parts.value);
    if (!samples_is(parts.name, SAMPLES_UNREADABLE) && !samples_is(parts.name, SAMPLES_UNLISTED)) {
        struct samples_family *family = samples_family_of(samples, parts.name);
        samples_append(&family->lines, &family->lines_size, &family->lines_room, line);
    }
}

void samples_add_mark(struct samples *samples, const char *name, const char *help,
                      const char *topic, bool set)
{
    struct samples_family *family =
        samples_family_of(samples, (struct samples_part){name, strlen(name)});
    char text[512];

    if (!family->head) {
        const int size =
            snprintf(text, sizeof(text), "# HELP %s %s\n# TYPE %s gauge", name, help, name);
        size_t room = 0;
        samples_append(&family->head, &family->head_size, &room,
                       (struct samples_part){text, (size_t) size});
    }
    const int size = snprintf(text, sizeof(text), "%s{topic=\"%s\"} %d", name, topic, set ? 1 : 0);
    samples_append(&family->lines, &family->lines_size, &family->lines_room,
                   (struct samples_part){text, (size_t) size});
}

void samples_add(struct samples *samples, const char *text, size_t size, samples_find_fn *find,
                 void *user)
{
    while (size > 0) {
        const char *end = memchr(text, '\n', size);
        const size_t length = end ? (size_t) (end - text) : size;
        samples_add_line(samples, (struct samples_part){text, length}, find, user);
        const size_t whole = length + (end ? 1 : 0);
        text += whole;
        size -= whole;
    }
}

char *samples_text(const struct samples *samples, size_t *size)
{
    size_t used = 0;
    size_t room = 1;

    for (size_t i = 0; i < samples->count; i++) {
        room += samples->families[i].head_size + samples->families[i].lines_size;
    }
    char *text = say_alloc(room, 1);
    for (size_t i = 0; i < samples->count; i++) {
        const struct samples_family *family = &samples->families[i];
        if (family->lines_size == 0) {
            continue;
        }
        if (family->head_size > 0) {
            memcpy(text + used, family->head, family->head_size);
        }
        memcpy(text + used + family->head_size, family->lines, family->lines_size);
        used += family->head_size + family->lines_size;
    }
    *size = used;
    return text;
}

void samples_fini(struct samples *samples)
{
    for (size_t i = 0; i < samples->count; i++) {
        free(samples->families[i].name);
        free(samples->families[i].head);
        free(samples->families[i].lines);
    }
    free(samples->families);
    *samples = (struct samples){.count = 0};
}
