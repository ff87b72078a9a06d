/* member_slots.c - the set of slots that a member states that it holds.
 *
 * Pure. */
#include "coord/node/member_slots.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void member_slots_fini(struct member_slots *slots)
{
    free(slots->pieces);
    *slots = (struct member_slots){0};
}

static void member_slots_add_piece(struct member_slots *slots, const struct member_piece *piece)
{
    if (slots->pieces == NULL || slots->count == slots->size) {
        slots->size = slots->size == 0 ? 1 : slots->size * 2;
        slots->pieces = memory_grow(slots->pieces, slots->size, sizeof(*slots->pieces));
    }
    slots->pieces[slots->count++] = *piece;
}

void member_slots_add_token(struct member_slots *slots, int32_t slot, struct token token)
{
    struct member_piece *last = slots->count > 0 ? &slots->pieces[slots->count - 1] : NULL;

    if (last != NULL && last->last + 1 == slot && token_compare(last->token, token) == 0) {
        last->last = slot;
    } else {
        member_slots_add_piece(slots,
                               &(struct member_piece){.first = slot, .last = slot, .token = token});
    }
}

void member_slots_add(struct member_slots *slots, int32_t slot)
{
    member_slots_add_token(slots, slot, (struct token){0});
}

void member_slots_fill(struct member_slots *slots)
{
    if (slots->count > 0) {
        slots->pieces[0].last = slots->pieces[slots->count - 1].last;
        slots->pieces[0].token = (struct token){0};
        slots->count = 1;
    }
}

static int member_slots_compare(const void *key, const void *element)
{
    int32_t slot = *(const int32_t *) key;
    const struct member_piece *piece = element;

    return slot < piece->first ? -1 : slot > piece->last ? 1 : 0;
}

const struct member_piece *member_slots_find(const struct member_slots *slots, int32_t slot)
{
    return slots->count > 0 ? bsearch(&slot, slots->pieces, slots->count, sizeof(*slots->pieces),
                                      member_slots_compare)
                            : NULL;
}

bool member_slots_has(const struct member_slots *slots, int32_t slot)
{
    return member_slots_find(slots, slot) != NULL;
}

static void member_slots_format_piece(struct buf *out, const struct member_piece *piece)
{
    char token[TOKEN_TEXT_LEN + 1];

    buf_printf(out, "%" PRId32 "-%" PRId32, piece->first, piece->last);
    if (token_compare(piece->token, (struct token){0}) != 0) {
        token_format(token, piece->token);
        buf_printf(out, "=%s", token);
    }
}

void member_slots_format(struct buf *out, const struct member_slots *slots)
{
    for (size_t i = 0; i < slots->count; i++) {
        buf_add(out, ",", i > 0 ? 1 : 0);
        member_slots_format_piece(out, &slots->pieces[i]);
    }
    if (slots->count == 0) {
        buf_add(out, "-", 1);
    }
}

/* Parse a piece as "0-5" that comes after all pieces so far, with its token, and advance *text
 * behind it. */
static bool member_slots_parse_piece(struct member_slots *out, const char **text)
{
    long least = out->count > 0 ? out->pieces[out->count - 1].last + 1 : 0, first, last;
    struct token token = {0};
    char *end = NULL;

    first = strtol(*text, &end, 10);
    if (end == *text || *end != '-') {
        return false;
    }
    *text = end + 1;
    last = strtol(*text, &end, 10);
    if (end == *text || first < least || last < first || last >= MEMBER_SLOTS_MAX) {
        return false;
    }
    if (*end == '=') {
        end++;
        if (strnlen(end, TOKEN_TEXT_LEN) < TOKEN_TEXT_LEN ||
            !token_parse(&token, end, TOKEN_TEXT_LEN)) {
            return false;
        }
        end += TOKEN_TEXT_LEN;
    }
    member_slots_add_piece(
        out,
        &(struct member_piece){.first = (int32_t) first, .last = (int32_t) last, .token = token});
    *text = end;
    return true;
}

bool member_slots_parse(struct member_slots *out, const char **rest, const char *text, char stop)
{
    if (text[0] == '-' && text[1] == stop) {
        *rest = text + 1;
        return true;
    }
    while (member_slots_parse_piece(out, &text)) {
        if (*text == stop) {
            *rest = text;
            return true;
        }
        if (*text++ != ',') {
            return false;
        }
    }
    return false;
}
