/* status.c - the table of statuses, the version, and filling an smq_error.
 *
 * Thread: any. */
#include "base/status.h"

#include <stdarg.h>

#include "base/line.h"

#define TEXT_OF_(x) #x
#define TEXT_OF(x)  TEXT_OF_(x)

const char *smq_version(void)
{
    return TEXT_OF(SMQ_VERSION_MAJOR) "." TEXT_OF(SMQ_VERSION_MINOR) "." TEXT_OF(SMQ_VERSION_PATCH);
}

/* By the value of the status, which is negative. */
static const struct status_row {
    const char *name;
    const char *text;
    smq_class class;
} status_rows[] = {
#define SMQ_X(name, value, class_, text) [-(value)] = {#name, text, SMQ_CLASS_##class_},
    SMQ_STATUS_MAP(SMQ_X)
#undef SMQ_X
};

static const struct status_row *status_row(smq_status status)
{
    static const struct status_row unknown = {"SMQ_?", "unknown status", SMQ_CLASS_FATAL};
    const long count = sizeof(status_rows) / sizeof(status_rows[0]);
    long index = -(long) status;

    return index < 0 || index >= count || status_rows[index].name == NULL ? &unknown
                                                                          : &status_rows[index];
}

const char *smq_status_name(smq_status status)
{
    return status_row(status)->name;
}

const char *smq_status_text(smq_status status)
{
    return status_row(status)->text;
}

smq_class smq_status_class(smq_status status)
{
    return status_row(status)->class;
}

smq_status status_set(smq_error *err, smq_status status, const char *format, ...)
{
    va_list args;

    if (err == NULL) {
        return status;
    }
    err->status = status;
    va_start(args, format);
    line_format(err->text, sizeof(err->text), format, args);
    va_end(args);
    return status;
}

smq_status status_copy(smq_error *err, const smq_error *from)
{
    if (err != NULL) {
        *err = *from;
    }
    return from->status;
}
