/* script_table.c - see script_table.h. */
#include "script_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "support/testing.h"

enum { WORDS_MAX = 64, LINE_SIZE = 1024 };

#define DEF  "n.1"
#define WAKE "wake{x}"

/* One line, taken apart: its words, and its NAME=VALUE. */
struct words {
    char line[LINE_SIZE];
    const char *word[WORDS_MAX];
    size_t count;
    const char *option[WORDS_MAX];
    size_t option_count;
};

/* What lines share: set by `open`. */
static char kind[2] = "m";

static bool is_option(const char *word)
{
    static const char *const names[] = {
        "def=",      "n=",      "last=",      "lease=",    "max=",        "mode=",   "bytes=",
        "limit=",    "owner=",  "flags=",     "bound=",    "debounce=",   "dedup=",  "member=",
        "contains=", "reason=", "older=",     "bodies=",   "definition=", "oldest=", "gen=",
        "pauses=",   "paused=", "deletes=",   "deletion=", "coord=",      "open=",   "pushed=",
        "passes=",   "id=",     "tombstone=", "caller=",   "exact=",      "age=",    "whole=",
        "ttl=",      "from="};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(word, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void words_split(struct words *words, const char *command)
{
    char *save = NULL;

    memset(words, 0, sizeof(*words));
    assert_true(strlen(command) < LINE_SIZE);
    memcpy(words->line, command, strlen(command) + 1);
    for (char *word = strtok_r(words->line, " ", &save); word != NULL;
         word = strtok_r(NULL, " ", &save)) {
        assert_true(words->count < WORDS_MAX);
        if (is_option(word)) {
            words->option[words->option_count++] = word;
        } else {
            words->word[words->count++] = strcmp(word, "''") == 0 ? "" : word;
        }
    }
    assert_true(words->count > 0);
}

static const char *option(const struct words *words, const char *name, const char *otherwise)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < words->option_count; i++) {
        if (strncmp(words->option[i], name, len) == 0 && words->option[i][len] == '=') {
            return words->option[i] + len + 1;
        }
    }
    return otherwise;
}

static const char *word_at(const struct words *words, size_t index)
{
    assert_true(index < words->count);
    return words->word[index];
}

static void add_token(struct args *args, const char *token)
{
    char text[32];

    if (strcmp(token, "shared") == 0 || strlen(token) == 24) {
        args_add(args, token);
        return;
    }
    snprintf(text, sizeof(text), "%08x%016lx", strcmp(token, "0") == 0 ? 0U : 1U,
             strtoul(token, NULL, 10));
    args_add(args, text);
}

static void add_words(struct args *args, const struct words *words, size_t from)
{
    for (size_t i = from; i < words->count; i++) {
        args_add_name(args, words->word[i]);
    }
}

/* --- the fixed arguments of each script --- */

/* PRODUCER.SEQUENCE */
static void send_id_args(struct args *args, const char *id)
{
    const char *dot = strchr(id, '.');

    assert_non_null(dot);
    args_add_bytes(args, id, (size_t) (dot - id));
    args_add(args, dot + 1);
}

static void send_args(struct args *args, const struct words *words)
{
    args_add(args, kind);
    args_add(args, WAKE);
    args_add(args, option(words, "bound", "0"));
    args_add(args, option(words, "debounce", "0"));
    args_add(args, option(words, "dedup", "0"));
    args_add(args, option(words, "from", "0"));
    send_id_args(args, option(words, "id", "-.0"));
    add_words(args, words, 1);
}

/* done ENTRY | retry ENTRY DELAY REASON | reject ENTRY REASON | release ENTRY DELAY | hung ENTRY 0
 * | retried-done ENTRY 0 */
static void consume_answers(struct args *args, const struct words *words)
{
    size_t i = 2;
    int done = 0;

    for (size_t j = i; j < words->count && strcmp(words->word[j], "done") == 0; j += 2) {
        done++;
    }
    args_add_int(args, done);
    for (; done > 0; done--, i += 2) {
        args_add_name(args, word_at(words, i + 1));
    }
    while (i < words->count) {
        const char *op = words->word[i];
        bool retry = strcmp(op, "retry") == 0;
        bool reject = strcmp(op, "reject") == 0;

        bool done_late = strcmp(op, "retried-done") == 0;

        args_add(args, retry ? "t" : reject ? "x" : done_late ? "d" : op[0] == 'h' ? "h" : "b");
        args_add_name(args, word_at(words, i + 1));
        args_add(args, reject ? "0" : word_at(words, i + 2));
        args_add(args, reject ? word_at(words, i + 2) : retry ? word_at(words, i + 3) : "");
        i += retry ? 4 : 3;
    }
}

