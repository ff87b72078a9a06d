/* options.c - structs that cross the public border and carry their own size.
 *
 * Pure. */
#include "client/options.h"

#include <string.h>

#include "base/status.h"

static smq_status options_check_size(size_t *out, const void *options, size_t size,
                                     const char *init, smq_error *err)
{
    if (options == NULL) {
        return status_set(err, SMQ_INVALID, "NULL where a struct begun with %s belongs", init);
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

smq_status options_take(void *out, size_t size, const void *options, const char *init,
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

smq_status options_give(void *out, const void *from, size_t size, const char *init, smq_error *err)
{
    size_t known = 0;
    smq_status status = options_check_size(&known, out, size, init, err);

    if (status == SMQ_OK) {
        memcpy((char *) out + sizeof(known), (const char *) from + sizeof(known),
               known - sizeof(known));
    }
    return status;
}
