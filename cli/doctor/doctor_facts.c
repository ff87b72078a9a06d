/* doctor_facts.c - finding out what slotmq doctor judges.
 *
 * The order matters: the topics are looked at before the fleet, so that what ZooKeeper says is
 * newer than every token that was read. */
#include "cli/doctor/doctor_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/text/moment.h"
#include "cli/text/say.h"
#include "cli/topic/topic.h"

static const char *doctor_keep(struct doctor_facts *facts, const char *text)
{
    facts->string = say_grow(facts->string, facts->string_count, sizeof(*facts->string));
    facts->string[facts->string_count] = say_copy(text);
    return facts->string[facts->string_count++];
}

static struct doctor_outcome doctor_outcome(struct doctor_facts *facts, smq_status status,
                                            const smq_error *err)
{
    return (struct doctor_outcome){.tried = true,
                                   .status = status,
                                   .text =
                                       status == SMQ_OK ? "" : doctor_keep(facts, say_text(err))};
}

/* === Servers ============================================================ */

static bool doctor_take_server(const smq_server_info *server, void *user)
{
    struct doctor_facts *facts = user;
    smq_server_info *kept = NULL;

    facts->server = say_grow(facts->server, facts->server_count, sizeof(*facts->server));
    kept = &facts->server[facts->server_count++];
    *kept = *server;
    kept->address = doctor_keep(facts, server->address);
    kept->why = doctor_keep(facts, server->why);
    kept->version = doctor_keep(facts, server->version);
    kept->version_why = doctor_keep(facts, server->version_why);
    kept->role = doctor_keep(facts, server->role);
    kept->maxmemory_policy = doctor_keep(facts, server->maxmemory_policy);
    kept->config_why = doctor_keep(facts, server->config_why);
    kept->appendfsync = doctor_keep(facts, server->appendfsync);
    kept->save = doctor_keep(facts, server->save);
    kept->cluster_why = doctor_keep(facts, server->cluster_why);
    kept->cluster_state = doctor_keep(facts, server->cluster_state);
    kept->clock_why = doctor_keep(facts, server->clock_why);
    kept->writes_why = doctor_keep(facts, server->writes_why);
    return true;
}

bool doctor_facts_all_answer(const struct doctor_facts *facts)
{
    for (size_t i = 0; i < facts->server_count; i++) {
        if (facts->server[i].status != SMQ_OK) {
            return false;
        }
    }
    return facts->servers.tried && facts->servers.status == SMQ_OK;
}

/* === Topics ============================================================= */

static bool doctor_take_topic(const smq_topic_info *topic, void *user)
{
    struct doctor_facts *facts = user;

    if (topic->deleted) {
        facts->deleted_count++;
        return true;
    }
    facts->topic = say_grow(facts->topic, facts->topic_count, sizeof(*facts->topic));
    facts->topic[facts->topic_count++] = (struct doctor_topic){
        .name = doctor_keep(facts, topic->name),
        .shared = topic->options->shared,
        .damaged = topic->damaged,
        .paused = topic->paused,
        .fifo = topic->options->type == SMQ_TYPE_FIFO,
        .rate_per_s = topic->options->rate_per_s,
        .idle_owner = "",
        .unlisted = topic->unlisted,
        .unreadable = topic->unreadable ? doctor_keep(facts, topic->unreadable) : NULL,
        .unreadable_status = topic->unreadable_status,
        .stats = SMQ_STATS_INIT,
        .binding = SMQ_BINDING_INIT,
    };
    return true;
}

/* Is it a group that the definition of its topic names? */
static bool doctor_is_group(smq_client *client, const char *name)
{
    const size_t length = strcspn(name, "/");
    char *whole = say_alloc(length + 1, 1);
    struct topic_names names = {.count = 0};
    smq_error err;
    bool found = false;

    memcpy(whole, name, length);
    if (name[length] == '/' && topic_names_read_one(&names, client, whole, &err) == SMQ_OK) {
        for (size_t i = 0; i < names.count; i++) {
            found = found || strcmp(names.name[i], name) == 0;
        }
    }
    topic_names_fini(&names);
    free(whole);
    return found;
}

