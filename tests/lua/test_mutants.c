/* test_mutants.c - proves that the randomized test can see: each deliberate mistake in a script
 * must be found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "clocked.h"
#include "lockstep.h"
#include "support/group.h"

enum { SEEDS = 4, CALLS_MAX = 60000, CALLS_FEW = 3000 };

/* `from`, which the script must have exactly once, becomes `to`. */
struct mutant {
    const char *mistake;
    const char *script;
    const char *from;
    const char *to;
};

static const struct mutant mutants[] = {
    {"the lag of priorities is that of the last", "inspect", "kind == 'f' and 0 or -1",
     "kind == 'f' and 0 or 1"},
    {"the lag of kind f is that of the last", "inspect", "kind == 'f' and 0 or -1",
     "kind == 'f' and -2 or -1"},
    {"the lag of times is known before they are due", "inspect", "due > 0 and next_due or nil",
     "next_due"},
    {"a lost reply begins anew", "consume", "not position or is_behind(it, position)", "true"},
    {"a lost reply has any size", "consume", "if handed > 0 and bytes + size > max_bytes then",
     "if false then"},
    {"a part of a lost reply is all of it", "consume", "part and claims - 1 or claims", "claims"},
    {"a lost reply of times comes again from the position", "consume", "return it.at > position.at",
     "return it.at >= position.at"},
    {"a lost reply comes again without what follows a message that is gone", "consume",
     "gone and passed + 0.5 or passed", "passed + 0.5"},
    {"a lost reply of priorities comes again from the position", "consume",
     "return it.at < position.at", "return it.at <= position.at"},
    {"a lost reply of priorities comes again in another order", "consume",
     "fifo and by_place or by_priority", "by_place"},
    {"a lost reply of priorities comes again without what is smaller", "consume",
     "return (it.place > position.place) == fifo", "return it.place > position.place"},
    {"what is delivered again can be found once", "consume",
     "redis.call('HSET', slot, 'claimed_until', string.format('%.0f', lease_end))\n    end", "end"},
    {"an ordinary claim cannot be found again", "consume", "claims + 1, 'claimed_until', fresh }",
     "claims + 1 }"},
    {"a claim cannot be found again", "consume",
     "'claims', claims, 'claimed_until',\n            string.format('%.0f', lease_end))",
     "'claims', claims)"},
    {"what lapsed of a lost reply is not found", "consume",
     "if not (lost and is_newest(claim, score)) then", "if true then"},
    {"what lapsed of an owner stays lapsed while a reply is lost", "consume",
     "if not (lost and is_newest(claim, score)) then", "if not lost then"},
    {"a lost reply is not noticed", "consume", "local lost = not shared and known < claims",
     "local lost = false"},
    {"what is delivered again is not leased again", "consume", "renew_all(found)\n    for", "for"},
    {"what is done is not remembered", "consume", "if remember then\n            remember(members)",
     "if false then"},
    {"what is done after a retry is not remembered", "consume", "remember({ member })", ""},
    {"what has left the window is never forgotten", "consume", "if over > 0 then", "if false then"},
    {"what was done before the window is refused, and nothing else", "send",
     "tonumber(at) > now - dedup_ms\n    end", "tonumber(at) <= now - dedup_ms\n    end"},
    {"what is in flight or rests is stored again", "send", "(headers[member] or ended[i])",
     "ended[i]"},
    {"what waits is refused", "send", "if ended and not old and", "if ended and"},
    {"the end of the window forgets nothing", "slot_alter", "if dedup_ms == '0' then",
     "if false then"},
    {"consume does not check the token", "consume", "if current ~= token or current == NOBODY then",
     "if false then"},
    {"renew does not check the token", "renew", "if current ~= token or current == NOBODY then",
     "if false then"},
    {"an owner loses what it meets lapsed", "consume", "if shared or tonumber(claim) <= base then",
     "if true then"},
    {"lapsed claims of sharers stay", "consume", "if shared or tonumber(claim) <= base then",
     "if tonumber(claim) <= base then"},
    {"what lapsed of an owner stays its own though it has it no more", "consume",
     "elseif tonumber(claim) < oldest then", "elseif false then"},
    {"an owner gives back what lapsed while it has it", "consume",
     "elseif tonumber(claim) < oldest then", "elseif tonumber(claim) <= oldest then"},
    {"a takeover does not set base", "takeover", "base = claims\n", "base = base\n"},
    {"a late takeover takes the owner's own claims", "takeover",
     "if tonumber(claims) > tonumber(base) then", "if false then"},
    {"a strict takeover does not say how long to wait", "takeover",
     "redis.call('HSET', slot, 'former', string.format('%.0f', split(last[2])))", ""},
    {"what a former owner has claimed keeps no key", "consume", "formers[keys.of(member)] = true",
     "formers[keys.of(member)] = nil"},
    {"what a former owner has claimed keeps no slot", "consume", "kept, open = former_keeps == 'W'",
     "kept, open = false"},
    {"what an owner itself has claimed keeps the key", "consume",
     "if letter == 'c' and tonumber(claim) <= base then\n        formers",
     "if letter == 'c' then\n        formers"},
    {"a former owner is not forgotten", "consume", "    redis.call('HDEL', slot, 'former')", ""},
    {"a takeover does not say what the topic is bound to", "takeover",
     "    bound_keep(bound, tonumber(string.sub(token, 1, 8), 16), coord)", ""},
    {"a slot says what the topic was bound to first", "takeover",
     "tonumber(string.match(bound or '', '^%d+') or 0)", "(bound and 9007199254740992 or 0)"},
    {"a takeover with a smaller token is accepted", "takeover", "newer(current, token)", "false"},
    {"a lost claim is no suspect", "takeover", "give_back(member, before, attempts + 1)",
     "give_back(member, before, attempts)"},
    {"a suspect never uses a retry", "takeover", "give_back(member, before, attempts + 2)",
     "give_back(member, before, attempts)"},
    {"a suspect never dies", "consume",
     "elseif attempts < 2 * limit_of(member) then\n        give_back",
     "elseif true then\n        give_back"},
    {"a suspect is claimed beside others", "consume", "taken == n or attempts % 2 == 1 and lease\n",
     "taken == n\n"},
    {"others are claimed beside a suspect", "consume", "n > 0 and not (has_suspect or ",
     "n > 0 and not ("},
    {"an answer does not clear the suspicion", "consume",
     "attempts = attempts - attempts % 2\n    if attempts >= 2", "if attempts >= 2"},
    {"one retry too many", "consume",
     "if attempts >= 2 * limit_of(member) then\n        count('rej",
     "if attempts > 2 * limit_of(member) then\n        count('rej"},
    {"a merge forgets the larger retries", "consume", "math.max(a - a % 2, b - b % 2) + suspect",
     "b - b % 2 + suspect"},
    {"a merge forgets the suspicion", "consume", "local suspect = math.max(a % 2, b % 2)",
     "local suspect = 0"},
    {"a return forgets the earlier time", "consume",
     "kind ~= 'm' and kind ~= 'f' or waiting < integer", "true"},
    {"a send forgets the attempts", "send", "_, attempts = split(old)", "_ = split(old)"},
    {"range_merge takes the last time", "send", "return kind == 'm' and debounce_ms == 0",
     "return false"},
    {"the same priority loses its place", "send", "kind == 'p' and has_priority(score, when)",
     "false"},
    {"a time that is past is stored", "send", "math.max(now, at)", "at"},
    {"send does not check the definition", "send", "if refused then", "if false then"},
    {"a message comes early", "consume", "'-inf', before_score(now + 1), many",
     "'-inf', before_score(now + 2), many"},
    {"a message comes early, beside what is passed over", "consume",
     "'-inf', before_score(now + 1), PASS_MOST", "'-inf', before_score(now + 2), PASS_MOST"},
    {"nothing is passed over", "consume", "not (keys.passed[key] or formers[key])", "true"},
    {"a key of its own is not passed over", "consume", "string.sub(member, from, from + len - 1)",
     "member"},
    {"what is claimed beside what is passed over still waits", "consume",
     "gone[#gone + 1] = member", ""},
    {"a suspect is passed over", "consume",
     "has_suspect or attempts % 2 == 1 and lease then\n            return 'suspect'",
     "has_suspect then\n            return 'suspect'"},
    {"what was full is said to be at its end", "consume", "return 'full'\n        elseif",
     "return 'end'\n        elseif"},
    {"a rest ends early", "consume", "before_score(from + now + 1)",
     "before_score(from + now + 2)"},
    {"one more is removed than claimed", "consume", "store, -ranks, -1", "store, -ranks - 1, -1"},
    {"claims share a number", "consume", "claims = claims + 1\n", "claims = claims\n"},
    {"a resting message forgets its time", "consume", "before .. 'r' .. claim",
     "string.format('%.0f', now) .. 'r' .. claim"},
    {"a renewal forgets the attempts", "renew", "join(lease_end, attempts)", "join(lease_end, 0)"},
    {"a consume with n = 0 parks", "consume", "n > 0 and taken == 0 and reply",
     "taken == 0 and reply"},
    {"a sharer parks over the others", "consume", "due = math.max(due, tonumber(parked or 0))", ""},
    {"a sharer that parks wakes nobody", "consume", "if shared and not wake(parked, due) then",
     "if shared then"},
    {"sharers do not wake each other", "consume",
     "elseif shared and not paused then\n    wake(parked, due)",
     "elseif shared and not paused then\n"},
    {"a claim leaves an owner parked", "consume", "parked and (taken > 0 or", "parked and ("},
    {"a wake-up that nobody heard ends the parking", "send",
     "type(heard) ~= 'number' or heard == 0", "false"},
    {"a send later than the sleep wakes", "send", "due >= at", "false"},
    {"a requeue keeps the attempts", "edit", "give_back(member, before, 0)",
     "give_back(member, before, 2)"},
    {"a requeue leaves the reason", "edit",
     "redis.call('HDEL', why, entry, 'H' .. entry, 'B' .. entry)", ""},
    {"a vacate does not check the token", "vacate", "if current ~= token or current == NOBODY then",
     "if false then"},
    {"what is dropped takes room", "consume", "if expired and not expired_to_dead then",
     "if expired and not expired_to_dead and fits(member) then"},
    {"what expires to die takes no room", "consume", "elseif not fits(#member + size) then",
     "elseif not expired and not fits(member) then"},
    {"what has expired is claimed for", "consume", "if taken == n or attempts",
     "if met == n or #dropped + #dying + taken == n or attempts"},
    {"what has expired is claimed", "consume", "return expiry and expiry <= now", "return false"},
    {"a message expires early", "consume", "expiry <= now", "expiry <= now + 1"},
    {"what has expired dies in any topic", "consume", "if expired and not expired_to_dead then",
     "if false then"},
    {"what has expired never dies", "consume", "if expired and not expired_to_dead then",
     "if expired then"},
    {"what has expired is not counted", "consume", "count('expired', expired)", ""},
    {"what is dropped leaves its body", "consume",
     "redis.call('HDEL', why, unpack(reasons))\n    end\n    body_drop(members)\nend\nlocal "
     "function end_set_aside",
     "redis.call('HDEL', why, unpack(reasons))\n    end\nend\nlocal function end_set_aside"},
    {"how many had expired is not said", "consume", "reply[#reply + 1] = counted.expired", ""},
    {"a message has no retry limit of its own", "consume", "return limit or max_retries",
     "return max_retries"},
    {"a takeover knows no retry limit of a message", "takeover", "return limit or max_retries",
     "return max_retries"},
    {"what is done leaves its body", "consume", "body_drop(members)\n        count('done',",
     "count('done',"},
    {"the first reference takes the body along", "consume",
     "text and (not string.find(text, ',', 1, true) or string.sub(text, -2) == ',1')", "text"},
    {"a reference is never given back", "consume", "header_join(first, limit, expiry, refs + by)",
     "header_join(first, limit, expiry, refs)"},
    {"a dead letter has no body", "consume", "stored[2 * i] or ''", "''"},
    {"a dead letter has references", "consume",
     "'H' .. entry, header_join(first, limit, expiry, 1)", "'H' .. entry, header"},
    {"a death keeps the reference", "consume", "body_drop(members)\nend\nlocal function bury(",
     "end\nlocal function bury("},
    {"a return that merges keeps the reference", "consume",
     "count('merged')\n    body_refer(member, -1)", "count('merged')"},
    {"a hung claim is released", "consume",
     "lose(member, before, attempts, 'timed_out', TIMED_OUT)",
     "give_back(member, before, attempts)"},
    {"a death is not counted", "consume", "count('dead_' .. it.cause)", ""},
    {"a hung claim dies of a crash", "consume",
     "lose(member, before, attempts, 'timed_out', TIMED_OUT)",
     "lose(member, before, attempts, 'crashed', TIMED_OUT)"},
    {"a claim has any size", "consume", "met > 0 and bytes_met > max_bytes", "false"},
    {"bodies have no size", "consume", "body and redis.call('HSTRLEN', body, 'b' .. member) or 0",
     "0"},
    {"a paused slot claims", "consume", "(has_suspect or paused or disputed",
     "(has_suspect or disputed"},
    {"a paused slot says when it goes on", "consume", "due < NEVER and not paused and due",
     "due < NEVER and due"},
    {"a paused slot does not say so", "consume", "paused and 2 or", "paused and 0 or"},
    {"a paused slot can be woken", "consume", "taken == 0 and paused then", "false then"},
    {"consume serves an older definition", "consume", "tonumber(version) > tonumber(its_version)",
     "false"},
    {"versions are texts", "send", "tonumber(version) > tonumber(its_version)",
     "version > its_version"},
    {"send serves another topic", "send", "nonce ~= its_nonce or", ""},
    {"an older slot refuses a newer definition", "takeover",
     "tonumber(version) > tonumber(its_version)", "true"},
    {"renew does not bring the definition up to date", "renew", "if stored ~= def then",
     "if false then"},
    {"a fenced call changes the definition", "consume",
     "if current ~= token or current == NOBODY then",
     "redis.call('HSET', slot, 'def', def)\nif current ~= token or current == NOBODY then"},
    {"the first body stays", "send", "'b' .. member, ARGV[at + 2]",
     "'b' .. member, old and redis.call('HGET', body, 'b' .. member) or ARGV[at + 2]"},
    {"a send forgets when the first was", "send", "old and its_first or first", "first"},
    {"a send of what waits keeps the time of an older one", "send", "old and its_first or first",
     "its_first"},
    {"a send of what is claimed takes no reference", "send", "refs + (old and 0 or 1)", "refs"},
    {"a send of what waits takes a reference", "send", "refs + (old and 0 or 1)", "refs + 1"},
    {"a send forgets the retry limit", "send", "tonumber(ARGV[at + 3])", "nil"},
    {"a time to live is a time", "send", "ttl and now + ttl", "ttl"},
    {"one more than the bound waits", "send", "redis.call('ZCARD', store) + 1",
     "redis.call('ZCARD', store) + 2"},
    {"what waits already counts for the bound", "send", "merges, results[i] = merges + 1, 'm'",
     "room, merges, results[i] = room - 1, merges + 1, 'm'"},
    {"a full slot merges nothing", "send", "if room <= 0 and not old then", "if room <= 0 then"},
    {"what waits is added again", "send", "tonumber(score) == integer and not is_added[member]",
     "tonumber(score) == integer"},
    {"what has the time of others is new", "send",
     "many == 1 or redis.call('ZCOUNT', store, fresh, fresh) == 0", "true"},
    {"a later time of many is not taken", "send",
     "if kind == 't' then\n            redis.call('ZADD', store, unpack(placed))",
     "if false then\n"},
    {"range_merge takes the last time of many", "send",
     "if kind == 't' then\n            redis.call('ZADD'",
     "if true then\n            redis.call('ZADD'"},
    {"a later time of many forgets the attempts", "send", "join(integer, attempts), member\n",
     "fresh, member\n"},
    {"a suspect that takes another time does not wake", "send",
     "attempts % 2 == 1 and 0 or integer", "integer"},
    {"many that merge are not counted", "send", "answer({}, results, added, many - added, 0)",
     "answer({}, results, added, 0, 0)"},
    {"many that are added are not counted", "send", "answer({}, results, added, many - added, 0)",
     "answer({}, results, 0, many - added, 0)"},
    {"one that keeps its time wakes", "send", "(added > 0 or kind == 't') and due or math.huge",
     "due"},
    {"one that takes another time does not wake", "send",
     "(added > 0 or kind == 't') and due or math.huge", "added > 0 and due or math.huge"},
    {"a new priority does not wake", "send", "timed and integer or 0",
     "timed and integer or 9007199254740992"},
    {"a place is used twice", "send", "if ordered then\n        changed[",
     "if false then\n        changed["},
    {"a place is lost", "send", "local integer, seq_after = place(kind, seq, now, when)",
     "local integer, seq_after = place(kind, seq, now, when)\n    seq = seq_after"},
    {"a place is given out twice", "send", "        seq = seq_after\n        local reply",
     "        local reply"},
    {"one is stored beyond the bound", "send", "max_waiting == 0 and not body", "not body"},
    {"times of many are that of the first", "send", "one_time = false", ""},
    {"what is new for the same time takes no room", "send",
     "room, added, results[i] = room - 1, added + 1, 'a'\n    else",
     "added, results[i] = added + 1, 'a'\n    else"},
    {"what waits already is new for the same time", "send", "timed and not old and when",
     "timed and when"},
    {"the same time is that of the call before", "send", "when == last_when", "last_when"},
    {"what was tried is as good as new", "consume", "elseif number % 1 ~= 0 then",
     "elseif false then"},
    {"what is new has any size", "consume", "bytes > max_bytes and count > 0", "false"},
    {"what has another score is alike", "consume", "score, score) - 1", "score, score)"},
    {"what is alike begins with the read", "consume", "begun + redis.call('ZCOUNT'",
     "count + redis.call('ZCOUNT'"},
    {"what is read later is read from the first", "consume",
     "redis.call('ZRANGE', store, count, upto)", "redis.call('ZRANGE', store, 0, upto)"},
    {"what is new leaves no lease", "consume",
     "fresh }\n    lease = math.min(lease or lease_end, lease_end)", "fresh }"},
    {"what is new comes early", "consume", "math.huge or now + 1", "math.huge or now + 2"},
    {"more is new than asked for", "consume", "count == n or number", "number"},
    {"one more is removed than was new", "consume", "store, '0', count - 1", "store, '0', count"},
    {"one more is removed than was new, of priorities", "consume", "store, -count,",
     "store, -count - 1,"},
    {"claims of what is new share a number", "consume", "'claims', claims + 1", "'claims', claims"},
    {"who claims what is new is told of the claim before", "consume", "reply[4] = claims + 1", ""},
    {"a lapsed claim is ordinary", "consume", "if lease and lease <= now or has_suspect or",
     "if has_suspect or"},
    {"what is new is claimed beside a suspect", "consume",
     "lease and lease <= now or has_suspect or", "lease and lease <= now or"},
    {"a rest that is over is ordinary", "consume", "(fifo or rest_end <= now)", "fifo"},
    {"a lost reply is ordinary", "consume", "known == claims and passes == '-'", "passes == '-'"},
    {"a pause is ordinary", "consume", "shared or paused or repeated", "shared or repeated"},
    {"other answers are ordinary", "consume", "and others > #ARGV\n", "\n"},
    {"a keyed owner parks beside what waits", "consume", "or split(head[2]) <= now)", "or false)"},
    {"a keyed owner leaves bodies behind", "consume", "if #gone > 0 then\n            redis",
     "if false then\n            redis"},
    {"a keyed owner removes a body that others need", "consume",
     "string.sub(header, -2) ~= ',1' then\n            return nil", "false then"},
    {"a keyed owner stores what is gone", "consume", "score and '1' or '0'", "'1'"},
    {"a keyed owner knows leases that have ended", "consume",
     "            lease, has_suspect, rest_end = look(prepare, split, REST)", ""},
    {"what is done is counted once", "consume", "string.format('%d', (done_so_far or 0) + removed)",
     "removed"},
    {"an ordinary call with n = 0 parks", "consume", "n > 0 and count == 0 and due",
     "count == 0 and due"},
    {"an ordinary call never parks", "consume", "n > 0 and count == 0 and due", "false and due"},
    {"an ordinary claim leaves its owner parked", "consume", "count > 0 and parked", "false"},
    {"a suspect is due beside what is new", "consume", "not lease or attempts % 2 == 0", "true"},
    {"what waits by priority is due at its priority", "consume",
     "head and (priority or fifo) and now or head_due", "head_due"},
    {"a rest that ends later is forgotten", "consume",
     "local due = math.min(lease or NEVER, rest_end or NEVER)", "local due = lease or NEVER"},
    {"an owner's answers are all there", "consume", "removed == many and '1' or",
     "true and '1' or"},
    {"an owner does not know that all is gone", "consume", "removed == 0 and '0' or", ""},
    {"who repeats a call learns nothing", "consume", "(shared or body or repeated)",
     "(shared or body)"},
    {"debouncing has no end", "send", "integer = math.min(integer, first + debounce_ms)", ""},
    {"debouncing moves nothing", "send", "kind == 'm' and debounce_ms == 0", "kind == 'm'"},
    {"a repeat is stored again", "send", "local repeated = record and",
     "local repeated = false and"},
    {"a repeat of the last one is stored again", "send", "sequence <= tonumber(string.match(record",
     "sequence < tonumber(string.match(record"},
    {"a part of a repeat gets the answer to another part", "send", "sequence + i - 1 - before",
     "i"},
    {"a repeat gets an answer to others", "send", "place < 1 or place > tonumber(count)", "false"},
    {"a repeat wakes nobody", "send", "    wake(parked, 0)\n", "\n"},
    {"a repeat is forgotten as early as its first try", "send", "last, count, now, kept",
     "last, count, 0, kept"},
    {"answers are all alike", "send", "results == string.rep(one, many) and one or results", "one"},
    {"producers are forgotten early", "send", "now - at > FORGET_MS", "now - at > 100"},
    {"producers are never forgotten", "send", "now - at > FORGET_MS", "false"},
    {"a requeue keeps the expiry", "edit", "header_join(first, limit, nil, 1)", "header"},
    {"a requeue takes the body of a later send", "edit",
     "if body and not body_refer(member, 1) and header then", "if body and header then"},
    {"a requeue leaves the body in the dead letter", "edit",
     "redis.call('HDEL', why, entry, 'H' .. entry, 'B' .. entry)",
     "redis.call('HDEL', why, entry)"},

    {"a suspect that is removed wakes nobody", "edit",
     "if attempts % 2 == 1 then\n        due_at(0)", "if false then\n        due_at(0)"},
    {"a removal leaves the body", "edit",
     "reason_drop(member, attempts)\n    body_refer(member, -1)\nend\nlocal remove",
     "reason_drop(member, attempts)\nend\nlocal remove"},
    {"a removed rest leaves its reference", "edit",
     "ended(member, attempts)\n    redis.call('ZREM', prepare", "redis.call('ZREM', prepare"},
    {"what is claimed can be removed", "edit", "letter == 'r' and", ""},
    {"a removed dead letter leaves what it held", "edit",
     "redis.call('HDEL', why, name, 'H' .. name, 'B' .. name)", ""},
    {"a reschedule forgets the attempts", "edit", "join(integer, attempts), member)\n    if",
     "join(integer, 0), member)\n    if"},
    {"a reschedule loses the place of the same priority", "edit",
     "kind == 'p' and has_priority(score, when)", "false"},
    {"a requeue wakes nobody", "edit", "due_at(revive(name))", "revive(name)"},
    {"what is not dead is requeued", "edit",
     "if not redis.call('ZSCORE', dead, name) then\n        return false\n    end\n    due_at",
     "if false then\n        return false\n    end\n    due_at"},
    {"what is done leaves its reason", "consume",
     "reason_drop(member, attempts)\n    body_refer(member, -1)\nend\nfunction settle.t",
     "body_refer(member, -1)\nend\nfunction settle.t"},
    {"a death leaves the reason of the last retry", "consume",
     "reasons[#reasons + 1] = 'R' .. it.member\n        end\n    end\n    redis.call('HSET'",
     "end\n    end\n    redis.call('HSET'"},
    {"a suspect that dies leaves the reason of the last retry", "takeover",
     "reasons[#reasons + 1] = 'R' .. it.member", ""},
    {"what is dropped leaves its reason", "consume",
     "reasons[#reasons + 1] = 'R' .. it.member\n        end\n    end\n    if #reasons > 0 then\n   "
     "     redis.call('HDEL', why, unpack(reasons))\n    end\n    body_drop(members)\nend\nlocal "
     "function end_set",
     "end\n    end\n    body_drop(members)\nend\nlocal function end_set"},
    {"a removal leaves the reason", "edit",
     "reason_drop(member, attempts)\n    body_refer(member, -1)\nend\nlocal remove",
     "body_refer(member, -1)\nend\nlocal remove"},
    {"a copy that never failed takes the reason along", "consume",
     "if it.attempts >= 2 then\n            reasons[#reasons + 1] = 'R' .. it.member\n        "
     "end\n    "
     "end\n    redis.call('HSET'",
     "reasons[#reasons + 1] = 'R' .. it.member\n    end\n    redis.call('HSET'"},
    {"a removed copy that never failed takes the reason along", "edit", "if attempts >= 2 then",
     "if true then"},
    {"a retry tells no reason", "consume", "reason_keep(member, reason)\n    if fifo", "if fifo"},
    {"a retry without a reason has that of the one before", "consume",
     "redis.call('HDEL', why, 'R' .. member)\n    else", "else"},
    {"a suspect has the reason of its last retry", "find", "if attempts % 2 == 1 then",
     "if false then"},
    {"what never failed has the reason of a copy", "find", "attempts > 0 and redis", "redis"},
    {"who sleeps while the slot loses its keys sleeps on", "slot_open",
     "redis.pcall('SPUBLISH', channel, '')", "0"},
    {"a pause wakes nobody", "slot_pause", "redis.pcall('SPUBLISH', channel, '')", "1"},
    {"who slept through a pause sleeps on", "slot_pause", "redis.call('HDEL', slot, 'parked')", ""},
    {"who did not hear the end of a pause sleeps on", "slot_pause",
     "redis.call('HSET', slot, 'parked', '9007199254740992')", ""},
    {"a pause never ends", "slot_pause", "redis.call('HDEL', slot, 'paused')", ""},
    {"an alteration is not stored", "slot_alter", "'def', def, ", ""},
    {"an alteration goes back", "slot_alter", "tonumber(version) > tonumber(its_version)", "false"},
    {"a rank of priorities counts those behind", "rank",
     "priority and redis.call('ZCARD', store) - 1 - rank or rank", "rank"},
    {"what is in work is not found", "find", "where == 'd' or not search(prepare)", "true"},
    {"a cleared slot has bodies", "slot_clear", "redis.call('HDEL', body, unpack(gone))", ""},
    {"a cleared slot has reasons and bodies of dead letters", "slot_clear",
     "redis.call('UNLINK', why)", ""},
    {"a slot is clear too early", "slot_clear", "left > 0 or more", "left > 1 or more"},
    {"a cleared slot remembers producers", "slot_clear", "redis.call('HDEL', slot, unpack(gone))",
     ""},
    {"a cleared slot forgets its claims", "slot_clear", "'parked', 'passed'",
     "'claims', 'parked', 'passed'"},
    {"what is not empty is sealed", "slot_seal", "force == '0' and held > 0", "false"},
    {"a late pause is taken", "slot_pause", "tonumber(pauses) < tonumber(last or 0)", "false"},
    {"a sealed slot takes messages", "send", "return { 'NO_TOPIC' }", "return nil"},
};

