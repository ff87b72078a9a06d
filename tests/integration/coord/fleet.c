/* fleet.c - member processes, their lines in one order, and the board. */
#include "fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "support/process.h"
#include "support/servers.h"
#include "support/testing.h"

enum { FLEET_POLL_MS = 50, FLEET_READ_SIZE = 65536, FLEET_END_MS = 30000 };

/* A line of a member, not yet counted. */
struct line {
    int64_t at; /* ns */
    int member;
    char *text; /* behind the time */
};

struct servers *fleet_servers;

int fleet_servers_start(void **state)
{
    fleet_servers = servers_start(&(struct servers_options){.zookeeper = true});
    return fleet_servers != NULL ? 0 : -1;
}

int fleet_servers_stop(void **state)
{
    servers_free(fleet_servers);
    return 0;
}

void fleet_init(struct fleet *fleet, const char *servers, int64_t session_ms)
{
    *fleet = (struct fleet){.servers = servers, .session_ms = session_ms};
}

static void board_print(const struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->board_count; i++) {
        const struct board *board = &fleet->boards[i];
        int held[FLEET_MEMBERS + 1] = {0};

        for (int32_t slot = 0; slot < board->slots; slot++) {
            held[board->holder[slot] == FLEET_NOBODY ? FLEET_MEMBERS : board->holder[slot]]++;
        }
        (void) fprintf(stderr,
                       "topic %s: %d granted, %d revoked, %d lost, %d overlaps; held:", board->name,
                       board->granted, board->revoked, board->lost, board->overlaps);
        for (size_t member = 0; member < fleet->member_count; member++) {
            (void) fprintf(stderr, " %s %d", fleet->members[member].name, held[member]);
        }
        (void) fprintf(stderr, ", nobody %d\n", held[FLEET_MEMBERS]);
    }
}

struct board *fleet_board(struct fleet *fleet, const char *topic)
{
    for (size_t i = 0; i < fleet->board_count; i++) {
        if (strcmp(fleet->boards[i].name, topic) == 0) {
            return &fleet->boards[i];
        }
    }
    fail_msg("no topic %s on the board", topic);
    return NULL;
}

int32_t fleet_held(struct fleet *fleet, int member, const char *topic)
{
    const struct board *board = fleet_board(fleet, topic);
    int32_t held = 0;

    for (int32_t slot = 0; slot < board->slots; slot++) {
        held += board->holder[slot] == member;
    }
    return held;
}

/* --- lines --- */

static void count_granted(struct fleet *fleet, int member, const char *text)
{
    char topic[128];
    int slot = 0;
    unsigned generation = 0;
    unsigned long long epoch = 0;
    struct board *board = NULL;
    int holder = FLEET_NOBODY;

    if (sscanf(text, "granted %127s %d %u %llu", topic, &slot, &generation, &epoch) != 4) {
        fail_msg("%s: %s", fleet->members[member].name, text);
    }
    board = fleet_board(fleet, topic);
    holder = board->holder[slot];
    if (holder != FLEET_NOBODY && !fleet->members[holder].unclean) {
        (void) fprintf(stderr, "overlap: %s holds slot %d, and %s is granted it\n",
                       fleet->members[holder].name, slot, fleet->members[member].name);
        board->overlaps++;
    }
    if (generation < board->generation ||
        (generation == board->generation && epoch <= board->epochs[slot])) {
        (void) fprintf(stderr, "slot %d: token %u %llu after %u %llu\n", slot, generation, epoch,
                       board->generation, (unsigned long long) board->epochs[slot]);
        board->backwards++;
    }
    board->generation = generation;
    board->epochs[slot] = epoch;
    board->holder[slot] = (int16_t) member;
    board->granted++;
}

static void count_gone(struct fleet *fleet, int member, const char *text, bool lost)
{
    char topic[128];
    int slot = 0;
    struct board *board = NULL;

    if (sscanf(text, "%*s %127s %d", topic, &slot) != 2) {
        fail_msg("%s: %s", fleet->members[member].name, text);
    }
    board = fleet_board(fleet, topic);
    if (board->holder[slot] == member) {
        board->holder[slot] = FLEET_NOBODY;
    }
    board->lost += lost;
}