/* One topic or group that was named.  That Redis has lost a group is no mistake of who names it. */
static smq_status doctor_read_topic(struct doctor_facts *facts, smq_client *client,
                                    const char *name, smq_error *err)
{
    const smq_status status = topic_visit(client, name, doctor_take_topic, facts, err);

    if (status != SMQ_NO_TOPIC || !doctor_is_group(client, name)) {
        return status;
    }
    const smq_topic_info lost = {.name = name,
                                 .options = &SMQ_TOPIC_OPTIONS(.name = name),
                                 .unreadable = say_text(err),
                                 .unreadable_status = SMQ_DAMAGED};
    (void) doctor_take_topic(&lost, facts);
    return SMQ_OK;
}

static smq_status doctor_list_all(struct doctor_facts *facts, smq_client *client, smq_error *err)
{
    if (facts->deep && facts->within_ms == 0) {
        const smq_status status = smq_topic_search(client, doctor_take_topic, facts, err);

        facts->scanned = doctor_outcome(facts, status, err);
        if (status == SMQ_OK) {
            return SMQ_OK;
        }
        facts->topic_count = facts->deleted_count = 0;
    }
    return smq_topic_each(client, doctor_take_topic, facts, err);
}

static void doctor_list_topics(struct doctor_facts *facts, smq_client *client)
{
    struct topic_names names = {.count = 0};
    smq_error err;
    smq_status status = facts->only ? topic_names_read_one(&names, client, facts->only, &err)
                                    : doctor_list_all(facts, client, &err);

    for (size_t i = 0; i < names.count && status == SMQ_OK; i++) {
        status = doctor_read_topic(facts, client, names.name[i], &err);
    }
    if (facts->only && status != SMQ_OK) {
        (void) topic_explain(client, facts->only, &err);
    }
    facts->listed = doctor_outcome(facts, status, &err);
    topic_names_fini(&names);
}

/* === Senders ============================================================ */

/* The rights in what is missing that name no topic: the same user lacks them in all. */
static bool doctor_is_same_lack(const struct doctor_sender *known, const smq_sender_info *sender)
{
    return strcmp(known->user, sender->user) == 0 &&
           (strstr(known->missing, "&wake") != NULL) == (strstr(sender->missing, "&wake") != NULL);
}

static bool doctor_take_sender(const smq_sender_info *sender, void *user)
{
    struct doctor_facts *facts = user;

    if (sender->missing[0] == '\0') {
        return true;
    }
    for (size_t i = 0; i < facts->sender_count; i++) {
        if (doctor_is_same_lack(&facts->sender[i], sender)) {
            facts->sender[i].others++;
            return true;
        }
    }
    facts->sender = say_grow(facts->sender, facts->sender_count, sizeof(*facts->sender));
    facts->sender[facts->sender_count++] =
        (struct doctor_sender){.user = doctor_keep(facts, sender->user),
                               .topic = doctor_keep(facts, sender->topic),
                               .missing = doctor_keep(facts, sender->missing)};
    return true;
}

/* Who may not ask for one topic may not ask for the others. */
static void doctor_look_at_senders(struct doctor_facts *facts, smq_client *client)
{
    const bool wanted = !facts->probe || facts->rights;

    for (size_t i = 0; i < facts->topic_count && wanted; i++) {
        const struct doctor_topic *topic = &facts->topic[i];
        smq_error err;

        if (!topic->looked.tried || topic->looked.status != SMQ_OK) {
            continue;
        }
        const smq_status status =
            smq_sender_each(client, topic->name, doctor_take_sender, facts, &err);
        facts->senders = doctor_outcome(facts, status, &err);
        if (status != SMQ_OK && status != SMQ_NO_TOPIC) {
            return;
        }
    }
}

/* === Zones ============================================================== */

struct doctor_zones {
    struct doctor_facts *facts;
    const char *topic;
};

static bool doctor_take_schedule(const smq_schedule_info *info, void *user)
{
    const struct doctor_zones *zones = user;
    struct doctor_facts *facts = zones->facts;
    const char *topic = zones->topic, *zone = info->schedule->zone;
    size_t i = facts->zone_count;
    size_t count = 0;

    if (!zone || smq_schedule_next(info->schedule, 0, NULL, 0, &count, NULL) == SMQ_OK) {
        return true;
    }
    while (i > 0 && strcmp(facts->zone[i - 1].topic, topic) == 0) {
        if (strcmp(facts->zone[--i].zone, zone) == 0) {
            facts->zone[i].schedules++;
            return true;
        }
    }
    facts->zone = say_grow(facts->zone, facts->zone_count, sizeof(*facts->zone));
    facts->zone[facts->zone_count++] =
        (struct doctor_zone){.topic = topic, .zone = doctor_keep(facts, zone), .schedules = 1};
    return true;
}