/* Of sends that claim for an owner. */
static const struct mutant push_mutants[] = {
    {"one of several is pushed", "send", "many == 1 and one_time and stored == def",
     "stored == def"},
    {"a push with another definition", "send", "many == 1 and one_time and stored == def",
     "many == 1"},
    {"a push into a paused slot", "send", "if paused or now >=", "if now >="},
    {"a push that is not due", "send", "if timed and at > now then", "if false then"},
    {"a push passes a rest", "send", "or tonumber(last) >= REST", ""},
    {"a push beside a suspect", "send", "or attempts % 2 == 1 or tonumber(last)",
     "or tonumber(last)"},
    {"a push of a duplicate", "send", "or ended and tonumber(ended) > now - dedup_ms", ""},
    {"a push takes the body of a claim", "send",
     "or redis.call('HEXISTS', body, 'h' .. member) == 1", ""},
    {"a push forgets what is stored beside it", "send", "if limit ~= '' or ttl then",
     "if false then"},
    {"a push leaves no trace", "send", "string.format('-%d', now)", "parked"},
    {"a push has no number", "send", "'HSET', slot, 'claims', claim, ", "'HSET', slot, "},
    {"a push of a new producer has no number", "send", "pushed = { 'claims', claim, ",
     "pushed = { "},
    {"a push cannot be found again", "send", "'claimed_until', lease_end, 'parked', asleep, 'sent'",
     "'parked', asleep, 'sent'"},
    {"a push of a new producer cannot be found again", "send",
     "'claimed_until', lease_end, 'parked', asleep }", "'parked', asleep }"},
    {"a push is not counted", "send", "(sent or 0) + 1), producer_field",
     "sent or 0), producer_field"},
    {"a push of a new producer is not counted", "send", "pushed, 'a', 1, 0, 0)",
     "pushed, 'a', 0, 0, 0)"},
    {"a push forgets who has sent it", "send", "string.format('%d,1,%d,a', sequence, now)",
     "record"},
    {"a push of a new producer forgets who has sent it", "send", "pushed, 'a', 1, 0, 0)",
     "pushed, '', 1, 0, 0)"},
    {"a push that nobody hears takes a place", "send",
     "local at, seq_after = place(kind, seq, now, when)",
     "local at, seq_after = place(kind, seq, now, when)\n    seq = seq_after"},
    {"a push takes no place", "send", "seq = seq_after\n        pushed", "pushed"},
    {"a push that nobody hears is one", "send",
     "if not (type(heard) == 'number' and heard > 0) then", "if false then"},
    {"a push names no owner", "send", "channel, string.format('%s %d %s",
     "channel, string.format('%.8s %d %s"},
    {"a push without its body", "send", ".. entry .. header .. text", ".. entry .. header"},
    {"a call that claims nothing leaves the slot open", "consume",
     "asleep = string.match(parked, '^%d+')", "asleep = nil"},
    {"another call that claims nothing leaves the slot open", "consume",
     "redis.call('HSET', slot, 'parked', string.match(parked, '^%d+'))", ""},
    {"a slot is open while a former owner keeps keys", "consume", "#all == FORMER_MOST, false",
     "#all == FORMER_MOST, open"},
    {"a shared slot is open", "consume", "open == '1' and not shared", "open == '1'"},
    {"a slot is always open", "consume", "open == '1' and not shared", "not shared"},
    {"a lost push is known and lost", "consume", "push_at and (lost or strange",
     "push_at and (strange"},
    {"a push with a number that its owner knows stays", "consume",
     "local strange = not lost and push_at and push_at ~= pushed", "local strange = false"},
    {"what is undone is not counted", "consume",
     "local _, attempts = split(all[i + 1])\n            count('lease_lost')",
     "local _, attempts = split(all[i + 1])"},
    {"a slot does not learn the claims that it lost", "consume",
     "redis.call('HSET', slot, 'claims', claims)\n", "\n"},
    {"a new owner's slot is open", "takeover", "string.find(parked, '[-/]')", "false"},
};