static void count_revoked(struct fleet *fleet, const char *text)
{
    char topic[128];

    (void) sscanf(text, "revoked %127s", topic);
    fleet_board(fleet, topic)->revoked++;
}

static void count_event(struct member *member, const char *text)
{
    member->connected += strncmp(text, "event connected ", 16) == 0;
    member->disconnected += strncmp(text, "event disconnected ", 19) == 0;
    member->sessions_lost += strncmp(text, "event session_lost ", 19) == 0;
    member->errors_logged +=
        strstr(text, "cannot be read") != NULL || strstr(text, "denies access") != NULL;
}

static void count_line(struct fleet *fleet, int number, const char *text)
{
    struct member *member = &fleet->members[number];

    if (strncmp(text, "granted ", 8) == 0) {
        count_granted(fleet, number, text);
    } else if (strncmp(text, "released ", 9) == 0) {
        count_gone(fleet, number, text, false);
    } else if (strncmp(text, "lost ", 5) == 0) {
        count_gone(fleet, number, text, true);
    } else if (strncmp(text, "revoked ", 8) == 0) {
        count_revoked(fleet, text);
    } else if (strncmp(text, "event ", 6) == 0) {
        count_event(member, text);
    } else if (strncmp(text, "left ", 5) == 0) {
        member->left++;
    } else if (strncmp(text, "failed ", 7) == 0) {
        member->failures++;
        (void) sscanf(text, "failed %*s %31s", member->failed);
    } else if (strncmp(text, "refused ", 8) == 0) {
        (void) sscanf(text, "refused %31s", member->refused);
    } else if (strcmp(text, "ready") == 0) {
        member->ready = true;
    } else if (strcmp(text, "bye") == 0) {
        member->bye = true;
    } else {
        fail_msg("%s: %s", member->name, text);
    }
}

static void take_line(struct fleet *fleet, int member, const char *text)
{
    char *rest = NULL;
    int64_t at = strtoll(text, &rest, 10);

    if (fleet->waiting_count == fleet->waiting_size) {
        fleet->waiting_size = fleet->waiting_size * 2 + 64;
        fleet->waiting = memory_grow(fleet->waiting, fleet->waiting_size, sizeof(*fleet->waiting));
    }
    fleet->waiting[fleet->waiting_count++] =
        (struct line){.at = at, .member = member, .text = memory_string(rest + 1)};
}

static void take_lines(struct fleet *fleet, int number)
{
    struct member *member = &fleet->members[number];
    size_t start = 0;

    for (;;) {
        char *end = memchr(member->lines + start, '\n', member->lines_len - start);

        if (end == NULL) {
            break;
        }
        *end = '\0';
        take_line(fleet, number, member->lines + start);
        start = (size_t) (end - member->lines) + 1;
    }
    member->lines_len -= start;
    memmove(member->lines, member->lines + start, member->lines_len);
}

/* Read what a member has written by now. */
static void read_member(struct fleet *fleet, int number)
{
    struct member *member = &fleet->members[number];

    while (member->out >= 0) {
        ssize_t size = 0;

        member->lines = memory_grow(member->lines, member->lines_len + FLEET_READ_SIZE, 1);
        size = read(member->out, member->lines + member->lines_len, FLEET_READ_SIZE);
        if (size > 0) {
            member->lines_len += (size_t) size;
            take_lines(fleet, number);
            continue;
        }
        if (size == 0) {
            close(member->out);
            member->out = -1;
        } else if (errno != EAGAIN && errno != EINTR) {
            fail_msg("read: %s", strerror(errno));
        }
        return;
    }
}

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left;
    const struct line *b = right;

    if (a->at != b->at) {
        return a->at < b->at ? -1 : 1;
    }
    return 0;
}

