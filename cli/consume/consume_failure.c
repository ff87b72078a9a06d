/* consume_failure.c - the first failure of a handler, which ends the command, and the stop of all
 * consumers.
 *
 * Thread: any. */
#include <stdarg.h>
#include <stdio.h>

#include "cli/consume/consume.h"

void consume_fail(struct consume *consume, enum exit_code code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    pthread_mutex_lock(&consume->failure.lock);
    if (consume->failure.code == EXIT_DONE) {
        vsnprintf(consume->failure.text, sizeof(consume->failure.text), format, args);
        consume->failure.code = code;
    }
    pthread_mutex_unlock(&consume->failure.lock);
    va_end(args);
    consume_stop(consume);
}

void consume_stop(struct consume *consume)
{
    for (size_t i = 0; i < consume->command->word_count; i++) {
        smq_consumer_stop(consume->consumers[i]);
    }
}

bool consume_has_failed(struct consume *consume)
{
    pthread_mutex_lock(&consume->failure.lock);
    const bool failed = consume->failure.code != EXIT_DONE;
    pthread_mutex_unlock(&consume->failure.lock);
    return failed;
}