/* These show in slots of kind f only. */
static const struct mutant fifo_mutants[] = {
    {"a removed rest wakes nobody", "edit", "if kind == 'f' then\n        due_at(0)",
     "if false then\n        due_at(0)"},
    {"kind f brings back what rests", "consume", "rest_end <= now and not fifo", "rest_end <= now"},
    {"kind f retries through the store", "consume", "if fifo or tonumber(delay) > 0",
     "if tonumber(delay) > 0"},
    {"a lost reply of kind f comes again in no order", "consume",
     "fifo and by_place or by_priority", "by_priority"},
    {"a rest blocks nothing", "consume", "if held_up and not skip_failed then", "if false then"},
    {"a rest blocks though others may pass", "consume", "if held_up and not skip_failed then",
     "if held_up then"},
    {"a rest blocks what was sent before it", "consume", "not skip_failed and waits < it.place",
     "false"},
    {"a rest lets what was sent after it wait for it only", "consume", "return it.before",
     "return 'inf'"},
    {"a rest of kind f ends early", "consume", "it.over > now or", "it.over > now + 1 or"},
    {"what has rested is not claimed alone", "consume", "held_up = taken > 0", "held_up = false"},
    {"a suspect that rested is claimed beside others", "consume",
     "it.over > now or it.attempts % 2 == 1 and lease", "it.over > now"},
    {"what rests is claimed though a former owner keeps its key", "consume",
     "lease\n            or former and formers[keys.of(it.member)]\n        if not",
     "lease\n        if not"},
    {"an owner does not sleep while a former one keeps what has rested", "consume",
     "lease\n            or former and formers[keys.of(it.member)]\n        local",
     "lease\n        local"},
    {"what rests comes in the order of the ends", "consume", "end\n    table.sort(found, by_place)",
     "end"},
    {"a return of kind f forgets its place", "consume", "kind ~= 'm' and kind ~= 'f' or waiting",
     "kind ~= 'm' or waiting"},
    {"kind f sleeps past the end of a rest that others pass", "consume",
     "soonest = math.min(soonest, split(later[2]) - REST)", ""},
    {"kind f sleeps past the end of a rest", "consume",
     "return waits < it.place and NEVER or over, waits > it.place",
     "return NEVER, waits > it.place"},
    {"kind f does not sleep while a rest blocks", "consume",
     "return waits < it.place and NEVER or over, waits > it.place",
     "return waits < it.place and NEVER or over, false"},
    {"kind f sleeps though something was sent before the rest", "consume",
     "return waits < it.place and NEVER or over, waits > it.place",
     "return waits < it.place and NEVER or over, true"},
    {"by key a failure holds nothing", "consume", "if bar and bar < place then", "if false then"},
    {"by key a failure holds what was sent before", "consume", "if bar and bar < place then",
     "if bar then"},
    {"by key a failure holds the slot", "consume",
     "local place, key = tonumber(before), keys.of(member)",
     "local place, key = tonumber(before), ''"},
    {"by key a failure that is claimed again holds nothing", "consume",
     "score >= REST or score % 1 ~= 0", "score >= REST"},
    {"by key a former owner keeps no key", "consume", "holds.bars[key] = -1", "local _ = key"},
    {"by key a failure that waited holds nothing", "consume",
     "if attempts > 0 then\n            holds.bars", "if false then\n            holds.bars"},
    {"by key the second rest of a key does not wait for the first", "consume",
     "holds.bars[it.key] == it.place and", ""},
    {"by key a rest is claimed though its key is passed over", "consume",
     "and not keys.passed[it.key]", ""},
    {"by key a rest ends early", "consume", "if it.over <= now and", "if it.over <= now + 1 and"},
    {"by key a rest does not end", "consume", "if it.over <= now and", "if it.over < now and"},
    {"by key what rests comes in the order of the ends", "consume",
     "table.sort(holds.rests, by_place)", ""},
    {"by key a suspect that rested is claimed beside others", "consume",
     "if has_suspect or attempts % 2 == 1 and lease then\n        return 'suspect'\n    end\n    "
     "return visit",
     "if has_suspect then\n        return 'suspect'\n    end\n    return visit"},
    {"by key a suspect that waited is claimed beside others", "consume",
     "if has_suspect or attempts % 2 == 1 and lease then\n        return 'suspect'\n    elseif",
     "if has_suspect then\n        return 'suspect'\n    elseif"},
    {"by key what was held is believed to be so for ever", "consume",
     "if not holds.bars[key] or holds.bars[key] >= found[key] then", "if false then"},
    {"by key what was given back is not found", "consume", "math.min(lowest, back_from - 1)",
     "lowest"},
    {"by key what is named by the owner counts as held", "consume", "holds.advances = false", ""},
    {"a new owner does not look at what was held", "takeover", "redis.call('HDEL', slot, 'passed')",
     ""},
    {"what is requeued before what is held is not found", "edit",
     "redis.call('HDEL', slot, 'passed')", ""},
    {"what is claimed in another order leaves what was held", "consume", "elseif passed then",
     "elseif false then"},
    {"by key nothing is claimed after a rest that has expired", "consume",
     "holds.ended or not claimed", "false"},
    {"by key the owner sleeps past the end of a rest", "consume",
     "earliest = math.min(earliest, it.over)", ""},
    {"by key the owner wakes for what is not the first of its key", "consume",
     "if it.over > now and holds.is_head(it) then", "if it.over > now then"},
    {"kind f loses its place when it is sent again", "send", "or kind == 'f'\n        or", "or"},
};