/* Read all members twice.  What the first reading found has no cause that the second has not
 * found, so lines up to the latest of the first can be counted in the order of their times. */
static void pump(struct fleet *fleet, int timeout_ms)
{
    struct pollfd polled[FLEET_MEMBERS];
    int64_t latest = 0;
    size_t counted = 0;

    for (size_t i = 0; i < fleet->member_count; i++) {
        polled[i] = (struct pollfd){.fd = fleet->members[i].out, .events = POLLIN};
    }
    (void) poll(polled, fleet->member_count, timeout_ms);
    for (int i = 0; i < (int) fleet->member_count; i++) {
        read_member(fleet, i);
    }
    for (size_t i = 0; i < fleet->waiting_count; i++) {
        latest = fleet->waiting[i].at > latest ? fleet->waiting[i].at : latest;
    }
    for (int i = 0; i < (int) fleet->member_count; i++) {
        read_member(fleet, i);
    }
    if (fleet->waiting_count == 0) {
        return;
    }
    qsort(fleet->waiting, fleet->waiting_count, sizeof(*fleet->waiting), compare_lines);
    for (; counted < fleet->waiting_count && fleet->waiting[counted].at <= latest; counted++) {
        count_line(fleet, fleet->waiting[counted].member, fleet->waiting[counted].text);
        free(fleet->waiting[counted].text);
    }
    fleet->waiting_count -= counted;
    memmove(fleet->waiting, fleet->waiting + counted,
            fleet->waiting_count * sizeof(*fleet->waiting));
}

/* --- waiting --- */

bool fleet_wait(struct fleet *fleet, fleet_condition *condition, void *arg)
{
    int64_t until = clock_now_ms() + FLEET_TIMEOUT_MS;

    pump(fleet, 0);
    while (!condition(fleet, arg)) {
        if (clock_now_ms() >= until) {
            board_print(fleet);
            return false;
        }
        pump(fleet, FLEET_POLL_MS);
    }
    return true;
}

struct evenness {
    const char *topic;
    const int *members;
};

static bool is_even(struct fleet *fleet, void *arg)
{
    const struct evenness *wanted = arg;
    int32_t least = INT32_MAX;
    int32_t most = 0;
    int32_t sum = 0;

    for (const int *member = wanted->members; *member >= 0; member++) {
        int32_t held = fleet_held(fleet, *member, wanted->topic);

        least = held < least ? held : least;
        most = held > most ? held : most;
        sum += held;
    }
    return sum == fleet_board(fleet, wanted->topic)->slots && most - least <= 1;
}

bool fleet_wait_even(struct fleet *fleet, const char *topic, const int *members)
{
    struct evenness wanted = {.topic = topic, .members = members};

    return fleet_wait(fleet, is_even, &wanted);
}

struct counting {
    const int *number;
    int least;
};

static bool is_counted(struct fleet *fleet, void *arg)
{
    const struct counting *wanted = arg;

    (void) fleet;
    return *wanted->number >= wanted->least;
}

bool fleet_wait_count(struct fleet *fleet, const int *number, int least)
{
    struct counting wanted = {.number = number, .least = least};

    return fleet_wait(fleet, is_counted, &wanted);
}

static bool is_set(struct fleet *fleet, void *arg)
{
    (void) fleet;
    return *(const bool *) arg;
}

bool fleet_wait_flag(struct fleet *fleet, const bool *flag)
{
    return fleet_wait(fleet, is_set, (void *) flag);
}

/* --- members --- */

static bool has_started(struct fleet *fleet, void *arg)
{
    const struct member *member = arg;

    (void) fleet;
    return member->ready || member->refused[0] != '\0' || member->out < 0;
}

