/* zk_words.h - what a ZooKeeper server answers to the word "srvr".
 *
 * Pure. */
#ifndef COORD_ZK_WORDS_H
#define COORD_ZK_WORDS_H

#include <stddef.h>

/* Texts are "" when they are not known. */
struct zk_words_facts {
    char version[32]; /* "3.8.0" */
    char role[32];    /* "leader", "follower", "standalone" */
    const char *version_why;
};

/* Read an answer, which is untrusted. */
void zk_words_parse(struct zk_words_facts *out, const char *answer);

#endif