/* What cannot be read of a topic is another finding. */
static void doctor_look_at_zones(struct doctor_facts *facts, smq_client *client)
{
    for (size_t i = 0; i < facts->topic_count && !facts->probe && facts->within_ms == 0; i++) {
        const struct doctor_topic *topic = &facts->topic[i];
        struct doctor_zones zones = {facts, topic->name};

        if (topic->looked.tried && topic->looked.status == SMQ_OK) {
            (void) smq_schedule_each(client, topic->name, doctor_take_schedule, &zones, NULL);
        }
    }
}

/* === The fleet ========================================================== */

static bool doctor_take_fleet(const smq_fleet_info *fleet, void *user)
{
    struct doctor_facts *facts = user;

    facts->fleet = *fleet;
    facts->fleet.root = doctor_keep(facts, fleet->root);
    facts->fleet.identity = doctor_keep(facts, fleet->identity);
    facts->fleet.assigner = doctor_keep(facts, fleet->assigner);
    facts->fleet.server = doctor_keep(facts, fleet->server);
    return true;
}

static bool doctor_take_member(const smq_fleet_member *member, void *user)
{
    struct doctor_facts *facts = user;
    smq_fleet_member *kept = NULL;

    facts->member = say_grow(facts->member, facts->member_count, sizeof(*facts->member));
    kept = &facts->member[facts->member_count++];
    *kept = *member;
    kept->name = doctor_keep(facts, member->name);
    kept->host = doctor_keep(facts, member->host);
    kept->why = doctor_keep(facts, member->why);
    return true;
}

static bool doctor_take_fleet_topic(const smq_fleet_topic *topic, void *user)
{
    struct doctor_facts *facts = user;
    smq_fleet_topic *kept = NULL;

    if (facts->only && !topic_is_of(topic->name, facts->only)) {
        return true;
    }
    facts->fleet_topic =
        say_grow(facts->fleet_topic, facts->fleet_topic_count, sizeof(*facts->fleet_topic));
    kept = &facts->fleet_topic[facts->fleet_topic_count++];
    *kept = *topic;
    kept->name = doctor_keep(facts, topic->name);
    kept->why = doctor_keep(facts, topic->why);
    return true;
}

static bool doctor_take_share(const smq_fleet_share *share, void *user)
{
    struct doctor_facts *facts = user;
    smq_fleet_share *kept = NULL;

    if (share->stands_by[0] == '\0') {
        return true;
    }
    facts->share = say_grow(facts->share, facts->share_count, sizeof(*facts->share));
    kept = &facts->share[facts->share_count++];
    *kept = *share;
    kept->topic = doctor_keep(facts, share->topic);
    kept->member = doctor_keep(facts, share->member);
    kept->ranges = doctor_keep(facts, share->ranges);
    kept->stands_by = doctor_keep(facts, share->stands_by);
    return true;
}

static bool doctor_take_move(const smq_fleet_move *move, void *user)
{
    struct doctor_facts *facts = user;
    smq_fleet_move *kept = NULL;

    facts->move = say_grow(facts->move, facts->move_count, sizeof(*facts->move));
    kept = &facts->move[facts->move_count++];
    *kept = *move;
    kept->topic = doctor_keep(facts, move->topic);
    kept->from = doctor_keep(facts, move->from);
    kept->ranges = doctor_keep(facts, move->ranges);
    kept->why = doctor_keep(facts, move->why);
    return true;
}

static void doctor_describe_fleet(struct doctor_facts *facts, smq_client *client)
{
    const smq_fleet_visitor visitor = {.struct_size = sizeof(visitor),
                                       .fleet = doctor_take_fleet,
                                       .member = doctor_take_member,
                                       .topic = doctor_take_fleet_topic,
                                       .share = doctor_take_share,
                                       .move = doctor_take_move,
                                       .user = facts};
    smq_error err;
    const smq_status status = smq_fleet_describe(client, &visitor, &err);

    facts->described = doctor_outcome(facts, status, &err);
}

/* ======================================================================== */

struct doctor_survey {
    struct doctor_facts *facts;
    int64_t begun_at_ms;
};

/* The rest of the time is left for ZooKeeper. */
static bool doctor_has_time(const struct doctor_survey *survey)
{
    const int64_t within_ms = survey->facts->within_ms;

    return within_ms == 0 || moment_ms() - survey->begun_at_ms <= within_ms * 2 / 3;
}

