/* verdict.c - judging a history: reads the lines, sorts the runs, counts what must not be.
 *
 * Thread: one. */
#include "support/history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/memory.h"

/* A message, named "topic body". */
struct message {
    char *name;
    bool sent, dead, done;
    uint64_t done_runs, stale_runs; /* stale: done, but ended after a newer owner had begun */
    UT_hash_handle hh;
};

/* A token of a slot, as it was confirmed to its owner. */
struct gain {
    int64_t at_ns;
    char token[32];
};

/* A slot, named "topic slot", and under which tokens it was handled from when. */
struct slot {
    char *name;
    size_t gain_count;
    struct gain *gains;
    size_t run_count;
    struct run **runs; /* by start */
    UT_hash_handle hh;
};

/* Invariant: `end_ns` is INT64_MAX until the end was read. */
struct run {
    char id[40]; /* "pid run" */
    int64_t start_ns, end_ns;
    pid_t pid;
    char token[32];
    char *key; /* "topic key" */
    struct slot *slot;
    struct message *message;
    bool done;
    UT_hash_handle hh;
};

/* A call that was refused. */
struct fenced {
    int64_t at_ns;
    pid_t pid;
};

struct reader {
    struct verdict *verdict;
    struct fenced *fenced;
    struct message *messages;
    struct slot *slots;
    struct run *by_id;
    struct run **runs;
    size_t run_count, run_size;
};

static struct message *message_get(struct reader *reader, const char *topic, const char *body)
{
    struct message *message;
    size_t size = strlen(topic) + strlen(body) + 2;
    char *name = memory_new(size);

    snprintf(name, size, "%s %s", topic, body);
    HASH_FIND_STR(reader->messages, name, message);
    if (message != NULL) {
        free(name);
        return message;
    }
    message = memory_new(sizeof(*message));
    message->name = name;
    HASH_ADD_KEYPTR(hh, reader->messages, message->name, strlen(message->name), message);
    return message;
}

static struct slot *slot_get(struct reader *reader, const char *topic, int number)
{
    struct slot *slot;
    char name[160];

    snprintf(name, sizeof(name), "%s %d", topic, number);
    HASH_FIND_STR(reader->slots, name, slot);
    if (slot == NULL) {
        slot = memory_new(sizeof(*slot));
        slot->name = memory_string(name);
        HASH_ADD_KEYPTR(hh, reader->slots, slot->name, strlen(slot->name), slot);
    }
    return slot;
}

static void complain(struct verdict *verdict, const char *what, const char *name)
{
    if (verdict->example[0] == '\0') {
        snprintf(verdict->example, sizeof(verdict->example), "%s: %s", what, name);
    }
}

/* --- reading ------------------------------------------------------------------------------- */

static bool read_sent(struct reader *reader, char *line)
{
    char topic[128], key[256];
    int at = 0;

    if (sscanf(line, "A %*s %127s %255s %n", topic, key, &at) != 2 || at == 0) {
        return false;
    }
    message_get(reader, topic, line + at)->sent = true;
    return true;
}

static bool read_start(struct reader *reader, char *line)
{
    char topic[128], key[256], number[24], token[32];
    int64_t ns;
    int pid, slot, at = 0;

    if (sscanf(line, "S %" SCNd64 " %d %23s %127s %d %31s %*d %255s %n", &ns, &pid, number, topic,
               &slot, token, key, &at) != 7 ||
        at == 0) {
        return false;
    }
    struct run *run = memory_new(sizeof(*run));
    size_t size = strlen(topic) + strlen(key) + 2;
    snprintf(run->id, sizeof(run->id), "%d %s", pid, number);
    run->start_ns = ns;
    run->end_ns = INT64_MAX;
    run->pid = pid;
    snprintf(run->token, sizeof(run->token), "%s", token);
    run->key = memory_new(size);
    snprintf(run->key, size, "%s %s", topic, key);
    run->slot = slot_get(reader, topic, slot);
    run->message = message_get(reader, topic, line + at);
    if (reader->run_count == reader->run_size) {
        reader->run_size = reader->run_size == 0 ? 1024 : reader->run_size * 2;
        reader->runs = memory_grow(reader->runs, reader->run_size, sizeof(struct run *));
    }
    reader->runs[reader->run_count++] = run;
    HASH_ADD_STR(reader->by_id, id, run);
    return true;
}

