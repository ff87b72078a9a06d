/* rights.c - the rights that scripts did without, because the user of Redis lacks them.
 *
 * Thread: smq:io. */
#include "redis/rights.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "redis/redirect.h"

void rights_init(struct rights *rights, struct context *context)
{
    rights->context = context;
    SLIST_INIT(&rights->reported);
}

void rights_fini(struct rights *rights)
{
    struct rights_reported *reported;

    while ((reported = SLIST_FIRST(&rights->reported)) != NULL) {
        SLIST_REMOVE_HEAD(&rights->reported, link);
        free(reported);
    }
}

static bool rights_is_reported(const struct rights *rights, const char *right)
{
    const struct rights_reported *reported;

    SLIST_FOREACH(reported, &rights->reported, link)
    {
        if (strcmp(reported->right, right) == 0) {
            return true;
        }
    }
    return false;
}

static void rights_note(struct rights *rights, const char *right)
{
    size_t size = strlen(right) + 1;
    struct rights_reported *reported = memory_new(sizeof(*reported) + size);

    memcpy(reported->right, right, size);
    SLIST_INSERT_HEAD(&rights->reported, reported, link);
}

void rights_report(struct rights *rights, const char *server, const struct redis_lack *lack)
{
    enum redirect_denial denial = redirect_denial(&lack->error);
    const char *right =
        denial == REDIRECT_DENIED_CHANNEL ? lack->channel_right : lack->command_right;

    if (denial == REDIRECT_ALLOWED || rights_is_reported(rights, right)) {
        return;
    }
    rights_note(rights, right);
    events_log(rights->context->events, SMQ_LEVEL_WARN,
               "%s: the user lacks the right %s: %s; SECURITY.md lists the rights", server, right,
               lack->follows);
}
