/* token.h - the fencing token of a slot's owner: grows with every owner, never goes back.
 *
 * Pure. */
#ifndef MODEL_TOKEN_H
#define MODEL_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text form: 8 + 16 lower-case hex digits, so that strcmp() orders it. */
enum { TOKEN_TEXT_LEN = 24 };

/* Ordered by generation, then epoch.  All zero: no owner yet; accepted by no script. */
struct token {
    uint32_t generation;
    uint64_t epoch;
};

void token_format(char out[TOKEN_TEXT_LEN + 1], struct token token);
bool token_parse(struct token *out, const char *text, size_t len);
int token_compare(struct token a, struct token b); /* < 0, 0, > 0 */

#endif
