/* fuzz_server_facts.c - what a Redis server says of itself: every reader is given the same text. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "model/server_facts.h"

static void check_text(const char *text, size_t size)
{
    FUZZ_CHECK(memchr(text, '\0', size) != NULL);
    FUZZ_CHECK(strpbrk(text, "\r\n") == NULL);
}

static void check_facts(const struct server_facts *facts)
{
    check_text(facts->version, sizeof(facts->version));
    check_text(facts->role, sizeof(facts->role));
    check_text(facts->maxmemory_policy, sizeof(facts->maxmemory_policy));
    check_text(facts->cluster_state, sizeof(facts->cluster_state));
    FUZZ_CHECK(facts->maxmemory >= -1 && facts->used_memory >= -1);
    FUZZ_CHECK(facts->replicas >= -1 && facts->lag_bytes >= -1 && facts->replicas_known >= -1);
    FUZZ_CHECK(facts->migrations >= -1 && facts->cluster_slots_ok >= -1);
}

FUZZ_TARGET(server_facts)
{
    struct server_facts facts = server_facts_none;
    char *text = malloc(size + 1);

    FUZZ_CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    server_facts_take_info(&facts, text);
    check_facts(&facts);
    server_facts_take_cluster(&facts, text);
    check_facts(&facts);
    server_facts_take_nodes(&facts, text);
    check_facts(&facts);
    server_facts_take_setting(&facts, "appendfsync", text);
    server_facts_take_setting(&facts, "save", text);
    server_facts_take_setting(&facts, "cluster-node-timeout", text);
    FUZZ_CHECK(memchr(facts.appendfsync, '\0', sizeof(facts.appendfsync)) != NULL);
    FUZZ_CHECK(memchr(facts.save, '\0', sizeof(facts.save)) != NULL);
    free(text);
}