static bool doctor_on_surveyed(const smq_survey_topic *row, void *user)
{
    const struct doctor_survey *survey = user;
    struct doctor_facts *facts = survey->facts;
    smq_error err = {.status = row->status};

    snprintf(err.text, sizeof(err.text), "%s", row->why);
    for (size_t i = 0; i < facts->topic_count; i++) {
        if (strcmp(facts->topic[i].name, row->topic) == 0) {
            facts->topic[i].stats = row->stats;
            facts->topic[i].looked = doctor_outcome(facts, row->status, &err);
        }
    }
    return doctor_has_time(survey);
}

/* What this process has in work of the topic that is read now. */
static struct doctor_work *doctor_work_of(struct doctor_facts *facts, const char *topic,
                                          const char *owner)
{
    struct doctor_work *work = NULL;

    for (size_t i = facts->work_count; i > 0 && strcmp(facts->work[i - 1].topic, topic) == 0; i--) {
        if (strcmp(facts->work[i - 1].owner, owner) == 0) {
            return &facts->work[i - 1];
        }
    }
    facts->work = say_grow(facts->work, facts->work_count, sizeof(*facts->work));
    work = &facts->work[facts->work_count++];
    *work = (struct doctor_work){.topic = doctor_keep(facts, topic),
                                 .owner = doctor_keep(facts, owner),
                                 .stats = SMQ_STATS_INIT};
    return work;
}

static bool doctor_take_claims(const smq_slot_info *slot, void *user)
{
    const struct doctor_survey *survey = user;
    const smq_stats *stats = &slot->stats;
    struct doctor_work *work = NULL;

    if (stats->claimed == 0) {
        return true;
    }
    work = doctor_work_of(survey->facts, slot->topic,
                          slot->owner[0] != '\0' ? slot->owner : slot->claimed_by);
    work->stats.claimed += stats->claimed;
    work->stats.stalled += stats->stalled;
    if (stats->stalled_age_ms > work->stats.stalled_age_ms) {
        work->stats.stalled_age_ms = stats->stalled_age_ms;
    }
    if (stats->oldest_claim_age_ms >= work->stats.oldest_claim_age_ms) {
        work->stats.oldest_claim_age_ms = stats->oldest_claim_age_ms;
        work->slot = slot->slot;
    }
    return true;
}

static bool doctor_is_readable(const struct doctor_topic *topic)
{
    return !topic->unreadable && !topic->damaged;
}

/* The names of the topics that can be read, with commas between them, to be freed. */
static char *doctor_names(const struct doctor_facts *facts)
{
    size_t size = 1;
    size_t used = 0;

    for (size_t i = 0; i < facts->topic_count; i++) {
        size += strlen(facts->topic[i].name) + 1;
    }
    char *names = say_alloc(size, 1);
    for (size_t i = 0; i < facts->topic_count; i++) {
        if (doctor_is_readable(&facts->topic[i])) {
            used += (size_t) snprintf(names + used, size - used, "%s%s", used > 0 ? "," : "",
                                      facts->topic[i].name);
        }
    }
    return names;
}

static void doctor_look_at_topics(struct doctor_facts *facts, smq_client *client,
                                  int64_t begun_at_ms)
{
    struct doctor_survey survey = {.facts = facts, .begun_at_ms = begun_at_ms};
    char *names = doctor_names(facts);
    smq_error err;

    if (names[0] != '\0') {
        (void) smq_survey(client, names, &SMQ_SURVEY_OPTIONS(.slot = doctor_take_claims),
                          doctor_on_surveyed, &survey, &err);
    }
    free(names);
    for (size_t i = 0; i < facts->topic_count; i++) {
        struct doctor_topic *topic = &facts->topic[i];

        if (!doctor_is_readable(topic)) {
            continue;
        }
        if (!topic->looked.tried || !doctor_has_time(&survey)) {
            facts->topics_left++;
        } else if (!topic->shared) {
            const smq_status status = smq_topic_binding(client, topic->name, &topic->binding, &err);
            topic->bound = doctor_outcome(facts, status, &err);
        }
    }
}

/* === Messages that are due and not claimed ============================== */

/* Consumers that wait for a rate limit claim again within this time. */
enum { DOCTOR_AGAIN_MS = 1000 };

/* Have messages been due for a while, and is none of the topic claimed?  In a fifo topic a message
 * that rests holds up others. */
static bool doctor_is_idle(const struct doctor_topic *topic)
{
    const smq_stats *stats = &topic->stats;

    return topic->looked.tried && topic->looked.status == SMQ_OK && !topic->paused &&
           stats->due > 0 && stats->claimed == 0 && !(topic->fifo && stats->resting > 0) &&
           stats->oldest_due_age_ms >= DOCTOR_DUE_MS;
}

