/* vectors.c - see vectors.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/vectors.h"

static void vector_split(struct vector *vector)
{
    char *save = NULL;

    vector->count = 0;
    vector->line[strcspn(vector->line, "\n")] = '\0';
    for (char *field = strtok_r(vector->line, " ", &save); field != NULL;
         field = strtok_r(NULL, " ", &save)) {
        assert_true(vector->count < VECTOR_FIELDS_MAX);
        vector->fields[vector->count++] = field;
    }
}

bool vector_next(struct vector *out, FILE *file, const char *word, int fields)
{
    assert_non_null(file);
    while (fgets(out->line, sizeof(out->line), file) != NULL) {
        if (out->line[0] == '#') {
            continue;
        }
        vector_split(out);
        if (out->count > 0 && strcmp(out->fields[0], word) == 0) {
            assert_true(fields < 0 || out->count == fields + 1);
            return true;
        }
    }
    (void) fclose(file);
    return false;
}

size_t vector_unhex(char *hex)
{
    char pair[3] = "";
    size_t len = 0;

    for (const char *at = hex; at[0] != '\0' && at[0] != '-'; at += 2) {
        memcpy(pair, at, 2);
        hex[len++] = (char) strtol(pair, NULL, 16);
    }
    return len;
}