static bool read_end(struct reader *reader, const char *line)
{
    char number[24], outcome[16], id[40];
    int64_t ns;
    int pid;
    struct run *run;

    if (sscanf(line, "E %" SCNd64 " %d %23s %15s", &ns, &pid, number, outcome) != 4) {
        return false;
    }
    snprintf(id, sizeof(id), "%d %s", pid, number);
    HASH_FIND_STR(reader->by_id, id, run);
    if (run == NULL || run->end_ns != INT64_MAX) {
        return false;
    }
    run->end_ns = ns;
    run->done = strcmp(outcome, "done") == 0;
    return true;
}

static bool read_dead(struct reader *reader, char *line)
{
    char topic[128];
    int at = 0;

    if (sscanf(line, "D %127s %n", topic, &at) != 1 || at == 0) {
        return false;
    }
    message_get(reader, topic, line + at)->dead = true;
    return true;
}

static bool read_change(struct reader *reader, const char *line)
{
    struct verdict *verdict = reader->verdict;
    struct verdict_change change = {0};
    int pid;

    if (verdict->change_count == VERDICT_CHANGES_MAX ||
        sscanf(line, "M %" SCNd64 " %d %7s", &change.at_ns, &pid, change.kind) != 3) {
        return false;
    }
    change.pid = pid;
    verdict->changes[verdict->change_count++] = change;
    return true;
}

static bool read_fenced(struct reader *reader, const char *line)
{
    size_t count = reader->verdict->fenced;
    int64_t ns;
    int pid;

    if (sscanf(line, "F %" SCNd64 " %d", &ns, &pid) != 2) {
        return false;
    }
    reader->fenced = memory_grow(reader->fenced, count + 1, sizeof(*reader->fenced));
    reader->fenced[count] = (struct fenced){.at_ns = ns, .pid = pid};
    reader->verdict->fenced++;
    return true;
}

static bool read_gained(struct reader *reader, const char *line)
{
    struct gain gain = {0};
    struct slot *slot;
    char topic[128];
    int number;

    if (sscanf(line, "G %" SCNd64 " %*d %127s %d %31s", &gain.at_ns, topic, &number, gain.token) !=
        4) {
        return false;
    }
    slot = slot_get(reader, topic, number);
    slot->gains = memory_grow(slot->gains, slot->gain_count + 1, sizeof(gain));
    slot->gains[slot->gain_count++] = gain;
    return true;
}

/* Nothing follows from it for messages. */
static bool is_damage(const char *line)
{
    char topic[128], what[16];
    int slot, pid;
    long long ns;

    return sscanf(line, "X %lld %d %127s %d %15s", &ns, &pid, topic, &slot, what) == 5 &&
           (strcmp(what, "damaged") == 0 || strcmp(what, "repaired") == 0);
}

static bool read_line(struct reader *reader, char *line)
{
    switch (line[0]) {
    case 'A':
        return read_sent(reader, line);
    case 'S':
        return read_start(reader, line);
    case 'E':
        return read_end(reader, line);
    case 'F':
        return read_fenced(reader, line);
    case 'G':
        return read_gained(reader, line);
    case 'D':
        return read_dead(reader, line);
    case 'M':
        return read_change(reader, line);
    case 'X':
        return is_damage(line);
    default:
        return false;
    }
}

static bool read_file(struct reader *reader, const char *path, char *error, size_t size)
{
    char *line = NULL;
    size_t room = 0, number = 0;
    ssize_t len;
    bool good = true;
    FILE *file = fopen(path, "re");

    if (file == NULL) {
        snprintf(error, size, "%s: %s", path, strerror(errno));
        return false;
    }
    while (good && (len = getline(&line, &room, file)) > 0) {
        number++;
        if (line[len - 1] != '\n') {
            break; /* the line that a SIGKILL cut */
        }
        line[len - 1] = '\0';
        good = read_line(reader, line);
    }
    if (!good) {
        snprintf(error, size, "%s:%zu: not a line of a history: %s", path, number, line);
    }
    free(line);
    fclose(file);
    return good;
}

/* --- judging ------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct run *left = *(struct run *const *) a, *right = *(struct run *const *) b;

    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

static int by_key(const void *a, const void *b)
{
    const struct run *left = *(struct run *const *) a, *right = *(struct run *const *) b;
    int order = strcmp(left->key, right->key);

    if (order == 0) {
        order = strcmp(left->token, right->token);
    }
    return order != 0 ? order : by_start(a, b);
}

static void sort_runs(struct reader *reader, int (*order)(const void *, const void *))
{
    if (reader->run_count > 0) { /* an empty list is NULL, which qsort() does not take */
        qsort(reader->runs, reader->run_count, sizeof(struct run *), order);
    }
}

