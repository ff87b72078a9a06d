"""Mutants made by hand: each takes away one thing that a promise rests on.

Those with `tests` are killed by one of these; those with `history` by the checker of a chaos run
alone, which must name the invariant.  The series of faults begin with those that are listed, each
for at least this many seconds; without faults any run shows it.  Those of named_scripts.py are
killed by lockstep.
"""
import dataclasses

from named_scripts import SCRIPTS, Mistake  # noqa: F401 (Mistake is for mutants.py)


class DoesNotApply(Exception):
    """The text to be replaced is not in the file exactly once."""


@dataclasses.dataclass(frozen=True)
class History:
    invariant: str
    faults: tuple = ()  # (series, fault, seconds)
    seconds: int = 25


@dataclasses.dataclass(frozen=True)
class Patch:
    """`old` becomes `new` in one file."""
    name: str
    why: str
    file: str
    old: str
    new: str
    tests: tuple = ()
    history: History = None


def applied(patch, text):
    count = text.count(patch.old)
    if count != 1:
        raise DoesNotApply(f"{patch.name}: its text stands {count} times in {patch.file}, "
                           "and must stand there once")
    return text.replace(patch.old, patch.new)


LOST = "nothing acknowledged is lost"
OVERLAP = "one handler at a time for a key under one token"
OLD_WRITE = "no write under an old token"
ATTEMPTS = "attempts are counted right"
EARLY = "never early"
FIFO = "fifo keeps the order of a key"
PRIORITY = "the largest priority is claimed first"
LEFT = "everything is handled after healing"
BODY = "no body is left behind"

CUT_OFF = (("workers", "CutWorkerFromZooKeeper", 7.0),)
FROZEN = (("workers", "FreezeWorker", 5.0),)
FULL = (("redis", "OutOfMemory", 1.5),)

FENCE = "if current ~= token or current == NOBODY then"
NO_FENCE = "if token and current == NOBODY then"