static void consume_args(struct args *args, const struct words *words)
{
    bool shared = strcmp(word_at(words, 1), "shared") == 0;

    add_token(args, word_at(words, 1));
    args_add(args, kind);
    args_add(args, WAKE);
    args_add(args, option(words, "n", "10"));
    args_add(args, option(words, "bytes", "1048576"));
    args_add(args, option(words, "lease", "30000"));
    args_add(args, option(words, "max", "16"));
    args_add(args, option(words, "dedup", "0"));
    args_add(args, shared ? option(words, "caller", "wa") : option(words, "last", "0"));
    args_add(args, shared ? "-" : option(words, "oldest", "0"));
    args_add(args, option(words, "open", "0"));
    args_add(args, option(words, "pushed", "0"));
    args_add(args, option(words, "passes", "-"));
    args_add(args, option(words, "flags", "-"));
    consume_answers(args, words);
}

static void renew_args(struct args *args, const struct words *words)
{
    add_token(args, word_at(words, 1));
    args_add(args, option(words, "lease", "30000"));
    args_add(args, option(words, "owner", "me"));
    args_add(args, option(words, "age", "0"));
    args_add_name(args, option(words, "oldest", ""));
    add_words(args, words, 2);
}

static void takeover_args(struct args *args, const struct words *words)
{
    add_token(args, word_at(words, 1));
    args_add(args, kind);
    args_add(args, option(words, "mode", "fast"));
    args_add(args, option(words, "max", "16"));
    args_add(args, option(words, "limit", "1000"));
    args_add(args, option(words, "owner", "me"));
    args_add(args, option(words, "coord", "fleet"));
}

static void vacate_args(struct args *args, const struct words *words)
{
    add_token(args, word_at(words, 1));
}

static void rights_args(struct args *args, const struct words *words)
{
    (void) words;
    args_add(args, WAKE);
}

static void inspect_args(struct args *args, const struct words *words)
{
    (void) words;
    args_add(args, kind);
    model_add_counters(args);
}

/* page STATE [SCORE NAME] */
static void page_args(struct args *args, const struct words *words)
{
    args_add(args, kind);
    args_add(args, word_at(words, 1));
    args_add(args, words->count > 2 ? words->word[2] : "");
    args_add(args, words->count > 2 ? word_at(words, 3) : "");
    args_add(args, option(words, "limit", "100"));
    args_add(args, option(words, "bytes", "262144"));
    args_add(args, option(words, "bodies", "1"));
    args_add(args, option(words, "member", ""));
    args_add(args, option(words, "contains", ""));
    args_add(args, option(words, "reason", ""));
    args_add(args, option(words, "exact", "0"));
    args_add(args, ""); /* a header has a NUL */
    args_add(args, option(words, "older", ""));
    args_add(args, option(words, "whole", "0"));
}

/* edit OP WORD... */
static void edit_args(struct args *args, const struct words *words)
{
    args_add(args, kind);
    args_add(args, WAKE);
    add_words(args, words, 1);
}

/* find MEMBER [WHERE SCORE NAME] */
static void find_args(struct args *args, const struct words *words)
{
    args_add(args, kind);
    args_add_name(args, word_at(words, 1));
    args_add(args, words->count > 2 ? words->word[2] : "p");
    args_add(args, words->count > 2 ? word_at(words, 3) : "");
    args_add(args, words->count > 2 ? word_at(words, 4) : "");
    args_add(args, option(words, "limit", "100"));
}

/* rank MEMBER [SCORE] */
static void rank_args(struct args *args, const struct words *words)
{
    args_add(args, kind);
    args_add_name(args, word_at(words, 1));
    args_add(args, words->count > 2 ? words->word[2] : "");
}

static void pause_args(struct args *args, const struct words *words)
{
    args_add(args, WAKE);
    args_add(args, option(words, "pauses", "1"));
    args_add(args, word_at(words, 1));
}

static void alter_args(struct args *args, const struct words *words)
{
    args_add(args, WAKE);
    args_add(args, option(words, "definition", "text"));
    args_add(args, option(words, "gen", "1"));
    args_add(args, option(words, "dedup", "0"));
}

/* slot_open KIND SHARED */
static void open_args(struct args *args, const struct words *words)
{
    args_add(args, word_at(words, 1));
    args_add(args, WAKE);
    args_add(args, word_at(words, 2));
    args_add(args, option(words, "definition", "text"));
    args_add(args, option(words, "gen", "1"));
    args_add(args, option(words, "pauses", "0"));
    args_add(args, option(words, "paused", "0"));
    args_add(args, option(words, "deletes", "0"));
    args_add(args, option(words, "tombstone", ""));
}

