/* members.c - a fleet of consuming processes.
 *
 * Thread: the test's main thread. */
#include "members.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "scene.h"
#include "support/process.h"

enum { LEAVE_TIMEOUT_MS = 60000, SEND_BATCH = 1000 };

void members_init(struct members *members, const char *topic)
{
    *members =
        (struct members){.topic = topic, .session_ms = 2000, .threads = 2, .bound_ms = INT32_MAX};
    snprintf(members->sent_path, sizeof(members->sent_path), "%s/%s.sent",
             servers_folder(scene_servers()), topic);
    members->sent = history_open(members->sent_path);
    assert_non_null(members->sent);
}

void members_fini(struct members *members)
{
    for (int i = 0; i < members->count; i++) {
        member_kill(&members->member[i]);
    }
    history_close(members->sent);
}

struct member *members_start(struct members *members)
{
    struct member *member = &members->member[members->count];
    char session[16], threads[16], work[16];
    const char *const argv[] = {MEMBER_PROGRAM,
                                servers_redis(scene_servers()),
                                members->zookeeper ? servers_zookeeper(scene_servers()) : "-",
                                members->topic,
                                member->history,
                                session,
                                threads,
                                work,
                                NULL};
    struct process_options options = {.argv = argv, .err = 2};

    assert_true(members->count < MEMBERS_MAX);
    snprintf(session, sizeof(session), "%d", members->session_ms);
    snprintf(threads, sizeof(threads), "%d", members->threads);
    snprintf(work, sizeof(work), "%d", members->work_us);
    snprintf(member->history, sizeof(member->history), "%s/%s.%d", servers_folder(scene_servers()),
             members->topic, members->count);
    history_close(history_open(member->history)); /* there, even if it dies at once */
    member->pid = process_start(&options);
    assert_true(member->pid > 0);
    members->count++;
    return member;
}

void member_kill(struct member *member)
{
    if (member->pid != 0) {
        process_kill(member->pid);
        member->pid = 0;
    }
}

void member_leave(struct member *member)
{
    int status = -1;

    kill(member->pid, SIGTERM);
    assert_true(process_wait(member->pid, &status, LEAVE_TIMEOUT_MS));
    member->pid = 0;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

struct batch {
    char keys[SEND_BATCH][32], bodies[SEND_BATCH][48];
    smq_message messages[SEND_BATCH];
    smq_receipt receipts[SEND_BATCH];
};

static void send_batch(struct members *members, smq_producer *producer, struct batch *batch,
                       const char *prefix, int keys, int from, int count)
{
    smq_error err = SMQ_ERROR_INIT;

    for (int i = 0; i < count; i++) {
        snprintf(batch->keys[i], sizeof(batch->keys[i]), "%s%d", prefix, (from + i) % keys);
        snprintf(batch->bodies[i], sizeof(batch->bodies[i]), "%s %d", batch->keys[i], from + i);
        batch->messages[i] =
            SMQ_MESSAGE(.body = smq_text(batch->bodies[i]), .key = smq_text(batch->keys[i]));
    }
    scene_must(smq_send_batch(producer, members->topic, batch->messages, (size_t) count,
                              batch->receipts, &err),
               &err, "smq_send_batch");
    for (int i = 0; i < count; i++) {
        history_sent(members->sent, members->topic, batch->keys[i], batch->bodies[i]);
    }
}

void members_send(struct members *members, smq_client *client, const char *prefix, int keys,
                  int from, int count)
{
    struct batch *batch = malloc(sizeof(*batch));
    smq_producer *producer = NULL;
    smq_error err = SMQ_ERROR_INIT;

    assert_non_null(batch);
    scene_must(smq_producer_new(&producer, client, NULL, &err), &err, "smq_producer_new");
    for (int i = 0; i < count; i += SEND_BATCH) {
        send_batch(members, producer, batch, prefix, keys, from + i,
                   count - i < SEND_BATCH ? count - i : SEND_BATCH);
    }
    smq_producer_free(producer);
    free(batch);
}

struct verdict members_judge(struct members *members)
{
    char *paths[MEMBERS_MAX + 1] = {members->sent_path};
    struct verdict *verdict = calloc(1, sizeof(*verdict)), copy;
    char error[256] = "";

    for (int i = 0; i < members->count; i++) {
        paths[i + 1] = members->member[i].history;
    }
    if (!verdict_read(verdict, paths, (size_t) members->count + 1, members->bound_ms, error,
                      sizeof(error))) {
        fail_msg("%s", error);
    }
    copy = *verdict;
    free(verdict);
    return copy;
}

static int runs_in(const char *path, const char *body)
{
    FILE *file = fopen(path, "r");
    char line[512], began[64];
    int runs = 0;

    assert_non_null(file);
    snprintf(began, sizeof(began), " %s", body);
    while (fgets(line, sizeof(line), file) != NULL) {
        runs += line[0] == 'S' && strstr(line, began) != NULL ? 1 : 0;
    }
    fclose(file);
    return runs;
}

int members_runs(struct members *members, const char *body)
{
    int runs = 0;

    for (int i = 0; i < members->count; i++) {
        runs += runs_in(members->member[i].history, body);
    }
    return runs;
}

static int begun_in(const char *path, int64_t *at_ns, int most)
{
    FILE *file = fopen(path, "r");
    char line[512];
    int begun = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (line[0] == 'S' && at_ns != NULL) {
            assert_true(begun < most);
            at_ns[begun] = strtoll(line + 1, NULL, 10);
        }
        begun += line[0] == 'S' ? 1 : 0;
    }
    fclose(file);
    return begun;
}

static int compare_times(const void *a, const void *b)
{
    int64_t left = *(const int64_t *) a, right = *(const int64_t *) b;

    return (left > right) - (left < right);
}

int members_begun(struct members *members, int64_t *at_ns, int most)
{
    int begun = 0;

    for (int i = 0; i < members->count; i++) {
        begun += begun_in(members->member[i].history, at_ns != NULL ? at_ns + begun : NULL,
                          most - begun);
    }
    if (at_ns != NULL) {
        qsort(at_ns, (size_t) begun, sizeof(*at_ns), compare_times);
    }
    return begun;
}
