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

const char *smq_status_name(smq_status status)
{
    switch (status) {
#define SMQ_X(name, value, class_, text)                                                           \
    case name:                                                                                     \
        return #name;
        SMQ_STATUS_MAP(SMQ_X)
#undef SMQ_X
    }
    return "SMQ_?";
}

const char *smq_status_text(smq_status status)
{
    switch (status) {
#define SMQ_X(name, value, class_, text)                                                           \
    case name:                                                                                     \
        return text;
        SMQ_STATUS_MAP(SMQ_X)
#undef SMQ_X
    }
    return "unknown status";
}

smq_class smq_status_class(smq_status status)
{
    switch (status) {
#define SMQ_X(name, value, class_, text)                                                           \
    case name:                                                                                     \
        return SMQ_CLASS_##class_;
        SMQ_STATUS_MAP(SMQ_X)
#undef SMQ_X
    }
    return SMQ_CLASS_FATAL;
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