/* Runs of one key under one token, one after another: none may begin before the last has ended. */
static void judge_overlaps(struct reader *reader)
{
    sort_runs(reader, by_key);
    const struct run *latest = NULL; /* of this key and token, the one that ends last */
    for (size_t i = 0; i < reader->run_count; i++) {
        const struct run *run = reader->runs[i];
        bool same = latest != NULL && strcmp(latest->key, run->key) == 0 &&
                    strcmp(latest->token, run->token) == 0;
        if (same && strcmp(run->token, "shared") != 0 && run->start_ns < latest->end_ns) {
            reader->verdict->overlaps++;
            complain(reader->verdict, "two handlers at once for key", run->key);
        }
        if (!same || run->end_ns > latest->end_ns) {
            latest = run;
        }
    }
}

static void collect_slots(struct reader *reader)
{
    sort_runs(reader, by_start);
    for (size_t i = 0; i < reader->run_count; i++) {
        struct slot *slot = reader->runs[i]->slot;
        if ((slot->run_count & (slot->run_count + 1)) == 0) {
            slot->runs = memory_grow(slot->runs, slot->run_count * 2 + 2, sizeof(struct run *));
        }
        slot->runs[slot->run_count++] = reader->runs[i];
    }
}

/* A run is stale when a handler had begun under a newer token of its slot before it ended: then its
 * answer came after that owner's takeover, and must have been refused. */
static void judge_slot(const struct slot *slot)
{
    const char *newest = ""; /* token under which a run began so far */

    for (size_t i = 0; i < slot->run_count; i++) {
        struct run *run = slot->runs[i];
        newest = strcmp(run->token, newest) > 0 ? run->token : newest;
        if (!run->done) {
            continue;
        }
        bool stale = strcmp(newest, run->token) > 0;
        for (size_t j = i + 1; j < slot->run_count && !stale; j++) {
            if (slot->runs[j]->start_ns >= run->end_ns) {
                break;
            }
            stale = strcmp(slot->runs[j]->token, run->token) > 0;
        }
        run->message->done = true;
        run->message->done_runs++;
        run->message->stale_runs += stale ? 1 : 0;
    }
}

/* When was a newer token than this one stored?  INT64_MAX: never. */
static int64_t outlived_since(const struct slot *slot, const char *token)
{
    int64_t since_ns = INT64_MAX;

    for (size_t i = 0; i < slot->gain_count; i++) {
        const struct gain *gain = &slot->gains[i];
        if (strcmp(gain->token, token) > 0 && gain->at_ns < since_ns) {
            since_ns = gain->at_ns;
        }
    }
    return since_ns;
}

/* A handler may begin while the last confirmation of its slot is young, so for a moment also when
 * the slot has a newer owner; but not later. */
static void judge_begins(struct reader *reader, const struct slot *slot, int64_t bound_ms)
{
    for (size_t i = 0; i < slot->run_count; i++) {
        const struct run *run = slot->runs[i];
        int64_t since_ns = outlived_since(slot, run->token);
        bool late;
        if (strcmp(run->token, "shared") == 0 || run->start_ns <= since_ns) {
            continue;
        }
        late = run->start_ns - since_ns > (bound_ms + VERDICT_SLACK_MS) * 1000000;
        reader->verdict->outlived += late ? 0 : 1;
        reader->verdict->late += late ? 1 : 0;
        if (late) {
            complain(reader->verdict, "a handler began long after its slot had a newer owner",
                     run->message->name);
        }
    }
}

static void judge_messages(struct reader *reader)
{
    struct verdict *verdict = reader->verdict;

    for (struct message *it = reader->messages; it != NULL; it = it->hh.next) {
        verdict->sent += it->sent ? 1 : 0;
        verdict->dead += it->dead ? 1 : 0;
        verdict->handled += it->done ? 1 : 0;
        verdict->repeated += it->done_runs > 1 ? 1 : 0;
        if (it->sent && !it->done && !it->dead) {
            verdict->lost++;
            complain(verdict, "lost", it->name);
        }
        if (it->dead && (it->done || !it->sent)) {
            verdict->wrong_dead++;
            complain(verdict, "dead without reason", it->name);
        }
        if (it->done && it->stale_runs == it->done_runs) {
            verdict->unfenced++;
            complain(verdict, "an answer was accepted from a former owner", it->name);
        }
    }
}

/* Did this slot change hands because of the change, before the next one, and when was it handled
 * again? */
