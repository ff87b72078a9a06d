/* options.h - options by name, for command lines, files and bindings to other languages.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_OPTIONS_H
#define SLOTMQ_OPTIONS_H

#include <slotmq/core.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum smq_option_set {
    SMQ_OPTION_SET_CLIENT = 1, /* smq_client_options   */
    SMQ_OPTION_SET_TOPIC,      /* smq_topic_options    */
    SMQ_OPTION_SET_PRODUCER,   /* smq_producer_options */
    SMQ_OPTION_SET_CONSUMER    /* smq_consumer_options */
} smq_option_set;

/* Describes one option.  Its texts are valid as long as the library is loaded. */
typedef struct smq_option_info {
    size_t struct_size;
    smq_option_set set;
    const char *name; /* name of the field, as "max_retries" */
    /* "integer", "duration", "size", "string", "back-off", "list" (names separated by commas), or
     * words as "a|b|c" */
    const char *type;
    const char *default_value; /* "" if the option is required */
    const char *range;         /* as "1 .. 63", or "" */
    const char *text;          /* one sentence about the option */
    const char *operand;       /* what a flag calls the value, as "N" or "TIME"; or NULL */
    const char *since;         /* the version that has it first, as "0.2.0"; NULL: 0.1.0 */
    bool fixed;                /* of topics: it cannot be altered */
    int32_t place;             /* of topics: where a definition is shown, from 1; of others 0 */
} smq_option_info;

/* Runs on the calling thread.  Returning false ends the visit. */
typedef bool smq_option_fn(const smq_option_info *option, void *user);

/* Set one field of *options from a text.  *options is one of the structs of smq_option_set, and was
 * initialized with its SMQ_..._INIT.  Integers are decimal.  Durations are "500ms", "30s", "5m",
 * "2h", "1d" or a bare number of milliseconds.  A string option keeps the pointer `value`, so that
 * text must stay valid while *options is used.
 * Fails: INVALID (the text of the error gives the most similar name, or the range). */
SMQ_API smq_status smq_option_parse(void *options, smq_option_set set, const char *name,
                                    const char *value, smq_error *err);

/* Write one field of *options, as smq_option_parse() reads it, into the `size` bytes of `out`: a
 * number without a unit, or a word as "none".  A field that is not set is written as its default; a
 * string that has none, and an option that is not for this form of a consumer, as "".
 * Fails: INVALID (there is no such option, its value is out of range, or `size` is too small). */
SMQ_API smq_status smq_option_get(const void *options, smq_option_set set, const char *name,
                                  char *out, size_t size, smq_error *err);

/* Make a struct of options of this library's size, in which all fields have their defaults, for
 * programs that do not know the structs; *out is a pointer to one of the structs of smq_option_set.
 * The caller frees it with smq_options_free().  Fails: INVALID (no such set). */
SMQ_API smq_status smq_options_new(void **out, smq_option_set set, smq_error *err);

/* Set a field of a struct that smq_options_new() has made, as smq_option_parse() does; strings are
 * copied.  Fails: INVALID; the struct is unchanged. */
SMQ_API smq_status smq_options_set(void *options, const char *name, const char *value,
                                   smq_error *err);

/* Free the struct and its strings.  What was made with it stays. */
SMQ_API void smq_options_free(void *options);

/* Visit all options that can be set by name, set by set, in the order of the structs.  This needs
 * no client and cannot fail. */
SMQ_API void smq_option_each(smq_option_fn *visit, void *user);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_OPTIONS_H */
