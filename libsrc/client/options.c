/* options.c - structs of the public interface that carry their own size; public entry points:
 * options by name.
 *
 * Pure. */
#include "client/options.h"

#include <string.h>

#include <slotmq/slotmq.h>

#include "base/status.h"
#include "model/option.h"

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

smq_status options_complete(void *out, smq_option_set set, const void *options, smq_error *err)
{
    static const struct {
        size_t size;
        const char *init;
    } structs[] = {
        [SMQ_OPTION_SET_CLIENT] = {sizeof(smq_client_options), "SMQ_CLIENT_OPTIONS_INIT"},
        [SMQ_OPTION_SET_TOPIC] = {sizeof(smq_topic_options), "SMQ_TOPIC_OPTIONS_INIT"},
        [SMQ_OPTION_SET_PRODUCER] = {sizeof(smq_producer_options), "SMQ_PRODUCER_OPTIONS_INIT"},
        [SMQ_OPTION_SET_CONSUMER] = {sizeof(smq_consumer_options), "SMQ_CONSUMER_OPTIONS_INIT"},
    };
    smq_status status =
        options_check_and_copy(out, structs[set].size, options, structs[set].init, err);

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

SMQ_API void smq_option_each(smq_option_fn *visit, void *user)
{
    for (size_t i = 0; visit != NULL && i < option_count && visit(&option_table[i].info, user);
         i++) {
    }
}
