/* options.c - structs of the public interface that carry their own size; public entry points:
 * options by name.
 *
 * Pure. */
#include "client/options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <slotmq/slotmq.h>

#include "base/memory.h"
#include "base/owner_of.h"
#include "base/status.h"
#include "model/option.h"
#include "model/topic.h"

static smq_status options_check_size(size_t *out, const void *options, size_t size,
                                     const char *init, smq_error *err)
{
    if (options == NULL) {
        return status_set(err, SMQ_INVALID, "the struct is NULL; give one that begins with %s",
                          init);
    }
    memcpy(out, options, sizeof(*out));
    if (*out < sizeof(*out)) {
        return status_set(err, SMQ_INVALID, "struct_size is not set; begin the struct with %s",
                          init);
    }
    if (*out > size) {
        return status_set(err, SMQ_INVALID,
                          "struct_size is %zu, but this library knows %zu bytes of it: the header "
                          "is newer than the library (%s)",
                          *out, size, init);
    }
    return SMQ_OK;
}

smq_status options_check_and_copy(void *out, size_t size, const void *options, const char *init,
                                  smq_error *err)
{
    size_t known = 0;
    smq_status status = options_check_size(&known, options, size, init, err);

    if (status != SMQ_OK) {
        return status;
    }
    memset(out, 0, size);
    memcpy(out, options, known);
    memcpy(out, &size, sizeof(size));
    return SMQ_OK;
}

union options_any {
    size_t struct_size;
    smq_client_options client;
    smq_topic_options topic;
    smq_producer_options producer;
    smq_consumer_options consumer;
};

static const struct {
    size_t size;
    const char *init;
} options_structs[] = {
    [SMQ_OPTION_SET_CLIENT] = {sizeof(smq_client_options), "SMQ_CLIENT_OPTIONS_INIT"},
    [SMQ_OPTION_SET_TOPIC] = {sizeof(smq_topic_options), "SMQ_TOPIC_OPTIONS_INIT"},
    [SMQ_OPTION_SET_PRODUCER] = {sizeof(smq_producer_options), "SMQ_PRODUCER_OPTIONS_INIT"},
    [SMQ_OPTION_SET_CONSUMER] = {sizeof(smq_consumer_options), "SMQ_CONSUMER_OPTIONS_INIT"},
};

smq_status options_complete(void *out, smq_option_set set, const void *options, smq_error *err)
{
    smq_status status = options_check_and_copy(out, options_structs[set].size, options,
                                               options_structs[set].init, err);

    return status == SMQ_OK ? option_complete(out, set, err) : status;
}

smq_status options_copy_out(void *out, const void *from, size_t size, const char *init,
                            smq_error *err)
{
    size_t known = 0;
    smq_status status = options_check_size(&known, out, size, init, err);

    if (status == SMQ_OK) {
        memcpy((char *) out + sizeof(known), (const char *) from + sizeof(known),
               known - sizeof(known));
    }
    return status;
}

SMQ_API smq_status smq_option_parse(void *options, smq_option_set set, const char *name,
                                    const char *value, smq_error *err)
{
    return option_parse(options, set, name, value, err);
}

SMQ_API smq_status smq_option_get(const void *options, smq_option_set set, const char *name,
                                  char *out, size_t size, smq_error *err)
{
    const struct option *option = option_parse_find(set, name, err);
    union options_any copy;
    smq_status status;

    if (option == NULL) {
        return SMQ_INVALID;
    }
    status = options_check_and_copy(&copy, options_structs[set].size, options,
                                    options_structs[set].init, err);
    if (status != SMQ_OK) {
        return status;
    }
    if (set == SMQ_OPTION_SET_TOPIC) {
        topic_choose_type(&copy.topic);
    }
    status = option_complete_to(&copy, option, err);
    return status == SMQ_OK ? option_format(out, size, option, &copy, err) : status;
}

/* === Options that the library owns ======================================= */

struct options_string {
    SLIST_ENTRY(options_string) link;
    char text[];
};

/* The application has a pointer to `known`. */
struct options_owned {
    smq_option_set set;
    SLIST_HEAD(, options_string) strings;
    union options_any known;
};

SMQ_API smq_status smq_options_new(void **out, smq_option_set set, smq_error *err)
{
    struct options_owned *owned;

    if (out == NULL) {
        return status_set(err, SMQ_INVALID, "there is no place for the new options: out is NULL");
    }
    *out = NULL;
    if (set < SMQ_OPTION_SET_CLIENT || set > SMQ_OPTION_SET_CONSUMER) {
        return status_set(err, SMQ_INVALID, "there is no set of options %d", (int) set);
    }
    owned = memory_new(sizeof(*owned));
    owned->set = set;
    SLIST_INIT(&owned->strings);
    owned->known.struct_size = options_structs[set].size;
    *out = &owned->known;
    return SMQ_OK;
}

SMQ_API smq_status smq_options_set(void *options, const char *name, const char *value,
                                   smq_error *err)
{
    struct options_owned *owned;
    struct options_string *copy;
    size_t size;
    smq_status status;

    if (options == NULL || name == NULL || value == NULL) {
        return status_set(err, SMQ_INVALID, "the options, the name or the value is NULL");
    }
    owned = OWNER_OF(options, struct options_owned, known);
    size = strlen(value) + 1;
    copy = memory_new(sizeof(*copy) + size);
    memcpy(copy->text, value, size);
    status = option_parse(options, owned->set, name, copy->text, err);
    if (status == SMQ_OK && option_find(owned->set, name)->kind == OPTION_STRING) {
        SLIST_INSERT_HEAD(&owned->strings, copy, link);
    } else {
        free(copy);
    }
    return status;
}

SMQ_API void smq_options_free(void *options)
{
    struct options_owned *owned;
    struct options_string *string;

    if (options == NULL) {
        return;
    }
    owned = OWNER_OF(options, struct options_owned, known);
    while ((string = SLIST_FIRST(&owned->strings)) != NULL) {
        SLIST_REMOVE_HEAD(&owned->strings, link);
        free(string);
    }
    free(owned);
}

/* === Visits ============================================================= */

SMQ_API void smq_option_each(smq_option_fn *visit, void *user)
{
    for (size_t i = 0; visit != NULL && i < option_count && visit(&option_table[i].info, user);
         i++) {
    }
}