/* Mistakes that show seldom: this seed finds them within CALLS_FEW, where the first seeds take 3 to
 * 35 s.  The seeds follow from a search; one that a change has made useless costs only time. */
static const struct shortcut {
    const char *mistake;
    uint64_t seed;
} shortcuts[] = {
    {"a lost reply begins anew", 4},
    {"a lost reply of times comes again from the position", 7},
    {"a lost reply comes again without what follows a message that is gone", 16},
    {"a lost reply of priorities comes again from the position", 16},
    {"a lost reply of priorities comes again without what is smaller", 3},
    {"what lapsed of an owner stays lapsed while a reply is lost", 20},
    {"a sharer that parks wakes nobody", 36},
    {"a suspect that takes another time does not wake", 19},
    {"producers are never forgotten", 4},
    {"a suspect that is removed wakes nobody", 17},
    {"a removed copy that never failed takes the reason along", 5},
    {"a push into a paused slot", 8},
    {"a push beside a suspect", 6},
    {"a push that nobody hears takes a place", 5},
    {"a push with a number that its owner knows stays", 8},
    {"what is undone is not counted", 12},
    {"by key a failure that waited holds nothing", 16},
    {"by key the second rest of a key does not wait for the first", 4},
    {"by key what is named by the owner counts as held", 3},
    {"a new owner does not look at what was held", 4},
    {"what is requeued before what is held is not found", 4},
};

