/* fuzz_zk_words.c - what a ZooKeeper server answers to the word "srvr". */
#include <string.h>

#include "coord/zk_words.h"
#include "fuzz/fuzz.h"

FUZZ_TARGET(zk_words)
{
    struct zk_words_facts facts;
    char *text = malloc(size + 1);

    FUZZ_CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    zk_words_parse(&facts, text);
    FUZZ_CHECK(memchr(facts.version, '\0', sizeof(facts.version)) != NULL);
    FUZZ_CHECK(memchr(facts.role, '\0', sizeof(facts.role)) != NULL);
    FUZZ_CHECK(strpbrk(facts.version, "-, \r\n") == NULL && strpbrk(facts.role, "\r\n") == NULL);
    FUZZ_CHECK((facts.version[0] == '\0') == (facts.version_why[0] != '\0'));
    free(text);
}
