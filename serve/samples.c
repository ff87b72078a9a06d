/* samples.c - Prometheus text of some topics. */
#include "serve/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slotmq/ops.h>

#include "cli/text/say.h"

/* The beginning of the families that are wanted. */
#define PREFIX "slotmq_topic_"

/* === Numbers ============================================================ */

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

struct samples_place {
    struct samples_part name, cause;
    const smq_number_info *found;
};

static bool samples_on_number(const smq_number_info *number, void *user)
{
    struct samples_place *place = user;

    if (samples_is(place->name, number->metric) && samples_is(place->cause, number->label_value)) {
        place->found = number;
    }
    return !place->found;
}

static void samples_set_owner(struct samples_topic *topic, struct samples_part name,
                              uint64_t number)
{
    if (samples_is(name, SAMPLES_UNREADABLE)) {
        topic->unreadable = number != 0;
    } else if (samples_is(name, PREFIX "owners")) {
        topic->owners = number;
        topic->has_owners = true;
    } else if (samples_is(name, PREFIX "slots_unowned")) {
        topic->slots_unowned = number;
    }
}

static void samples_set(struct samples_topic *topic, struct samples_part name,
                        struct samples_part cause, struct samples_part value)
{
    struct samples_place place = {.name = name, .cause = cause};
    uint64_t number;

    smq_stat_each(samples_on_number, &place);
    const bool is_lag = place.found && place.found->unit == SMQ_UNIT_MS;
    if (!samples_number(&number, value, is_lag)) {
        return;
    }
    if (!place.found) {
        samples_set_owner(topic, name, number);
        return;
    }
    memcpy((char *) &topic->stats + place.found->offset, &number, sizeof(number));
    topic->has_lag = topic->has_lag || is_lag;
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
