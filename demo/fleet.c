/* fleet.c - see fleet.h.
 *
 * Thread: main. */
#include "fleet.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "support/history.h"
#include "support/process.h"

enum { STOP_MS = 20000 };

static void name_worker(struct fleet_worker *worker, const char *folder, int number)
{
    snprintf(worker->name, sizeof(worker->name), "worker-%d", number);
    snprintf(worker->history, sizeof(worker->history), "%s/worker-%d.log", folder, number);
}

bool fleet_start(struct fleet *fleet, bool said)
{
    struct fleet_worker *worker = &fleet->workers[fleet->count];

    name_worker(worker, fleet->folder, fleet->count + 1);
    const char *zookeeper = fleet->zookeeper != NULL ? fleet->zookeeper : "";
    const char *argv[] = {fleet->program, "--worker",      fleet->redis, zookeeper,
                          worker->name,   worker->history, NULL};
    struct process_options options = {.argv = argv, .out = 2, .err = 2};
    worker->pid = process_start(&options);
    worker->alive = worker->pid != 0;
    if (worker->alive) {
        fleet->count++;
        if (said) {
            history_moved(fleet->changes, worker->pid, "join");
        }
    }
    return worker->alive;
}

void fleet_slow_down(const struct fleet *fleet, int index)
{
    kill(fleet->workers[index].pid, SIGUSR1);
}

void fleet_kill(struct fleet *fleet, int index)
{
    struct fleet_worker *worker = &fleet->workers[index];

    history_moved(fleet->changes, worker->pid, "kill");
    process_kill(worker->pid);
    worker->alive = false;
}

void fleet_pause(struct fleet *fleet, int index)
{
    history_moved(fleet->changes, fleet->workers[index].pid, "pause");
    kill(fleet->workers[index].pid, SIGSTOP);
    fleet->workers[index].paused = true;
}

void fleet_resume(struct fleet *fleet, int index)
{
    kill(fleet->workers[index].pid, SIGCONT);
    fleet->workers[index].paused = false;
}

void fleet_leave(struct fleet *fleet, int index)
{
    history_moved(fleet->changes, fleet->workers[index].pid, "leave");
    kill(fleet->workers[index].pid, SIGTERM);
}

bool fleet_ended(struct fleet *fleet, int index)
{
    struct fleet_worker *worker = &fleet->workers[index];
    int status;

    if (worker->alive && process_ended(worker->pid, &status)) {
        worker->alive = false;
        worker->clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return !worker->alive;
}

struct look {
    struct fleet *fleet;
    int topic;
};

static bool count_slot(const smq_slot_info *slot, void *user)
{
    struct look *look = user;

    for (int i = 0; i < look->fleet->count; i++) {
        struct fleet_worker *worker = &look->fleet->workers[i];
        if (strcmp(worker->name, slot->owner) == 0) {
            worker->slots[look->topic]++;
            worker->claimed[look->topic] += slot->stats.claimed;
        }
    }
    return true;
}

bool fleet_look(struct fleet *fleet, smq_client *client, smq_error *err)
{
    struct look look = {.fleet = fleet};

    for (look.topic = 0; look.topic < RULES_TOPICS; look.topic++) {
        for (int i = 0; i < fleet->count; i++) {
            fleet->workers[i].slots[look.topic] = 0;
            fleet->workers[i].claimed[look.topic] = 0;
        }
        if (smq_topic_slots(client, rules_topics[look.topic], count_slot, &look, err) != SMQ_OK) {
            return false;
        }
    }
    return true;
}

int fleet_slots(const struct fleet *fleet, int index)
{
    int slots = 0;

    for (int i = 0; i < fleet->count; i++) {
        for (int topic = 0; topic < RULES_TOPICS && (index < 0 || index == i); topic++) {
            slots += fleet->workers[i].slots[topic];
        }
    }
    return slots;
}

bool fleet_stop(struct fleet *fleet, bool graceful)
{
    bool all_clean = true;

    for (int i = 0; i < fleet->count && graceful; i++) {
        if (fleet->workers[i].alive) {
            kill(fleet->workers[i].pid, SIGTERM);
        }
    }
    for (int i = 0; i < fleet->count; i++) {
        struct fleet_worker *worker = &fleet->workers[i];
        int status = 0;
        if (!worker->alive) {
            continue;
        }
        if (!graceful || !process_wait(worker->pid, &status, STOP_MS)) {
            process_kill(worker->pid);
            all_clean = false;
        } else {
            all_clean = all_clean && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        }
        worker->alive = false;
    }
    return all_clean;
}
