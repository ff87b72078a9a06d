/* fuzz_topic.c - the stored definition of a topic: what is read is read back as it is written. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "model/topic.h"

FUZZ_TARGET(topic)
{
    struct topic topic, again;
    struct buf text = {0};
    char difference[256];
    smq_error err;

    if (topic_parse(&topic, "t", (const char *) data, size, &err) == SMQ_OK) {
        topic_format(&text, &topic);
        FUZZ_CHECK(topic_parse(&again, "t", text.data, text.len, &err) == SMQ_OK);
        FUZZ_CHECK(!topic_difference(difference, sizeof(difference), &topic, &again));
        buf_fini(&text);
    } else {
        FUZZ_CHECK(memchr(err.text, '\0', sizeof(err.text)) != NULL && err.text[0] != '\0');
    }
}
