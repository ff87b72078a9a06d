/* standby.c - reporting once that a consumer has had no slot for a while, and why: it is a spare,
 * or something is wrong, or the operator overlooked that without a fleet only one process consumes
 * a topic.  Coordination is asked for the reason when the while is over.
 *
 * Thread: smq:io. */
#include "base/clock.h"
#include "consume/consumer/consumer.h"
#include "core/coord_link.h"

int64_t consumer_standby_wait_ms(struct consumer_standby *standby, bool spare, int64_t now_ms)
{
    int64_t wait_ms;

    if (!spare) {
        *standby = (struct consumer_standby){0};
        return -1;
    }
    if (standby->reported) {
        return -1;
    }
    standby->since_ms = standby->since_ms == 0 ? now_ms : standby->since_ms;
    wait_ms = standby->since_ms + STANDBY_MS - now_ms;
    standby->reported = wait_ms <= 0;
    return wait_ms > 0 ? wait_ms : 0;
}

/* What an operator reads after "because".  These words stand in docs/operations.md, too. */
static const char *standby_text(const smq_consumer *consumer, enum coord_no_slot why)
{
    static const char *const texts[COORD_NO_SLOTS] = {
        [COORD_NO_SLOT_ASSIGNER] =
            "the assigner of the fleet has not granted it any of the slots that are free: \"slotmq "
            "fleet show\" names the assigner; restart its process if it hangs",
        [COORD_NO_SLOT_GRANTING] =
            "the assigner of the fleet is granting slots; those of this topic follow",
        [COORD_NO_SLOT_FORMER] =
            "its former session, of a process with its name, still has slots: they are free when "
            "that session ends, at most one session time-out after that process ended; if they are "
            "not, \"slotmq fleet show\" names the assigner: restart its process",
        [COORD_NO_SLOT_STANDBY] = "other members have all slots that Redis serves now; it stands "
                                  "by and begins with the first slot that it is granted",
        [COORD_NO_SLOT_TAKEOVER] = "Redis has not answered the takeover of the slots that it was "
                                   "granted; it is tried again",
        [COORD_NO_SLOT_REFUSED] = "Redis refused the slots that it was granted: they have a newer "
                                  "owner, or ZooKeeper lost data; it asks again",
        [COORD_NO_SLOT_ZOOKEEPER] = "ZooKeeper does not answer; it is tried again",
        [COORD_NO_SLOT_NAME] =
            "it waits for the end of the session of an earlier process with its name, at most two "
            "session time-outs; processes that run at the same time need different names",
        [COORD_NO_SLOT_ENTRY] = "ZooKeeper has not let it into the fleet yet; it is tried again",
        [COORD_NO_SLOT_TOPIC] = "the nodes of the topic in ZooKeeper cannot be used: an error says "
                                "why; \"slotmq doctor\" shows what is wrong",
        [COORD_NO_SLOT_REDIS] = "no node of Redis answers it; it is tried again",
        [COORD_NO_SLOT_LEASED] = "a process of version 0.2 has all slots of the topic; when that "
                                 "ends, processes of this version share them",
    };
    static const char *const of_trees[COORD_NO_SLOTS] = {
        [COORD_NO_SLOT_REFUSED] = "Redis refused the slots that it was granted: they have a newer "
                                  "owner; it asks again",
        [COORD_NO_SLOT_ZOOKEEPER] = "the tree of its fleet in Redis does not answer; it is tried "
                                    "again",
        [COORD_NO_SLOT_ENTRY] = "the tree of its fleet in Redis has not let it in yet; it is tried "
                                "again",
        [COORD_NO_SLOT_TOPIC] = "the nodes of the topic in the tree in Redis cannot be used: an "
                                "error says why; \"slotmq doctor\" shows what is wrong",
    };
    bool in_redis = consumer->set.core->root != NULL;

    return in_redis && of_trees[why] != NULL ? of_trees[why] : texts[why];
}

void consumer_report_standby(smq_consumer *consumer, enum coord_no_slot why)
{
    struct consumer_standby *standby = &consumer->standby;

    if (!standby->reported) {
        return; /* it has slots meanwhile, or does not run */
    }
    standby->why = why;
    standby->explained = true;
    if (why == COORD_NO_SLOT_GRANTING) { /* nothing is wrong: it is asked again later */
        standby->since_ms = 0;
        standby->reported = false;
        consumer_watch_standby(consumer);
        return;
    }
    if (!standby->logged) {
        standby->logged = true;
        events_log(consumer->set.core->events, SMQ_LEVEL_WARN,
                   "topic %s: this process has had no slot for %d s, because %s",
                   consumer->set.name, STANDBY_MS / 1000, standby_text(consumer, why));
    }
}

/* The reason may change while it lasts, so who looks at the health has it asked for anew. */
void consumer_add_standby(struct health *health, const smq_consumer *consumer)
{
    const struct consumer_standby *standby = &consumer->standby;
    const char *topic = consumer->set.name;

    if (standby->explained) {
        health_note_slotless(
            health, standby->why == COORD_NO_SLOT_STANDBY || standby->why == COORD_NO_SLOT_LEASED,
            "topic %s: this process has no slot, because %s", topic,
            standby_text(consumer, standby->why));
    } else {
        health_note_slotless(health, false, "topic %s: this process has no slot yet", topic);
    }
    if (standby->reported && !consumer->lease.held) {
        coord_link_explain(consumer->set.core->link, topic);
    }
}

static void standby_on_timer(uv_timer_t *timer)
{
    consumer_watch_standby(timer->data);
}

/* Coordination does not know a topic that is not joined. */
static void standby_explain(smq_consumer *consumer)
{
    if (consumer->lease.held) {
        consumer_report_standby(consumer, COORD_NO_SLOT_LEASED);
    } else {
        coord_link_explain(consumer->set.core->link, consumer->set.name);
    }
}

void consumer_watch_standby(smq_consumer *consumer)
{
    bool spare = consumer->state == CONSUMER_RUNNING && consumer->set.owned == 0;
    int64_t wait_ms =
        consumer_standby_wait_ms(&consumer->standby, spare, spare ? clock_now_ms() : 0);

    if (wait_ms == 0) {
        standby_explain(consumer);
    }
    if (wait_ms <= 0) {
        uv_timer_stop(&consumer->standby_timer);
        return;
    }
    uv_update_time(consumer->standby_timer.loop);
    uv_timer_start(&consumer->standby_timer, standby_on_timer, (uint64_t) wait_ms, 0);
}
