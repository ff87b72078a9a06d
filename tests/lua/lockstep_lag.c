/* lockstep_lag.c - the lag of kind p in layout inline: notes tell it, which is not exact, and those
 * who send may have a version that keeps none. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lockstep_round.h"
#include "model_slot.h"

enum { OLDEST_WORD = 7, NOTE_MS = 1000 };

static bool has_notes(const struct round *round)
{
    return round->model->kind == 'p' && !round->model->keyed;
}

/* --- senders of another version --- */

static void command(struct round *round, const char *text)
{
    redisReply *reply = redisCommand(round->fixture->redis, text);

    assert_non_null(reply);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

bool round_begin_older(struct round *round, const struct call *call)
{
    if (!round->older || call->kind != CALL_SEND || !round_percent(round, 30)) {
        return false;
    }
    command(round, "COPY slot{x} before{x} REPLACE");
    round->had_notes = round->model->has_notes;
    return true;
}

static const char undo_text[] = "local seq = redis.call('HGET', KEYS[1], 'seq') "
                                "redis.call('HSET', KEYS[1], 'seq', tonumber(seq)) "
                                "for _, field in ipairs({'noted', 'times'}) do "
                                "  local before = redis.call('HGET', KEYS[2], field) "
                                "  if before then redis.call('HSET', KEYS[1], field, before) "
                                "  else redis.call('HDEL', KEYS[1], field) end "
                                "end";

/* It wrote no notes, and seq as a number. */
void round_end_older(struct round *round, const char *seen)
{
    if (strncmp(seen, "OK", 2) == 0 && !round->model->sent_before) {
        redisReply *reply =
            redisCommand(round->fixture->redis, "EVAL %s 2 slot{x} before{x}", undo_text);

        assert_non_null(reply);
        assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
        freeReplyObject(reply);
        round->model->keeps_notes = false;
        round->model->has_notes = round->had_notes;
        buf_printf(round->report, "    from a version that keeps no notes\n");
    }
    command(round, "DEL before{x}");
}

/* --- what inspect says --- */

/* The word of that number, from 0; NULL: the text has less. */
static const char *word_at(const char *text, int number, size_t *len)
{
    for (; number > 0 && text != NULL; number--) {
        text = strchr(text, ' ');
        text = text == NULL ? NULL : text + 1;
    }
    *len = text == NULL ? 0 : strcspn(text, " ");
    return text;
}

static const char *wrong_lag(const struct model *model, const char *oldest)
{
    const struct model_message *first = model_first_placed(model);
    const bool is_told = oldest[0] != '\'';
    int64_t at, told;
    uint64_t place;

    if (first == NULL) {
        return is_told ? "nothing waits, and it has a lag" : NULL;
    }
    place = model_place_of(first);
    at = model->placed_at[place];
    if (is_told != (model->keeps_notes && place > model->noted_from)) {
        return is_told ? "a lag is told that nobody can know" : "the lag is known and not told";
    }
    told = is_told ? strtoll(oldest, NULL, 10) : at;
    if (told > model->now && is_told) {
        return "the lag is negative";
    }
    if (told < at && told < model->now) {
        return "the lag is more than the oldest message has waited";
    }
    /* what waited when nothing else did was dead, and is looked at less closely */
    if (told >= at + (int64_t) 2 * NOTE_MS && place > model->emptied) {
        return "the lag is much less than the oldest message has waited";
    }
    return NULL;
}

void round_judge_lag(struct round *round, struct buf *expected, const struct buf *seen)
{
    size_t model_len, len;
    const char *model_word = word_at(expected->data, OLDEST_WORD, &model_len);
    const char *word = word_at(seen->data, OLDEST_WORD, &len);
    struct buf changed = {0};

    if (!has_notes(round) || model_word == NULL || word == NULL || round->failed) {
        return;
    }
    if (wrong_lag(round->model, word) != NULL) {
        round_fail(round, wrong_lag(round->model, word));
    }
    buf_add(&changed, expected->data, (size_t) (model_word - expected->data));
    buf_add(&changed, word, len);
    buf_printf(&changed, "%s", model_word + model_len);
    buf_fini(expected);
    *expected = changed;
}