static int64_t slot_moved(const struct slot *slot, const struct verdict_change *change,
                          int64_t next_ns)
{
    const struct run *before = NULL, *after = NULL;
    bool join = strcmp(change->kind, "join") == 0;

    for (size_t i = 0; i < slot->run_count && after == NULL; i++) {
        const struct run *run = slot->runs[i];
        if (run->start_ns < change->at_ns) {
            before = run;
        } else if (run->start_ns >= next_ns) {
            break;
        } else if ((run->pid == change->pid) == join) {
            after = run;
        }
    }
    if (before == NULL || after == NULL || (before->pid == change->pid) == join) {
        return 0;
    }
    return after->start_ns - change->at_ns;
}

static void judge_changes(struct reader *reader)
{
    int count = reader->verdict->change_count;

    for (int i = 0; i < count; i++) {
        struct verdict_change *change = &reader->verdict->changes[i];
        int64_t next_ns = i + 1 < count ? change[1].at_ns : INT64_MAX;
        for (struct slot *slot = reader->slots; slot != NULL; slot = slot->hh.next) {
            int64_t ns = slot_moved(slot, change, next_ns);
            change->slots += ns > 0 ? 1 : 0;
            change->takeover_ns = ns > change->takeover_ns ? ns : change->takeover_ns;
        }
        for (uint64_t j = 0; reader->fenced != NULL && j < reader->verdict->fenced; j++) {
            const struct fenced *fenced = &reader->fenced[j];
            change->fenced += fenced->pid == change->pid && fenced->at_ns > change->at_ns ? 1 : 0;
        }
    }
}

/* The maps go first: what they held is then a plain list. */
static void reader_fini(struct reader *reader)
{
    struct message *message = reader->messages;
    struct slot *slot = reader->slots;

    HASH_CLEAR(hh, reader->by_id);
    HASH_CLEAR(hh, reader->messages);
    HASH_CLEAR(hh, reader->slots);
    for (size_t i = 0; i < reader->run_count; i++) {
        free(reader->runs[i]->key);
        free(reader->runs[i]);
    }
    free(reader->runs);
    free(reader->fenced);
    while (message != NULL) {
        struct message *next = message->hh.next;
        free(message->name);
        free(message);
        message = next;
    }
    while (slot != NULL) {
        struct slot *next = slot->hh.next;
        free(slot->runs);
        free(slot->gains);
        free(slot->name);
        free(slot);
        slot = next;
    }
}

bool verdict_read(struct verdict *out, char *const *paths, size_t count, int64_t bound_ms,
                  char *error, size_t size)
{
    struct reader reader = {.verdict = out};
    bool good = true;

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < count && good; i++) {
        good = read_file(&reader, paths[i], error, size);
    }
    if (good) {
        out->runs = reader.run_count;
        judge_overlaps(&reader);
        collect_slots(&reader);
        for (struct slot *slot = reader.slots; slot != NULL; slot = slot->hh.next) {
            judge_slot(slot);
            judge_begins(&reader, slot, bound_ms);
        }
        judge_messages(&reader);
        judge_changes(&reader);
    }
    reader_fini(&reader);
    return good;
}

bool verdict_good(const struct verdict *verdict)
{
    return verdict->lost == 0 && verdict->overlaps == 0 && verdict->unfenced == 0 &&
           verdict->wrong_dead == 0 && verdict->late == 0;
}

void verdict_print(const struct verdict *verdict, FILE *out)
{
    fprintf(out, "messages sent      %" PRIu64 "\n", verdict->sent);
    fprintf(out, "handlers begun     %" PRIu64 "\n", verdict->runs);
    fprintf(out, "messages handled   %" PRIu64 "  (%" PRIu64 " more than once)\n", verdict->handled,
            verdict->repeated);
    fprintf(out, "dead letters       %" PRIu64 "  (%" PRIu64 " wrongly)\n", verdict->dead,
            verdict->wrong_dead);
    fprintf(out, "lost               %" PRIu64 "\n", verdict->lost);
    fprintf(out, "overlaps           %" PRIu64 "  (one key, two handlers, one token)\n",
            verdict->overlaps);
    fprintf(out, "unfenced answers   %" PRIu64 "\n", verdict->unfenced);
    fprintf(out, "fenced calls       %" PRIu64 "\n", verdict->fenced);
    fprintf(out, "begun by a former owner: %" PRIu64 " before it could know, %" PRIu64 " later\n",
            verdict->outlived, verdict->late);
    for (int i = 0; i < verdict->change_count; i++) {
        const struct verdict_change *change = &verdict->changes[i];
        fprintf(out, "%-6s of %-8d moved %d slots, the last after %.1f s; %d calls fenced\n",
                change->kind, (int) change->pid, change->slots, (double) change->takeover_ns / 1e9,
                change->fenced);
    }
    if (verdict->example[0] != '\0') {
        fprintf(out, "for example: %s\n", verdict->example);
    }
}
