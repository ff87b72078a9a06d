/* bulk.c - edits of many messages at once. */
#include "cli/message/bulk.h"

#include <inttypes.h>

#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/text/signals.h"
#include "cli/verb/progress.h"

bool bulk_selects(const struct command *command, const struct bulk_filter *filter)
{
    return which_id(command, &filter->which) || filter->match ||
           reason_flags_select(&filter->reason) || filter->older_than.given ||
           filter->headers.count > 0;
}

enum exit_code bulk_check(const struct command *command, const struct bulk_filter *filter)
{
    enum exit_code code = which_check(command, &filter->which, false);

    if (code != EXIT_DONE) {
        return code;
    }
    code = reason_flags_check(&filter->reason);
    return code == EXIT_DONE ? headers_check_one(&filter->headers) : code;
}

void bulk_filter_make(smq_filter *out, const struct bulk_filter *filter)
{
    out->contains = filter->match;
    reason_flags_apply(out, &filter->reason);
    out->header = headers_selected(&filter->headers);
    out->older_than_ms = filter->older_than.value;
    out->limit = (uint64_t) filter->limit.value;
    out->rate_per_s = filter->rate.value;
}

/* What an edit shows while it runs. */
struct showing {
    struct progress progress;
    bool interrupted; /* a signal stopped it */
};

static bool bulk_show(uint64_t changed, uint64_t total, void *user)
{
    struct showing *showing = user;

    progress_show(&showing->progress, changed, total, changed);
    showing->interrupted = signals_came();
    return !showing->interrupted;
}

enum exit_code bulk_run(smq_client *client, const struct command *command, const smq_filter *filter,
                        bulk_fn *edit, const char *done)
{
    const char *topic = command->words[0];
    struct showing showing = {.progress = progress_begin(command, done)};
    uint64_t count = 0;
    smq_error err;

    signals_catch();
    const smq_status status = edit(client, topic, filter, &count, bulk_show, &showing, &err);

    progress_end(&showing.progress);
    if (status != SMQ_OK && count == 0) {
        return say_failure(&err);
    }
    if (status != SMQ_OK) {
        return say_error(status == SMQ_UNKNOWN ? exit_code_of(status) : EXIT_NOT_DONE,
                         "%s; %s %" PRIu64 " for certain", err.text, done, count);
    }
    if (showing.interrupted) {
        return say_error(EXIT_INTERRUPTED, "interrupted; %s %" PRIu64 "; run it again for the rest",
                         done, count);
    }
    if (count == 0 && filter->which) {
        return say_error(EXIT_NOT_DONE, "topic %s has no such dead letter", topic);
    }
    if (command->global.json) {
        json_t *document = json_object();
        output_set(document, done, json_integer((json_int_t) count));
        output_json(document);
    } else if (!command->global.quiet) {
        say("%s %" PRIu64, done, count);
    }
    return EXIT_DONE;
}
