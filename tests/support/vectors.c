/* vectors.c - see vectors.h. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/testing.h"
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

/* false: the file has ended. */
static bool vector_next(struct vector *out, FILE *file, const char *word, int fields)
{
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
    return false;
}

void vector_each(const char *path, const char *word, int fields, vector_fn *check, void *user)
{
    FILE *file = fopen(path, "r");
    struct vector vector;
    int seen = 0;

    assert_non_null(file);
    while (vector_next(&vector, file, word, fields)) {
        check(&vector, user);
        seen++;
    }
    (void) fclose(file);
    assert_true(seen > 0);
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