static uint64_t shortcut_of(const char *mistake)
{
    for (size_t i = 0; i < sizeof(shortcuts) / sizeof(shortcuts[0]); i++) {
        if (strcmp(shortcuts[i].mistake, mistake) == 0) {
            return shortcuts[i].seed;
        }
    }
    return 0;
}

static void mutate(struct buf *out, const struct mutant *mutant)
{
    const char *text = fixture_script(mutant->script)->text;
    const char *found = strstr(text, mutant->from);

    if (found == NULL || strstr(found + 1, mutant->from) != NULL) {
        fail_msg("%s: `%s` must stand in %s.lua once", mutant->mistake, mutant->from,
                 mutant->script);
        return;
    }
    buf_add(out, text, (size_t) (found - text));
    buf_printf(out, "%s%s", mutant->to, found + strlen(mutant->from));
}

static bool is_found(struct fixture *fixture, const struct mutant *mutant, const char *kinds,
                     bool pushing)
{
    const char *scripts[SCRIPTS_COUNT];
    const uint64_t shortcut = shortcut_of(mutant->mistake);
    char sha1[SHA1_SIZE];
    struct buf text = {0}, report = {0};
    bool same = true;

    mutate(&text, mutant);
    fixture_load(fixture, text.data, sha1);
    for (size_t i = 0; i < SCRIPTS_COUNT; i++) {
        scripts[i] =
            strcmp(scripts_all[i]->name, mutant->script) == 0 ? sha1 : scripts_all[i]->sha1;
    }
    if (shortcut != 0) {
        same = lockstep_run(fixture, scripts, shortcut, CALLS_FEW, kinds, pushing, &report);
    }
    for (uint64_t seed = 1; same && seed <= SEEDS; seed++) {
        same = lockstep_run(fixture, scripts, seed, CALLS_MAX, kinds, pushing, &report);
    }
    buf_fini(&text);
    buf_fini(&report);
    return !same;
}

