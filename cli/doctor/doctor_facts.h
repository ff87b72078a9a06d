/* doctor_facts.h - what slotmq doctor has found out, for its checks to judge. */
#ifndef CLI_DOCTOR_FACTS_H
#define CLI_DOCTOR_FACTS_H

#include "cli/doctor/doctor_report.h"
#include "cli/verb/verb.h"

/* How an attempt to find something out ended. */
struct doctor_outcome {
    bool tried;
    smq_status status;
    const char *text; /* "" for SMQ_OK */
};

/* Messages that have been due for as long should have been claimed. */
enum { DOCTOR_DUE_MS = 10000 };

struct doctor_topic {
    const char *name;
    bool shared, damaged, paused;
    bool unlisted;          /* the list of topics lacks it */
    const char *unreadable; /* why its definition cannot be read; NULL: it can */
    smq_status unreadable_status;
    struct doctor_outcome looked, bound;
    smq_stats stats;
    smq_binding binding;
    bool fifo;
    int64_t rate_per_s; /* 0: no limit */
    /* a slot with due messages of which its owner has claimed none for a while; "": there is none
     */
    const char *idle_owner;
    int32_t idle_slot;
};

/* What one process has in work of one topic, of which it has claims in one slot at least. */
struct doctor_work {
    const char *topic, *owner; /* owner "": its name is not known */
    smq_stats stats;           /* of these slots: the claims alone */
    int32_t slot;              /* the one with the oldest claim */
};

/* A user of Redis who may send, but not wake or push; of the topics in which it lacks the same. */
struct doctor_sender {
    const char *user, *topic, *missing;
    size_t others; /* topics like `topic` */
};

/* A zone that schedules of a topic use, and this machine does not know. */
struct doctor_zone {
    const char *topic, *zone;
    size_t schedules;
};

/* Strings live until doctor_facts_fini(). */
struct doctor_facts {
    int64_t now_ms;              /* wall clock of this machine */
    bool is_named;               /* the fleet: its ZooKeeper, or its root in Redis, was given */
    bool has_fleet;              /* it is, or topics are bound to one in Redis */
    bool in_redis;               /* it is in Redis alone */
    bool stops;                  /* its members may not work while it is away */
    int64_t session_ms;          /* the time-out of their sessions */
    bool has_auth;               /* its credentials were given */
    bool probe;                  /* for slotmq check: only what keeps messages from being handled */
    bool rights;                 /* for a probe: also what users lack */
    bool deep;                   /* look at all keys of Redis, if no time is given */
    const char *only;            /* the only topic that is looked at; NULL: all */
    int64_t within_ms;           /* how long all may take; 0: as long as it takes */
    struct doctor_outcome redis; /* the first connection */
    struct doctor_outcome servers;
    smq_server_info *server;
    size_t server_count;
    struct doctor_outcome listed; /* the topics */
    /* all keys were looked at, to find topics that the list lacks; not tried: only if it may lack
     * some */
    struct doctor_outcome scanned;
    struct doctor_topic *topic;
    size_t topic_count;
    struct doctor_work *work; /* those of a topic one after the other */
    size_t work_count;
    size_t deleted_count;          /* deleted topics of which keys are left */
    size_t topics_left;            /* not looked at, because the time had ended */
    struct doctor_outcome senders; /* of the first topic of which they are not known */
    struct doctor_sender *sender;
    size_t sender_count;
    struct doctor_zone *zone; /* those of a topic one after the other */
    size_t zone_count;
    struct doctor_outcome described; /* the fleet */
    smq_fleet_info fleet;
    smq_fleet_member *member;
    size_t member_count;
    smq_fleet_topic *fleet_topic;
    size_t fleet_topic_count;
    smq_fleet_share *share;
    size_t share_count;
    smq_fleet_move *move;
    size_t move_count;
    char **string; /* owned: what the others point to */
    size_t string_count;
};

/* Finds out all that a connected client can find out.  Topics are not looked at while a Redis
 * master is away, as each of them would cost a time-out.  `facts` is all zero but for
 * is_named, in_redis, `probe`, `rights`, `deep`, `only` and `within_ms`. */
void doctor_facts_gather(struct doctor_facts *facts, smq_client *client);

/* No client could be made. */
void doctor_facts_lack_client(struct doctor_facts *facts, const smq_error *err);
void doctor_facts_fini(struct doctor_facts *facts);

/* Do all Redis masters that were asked answer? */
bool doctor_facts_all_answer(const struct doctor_facts *facts);

/* How bad it is that something cannot be used or read because of `status`: for a probe a mistake of
 * its caller is none of the servers. */
enum doctor_severity doctor_facts_severity(const struct doctor_facts *facts, smq_status status);

#endif
