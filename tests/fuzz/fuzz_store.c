/* fuzz_store.c - replies of scripts, and what the store reads from them.  The first line of an
 * input names the reader; the others are the reply (fuzz.h). */
#include <string.h>

#include "fuzz/fuzz.h"
#include "store/call.h"
#include "store/consume.h"
#include "store/message.h"
#include "store/owner.h"
#include "store/send.h"
#include "store/slot.h"
#include "store/topic.h"

enum { COUNT = 3, PAGE = 4 };

static const struct store_slot slot_inline = {.kind = 'm'};
static const struct store_slot slot_keyed = {.kind = 't', .keyed = true};

/* Look at every byte. */
static void touch(const char *data, size_t len)
{
    volatile unsigned sum = 0;

    for (size_t i = 0; i < len; i++) {
        sum = sum + (unsigned char) data[i];
    }
}

static void touch_text(const char *text)
{
    touch(text, strlen(text) + 1);
}

/* --- messages --- */

static void read_send(const struct store_result *result)
{
    const char *results;

    if (store_send_read(&results, result, COUNT)) {
        touch(results, COUNT);
    }
}

static void read_renew(const struct store_result *result)
{
    const char *results;

    if (store_renew_read(&results, result, COUNT)) {
        touch(results, COUNT);
    }
}

static void read_edit(const struct store_result *result)
{
    const char *results;

    if (store_edit_read(&results, result, COUNT)) {
        touch(results, COUNT);
    }
}

static void read_consumed(const struct store_result *result, const struct store_slot *slot)
{
    struct store_consumed consumed;
    struct store_claimed claimed = {.body = NULL}; /* stays so for layout inline */
    struct store_known known;

    if (!store_consume_read(&consumed, result, slot, COUNT)) {
        return;
    }
    touch(consumed.results, COUNT);
    for (size_t i = 0; i < consumed.count; i++) {
        if (store_consume_known(&known, result, slot, i)) {
            touch(known.entry, known.entry_len);
        }
        if (store_consume_message(&claimed, result, slot, i)) {
            touch(claimed.entry, claimed.entry_len);
            touch(claimed.body, claimed.body_len);
        }
    }
}

static void read_consume(const struct store_result *result)
{
    read_consumed(result, &slot_inline);
}

static void read_consume_keyed(const struct store_result *result)
{
    read_consumed(result, &slot_keyed);
}

static void touch_holder(const struct store_holder *holder)
{
    touch_text(holder->token);
    touch_text(holder->owner);
    touch_text(holder->note.owner);
    touch(holder->note.entry, holder->note.entry_len);
}

static void touch_row(const struct store_page_row *row)
{
    touch(row->name, row->name_len);
    touch_text(row->score);
    touch_text(row->reason);
    touch(row->entry.member, row->entry.member_len);
    touch(row->stored, row->stored_len);
}

static void read_page_of(const struct store_result *result, const struct store_slot *slot)
{
    const struct store_page page = {.limit = PAGE};
    struct store_paged paged;

    if (!store_page_read(&paged, result, slot, &page)) {
        return;
    }
    FUZZ_CHECK(paged.count <= PAGE);
    touch_holder(&paged.holder);
    touch_text(paged.next.score);
    touch(paged.next.name, paged.next.name_len);
    for (size_t i = 0; i < paged.count; i++) {
        for (int state = SMQ_STATE_WAITING; state <= 2 * SMQ_STATE_DEAD; state *= 2) {
            const struct store_page part = {.state = state <= SMQ_STATE_DEAD ? (smq_state) state
                                                                             : SMQ_STATE_WAITING,
                                            .scheduled = state > SMQ_STATE_DEAD};
            struct store_page_row row;

            if (store_page_message(&row, result, slot, &part, &paged.holder, i)) {
                touch_row(&row);
            }
        }
    }
}

static void read_page(const struct store_result *result)
{
    read_page_of(result, &slot_inline);
}

static void read_page_keyed(const struct store_result *result)
{
    read_page_of(result, &slot_keyed);
}

static void read_found(const struct store_result *result, const struct store_slot *slot)
{
    const struct store_find find = {.member = "m", .member_len = 1, .from = {.score = ""}};
    struct store_found found;

    if (!store_find_read(&found, result, slot, &find)) {
        return;
    }
    FUZZ_CHECK(!found.found || !found.more);
    touch_holder(&found.holder);
    if (found.found) {
        touch_row(&found.row);
    }
    if (found.more) {
        touch_text(found.next.from.score);
        touch(found.next.from.name, found.next.from.name_len);
    }
}

static void read_find(const struct store_result *result)
{
    read_found(result, &slot_inline);
}

static void read_find_keyed(const struct store_result *result)
{
    read_found(result, &slot_keyed);
}

static void read_rank(const struct store_result *result)
{
    char score[STORE_SCORE_MAX];
    uint64_t count;

    if (store_rank_read(&count, score, result)) {
        touch_text(score);
    }
}

/* --- owners --- */

static void read_takeover(const struct store_result *result)
{
    uint64_t base;
    bool more;

    (void) store_takeover_read(&base, &more, result);
}

static void read_fenced(const struct store_result *result)
{
    struct token token;

    (void) store_fenced_token(&token, result);
}

