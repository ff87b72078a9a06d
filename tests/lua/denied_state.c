/* denied_state.c - see denied_state.h. */
#include "denied_state.h"
#include "support/testing.h"

#include <stdio.h>
#include <string.h>

#define LOOK                                                                                       \
    "local zsets, counts, entries, keyed = { 'x', 'prepare{x}', 'dead{x}' }, {}, {}, ARGV[1] == "  \
    "'1' "                                                                                         \
    "local function hash(key) "                                                                    \
    "  local found, all = {}, redis.call('HGETALL', key) "                                         \
    "  for i = 1, #all, 2 do found[all[i]] = all[i + 1] end "                                      \
    "  return found "                                                                              \
    "end "                                                                                         \
    "local why, body = hash('why{x}'), hash('body{x}') "                                           \
    "local function member_of(entry) "                                                             \
    "  return string.sub(entry, string.find(entry, ':', 1, true) + 1) "                            \
    "end "

/* Returns '' or what is wrong. */
static const char broken_text[] =
    LOOK "if keyed then zsets[4] = 'done{x}' end "
         "for i, key in ipairs(zsets) do "
         "  if not redis.call('ZSCORE', key, '') then return 'no sentinel: ' .. key end "
         "  for _, name in ipairs(i < 3 and redis.call('ZRANGE', key, 0, -1) or {}) do "
         "    local member = i == 1 and name or name ~= '' and member_of(name) or '' "
         "    counts[member] = (counts[member] or 0) + (member ~= '' and 1 or 0) "
         "  end "
         "end "
         "if not why[''] or keyed and not body[''] then return 'no sentinel of a hash' end "
         "for member, count in pairs(keyed and counts or {}) do "
         "  local is_whole = string.find(member, '^%z[we]') "
         "  if is_whole and (body['h' .. member] or body['b' .. member]) then "
         "    return 'beside a whole message: ' .. member "
         "  elseif member ~= '' and not is_whole and not (body['h' .. member] and (body['b' .. "
         "member] or string.find(body['h' .. member], '%z'))) then "
         "    return 'no body: ' .. member "
         "  end "
         "end "
         "for field, text in pairs(body) do "
         "  local member = string.sub(field, 2) "
         "  local refs = tonumber(string.match(text, '^%d+,[%d/]*,%d*,(%d+)') or 1) "
         "  if string.sub(field, 1, 1) == 'h' and refs ~= (counts[member] or 0) then "
         "    return 'the body of ' .. member .. ' has ' .. refs .. ' references, and not ' "
         "      .. (counts[member] or 0) "
         "  end "
         "end "
         "for _, entry in ipairs(redis.call('ZRANGE', 'dead{x}', 0, -1)) do "
         "  if not why[entry] or keyed and entry ~= '' and not (why['B' .. entry] and why['H' .. "
         "entry]) "
         "    or string.match(why[entry], '^[^%z]*') == 'its body is missing' then return 'no "
         "data: ' .. entry end "
         "end "
         "return ''";

static const char left_over_text[] =
    LOOK "for _, entry in ipairs(redis.call('ZRANGE', 'dead{x}', 0, -1)) do "
         "  entries[entry], entries['B' .. entry], entries['H' .. entry] = true, true, true "
         "end "
         "for field in pairs(why) do if not entries[field] then return 'why: ' .. field end end "
         "for field in pairs(body) do if field ~= '' then return 'body: ' .. field end end "
         "return ''";

static const char *look(struct fixture *fixture, const char *text)
{
    static struct buf found;
    redisReply *reply =
        redisCommand(fixture->redis, "EVAL %s 0 %s", text, fixture->keyed ? "1" : "0");

    assert_non_null(reply);
    if (reply->type != REDIS_REPLY_STRING) {
        fail_msg("cannot look: %s", reply->str);
    }
    buf_fini(&found);
    found = (struct buf){0};
    text_format(&found, reply->str, (size_t) reply->len);
    freeReplyObject(reply);
    return strcmp(found.data, "''") == 0 ? NULL : found.data;
}

const char *state_broken(struct fixture *fixture)
{
    return look(fixture, broken_text);
}

const char *state_left_over(struct fixture *fixture)
{
    return look(fixture, left_over_text);
}

static long long number(struct fixture *fixture, const char *command)
{
    redisReply *reply = fixture_redis(fixture, command);
    long long found = reply->integer;

    freeReplyObject(reply);
    return found;
}

bool state_is_empty(struct fixture *fixture)
{
    return number(fixture, "ZCARD x") == 1 && number(fixture, "ZCARD prepare{x}") == 1;
}

int state_dead(struct fixture *fixture, const char *name)
{
    redisReply *all = redisCommand(fixture->redis, "ZRANGE dead{x} 0 -1");
    int count = 0;

    for (size_t i = 0; i < all->elements; i++) {
        struct buf text = {0};
        const char *member;

        text_format(&text, all->element[i]->str, (size_t) all->element[i]->len);
        member = strchr(text.data, ':');
        count += member != NULL && strcmp(member + 1, name) == 0 ? 1 : 0;
        buf_fini(&text);
    }
    freeReplyObject(all);
    return count;
}
