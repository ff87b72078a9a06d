/* headers.c - see headers.h. */
#include "cli/verb/headers.h"

#include <stdlib.h>
#include <string.h>

#include "cli/text/base64.h"
#include "cli/text/output.h"
#include "cli/text/say.h"

enum exit_code headers_add(struct headers *headers, const char *flag, const char *text)
{
    const char *equals = strchr(text, '=');
    const size_t length = equals ? (size_t) (equals - text) : 0;
    char *name = headers->names + headers->names_size;

    if (!equals) {
        return say_error(EXIT_USAGE, "--%s \"%s\" cannot be used; give NAME=VALUE", flag, text);
    }
    if (headers->count == SMQ_HEADERS_MAX ||
        length >= sizeof(headers->names) - headers->names_size) {
        return say_error(EXIT_USAGE, "--%s is given too often: a message has at most %d headers",
                         flag, SMQ_HEADERS_MAX);
    }
    memcpy(name, text, length);
    name[length] = '\0';
    headers->names_size += length + 1;
    headers->header[headers->count++] = (smq_header){name, smq_text(equals + 1)};
    return EXIT_DONE;
}

const smq_header *headers_selected(const struct headers *headers)
{
    return headers->count > 0 ? headers->header : NULL;
}

enum exit_code headers_check_one(const struct headers *headers)
{
    return headers->count <= 1 ? EXIT_DONE
                               : say_error(EXIT_USAGE, "--header is given twice; give one");
}

/* The object of that name, which is made when it is needed. */
static json_t *headers_object(json_t *object, const char *name)
{
    json_t *found = json_object_get(object, name);

    if (!found) {
        found = json_object();
        output_set(object, name, found);
    }
    return found;
}

static void headers_set_base64(json_t *object, const char *name, smq_bytes value)
{
    char *encoded = say_alloc(base64_size(value.len), 1);

    base64_encode(encoded, value.data, value.len);
    output_set(object, name, json_string(encoded));
    free(encoded);
}

void headers_set(json_t *object, const smq_message_info *message)
{
    for (size_t i = 0; i < message->header_count; i++) {
        const smq_header *header = &message->headers[i];
        json_t *text = json_stringn(header->value.data, header->value.len);

        if (text) {
            output_set(headers_object(object, "headers"), header->name, text);
        } else {
            headers_set_base64(headers_object(object, "headers_base64"), header->name,
                               header->value);
        }
    }
}
