/* consume_print.c - each message is a line on standard output.
 *
 * Thread: smq:work-N. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/consume/consume.h"
#include "cli/message/message.h"
#include "cli/text/output.h"
#include "cli/text/say.h"

/* Lines are whole, in the order in which the lock was taken. */
static pthread_mutex_t writer = PTHREAD_MUTEX_INITIALIZER;

/* The line of a message with its delimiter, to be freed. */
static char *consume_print_line(size_t *size, const smq_message_info *message, bool json,
                                int delimiter)
{
    size_t length = message->body.len;
    char *text = NULL;

    if (json) {
        text = output_json_text(&length, message_delivery_json(message));
        text[length] = '\n';
    } else {
        text = say_alloc(length + 1, 1);
        memcpy(text, message->body.data, length);
        text[length] = (char) delimiter;
    }
    *size = length + 1;
    return text;
}

/* Done only when the line is out; after a failure nothing more is written. */
smq_verdict consume_print(smq_delivery *delivery, void *user)
{
    struct consume *consume = user;
    smq_verdict verdict = SMQ_RELEASE;
    size_t size = 0;
    char *line = consume_print_line(&size, smq_delivery_info(delivery),
                                    consume->command->global.json, consume->delimiter);

    pthread_mutex_lock(&writer);
    if (!consume_has_failed(consume)) {
        if (output_write(line, size)) {
            verdict = SMQ_DONE;
        } else {
            consume_fail(consume, EXIT_IO, "cannot write to standard output: %s", strerror(errno));
        }
    }
    pthread_mutex_unlock(&writer);
    free(line);
    atomic_fetch_add(&consume->handled, 1);
    return verdict;
}
