/* fuzz_fleet_tree.c - the nodes of a fleet as an operator is shown them: what is shown adds up.
 *
 * An input is a list of nodes with "\xff\n" between them.  The first byte of a node says what it
 * is: L, the assigner; M, a member (incarnations 10, 11, ...); T, a topic (named a, b, ...); A, the
 * assignment of the last topic, without its checksum. */
#include <string.h>

#include <zlib.h>

#include "base/memory.h"
#include "coord/fleet/fleet_tree.h"
#include "fuzz/fuzz.h"

enum { NODES_MAX = 26, FIRST_INCARNATION = 10 };

/* --- reading --- */

static void read_member(struct fleet_tree *tree, const char *data, size_t len)
{
    struct fleet_tree_member *member = &tree->members[tree->member_count];
    const char name[] = {(char) ('a' + tree->member_count), '\0'};

    if (tree->member_count == NODES_MAX) {
        return;
    }
    member->name = memory_string(name);
    member->incarnation = FIRST_INCARNATION + (int64_t) tree->member_count++;
    FUZZ_CHECK(fleet_tree_read_member(member, data, len) == (member->unread == NULL));
}

static void read_topic(struct fleet_tree *tree, const char *data, size_t len)
{
    struct fleet_tree_topic *topic = &tree->topics[tree->topic_count];
    const char name[] = {(char) ('a' + tree->topic_count), '\0'};

    if (tree->topic_count == NODES_MAX) {
        return;
    }
    topic->name = memory_string(name);
    topic->exists = true;
    tree->topic_count++;
    FUZZ_CHECK(fleet_tree_read_topic(topic, data, len) == (topic->slots > 0));
}

static void read_assignment(struct fleet_tree *tree, const char *data, size_t len)
{
    uint32_t crc = (uint32_t) crc32(0, (const unsigned char *) data, (uInt) len);
    unsigned char tail[4] = {(unsigned char) (crc >> 24), (unsigned char) (crc >> 16),
                             (unsigned char) (crc >> 8), (unsigned char) crc};
    struct fleet_tree_topic *topic = tree->topics + tree->topic_count - 1;
    struct buf whole = {0};

    if (tree->topic_count == 0 || topic->assignment.slots != NULL) {
        return;
    }
    buf_add(&whole, data, len);
    buf_add(&whole, tail, sizeof(tail));
    if (fleet_tree_read_assignment(topic, whole.data, whole.len)) {
        topic->mzxid = 100;
    } else {
        FUZZ_CHECK(topic->assignment.slots == NULL && topic->unread != NULL);
    }
    buf_fini(&whole);
}

static void read_node(struct fleet_tree *tree, const char *data, size_t len)
{
    if (len == 0) {
        return;
    }
    switch (*data) {
    case 'L':
        (void) fleet_tree_read_assigner(tree, data + 1, len - 1);
        break;
    case 'M':
        read_member(tree, data + 1, len - 1);
        break;
    case 'T':
        read_topic(tree, data + 1, len - 1);
        break;
    case 'A':
        read_assignment(tree, data + 1, len - 1);
        break;
    default:
        break;
    }
}

static void read_all(struct fleet_tree *tree, const char *data, size_t size)
{
    while (size > 0) {
        const char *end = memmem(data, size, "\xff\n", 2);
        const size_t len = end != NULL ? (size_t) (end - data) : size;

        read_node(tree, data, len);
        data += len;
        size -= len;
        if (size > 0) {
            data += 2;
            size -= 2;
        }
    }
}

/* --- what is shown --- */

struct shown {
    smq_fleet_topic topic; /* the last one */
    uint64_t owned, moving;
    uint64_t topics;
};

static void check_topic(const struct shown *shown)
{
    if (shown->topics > 0) {
        FUZZ_CHECK(shown->moving == shown->topic.moving);
        FUZZ_CHECK(shown->owned + shown->moving + shown->topic.unowned <=
                   (uint64_t) shown->topic.slots);
    }
}

static bool show_fleet(const smq_fleet_info *fleet, void *user)
{
    (void) user;
    FUZZ_CHECK(fleet->unreadable <= fleet->members + fleet->topics);
    return true;
}

static bool show_member(const smq_fleet_member *member, void *user)
{
    (void) user;
    FUZZ_CHECK((member->state == SMQ_MEMBER_UNREADABLE) == (member->why[0] != '\0'));
    FUZZ_CHECK(member->weight >= 0);
    FUZZ_CHECK(member->standing_by <= (uint64_t) member->topics);
    return true;
}

static bool show_topic(const smq_fleet_topic *topic, void *user)
{
    struct shown *shown = user;

    check_topic(shown);
    *shown = (struct shown){.topic = *topic, .topics = shown->topics + 1};
    FUZZ_CHECK((topic->slots > 0) || topic->why[0] != '\0');
    return true;
}

static bool show_share(const smq_fleet_share *share, void *user)
{
    struct shown *shown = user;

    shown->owned += share->slots;
    FUZZ_CHECK((share->slots > 0) == (share->ranges[0] != '\0'));
    FUZZ_CHECK((share->slots == 0 && !share->leaving) == (share->stands_by[0] != '\0'));
    return true;
}

static bool show_move(const smq_fleet_move *move, void *user)
{
    struct shown *shown = user;

    shown->moving += move->slots;
    FUZZ_CHECK(move->slots > 0 && move->ranges[0] != '\0' && move->why[0] != '\0');
    return true;
}

FUZZ_TARGET(fleet_tree)
{
    struct shown shown = {.topics = 0};
    const smq_fleet_visitor visitor = {.struct_size = sizeof(visitor),
                                       .fleet = show_fleet,
                                       .member = show_member,
                                       .topic = show_topic,
                                       .share = show_share,
                                       .move = show_move,
                                       .user = &shown};
    struct fleet_tree tree = {.path = "/slotmq", .epoch = -1};

    tree.members = memory_new(NODES_MAX * sizeof(*tree.members));
    tree.topics = memory_new(NODES_MAX * sizeof(*tree.topics));
    read_all(&tree, (const char *) data, size);
    fleet_tree_sort(&tree);
    fleet_tree_visit(&tree, &visitor);
    check_topic(&shown);
    fleet_tree_fini(&tree);
}