int fleet_start_with(struct fleet *fleet, const char *name, const char *loss, const char *auth)
{
    int number = (int) fleet->member_count;
    struct member *member = &fleet->members[fleet->member_count++];
    char session[32];
    const char *argv[] = {COORD_MEMBER_PROGRAM, fleet->servers, name, session, loss, auth, NULL};
    int in[2];
    int out[2];

    assert_true(fleet->member_count <= FLEET_MEMBERS);
    (void) snprintf(session, sizeof(session), "%lld", (long long) fleet->session_ms);
    (void) snprintf(member->name, sizeof(member->name), "%s", name);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    member->pid = process_start(
        &(struct process_options){.argv = argv, .in = in[0], .out = out[1], .err = STDERR_FILENO});
    assert_true(member->pid > 0);
    close(in[0]);
    close(out[1]);
    member->in = in[1];
    member->out = out[0];
    assert_int_equal(fcntl(member->out, F_SETFL, O_NONBLOCK), 0);
    assert_true(fleet_wait(fleet, has_started, member));
    return number;
}

int fleet_start(struct fleet *fleet, const char *name)
{
    int member = fleet_start_with(fleet, name, "continue", NULL);

    assert_true(fleet->members[member].ready);
    return member;
}

void fleet_tell(struct fleet *fleet, int member, const char *format, ...)
{
    char line[512];
    va_list args;
    int len = 0;

    va_start(args, format);
    len = vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);
    line[len++] = '\n';
    assert_int_equal(write(fleet->members[member].in, line, (size_t) len), len);
}

static void board_add(struct fleet *fleet, const char *topic, int32_t slots)
{
    struct board *board = NULL;

    for (size_t i = 0; i < fleet->board_count; i++) {
        if (strcmp(fleet->boards[i].name, topic) == 0) {
            return;
        }
    }
    board = &fleet->boards[fleet->board_count++];
    assert_true(fleet->board_count <= FLEET_TOPICS);
    (void) snprintf(board->name, sizeof(board->name), "%s", topic);
    board->slots = slots;
    board->holder = memory_new(sizeof(*board->holder) * (size_t) slots);
    board->epochs = memory_new(sizeof(*board->epochs) * (size_t) slots);
    memset(board->holder, 0xff, sizeof(*board->holder) * (size_t) slots);
}

void fleet_join(struct fleet *fleet, int member, const char *topic, const char *nonce,
                int32_t slots)
{
    board_add(fleet, topic, slots);
    fleet_tell(fleet, member, "join %s %s 1 %d 1 10000", topic, nonce, (int) slots);
}

void fleet_kill(struct fleet *fleet, int member)
{
    fleet->members[member].unclean = true;
    process_kill(fleet->members[member].pid);
    fleet->members[member].ended = true;
}

void fleet_pause(struct fleet *fleet, int member)
{
    fleet->members[member].unclean = true;
    assert_true(process_pause(fleet->members[member].pid));
}

void fleet_resume(struct fleet *fleet, int member)
{
    assert_true(process_resume(fleet->members[member].pid));
}

int fleet_quit(struct fleet *fleet, int number)
{
    struct member *member = &fleet->members[number];

    member->unclean = true; /* what it holds goes with its session */
    fleet_tell(fleet, number, "quit");
    assert_true(fleet_wait_flag(fleet, &member->bye));
    assert_true(process_wait(member->pid, &member->status, FLEET_END_MS));
    member->ended = true;
    for (size_t i = 0; i < fleet->board_count; i++) {
        for (int32_t slot = 0; slot < fleet->boards[i].slots; slot++) {
            if (fleet->boards[i].holder[slot] == number) {
                fleet->boards[i].holder[slot] = FLEET_NOBODY;
            }
        }
    }
    return member->status;
}

void fleet_fini(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->member_count; i++) {
        struct member *member = &fleet->members[i];

        if (!member->ended) {
            process_kill(member->pid);
        }
        close(member->in);
        if (member->out >= 0) {
            close(member->out);
        }
        free(member->lines);
    }
    for (size_t i = 0; i < fleet->board_count; i++) {
        free(fleet->boards[i].holder);
        free(fleet->boards[i].epochs);
    }
    for (size_t i = 0; i < fleet->waiting_count; i++) {
        free(fleet->waiting[i].text);
    }
    free(fleet->waiting);
}
