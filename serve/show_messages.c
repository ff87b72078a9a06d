/* show_messages.c - messages of a topic.
 *
 * Thread: serve:ask-N. */
#include <stdlib.h>
#include <string.h>

#include "cli/http/query.h"
#include "cli/message/message.h"
#include "cli/text/moment.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/topic/topic.h"
#include "serve/serve.h"

/* How much is shown of a body: in a list, and of one message. */
enum { MESSAGES_LIMIT = 50, MESSAGES_BODY_MAX = 4 * 1024, MESSAGE_BODY_MAX = 1024 * 1024 };

/* === Messages =========================================================== */

/* How much of these bytes is shown: no character of UTF-8 is cut. */
static size_t show_cut(smq_bytes bytes, size_t most)
{
    const unsigned char *data = bytes.data;
    size_t size = bytes.len < most ? bytes.len : most;

    for (size_t i = 0; i < 3 && size < bytes.len && size > 0 && (data[size] & 0xc0) == 0x80; i++) {
        size--;
    }
    return size;
}

static void show_hide(json_t *object)
{
    (void) json_object_del(object, "body_base64");
    (void) json_object_del(object, "key_base64");
    output_set(object, "body", json_null());
    output_set(object, "key", json_null());
    output_set(object, "cursor", json_null());
    (void) json_object_del(object, "headers"); /* a message without headers has none of them */
    (void) json_object_del(object, "headers_base64");
}

static json_t *show_message_json(const smq_message_info *message, size_t most, bool personal)
{
    smq_message_info shown = *message;
    const bool has_id = message_has_id(message);

    shown.body.len = show_cut(message->body, most);
    json_t *object = message_info_json(&shown);
    if (!has_id) { /* layout inline: the body names it */
        output_set(object, "id", json_null());
    }
    output_set(object, "hidden", json_boolean(!personal));
    output_set(object, "body_size", json_integer((json_int_t) message->body.len));
    output_set(object, "body_cut", json_boolean(shown.body.len < message->body.len));
    if (!personal) {
        show_hide(object);
    }
    return object;
}

struct messages_visit {
    json_t *array;
    bool personal;
    char *cursor; /* owned: of the newest one */
};

static bool messages_on_message(const smq_message_info *message, void *user)
{
    struct messages_visit *visit = user;

    output_append(visit->array, show_message_json(message, MESSAGES_BODY_MAX, visit->personal));
    free(visit->cursor);
    visit->cursor = visit->personal && message->cursor ? strdup(message->cursor) : NULL;
    return true;
}

/* "waiting,dead" as smq_state, or-ed; 0: that is no state. */
static unsigned messages_states(const json_t *words)
{
    unsigned states = json_array_size(words) == 0 ? (unsigned) SMQ_STATE_WAITING : 0;

    for (size_t i = 0; i < json_array_size(words); i++) {
        const unsigned state =
            (unsigned) message_state_named(json_string_value(json_array_get(words, i)));
        if (state == 0) {
            return 0;
        }
        states |= state;
    }
    return states;
}

static struct answer *messages_answer(struct messages_visit *visit, const char *topic,
                                      uint64_t limit, const smq_error *err)
{
    const bool more = json_array_size(visit->array) >= limit;
    json_t *document = json_object();

    output_set(document, "topic", output_text(topic));
    output_set(document, "at_ms", json_integer(moment_wall_ms()));
    output_set(document, "messages", json_incref(visit->array));
    output_set(document, "next", more && visit->cursor ? output_text(visit->cursor) : json_null());
    output_set(document, "more", json_boolean(more));
    output_set(document, "code", json_string(smq_status_name(err->status)));
    output_set(document, "detail", output_text(err->status == SMQ_OK ? "" : say_text(err)));
    return answer_json(200, document);
}

bool show_is_partial(const smq_error *err)
{
    return err->status == SMQ_DAMAGED || err->status == SMQ_UNAVAILABLE;
}

/* The answer that refuses the query; NULL: the filter is filled. */
static struct answer *messages_filter(struct query_filter *out, const json_t *query,
                                      const struct guard_caller *caller)
{
    char why[QUERY_WHY] = "";
    smq_filter *filter = &out->filter;

    if (!query_filter_read(out, query, why)) {
        return answer_problem(400, SMQ_INVALID, "%s", why);
    }
    filter->states = messages_states(json_object_get(query, "state"));
    filter->cursor = query_text(query, "cursor");
    filter->limit = filter->limit != 0 ? filter->limit : MESSAGES_LIMIT;
    if (filter->states == 0) {
        return answer_problem(400, SMQ_INVALID, "state must be waiting, claimed, resting or dead");
    }
    if (!caller->personal && (filter->contains || filter->cursor || filter->header)) {
        return answer_problem(403, SMQ_DENIED,
                              "contains, header and cursor are for those who may see bodies and "
                              "keys: give the token");
    }
    return NULL;
}

struct answer *show_messages(struct serve *serve, const json_t *query,
                             const struct guard_caller *caller)
{
    const char *topic = query_text(query, "topic");
    smq_error err = SMQ_ERROR_INIT;
    smq_client *client = readings_client(serve->readings, &err);
    struct messages_visit visit = {.personal = caller->personal};
    struct query_filter read;
    struct answer *answer = messages_filter(&read, query, caller);

    if (!answer && !client) {
        answer = answer_failure(&err);
    }
    if (answer) {
        goto out;
    }
    visit.array = json_array();
    const smq_status status =
        smq_message_each(client, topic, &read.filter, messages_on_message, &visit, &err);
    answer = status == SMQ_OK || (show_is_partial(&err) && json_array_size(visit.array) > 0)
                 ? messages_answer(&visit, topic, read.filter.limit, &err)
                 : answer_failure(&err);
out:
    json_decref(visit.array);
    free(visit.cursor);
    query_filter_fini(&read);
    return answer;
}

struct answer *show_message(struct serve *serve, const json_t *query,
                            const struct guard_caller *caller)
{
    const char *topic = query_text(query, "topic");
    smq_error err = SMQ_ERROR_INIT;
    smq_client *client = readings_client(serve->readings, &err);
    smq_layout layout = SMQ_LAYOUT_KEYED;
    smq_message_info *found = NULL;
    struct answer *answer = NULL;
    struct query_ref ref;

    query_ref_read(&ref, query);
    if (!caller->personal && ref.which.key.data) {
        answer = answer_problem(403, SMQ_DENIED,
                                "key is for those who may see bodies and keys: give the token");
        goto out;
    }
    if (!client || topic_layout(&layout, client, topic, &err) != SMQ_OK) {
        answer = answer_failure(&err);
        goto out;
    }
    if (layout == SMQ_LAYOUT_INLINE && !caller->personal) {
        answer = answer_problem(403, SMQ_DENIED,
                                "the body names a message of this topic: give the token");
        goto out;
    }
    if (layout == SMQ_LAYOUT_INLINE) {
        query_ref_by_body(&ref);
    }
    if (smq_message_get(client, topic, &ref.which, &found, &err) != SMQ_OK) {
        answer = answer_failure(&err);
        goto out;
    }
    answer = answer_json(200, show_message_json(found, MESSAGE_BODY_MAX, caller->personal));
    smq_message_info_free(found);
out:
    query_ref_fini(&ref);
    return answer;
}