static void seal_args(struct args *args, const struct words *words)
{
    args_add(args, word_at(words, 1));
    args_add(args, option(words, "deletion", "1"));
}

static void unseal_args(struct args *args, const struct words *words)
{
    args_add(args, option(words, "deletion", "1"));
}

static void clear_args(struct args *args, const struct words *words)
{
    args_add(args, option(words, "deletion", "1"));
    args_add(args, word_at(words, 1));
    model_add_counters(args);
}

/* schedule_put ID KNOWN DUE STATE DEFINITION */
static void schedule_args(struct args *args, const struct words *words)
{
    args_add(args, WAKE);
    add_words(args, words, 1);
}

/* schedule_tick (ID VERSION DUE NEXT WHAT)... */
static void tick_args(struct args *args, const struct words *words)
{
    args_add(args, kind);
    args_add(args, WAKE);
    args_add(args, option(words, "bound", "0"));
    args_add(args, option(words, "debounce", "0"));
    args_add(args, option(words, "dedup", "0"));
    args_add(args, option(words, "from", "0"));
    args_add(args, option(words, "ttl", ""));
    add_words(args, words, 1);
}

/* tree VERB SESSION REIGN OPERAND... */
static void tree_args(struct args *args, const struct words *words)
{
    static const char none[] = "0000000000000000";
    char session[24];

    args_add(args, word_at(words, 1));
    snprintf(session, sizeof(session), "%016lx", strtoul(word_at(words, 2), NULL, 10));
    args_add(args, session);
    args_add(args, strcmp(word_at(words, 3), "-") == 0 ? none : words->word[3]);
    args_add(args, option(words, "last", none));
    args_add(args, "abc");
    args_add(args, option(words, "lease", "60000"));
    add_words(args, words, 4);
}

static void plain_args(struct args *args, const struct words *words)
{
    add_words(args, words, 1);
}

typedef void args_fn(struct args *args, const struct words *words);

static const struct {
    const char *script;
    args_fn *add;
    bool def; /* the first argument is the definition stamp */
} forms[] = {
    {"send", send_args, true},
    {"consume", consume_args, true},
    {"renew", renew_args, true},
    {"takeover", takeover_args, true},
    {"vacate", vacate_args, true},
    {"inspect", inspect_args, true},
    {"slot_open", open_args, true},
    {"slot_seal", seal_args, true},
    {"slot_unseal", unseal_args, true},
    {"slot_clear", clear_args, false},
    {"slot_read", plain_args, false},
    {"slot_remove", plain_args, true},
    {"slot_forget", plain_args, false},
    {"topic", plain_args, false},
    {"page", page_args, true},
    {"edit", edit_args, true},
    {"find", find_args, true},
    {"rank", rank_args, true},
    {"slot_alter", alter_args, true},
    {"slot_pause", pause_args, true},
    {"owner", plain_args, false},
    {"slot_bind", plain_args, true},
    {"rights", rights_args, false},
    {"expiring", plain_args, false},
    {"schedule_put", schedule_args, true},
    {"schedule_read", plain_args, true},
    {"schedule_tick", tick_args, true},
    {"tree", tree_args, false},
    {"slot_divide", plain_args, true},
};

/* --- what is not a script --- */

static void show_reply(struct buf *out, redisReply *reply)
{
    buf_clear(out);
    reply_format(out, reply);
    freeReplyObject(reply);
}

static void show_zset(struct fixture *fixture, struct buf *out, enum fixture_key key)
{
    redisReply *reply =
        redisCommand(fixture->redis, "ZRANGE %s 0 -1 WITHSCORES", fixture_keys[key]);

    assert_non_null(reply);
    for (size_t i = 0; i < reply->elements; i += 2) {
        if (reply->element[i]->len > 0) {
            buf_add(out, " ", out->len > 0 ? 1 : 0);
            text_format(out, reply->element[i]->str, reply->element[i]->len);
            buf_add(out, "@", 1);
            score_format(out, reply->element[i + 1]->str);
        }
    }
    freeReplyObject(reply);
}

static int compare_fields(const void *a, const void *b)
{
    const redisReply *const *left = a, *const *right = b;

    return strcmp((*left)->str, (*right)->str);
}

