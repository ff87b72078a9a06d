/* model_members.c - the messages that there are in the model: those with a member and what is
 * stored beside it, and those that are whole in their member. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model_slot.h"

/* Ids of the library begin with 12 hex digits of ms: rounds begin at 018bcfe56800 or soon after. */
#define MADE(ms, last) "018bcfe56" ms "0000000000000000000" last
#define ID_A           MADE("800", "a")
#define ID_B           MADE("8c8", "b")
#define ID_C           MADE("be8", "c")
#define ID_D           MADE("fff", "d")
#define ID_E           MADE("900", "e")
#define ID_F           MADE("c00", "f")

/* Bodies have NUL bytes, too. */
#define FIFTY(text)   text "!234567890!w,,0:7890!1:4567890,4567890/456c890:45!"
#define BODY_LONG     FIFTY("body") FIFTY("") FIFTY("") FIFTY("") FIFTY("")
#define HEADERS       "h!2:vv!"
#define HEADERS_COUNT 7

/* Some look like entries, patterns or formats.  Some have a key, "!1:kb" the key k, which two of
 * them share with others; and the key of "!1:br" is the id of another one.  Behind them those that
 * are whole, then the members that these have as soon as they are whole no more. */
const char *const model_members[MODEL_MEMBERS] = {
    "a",
    "!1:kb",
    "!1:kc",
    "b",
    "20c1:d",
    "%s",
    "-5",
    "1r",
    "!1:k%",
    "!1:br",
    "inf",
    "r",
    "!w,,0:" ID_A,
    "!w2,,1:k" ID_B,
    "!w1/7,,1:b" ID_C HEADERS BODY_LONG,
    "!w0,,0:" ID_D "20c1:d",
    "!e,40,1:k" ID_E "!",
    "!e3/7,25,0:" ID_F HEADERS "body",
    ID_A,
    "!1:k" ID_B,
    "!1:b" ID_C,
    ID_D,
    "!1:k" ID_E,
    ID_F,
};

static const struct {
    int32_t limit;
    int headers;
    int64_t ttl, made; /* ms after the first */
    const char *text;
} wholes[MODEL_WHOLE] = {
    {-1, 0, -1, 0, ""},
    {2, 0, -1, 0xc8, ""},
    {1, HEADERS_COUNT, -1, 0x3e8, HEADERS BODY_LONG},
    {0, 0, -1, 0x7ff, "20c1:d"},
    {-1, 0, 40, 0x100, "!"},
    {3, HEADERS_COUNT, 25, 0x400, HEADERS "body"},
};

bool model_is_whole(int member)
{
    return member >= MODEL_PLAIN && member < MODEL_PLAIN + MODEL_WHOLE;
}

int model_plain(int member)
{
    return model_is_whole(member) ? member + MODEL_WHOLE : member;
}

int64_t model_made_at(int member)
{
    return MODEL_BEGIN + wholes[model_plain(member) - MODEL_PLAIN - MODEL_WHOLE].made;
}

struct model_body model_body_of(const struct model *model, int member, int64_t place)
{
    int index = member - MODEL_PLAIN;
    struct model_body body;

    if (!model_is_whole(member)) {
        return model->bodies[member];
    }
    body = (struct model_body){.text = -1 - index,
                               .first = model_timed(model) ? place : model_made_at(member),
                               .limit = wholes[index].limit,
                               .headers = wholes[index].headers};
    body.expiry = wholes[index].ttl < 0 ? -1 : body.first + wholes[index].ttl;
    return body;
}

void model_text(char out[MODEL_NAME], int text)
{
    out[0] = '\0';
    if (text < 0) {
        snprintf(out, MODEL_NAME, "%s", wholes[-1 - text].text);
    } else if (text % 7 > 0) {
        snprintf(out, MODEL_NAME, "t%d%s", text, text % 7 == 1 ? "-0123456789" : "");
    }
}

/* "!1:kb", or whole "!w,,1:kID". */
const char *model_key_text(int member, int *len)
{
    const char *name = model_members[model_plain(member)];

    *len = name[0] == '!' ? 1 : (int) strlen(name);
    return name[0] == '!' ? name + 3 : name;
}

int model_key(int member)
{
    int len, other_len;
    const char *key = model_key_text(member, &len);

    for (int i = 0; i < member; i++) {
        const char *other = model_key_text(i, &other_len);

        if (len == other_len && memcmp(key, other, (size_t) len) == 0) {
            return i;
        }
    }
    return member;
}
