/* tally.c - see tally.h. */
#include "cli/message/tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text/say.h"

void tally_failed(struct tally *tally, uint64_t number, enum exit_code code, const char *text)
{
    pthread_mutex_lock(&tally->lock);
    if (tally->failures++ < TALLY_FAILED_MOST) {
        tally->failed[tally->failures - 1] = number;
    }
    if (tally->code == EXIT_DONE || number < tally->number) {
        tally->code = code;
        tally->number = number;
        snprintf(tally->text, sizeof(tally->text), "%s", text);
    }
    pthread_mutex_unlock(&tally->lock);
}

bool tally_has_failed(struct tally *tally)
{
    pthread_mutex_lock(&tally->lock);
    const bool failed = tally->code != EXIT_DONE;
    pthread_mutex_unlock(&tally->lock);
    return failed;
}

void tally_count(struct tally *tally, const smq_receipt *receipt)
{
    pthread_mutex_lock(&tally->lock);
    uint64_t *count = receipt->merged ? &tally->merged : &tally->sent;
    ++*count;
    pthread_mutex_unlock(&tally->lock);
}

void tally_counts(char out[TALLY_COUNTS_SIZE], const struct tally *tally, const char *verb)
{
    const int len = snprintf(out, TALLY_COUNTS_SIZE, "%s %" PRIu64 " merged %" PRIu64, verb,
                             tally->sent, tally->merged);

    if (tally->duplicates > 0) {
        snprintf(out + len, TALLY_COUNTS_SIZE - (size_t) len, " duplicate %" PRIu64,
                 tally->duplicates);
    }
}

enum exit_code tally_code(const struct tally *tally)
{
    return tally->duplicates > 0 ? exit_code_of(SMQ_DUPLICATE) : EXIT_DONE;
}

enum exit_code tally_say_duplicates(const struct tally *tally, const char *counts)
{
    return say_error(tally_code(tally),
                     "%s: ids that are in flight, rest or were done within dedup_window_ms were "
                     "refused",
                     counts);
}

static int tally_compare(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *) one, b = *(const uint64_t *) other;

    return a < b ? -1 : a > b;
}

/* Lines behind the one that failed were stored: they and those that failed are skipped, and the
 * latter are named. */
static void tally_continue_behind(char *out, const struct tally *tally)
{
    uint64_t failed[TALLY_FAILED_MOST], last = tally->last;
    size_t used = (size_t) snprintf(out, TALLY_CONTINUE_SIZE, "; to continue without line%s",
                                    tally->failures > 1 ? "s" : "");

    memcpy(failed, tally->failed, sizeof(failed));
    qsort(failed, tally->failures, sizeof(*failed), tally_compare);
    for (size_t i = 0; i < tally->failures; i++) {
        used += (size_t) snprintf(out + used, TALLY_CONTINUE_SIZE - used, "%s %" PRIu64,
                                  i > 0 ? "," : "", failed[i]);
        last = failed[i] > last ? failed[i] : last;
    }
    (void) snprintf(out + used, TALLY_CONTINUE_SIZE - used, ": --skip %" PRIu64, last);
}

void tally_continue(char *out, const struct tally *tally)
{
    const bool bad = tally->code == EXIT_DATA || tally->code == EXIT_USAGE;
    const bool named = tally->failures <= TALLY_FAILED_MOST;

    out[0] = '\0';
    if (tally->number == 0 || tally->number == UINT64_MAX) {
        return;
    }
    if (named && (bad || tally->last > tally->number)) {
        tally_continue_behind(out, tally);
    } else if (tally->number > 1) {
        (void) snprintf(out, TALLY_CONTINUE_SIZE, "; to continue: --skip %" PRIu64 "%s",
                        tally->number - 1,
                        tally->last > tally->number ? ", which stores some lines again" : "");
    }
}

/* One send without a receipt. */
struct tally_pending {
    struct tally *tally;
    uint64_t number;
};

static void tally_ended(struct tally *tally, uint64_t number)
{
    pthread_mutex_lock(&tally->lock);
    tally->last = number > tally->last ? number : tally->last;
    pthread_mutex_unlock(&tally->lock);
}

/* Thread: smq:call. */
static void tally_on_receipt(const smq_receipt *receipt, void *user)
{
    struct tally_pending *pending = user;

    if (receipt->status == SMQ_OK || receipt->status == SMQ_DUPLICATE) {
        tally_ended(pending->tally, pending->number);
    }
    if (receipt->status == SMQ_OK) {
        tally_count(pending->tally, receipt);
    } else if (receipt->status == SMQ_DUPLICATE) {
        pthread_mutex_lock(&pending->tally->lock);
        pending->tally->duplicates++;
        pthread_mutex_unlock(&pending->tally->lock);
    } else {
        tally_failed(pending->tally, pending->number, exit_code_of(receipt->status),
                     receipt->text ? receipt->text : smq_status_text(receipt->status));
    }
    free(pending);
}

static struct tally_pending *tally_pending_new(struct tally *tally, uint64_t number)
{
    struct tally_pending *pending = say_alloc(1, sizeof(*pending));

    *pending = (struct tally_pending){.tally = tally, .number = number};
    return pending;
}

/* What was not accepted has no receipt. */
static void tally_accepted(struct tally_pending *pending, smq_status status, const smq_error *err)
{
    if (status != SMQ_OK) {
        tally_failed(pending->tally, pending->number, exit_code_of(err->status), err->text);
        free(pending);
    }
}

void tally_send(struct tally *tally, uint64_t number, smq_producer *producer, const char *topic,
                const smq_message *message)
{
    struct tally_pending *pending = tally_pending_new(tally, number);
    smq_error err;

    tally_accepted(pending,
                   smq_send_async(producer, topic, message, tally_on_receipt, pending, &err), &err);
}

void tally_restore(struct tally *tally, uint64_t number, smq_producer *producer, const char *topic,
                   const smq_message_copy *copy)
{
    struct tally_pending *pending = tally_pending_new(tally, number);
    smq_error err;

    tally_accepted(pending,
                   smq_restore_async(producer, topic, copy, tally_on_receipt, pending, &err), &err);
}

void tally_flush(struct tally *tally, smq_producer *producer)
{
    smq_error err;

    if (smq_producer_flush(producer, SMQ_FOREVER, &err) != SMQ_OK) {
        tally_failed(tally, UINT64_MAX, exit_code_of(err.status), err.text);
    }
}