static void find_all(struct fixture *fixture, const struct mutant *of, size_t count,
                     const char *kinds, bool pushing)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        if (is_found(fixture, &of[i], kinds, pushing)) {
            found++;
        } else {
            print_error("not found: %s\n", of[i].mistake);
        }
    }
    assert_int_equal(found, count);
}

static bool has(const struct mutant *of, size_t count, const char *mistake)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(of[i].mistake, mistake) == 0) {
            return true;
        }
    }
    return false;
}

static void test_every_shortcut_is_to_a_mistake(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(shortcuts) / sizeof(shortcuts[0]); i++) {
        const char *mistake = shortcuts[i].mistake;

        if (!has(mutants, sizeof(mutants) / sizeof(mutants[0]), mistake) &&
            !has(push_mutants, sizeof(push_mutants) / sizeof(push_mutants[0]), mistake) &&
            !has(fifo_mutants, sizeof(fifo_mutants) / sizeof(fifo_mutants[0]), mistake)) {
            fail_msg("no mistake is called: %s", mistake);
        }
    }
}

static void test_every_mistake_is_found(void **state)
{
    find_all(*state, mutants, sizeof(mutants) / sizeof(mutants[0]), NULL, false);
}

static void test_every_mistake_of_pushes_is_found(void **state)
{
    find_all(*state, push_mutants, sizeof(push_mutants) / sizeof(push_mutants[0]), NULL, true);
}

static void test_every_mistake_of_kind_f_is_found(void **state)
{
    find_all(*state, fifo_mutants, sizeof(fifo_mutants) / sizeof(fifo_mutants[0]), "f", false);
}

TEST_GROUP(mutants)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_shortcut_is_to_a_mistake),
        cmocka_unit_test(test_every_mistake_is_found),
        cmocka_unit_test(test_every_mistake_of_pushes_is_found),
        cmocka_unit_test(test_every_mistake_of_kind_f_is_found),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
