/* headers.h - headers of messages on the command line and in JSON. */
#ifndef CLI_HEADERS_H
#define CLI_HEADERS_H

#include <jansson.h>

#include <slotmq/slotmq.h>

#include "cli/text/exit.h"
#include "cli/verb/flags.h"

/* Those that -H NAME=VALUE has given, in their order.  The values are borrowed from the texts. */
struct headers {
    smq_header header[SMQ_HEADERS_MAX];
    size_t count;
    char names[SMQ_HEADERS_BYTES_MAX + SMQ_HEADERS_MAX]; /* of all headers, each with a NUL */
    size_t names_size;
};

/* Adds one.  Which names are good is for the library to say.  On any other result than EXIT_DONE
 * the error has been printed. */
enum exit_code headers_add(struct headers *headers, const char *flag, const char *text);

/* The flag of a verb that selects messages by a header, which stands at `offset_`. */
#define HEADERS_SELECT(offset_)                                                                    \
    {                                                                                              \
        .name = "header", .letter = 'H', .type = FLAG_HEADER, .offset = (offset_),                 \
        .operand = "NAME=VALUE", .help = "layout keyed: only those with this header"               \
    }

/* The header that such a flag has given; NULL: none. */
const smq_header *headers_selected(const struct headers *headers);

/* Refuses more than one. */
enum exit_code headers_check_one(const struct headers *headers);

/* Sets `headers` of the object to those of a message, as an object, and those whose value is no
 * UTF-8 as `headers_base64`.  A message without headers has none of both. */
void headers_set(json_t *object, const smq_message_info *message);

#endif