static void show_hash(struct fixture *fixture, struct buf *out, enum fixture_key key)
{
    redisReply *reply = redisCommand(fixture->redis, "HGETALL %s", fixture_keys[key]);

    assert_non_null(reply);
    if (reply->elements > 0) { /* pairs of pointers: each field takes its value along */
        qsort(reply->element, reply->elements / 2, 2 * sizeof(reply->element[0]), compare_fields);
    }
    for (size_t i = 0; i < reply->elements; i += 2) {
        const char *name = reply->element[i]->str;

        if (name[0] != '\0' && strcmp(name, "life") != 0) { /* that is random */
            buf_add(out, " ", out->len > 0 ? 1 : 0);
            text_format(out, name, reply->element[i]->len);
            buf_add(out, "=", 1);
            if (reply->element[i + 1]->len > 0) {
                text_format(out, reply->element[i + 1]->str, reply->element[i + 1]->len);
            }
        }
    }
    freeReplyObject(reply);
}

static void show_field(struct fixture *fixture, struct buf *out, const char *name)
{
    show_reply(out, redisCommand(fixture->redis, "HGET slot{x} %s", name));
}

static void open_slot(struct fixture *fixture, struct buf *out, const struct words *words)
{
    struct args args = {0};
    bool shared = words->count > 2 && strcmp(words->word[2], "shared") == 0;

    fixture->keyed = strcmp(words->word[words->count - 1], "keyed") == 0;
    fixture_flush(fixture);
    kind[0] = word_at(words, 1)[0];
    args_add(&args, DEF);
    args_add(&args, kind);
    args_add(&args, WAKE);
    args_add(&args, shared ? "1" : "0");
    args_add(&args, "text");
    args_add(&args, "1");
    args_add(&args, "0");
    args_add(&args, "0");
    args_add(&args, "0");
    show_reply(out, fixture_call(fixture, fixture_script("slot_open"), &args));
    if (strcmp(out->data, "OK 1") == 0) {
        buf_clear(out);
        buf_printf(out, "OK");
    }
    args_clear(&args);
    if (fixture->listener != NULL) {
        (void) fixture_woken(fixture); /* by the opening, which has a test of its own */
    }
    fixture_set_time(fixture, 1000);
}

static void show_all(struct fixture *fixture, struct buf *out, const struct words *words)
{
    const char *what = words->word[0];

    if (strcmp(what, "why") == 0 || strcmp(what, "topic") == 0 || strcmp(what, "body") == 0) {
        show_hash(fixture, out, what[0] == 'w' ? KEY_WHY : what[0] == 'b' ? KEY_BODY : KEY_TOPIC);
    } else if (strcmp(what, "field") == 0) {
        show_field(fixture, out, word_at(words, 1));
    } else {
        show_zset(fixture, out,
                  what[0] == 's'   ? KEY_STORE
                  : what[0] == 't' ? KEY_SCHEDULE
                  : what[0] == 'p' ? KEY_PREPARE
                  : what[1] == 'o' ? KEY_DONE
                                   : KEY_DEAD);
    }
}

/* false: not one of these. */
static bool script_table_other(struct fixture *fixture, struct buf *out, const struct words *words,
                               const char *command)
{
    const char *what = words->word[0];

    if (strcmp(what, "open") == 0) {
        open_slot(fixture, out, words);
    } else if (strcmp(what, "at") == 0) {
        fixture_set_time(fixture, strtoll(word_at(words, 1), NULL, 10));
    } else if (strcmp(what, "listen") == 0 || strcmp(what, "deaf") == 0) {
        fixture_listen(fixture, what[0] == 'l');
    } else if (strcmp(what, "woken") == 0) {
        buf_printf(out, "%d", fixture_woken(fixture));
    } else if (strcmp(what, "heard") == 0) {
        (void) fixture_hear(fixture, out);
    } else if (strcmp(what, "redis") == 0) {
        show_reply(out, fixture_redis(fixture, command + strlen("redis ")));
    } else if (strcmp(what, "store") == 0 || strcmp(what, "prepare") == 0 ||
               strcmp(what, "dead") == 0 || strcmp(what, "done") == 0 || strcmp(what, "why") == 0 ||
               strcmp(what, "ticks") == 0 || strcmp(what, "body") == 0 ||
               strcmp(what, "field") == 0 || (strcmp(what, "topic") == 0 && words->count == 1)) {
        show_all(fixture, out, words);
    } else {
        return false;
    }
    return true;
}

/* consume alone, whose answer may be that it is not ordinary. */
static void ordinary(struct fixture *fixture, struct buf *out, const struct words *words)
{
    const struct script *script = fixture_script("consume");
    struct args args = {0};

    args_add(&args, option(words, "def", DEF));
    consume_args(&args, words);
    fixture_append(fixture, script, script->sha1, &args);
    show_reply(out, fixture_reply(fixture));
    args_clear(&args);
}