PATCHES = (
    # --- fences ---
    Patch("fence-consume", "consume serves any token, so a former owner goes on",
          "lua/consume.lua", FENCE, NO_FENCE, history=History(OLD_WRITE, CUT_OFF)),
    Patch("fence-consume-any", "consume_any serves any token", "lua/consume_any.lua", FENCE, NO_FENCE,
          tests=("lua_takeover", "lua_consume", "lua_random")),
    Patch("fence-renew", "renew serves any token", "lua/renew.lua", FENCE, NO_FENCE,
          tests=("lua_renew", "lua_random")),
    Patch("fence-vacate", "vacate serves any token", "lua/vacate.lua", FENCE, NO_FENCE,
          tests=("lua_vacate",)),
    Patch("fence-takeover", "a takeover that comes late replaces the newer owner",
          "lua/takeover.lua", "current == 'shared' or newer(current, token) or token == NOBODY",
          "current == 'shared' or token == NOBODY", tests=("lua_takeover", "lua_random")),
    Patch("token-part", "of two tokens the last 32 bits are not compared",
          "lua/lib/token.lua", "for i = 1, 17, 8 do", "for i = 1, 9, 8 do",
          tests=("lua_takeover", "lua_random")),
    Patch("token-answer", "an answer about an earlier grant counts for the present one",
          "coord/member/ownership_slots.c", "token_compare(command->token, topic->tokens[slot]) != 0",
          "false", tests=("coord_zookeeper",)),
    Patch("confirmation-ignored", "a handler begins however old the confirmation of its slot is",
          "libsrc/core/confirmation.c",
          "return now_ms < until_ms ? CONFIRMATION_GOOD : CONFIRMATION_OLD;",
          "return CONFIRMATION_GOOD;", tests=("core_confirmation", "consume_frozen")),

    # --- who owns a slot ---
    Patch("revoke-not-awaited", "a slot is granted anew before its owner has given it up",
          "coord/assigner/assigner_decide.c",
          "if (line->applied >= revocation->mzxid && !member_slots_has(&line->held, slot)) {",
          "if (line != NULL) {", tests=("coord_assigner_decide", "coord_assigner", "coord_fleet")),
    Patch("rejoin-not-awaited", "a name is taken over though its process may live",
          "coord/member/member.c", "if (!process_is_dead(&member->info, info) ||", "if (false ||",
          tests=("coord_zookeeper", "coord_names", "coord_fleet")),
    Patch("loss-is-revocation", "a member drains slots that another one owns already",
          "coord/member/ownership_slots.c",
          "bool elsewhere = (entry & ASSIGNMENT_MEMBER) != me && entry != 0;",
          "bool elsewhere = false;",
          tests=("coord_zookeeper", "coord_fleet", "coord_nodes", "coord_hidden")),
    Patch("epoch-unchecked", "a former assigner still writes assignments",
          "coord/assigner/assigner.c",
          "ops[2] = {{.kind = ZK_CHECK, .path = \"leader_epoch\", .version = assigner->epoch},",
          "ops[2] = {{.kind = ZK_CHECK, .path = \"leader_epoch\", .version = -1},",
          tests=("coord_epoch",)),
    Patch("renewal-skipped", "leases of claims are never renewed",
          "libsrc/consume/slot/renewal.c",
          "    return delivery->unanswered && !atomic_load(&delivery->answered) &&",
          "    return false && delivery->unanswered && !atomic_load(&delivery->answered) &&",
          tests=("consume_lease_expired", "consume_delivery", "consume_frozen")),

    # --- what is claimed, and when ---
    Patch("wake-forgotten", "a send does not wake the owner that sleeps",
          "lua/lib/wake.lua", "if not parked then", "if true then",
          history=History(LEFT, (), 40)),
    Patch("claimed-early", "a message is claimed 0.3 s before it is due",
          "lua/consume.lua", "math.huge or now + 1,", "math.huge or now + 300,",
          history=History(EARLY)),
    Patch("back-off-cut", "a rest ends 40 ms too early",
          "lua/consume_any.lua", "sweep(REST, REST + now + 1, rested)",
          "sweep(REST, REST + now + 40, rested)", history=History(EARLY)),
    Patch("priority-passed", "a claim leaves the largest priority and takes the next ones",
          "lua/consume.lua",
          "redis.call('ZRANGE', store, count, upto, 'REV', 'WITHSCORES')",
          "redis.call('ZRANGE', store, count+1, upto+1, 'REV', 'WITHSCORES')",
          history=History(PRIORITY)),
    Patch("rest-blocks-nothing", "of kind fifo what was sent later with its key is claimed beside a rest",
          "lua/lib/holds.lua", "local is_held = bar and bar < place", "local is_held = false",
          history=History(FIFO, FROZEN)),
    Patch("lost-answer-behind", "what an owner has answered waits for its lease if another claim was the first",
          "lua/consume_any.lua", "    more = more or forgotten -- it was not the first before\n", "",
          tests=("lua_redelivery",)),
    Patch("passed-sends", "an urgent message that is sent before what was passed over is not found",
          "lua/send.lua", "    look_again(looked, integer)\n", "", tests=("lua_consume",)),
    Patch("passed-now", "a message of the millisecond that was passed over last is not found",
          "lua/lib/looked.lua", "score >= now then", "false then", tests=("lua_consume",)),
    Patch("former-owner-forgotten", "what a former owner keeps is claimed after a strict takeover",
          "lua/lib/former.lua", "formers[keys.of(member)] = true", "formers[keys.of(member)] = nil",
          tests=("consume_strict_takeover",)),
    Patch("hold-forgotten", "of kind fifo what was claimed later runs before the retry",
          "libsrc/consume/run/run_queues.c",
          "if (scheduler->state.strict && !delivery_op_is_final(op)) {", "if (false) {",
          history=History(FIFO, FROZEN)),
    Patch("run-queue-shared", "two threads handle messages of one key at a time",
          "libsrc/consume/run/keys.c",
          "key->called == 0 && key->held == 0 && key->begun == 0", "key->held == 0",
          history=History(OVERLAP)),
    Patch("first-death-hidden", "a message that a dead process had does not say so",
          "libsrc/model/entry.h", "attempts->retries > 0 || attempts->suspect", "attempts->retries > 0",
          tests=("consume_overdue",)),
    Patch("key-ignored", "messages of one key of a slot are handled at a time",
          "libsrc/consume/run/keys.c",
          "delivery->key_hash = run_key_hash(delivery);",
          "delivery->key_hash = run_key_hash(delivery) ^ (uint32_t) (uintptr_t) delivery;",
          tests=("consume_by_key",)),
    Patch("key-hashed", "two keys with one hash hold up each other",
          "libsrc/consume/run/keys.c",
          "buf_add(name, bytes->data, bytes->len);", "(void) bytes;",
          tests=("consume_scheduler_keys",)),
    Patch("claim-order", "what was claimed first does not begin first",
          "libsrc/consume/run/keys.c", "before->number > key->number", "false",
          tests=("consume_scheduler_keys",)),
    Patch("share-ignored", "a slot that waits for polls takes the room of the others",
          "libsrc/consume/run/scheduler.c",
          "queue->awaited = few && scheduler->polled && !TAILQ_EMPTY(&queue->ready);",
          "queue->awaited = false;", tests=("consume_by_key",)),
    Patch("lowered-limit-leaks", "what is on its way when max_in_flight is lowered is delivered beyond it",
          "libsrc/consume/slot/budget.c",
          "return budget->unanswered > budget->max_in_flight || limit_is_over(&budget->limited);",
          "(void) budget;\n    return false;", tests=("consume_flow",)),
    Patch("before-image-lost", "a claim forgets the time, priority or place of its message",
          "lua/consume.lua", "prefix and prefix .. member or score .. mark .. member",
          "'0' .. mark .. member", tests=("lua_consume", "lua_fifo", "lua_random")),
    Patch("reply-forgotten", "a claim whose reply was lost is not handed over again",
          "lua/consume_any.lua", "local lost = not shared and known < claims", "local lost = false",
          tests=("lua_redelivery", "consume_lost_replies", "lua_random")),

    Patch("ordinary-guessed", "an owner forgets when what it has requeued is due",
          "libsrc/consume/slot/ordinary.c", "ordinary->rests[i] <= now_ms", "false",
          tests=("consume_ordinary",)),
    Patch("any-not-sent", "a call that is not ordinary is not sent to the other script",
          "libsrc/store/call.c", "call->any != NULL && redis", "false && redis",
          tests=("consume_ordinary",)),

    # --- how it ends ---
    Patch("retry-uncounted", "a retry does not use one", "lua/lib/settle.lua",
          "rest(member, before, claim, attempts + 2, delay)",
          "rest(member, before, claim, attempts, delay)", history=History(ATTEMPTS)),
    Patch("attempt-shown-wrong", "a handler is told the number of the next attempt",
          "libsrc/consume/run/delivery.c", "info->attempt = delivery->attempts.retries + 1;",
          "info->attempt = delivery->attempts.retries + 2;", history=History(ATTEMPTS)),
    Patch("reject-vanishes", "a rejected message leaves no dead letter", "lua/lib/settle.lua",
          "    bury(member, before, attempts - attempts % 2, 'rejected', reason, attempts)\nend",
          "    body_refer(member, -1)\nend", history=History(LOST)),
    Patch("retry-is-done", "the answer retry ends a message", "libsrc/consume/run/answer.c",
          "    *out = STORE_RETRY;\n", "    *out = STORE_DONE;\n", history=History(LOST)),
    Patch("body-kept", "what is done leaves its body", "lua/lib/settle_done.lua",
          "return scores, #gone > 0 and", "return scores, false and", history=History(BODY)),
    Patch("refusal-is-success", "a send that Redis refused is reported as stored",
          "libsrc/produce/send_request.c",
          "    send_end_list(request->all->sink, &request->batch, status, text);\n"
          "    send_request_end(request, SEND_REQUEST_FAILED, NULL);",
          "    send_end_list(request->all->sink, &request->batch, SMQ_OK, text);\n"
          "    send_request_end(request, SEND_REQUEST_FAILED, NULL);",
          history=History(LOST, FULL)),
    Patch("repeat-stored", "a send whose reply was lost is stored once more", "lua/send.lua",
          "local repeated = record and", "local repeated = false and",
          tests=("lua_send_ids", "produce_send_ids")),
    Patch("replicas-not-awaited", "a send is reported as acknowledged by replicas at once",
          "libsrc/produce/send_request.c", "if (all->replicas > 0) {", "if (false) {",
          tests=("produce_replicas", "redis_replicas")),
    Patch("rest-forever", "what rests never comes back", "lua/consume_any.lua",
          "local ended = rest_end and rest_end <= now and not fifo",
          "local ended = false", history=History(LEFT)),
    # --- groups ---
    Patch("group-added-unseen", "producers do not notice that a topic has another group",
          "libsrc/admin/alter.c",
          "i < topic_parts(&change->topic) && status == SMQ_OK; i++) {\n        topic_part(&part.topic",
          "i < 0 && status == SMQ_OK; i++) {\n        topic_part(&part.topic",
          tests=("consume_groups", "admin_groups")),
    Patch("group-not-asked", "a group that refuses a send does not keep it from the others",
          "lua/send_groups.lua", "    if refused then\n", "    if false and refused then\n",
          tests=("lua_send_groups",)),
    Patch("group-repeated", "a send that is repeated is stored again in each group",
          "lua/send_groups.lua", "    if its[4] and sequence <=", "    if false and sequence <=",
          tests=("lua_send_groups",)),
    Patch("group-half-full", "a message is stored in some groups and refused by others",
          "lua/send_groups.lua", "for i = from, full[n] and 0 or", "for i = from, false and 0 or",
          tests=("lua_send_groups", "admin_groups")),
    Patch("group-scheduled-refused", "a full group refuses another time for a message that it has",
          "lua/send_groups.lua", "    if priority then\n", "    if false then\n",
          tests=("lua_send_groups",)),
    Patch("mistaken-verdict-unnamed", "a handler that returns no verdict is not named",
          "libsrc/consume/run/handlers.c", "!answer_is_verdict(verdict) && ", "false && ",
          tests=("consume_events",)),
    Patch("unanswered-unnamed", "a handler that says it has answered and has not is not named",
          "libsrc/consume/run/handlers.c", "verdict == SMQ_ANSWERED && unanswered > 0 &&", "false &&",
          tests=("consume_events",)),
    Patch("topic-delay-lost", "a send that asks for the delay of its topic is due at once",
          "libsrc/model/send.c", "message->delay_ms == SMQ_TOPIC_DELAY ? topic->delay_ms",
          "message->delay_ms == SMQ_TOPIC_DELAY ? 0", tests=("model_send", "produce_send")),
    Patch("restored-expires", "a restored message that did not expire gets the time to live of its topic",
          "libsrc/model/send.c", "message->ttl_ms == 0 && !message->restored && topic->ttl_ms > 0",
          "message->ttl_ms == 0 && topic->ttl_ms > 0", tests=("model_send",)),
    Patch("late-answers-untold", "answers that came too late together are told as accepted",
          "libsrc/client/delivery.c", "answer->status = delivery_note(batch, SMQ_CLOSED, &why);",
          "answer->status = SMQ_OK;", tests=("consume_poll",)),
    Patch("group-list-undone", "an alteration of groups undoes that of another caller",
          "libsrc/admin/alter.c",
          "strcmp(alteration->from, change->stored.groups) != 0 &&\n",
          "false &&\n",
          tests=("admin_group_alterations", "command_alter_groups")),
    Patch("group-left-over", "a group stays that nobody names, because another caller's list was stored",
          "libsrc/admin/alteration.c", "        if (alteration->made[i]) {", "        if (false) {",
          tests=("admin_group_alterations", "command_alter_groups")),
    Patch("group-left-sealed", "no send to the topic ends, because a group was not dropped after all",
          "libsrc/admin/alteration.c", "        if (alteration->sealed[i] > 0) {", "        if (false) {",
          tests=("admin_group_alterations",)),
    Patch("full-group-unnamed", "the metrics do not say which group is full",
          "libsrc/produce/send_request.c",
          "    if (index >= 0 && index < topic_parts(request->topic)) {", "    if (false) {",
          tests=("admin_groups",)),
    # --- what is reported ---
    Patch("assigned-each-slot", "an assignment is told slot by slot",
          "libsrc/consume/consumer/assignment.c", "slots->ended ? now_ms :", "true ? now_ms :",
          tests=("consume_assignment", "consume_assigned")),
    # --- what is selected ---
    Patch("reason-in-part", "a group of one reason has those of others that contain it", "lua/page.lua",
          "if exact == '1' then", "if exact == '2' then", tests=("lua_page", "admin_bulk")),
    Patch("reason-of-none", "the group without a reason has the messages of all reasons",
          "libsrc/admin/filter.c", ".exact = filter->reason_is != NULL,",
          ".exact = filter->reason_is != NULL && *filter->reason_is != 0,", tests=("admin_bulk",)),
    Patch("former-owner-unseen", "a claim of a former owner is shown as that of the owner",
          "libsrc/admin/page.c", "row->entry.claim > holder->base", "true",
          tests=("admin_message",)),
    # --- order of writes ---
    Patch("claim-not-undone", "what cannot be removed from the store is claimed as well",
          "lua/lib/unclaim.lua", "redis.call('ZREM', prepare, unpack(entries))",
          "redis.call('ZCARD', prepare)", tests=("lua_denied",)),
    Patch("settled-without-body", "a body that cannot be removed belongs to no message",
          "lua/lib/unsettle.lua", "redis.call('ZADD', prepare, unpack(claimed))",
          "redis.call('ZCARD', prepare)", tests=("lua_denied",)),
    Patch("sent-without-body", "a message waits whose body cannot be stored",
          "lua/lib/unsend.lua", "redis.call('ZREM', store, unpack(added))",
          "redis.call('ZCARD', store)", tests=("lua_denied",)),
    Patch("move-not-tried", "a message that cannot leave its old place is in two",
          "lua/lib/try.lua", "redis.call('ZREM', prepare, '-')", "redis.call('ZCARD', prepare)",
          tests=("lua_denied",)),
    Patch("push-not-undone", "a push that may not be published is claimed",
          "lua/lib/push.lua", "if not (type(heard) == 'number' and heard > 0) then",
          "if false then", tests=("lua_denied",)),
    Patch("pause-half-done", "a resume that failed midway cannot be repeated",
          "lua/topic.lua", "            redis.call('HDEL', topic, '-') -- a try\n", "",
          tests=("lua_denied",)),
    # --- the window of ids ---
    Patch("duplicate-in-flight", "an id is stored again while its message is handled",
          "lua/send.lua", "(headers[member] or ended[i])", "ended[i]",
          tests=("lua_dedup", "produce_dedup")),
    Patch("window-forgotten", "an id that is done is not remembered", "lua/lib/settle_done.lua",
          "    if remember then\n", "    if false then\n", tests=("lua_dedup", "produce_dedup")),
    Patch("window-without-sentinel", "sends wait until a hash slot has moved", "lua/lib/sentinels.lua",
          "redis.call('ZADD', done, '+inf', '')", "redis.call('ZCARD', done)", tests=("lua_dedup", "produce_dedup")),
    Patch("duplicate-is-success", "a send that was refused is reported as stored",
          "libsrc/produce/send.c", "send_end(sink, send, SMQ_DUPLICATE, text);",
          "send_end(sink, send, SMQ_OK, text);", tests=("produce_dedup",)),
    # --- headers and hooks ---
    Patch("header-twice", "a message has two headers of one name", "libsrc/model/headers.c",
          "if (headers_find(headers, index, header->name) != NULL) {", "if (false) {",
          tests=("model_headers",)),
    Patch("headers-too-large", "only the values count for the bound of headers", "libsrc/model/headers.c",
          "        bytes += strlen(headers[i].name);\n", "", tests=("model_headers",)),
    Patch("header-by-name", "a search finds a header by its name alone", "lua/page.lua",
          "string.sub(headers, at, stop + length) == header",
          "string.find(headers, string.match(header, '^[^%z]+'), at, true)",
          tests=("lua_page", "consume_headers")),
    Patch("header-in-body", "a search looks for text in headers, too", "lua/page.lua",
          "return string.sub(stored, 1, length), string.sub(stored, length + 1)",
          "return string.sub(stored, 1, length), stored", tests=("lua_page", "consume_headers")),
    Patch("header-inline", "layout inline stores a message without its headers", "libsrc/model/send.c",
          "message->header_count > message->added", "message->header_count > SMQ_HEADERS_MAX",
          tests=("consume_headers", "consume_hooks")),
    Patch("hook-breaks-inline", "a tracer breaks the sends to topics of layout inline",
          "libsrc/model/send.c", "message->header_count > message->added", "message->header_count > 0",
          tests=("consume_hooks",)),
    Patch("hook-header-borrowed", "an added header is gone when its hook has returned",
          "libsrc/produce/send_hooks.c", "if (!send_hooks_copy(added, headers->memory, added)) {",
          "smq_header copy;\n    if (!send_hooks_copy(&copy, headers->memory, added)) {",
          tests=("consume_hooks",)),
    Patch("hook-of-restored", "a message is restored with a new trace", "libsrc/produce/send_hooks.c",
          " || message->restored) {", ") {", tests=("consume_hooks",)),
    Patch("hook-refused-no-end", "the span of a send that is refused does not end",
          "libsrc/produce/producer.c",
          "    if (status != SMQ_OK) {\n        send_hooks_end(", "    if (false) {\n        send_hooks_end(",
          tests=("consume_hooks",)),
    Patch("hook-poll-no-end", "the span of a send whose receipt is polled does not end",
          "libsrc/produce/producer.c",
          "send->group == NULL && (send->sent != NULL || send->hooks.hooks != NULL)",
          "send->group == NULL && send->sent != NULL", tests=("consume_hooks",)),
    Patch("hook-own-answer", "an answer of the library is told as one of the application",
          "libsrc/consume/slot/in_flight.c", " && delivery->answer.op != STORE_HUNG;", ";",
          tests=("consume_hooks",)),
    Patch("hook-dead-untold", "an answer does not say that the message is dead by it",
          "libsrc/consume/slot/in_flight.c", "stored && in_flight_is_dead(slot, delivery)", "false",
          tests=("consume_hooks",)),
    Patch("hook-late-untold", "an answer that comes too late is not settled", "libsrc/consume/run/answer.c",
          "        hooks_refused(delivery, op, NULL, status);\n", "", tests=("consume_hooks",)),
    Patch("hook-poll-is-handled", "the processing of a polled message does not end by its answer",
          "libsrc/consume/run/answer.c", "    hooks_answered(scheduler, delivery, op);\n", "",
          tests=("consume_hooks",)),
    # --- credentials ---
    Patch("password-not-followed", "live connections keep an old password",
          "libsrc/redis/credentials.c",
          "        login->renew_ms = clock_now_ms();\n    }\n    credentials_look_at",
          "        login->renew_ms = 0;\n    }\n    credentials_look_at",
          tests=("redis_credentials",)),
    Patch("refusal-is-final", "a password that is refused for a while fails sends",
          "libsrc/redis/credentials.c", "if (!credentials->accepted) {", "if (true) {",
          tests=("redis_credentials", "client_credentials")),
    Patch("common-name", "a certificate without names is taken for that of its common name",
          "libsrc/redis/tls.c", "X509_CHECK_FLAG_NEVER_CHECK_SUBJECT", "0",
          tests=("redis_tls",)),
    Patch("certificate-refusal-is-final", "a certificate that is refused for a while fails sends",
          "libsrc/redis/tls.c", "if (!tls->began || err->status", "if (true || err->status",
          tests=("redis_tls", "client_renewal")),
    Patch("session-is-kept", "every second connection offers a session that the server refuses",
          "libsrc/redis/tls.c", "    if (!refused) {\n", "    if (refused || !refused) {\n",
          tests=("redis_tls", "client_tls")),
    Patch("denied-worker-ends", "a right that is taken for a while ends a worker",
          "libsrc/consume/consumer/consumer_loop.c", "if (!had || consumer_lacked(consumer, text)) {",
          "if (had || consumer_lacked(consumer, text)) {", tests=("client_credentials",)),
    Patch("rights-are-not-asked", "a worker that begins does not ask for its rights",
          "libsrc/consume/consumer/consumer_loop.c", "    consumer_prove_rights(consumer);\n",
          "    (void) consumer_prove_rights;\n", tests=("client_credentials",)),
    Patch("denied-is-no-topic", "a denied look at slots counts as a topic that was never created",
          "libsrc/core/definitions.c",
          "           (result->outcome == STORE_PARTLY && result->status == SMQ_INVALID);",
          "           result->outcome == STORE_PARTLY;", tests=("client_roles",)),
    Patch("lack-not-named", "a right without which nobody is woken is not named", "libsrc/store/lack.c",
          "*failed = lack_find(reply);", "*failed = reply == NULL ? lack_find(reply) : NULL;",
          tests=("client_rights",)),
    Patch("lack-named-again", "each message names the right that its sender lacks",
          "libsrc/redis/rights.c", "    rights_note(rights, right);\n", "    (void) rights_note;\n",
          tests=("client_rights",)),
    Patch("lack-not-reported", "a send does not say that it could not wake", "lua/lib/wake.lua",
          "if type(heard) == 'table' then", "if false then",
          tests=("lua_denied", "lua_send_groups", "client_rights")),
    Patch("backup-only-reads", "who reads as the backup of a wake does not look for what is due later",
          "libsrc/consume/slot/shared.c", "sleepers->due_ms < 0 || sleepers->look_ms > now;", "true;",
          tests=("consume_one_wake",)),
    Patch("full-keeps-the-look", "who is told to look and has no room keeps that to itself",
          "libsrc/consume/slot/shared.c",
          "slot->set->shared && slot->store == NEXT_CALL_EMPTY", "false",
          tests=("consume_one_wake",)),
    Patch("password-in-ps", "the list of processes shows a password", "cli/verb/secrets.c",
          "        secrets_hide(argv[i]);\n", "        if (argc < 0) {\n            secrets_hide(argv[i]);\n        }\n",
          tests=("command_secrets",)),
)

NAMED = (*PATCHES, *SCRIPTS)