struct doctor_slots {
    struct doctor_facts *facts;
    struct doctor_topic *topic;
    uint64_t ended, claimed;
};

static uint64_t doctor_ended(const smq_stats *stats)
{
    return stats->done + stats->retried + stats->rejected + stats->released + stats->expired;
}

static bool doctor_take_slot(const smq_slot_info *slot, void *user)
{
    struct doctor_slots *slots = user;
    struct doctor_topic *topic = slots->topic;

    slots->ended += doctor_ended(&slot->stats);
    slots->claimed += slot->stats.claimed;
    if (topic->idle_owner[0] == '\0' && slot->stats.due > 0 &&
        slot->stats.oldest_due_age_ms >= DOCTOR_DUE_MS) {
        topic->idle_owner = doctor_keep(slots->facts, slot->owner);
        topic->idle_slot = slot->slot;
    }
    return true;
}

/* Looks once more whether anything was claimed meanwhile. */
static void doctor_look_for_idle(struct doctor_facts *facts, smq_client *client,
                                 struct doctor_topic *topic)
{
    struct doctor_slots slots = {.facts = facts, .topic = topic};
    smq_error err;

    if (smq_topic_slots(client, topic->name, doctor_take_slot, &slots, &err) != SMQ_OK ||
        slots.claimed > 0 || slots.ended != doctor_ended(&topic->stats)) {
        topic->idle_owner = "";
    }
}

static void doctor_look_for_idle_owners(struct doctor_facts *facts, smq_client *client)
{
    static const struct timespec again = {.tv_sec = DOCTOR_AGAIN_MS / 1000};
    bool waited = false;

    for (size_t i = 0; i < facts->topic_count; i++) {
        if (doctor_is_idle(&facts->topic[i])) {
            if (!waited) {
                (void) nanosleep(&again, NULL);
            }
            waited = true;
            doctor_look_for_idle(facts, client, &facts->topic[i]);
        }
    }
}

void doctor_facts_lack_client(struct doctor_facts *facts, const smq_error *err)
{
    facts->redis = doctor_outcome(facts, err->status, err);
}

/* A fleet in Redis that was not named is looked at if there is a topic of it. */
static bool doctor_has_topic_in_redis(const struct doctor_facts *facts)
{
    static const char in_redis[] = "redis:";

    for (size_t i = 0; i < facts->topic_count; i++) {
        if (strncmp(facts->topic[i].binding.coordination, in_redis, sizeof(in_redis) - 1) == 0) {
            return true;
        }
    }
    return false;
}

void doctor_facts_gather(struct doctor_facts *facts, smq_client *client)
{
    const int64_t begun_at_ms = moment_ms();
    smq_error err;
    const smq_status status = smq_server_each(client, doctor_take_server, facts, &err);

    facts->now_ms = moment_wall_ms();
    facts->servers = doctor_outcome(facts, status, &err);
    if (doctor_facts_all_answer(facts)) {
        doctor_list_topics(facts, client);
    }
    doctor_look_at_topics(facts, client, begun_at_ms);
    doctor_look_for_idle_owners(facts, client);
    doctor_look_at_senders(facts, client);
    doctor_look_at_zones(facts, client);
    facts->has_fleet = facts->is_named || doctor_has_topic_in_redis(facts);
    facts->in_redis = facts->in_redis && facts->has_fleet;
    if (facts->has_fleet) {
        doctor_describe_fleet(facts, client);
    }
}

enum doctor_severity doctor_facts_severity(const struct doctor_facts *facts, smq_status status)
{
    switch (status) {
    case SMQ_INVALID:
    case SMQ_NO_TOPIC:
    case SMQ_DENIED:
        return facts->probe ? DOCTOR_BLIND : DOCTOR_ERROR;
    default:
        return DOCTOR_ERROR;
    }
}

void doctor_facts_fini(struct doctor_facts *facts)
{
    for (size_t i = 0; i < facts->string_count; i++) {
        free(facts->string[i]);
    }
    free(facts->string);
    free(facts->server);
    free(facts->topic);
    free(facts->work);
    free(facts->sender);
    free(facts->zone);
    free(facts->member);
    free(facts->fleet_topic);
    free(facts->share);
    free(facts->move);
    *facts = (struct doctor_facts){.now_ms = 0};
}