static void script_table_script(struct fixture *fixture, struct buf *out, const struct words *words)
{
    const char *name = words->word[0];
    struct args args = {0};

    if (strcmp(name, "ordinary") == 0) {
        ordinary(fixture, out, words);
        return;
    }
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (strcmp(forms[i].script, name) == 0) {
            if (forms[i].def) {
                args_add(&args, option(words, "def", DEF));
            }
            forms[i].add(&args, words);
            show_reply(out, fixture_call(fixture, fixture_script(name), &args));
            args_clear(&args);
            return;
        }
    }
    fail_msg("unknown row: %s", name);
}

/* A slot that was ever opened keeps its sentinels until it is forgotten, whatever is called. */
static void check_sentinels(struct fixture *fixture, const char *command)
{
    static const char *const looks[] = {"ZSCORE x ",       "ZSCORE prepare{x} ", "ZSCORE dead{x} ",
                                        "HEXISTS why{x} ", "HEXISTS slot{x} ",   "HEXISTS body{x} ",
                                        "ZSCORE done{x} "};

    for (size_t i = 0; i < (fixture->keyed ? 7 : 5); i++) {
        bool zset = looks[i][0] == 'Z';
        bool smallest = i == 0 && (kind[0] == 'p' || kind[0] == 'b');
        const char *right = !zset ? "1" : smallest ? "-inf" : "inf";
        char look[32];
        struct buf found = {0};

        snprintf(look, sizeof(look), "%s%%b", looks[i]);
        show_reply(&found, redisCommand(fixture->redis, look, "", (size_t) 0));
        if (strcmp(found.data, right) != 0) {
            fail_msg("after `%s`: the sentinel of %s is %s, not %s", command, fixture_keys[i],
                     found.data, right);
        }
        buf_fini(&found);
    }
}

static void script_table_words(struct fixture *fixture, struct buf *out, struct words *words,
                               const char *command)
{
    buf_add(out, "", 0);
    words_split(words, command);
    if (strcmp(words->word[0], "whole") == 0) {
        words->word[0] = "send";
        fixture->keyed = false;
        script_table_script(fixture, out, words);
        fixture->keyed = true;
    } else if (!script_table_other(fixture, out, words, command)) {
        script_table_script(fixture, out, words);
    }
}

bool script_table_call(struct fixture *fixture, const char *command)
{
    struct words words;
    struct buf out = {0};
    bool done;

    script_table_words(fixture, &out, &words, command);
    done = strncmp(out.data, "ERROR ", strlen("ERROR ")) != 0;
    buf_fini(&out);
    return done;
}

static bool is_expected(const char *answer, const char *expected)
{
    size_t len = strlen(expected);

    return len >= 3 && strcmp(expected + len - 3, "...") == 0
               ? strncmp(answer, expected, len - 3) == 0
               : reply_same(answer, expected);
}

static void script_table_rows(struct fixture *fixture, const struct script_row *rows, size_t count)
{
    bool opened = false;

    for (size_t i = 0; i < count; i++) {
        struct words words;
        struct buf out = {0};

        script_table_words(fixture, &out, &words, rows[i].command);
        if (rows[i].expected != NULL && !is_expected(out.data, rows[i].expected)) {
            fail_msg("row %zu: `%s`\n  expected: %s\n  got:      %s", i + 1, rows[i].command,
                     rows[i].expected, out.data);
        }
        opened = opened || strcmp(words.word[0], "open") == 0;
        opened =
            opened && (strcmp(words.word[0], "slot_forget") != 0 || strcmp(out.data, "OK") != 0);
        if (opened && strcmp(words.word[0], "redis") != 0) {
            check_sentinels(fixture, rows[i].command);
        }
        buf_fini(&out);
    }
}

/* A table that opens a slot and consumes is run once more with consume_any alone. */
static bool is_run_twice(const struct script_row *rows, size_t count)
{
    bool opens = strncmp(rows[0].command, "open ", 5) == 0, consumes = false;

    for (size_t i = 0; opens && i < count; i++) {
        consumes = consumes || strncmp(rows[i].command, "consume ", 8) == 0;
        opens = strncmp(rows[i].command, "ordinary ", 9) != 0;
    }
    return opens && consumes;
}

void script_table_run(struct fixture *fixture, const struct script_row *rows, size_t count)
{
    script_table_rows(fixture, rows, count);
    if (is_run_twice(rows, count)) {
        fixture->any = true;
        script_table_rows(fixture, rows, count);
        fixture->any = false;
    }
}