static void read_held(const struct store_result *result)
{
    struct store_lease_holder holder;

    if (store_lease_holder_read(&holder, result)) {
        touch_text(holder.owner);
    }
}

static void read_owner(const struct store_result *result)
{
    struct store_owner owner;
    uint64_t count;

    (void) store_owner_read(&owner, result);
    (void) store_listeners_read(&count, result);
}

static void read_bind(const struct store_result *result)
{
    char bound[64];

    if (store_bound_read(bound, sizeof(bound), result)) {
        touch_text(bound);
    }
}

/* --- topics and slots --- */

static void check_topic(const struct topic *topic)
{
    FUZZ_CHECK(strlen(topic->nonce) == TOPIC_NONCE_LEN);
    FUZZ_CHECK(topic->version >= 1 && topic->generation >= 1 && topic->slots >= 1);
}

static void read_topic(const struct store_result *result)
{
    enum store_topic_state state;
    struct topic topic;
    char coord[64];
    smq_error err;

    if (store_topic_get_read(&topic, &state, "t", result, &err) == SMQ_OK) {
        check_topic(&topic);
    } else {
        touch_text(err.text);
    }
    store_topic_coord_read(coord, sizeof(coord), result);
    touch_text(coord);
}

static void read_create(const struct store_result *result)
{
    enum store_topic_state state;
    struct topic topic;
    smq_error err;
    uint32_t number;

    if (store_topic_create_read(&topic, &state, "t", result, &err) == SMQ_OK) {
        check_topic(&topic);
    } else {
        touch_text(err.text);
    }
    (void) store_topic_number_read(&number, result);
}

static void read_registry(const struct store_result *result)
{
    char cursor[STORE_DIVIDED_MAX];
    size_t count;

    if (store_registry_list_read(cursor, &count, result)) {
        touch_text(cursor);
        for (size_t i = 0; i < count; i++) {
            touch_text(store_registry_name(result, i));
            (void) store_registry_is_lost(result, i);
        }
    }
    if (store_scan_read(cursor, &count, result)) {
        const char *key;
        size_t len;

        for (size_t i = 0; i < count; i++) {
            struct slot_key_named named;

            if (store_scan_key(&key, &len, result, i) && slot_key_read(&named, key, len)) {
                touch_text(named.topic);
            }
        }
    }
}

static void read_slot(const struct store_result *result)
{
    struct store_result refused = *result;
    char key[SLOT_KEY_MAX], cursor[STORE_DIVIDED_MAX];
    uint64_t messages;
    bool flag;

    (void) store_slot_open_read(&flag, result);
    (void) store_slot_clear_read(&flag, result);
    if (store_slot_divide_read(cursor, &messages, result)) {
        touch_text(cursor);
    }
    (void) store_slot_seal_read(&messages, result);
    refused.outcome = STORE_REFUSED;
    refused.word = "FOREIGN";
    if (store_slot_foreign_read(key, &refused)) {
        touch_text(key);
    }
}

static void read_notes(const struct store_result *result)
{
    struct slot_notes notes;

    if (store_slot_notes_read(&notes, result)) {
        FUZZ_CHECK(!notes.open || notes.version >= 1);
        touch(notes.nonce, sizeof(notes.nonce));
        touch(notes.text, notes.text_len);
    }
}

static void read_rights(const struct store_result *result)
{
    char missing[STORE_RIGHTS_MAX];

    if (store_rights_read(missing, sizeof(missing), result)) {
        touch_text(missing);
    }
}

static void read_inspect(const struct store_result *result)
{
    struct store_inspected look;

    if (store_inspect_read(&look, result, 30000)) {
        FUZZ_CHECK(look.stats.slots_paused <= 1);
        touch_text(look.owner);
        touch_text(look.token);
    }
}

/* --- one of them --- */

static const struct reader {
    const char *name;
    void (*read)(const struct store_result *result);
} readers[] = {
    {"send", read_send},         {"renew", read_renew},
    {"edit", read_edit},         {"consume", read_consume},
    {"page", read_page},         {"consume_keyed", read_consume_keyed},
    {"find", read_find},         {"page_keyed", read_page_keyed},
    {"rank", read_rank},         {"find_keyed", read_find_keyed},
    {"takeover", read_takeover}, {"fenced", read_fenced},
    {"held", read_held},         {"owner", read_owner},
    {"bind", read_bind},         {"topic", read_topic},
    {"create", read_create},     {"registry", read_registry},
    {"slot", read_slot},         {"notes", read_notes},
    {"inspect", read_inspect},   {"rights", read_rights},
};

static void read_reply(const redisReply *reply, void *user)
{
    const struct reader *reader = user;
    const struct store_result result = {.word = "", .text = "", .reply = reply};

    reader->read(&result);
}

FUZZ_TARGET(store)
{
    const uint8_t *end = size == 0 ? NULL : memchr(data, '\n', size);

    for (size_t i = 0; end != NULL && i < sizeof(readers) / sizeof(readers[0]); i++) {
        size_t len = (size_t) (end - data);

        if (strlen(readers[i].name) == len && memcmp(data, readers[i].name, len) == 0) {
            struct reader reader = readers[i];
            fuzz_reply(end + 1, size - len - 1, read_reply, &reader);
        }
    }
}
