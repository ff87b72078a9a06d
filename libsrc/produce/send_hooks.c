/* send_hooks.c - see send_hooks.h.
 *
 * Thread: as slotmq/hooks.h says. */
#include "produce/send_hooks.h"

#include <string.h>

#include "base/status.h"
#include "model/headers.h"

/* `all` has room for SMQ_HEADERS_MAX headers; NULL: none was added. */
struct smq_hook_headers {
    struct message *message;
    struct arena *memory;
    smq_header *all;
};

static smq_message_info send_hooks_info(const char *topic, const struct message *message,
                                        int32_t slot)
{
    return (smq_message_info){.struct_size = sizeof(smq_message_info),
                              .topic = topic,
                              .slot = slot,
                              .body = message->body,
                              .key = message->key,
                              .id = message->id,
                              .priority = message->priority,
                              .due_at_ms = message->due_at_ms,
                              .token = "",
                              .reason = "",
                              .headers = message->headers,
                              .header_count = message->header_count};
}

void send_hooks_begin(struct send_hooks *out, const smq_hooks *hooks, const char *topic,
                      struct message *message)
{
    smq_hook_headers headers = {.message = message, .memory = &out->added};
    smq_message_info info;

    if ((hooks->send_begin == NULL && hooks->send_end == NULL) || message->restored) {
        return;
    }
    out->hooks = hooks;
    if (hooks->send_begin != NULL) {
        info = send_hooks_info(topic, message, -1);
        out->span = hooks->send_begin(&info, &headers, hooks->user);
    }
}

void send_hooks_end(const struct send_hooks *send, const char *topic, const struct message *message,
                    const smq_receipt *receipt)
{
    smq_message_info info;

    if (send->hooks != NULL && send->hooks->send_end != NULL) {
        info = send_hooks_info(topic, message, receipt->slot);
        send->hooks->send_end(&info, receipt, send->span, send->hooks->user);
    }
}

void send_hooks_fini(struct send_hooks *send)
{
    arena_fini(&send->added);
}

/* --- headers that are added --- */

/* Move the headers of the message to where there is room for more; false: no memory. */
static bool send_hooks_make_room(smq_hook_headers *headers)
{
    const struct message *message = headers->message;

    if (headers->all != NULL) {
        return true;
    }
    headers->all = arena_alloc(headers->memory, (SMQ_HEADERS_MAX + 1) * sizeof(*headers->all));
    if (headers->all != NULL && message->header_count > 0) {
        memcpy(headers->all, message->headers, message->header_count * sizeof(*headers->all));
    }
    return headers->all != NULL;
}

static bool send_hooks_copy(smq_header *out, struct arena *memory, const smq_header *from)
{
    size_t name_size = strlen(from->name) + 1;
    char *bytes = arena_alloc(memory, name_size + from->value.len);

    if (bytes == NULL) {
        return false;
    }
    memcpy(bytes, from->name, name_size);
    if (from->value.len > 0) {
        memcpy(bytes + name_size, from->value.data, from->value.len);
    }
    *out = (smq_header){bytes, {bytes + name_size, from->value.len}};
    return true;
}

/* One more than SMQ_HEADERS_MAX has its place, so that headers_check() is what refuses it. */
smq_status send_hooks_add(smq_hook_headers *headers, const char *name, smq_bytes value,
                          smq_error *err)
{
    struct message *message = headers->message;
    smq_header *added;
    smq_status status;

    if (!send_hooks_make_room(headers)) {
        return status_set(err, SMQ_NO_MEMORY, "no memory for headers");
    }
    added = &headers->all[message->header_count];
    *added = (smq_header){name, value};
    status = headers_check(headers->all, message->header_count + 1, err);
    if (status != SMQ_OK) {
        return status;
    }
    if (!send_hooks_copy(added, headers->memory, added)) {
        return status_set(err, SMQ_NO_MEMORY, "no memory for header %.60s", name);
    }
    message->headers = headers->all;
    message->header_count++;
    message->added++;
    return SMQ_OK;
}
