/* raw.c - a bare connection to ZooKeeper by the synchronous functions. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "raw.h"
#include "support/testing.h"
#include "support/wait.h"

enum { RAW_SESSION_MS = 10000, RAW_CONNECT_MS = 30000, RAW_PATH_MAX = 512 };

static void ignore_line(const char *line)
{
    (void) line;
}

static bool is_connected(void *arg)
{
    return zoo_state(arg) == ZOO_CONNECTED_STATE;
}

zhandle_t *raw_connect(const char *servers, const char *auth)
{
    zhandle_t *handle = zookeeper_init2(servers, NULL, RAW_SESSION_MS, NULL, NULL, 0, ignore_line);

    assert_non_null(handle);
    if (auth != NULL) {
        assert_int_equal(zoo_add_auth(handle, "digest", auth, (int) strlen(auth), NULL, NULL), ZOK);
    }
    assert_true(wait_until(is_connected, handle, RAW_CONNECT_MS));
    return handle;
}

bool raw_get(zhandle_t *handle, const char *path, char *out, size_t size, struct Stat *stat)
{
    int len = (int) size - 1;
    int rc = zoo_get(handle, path, 0, out, &len, stat);

    if (rc == ZNONODE) {
        return false;
    }
    assert_int_equal(rc, ZOK);
    out[len < 0 ? 0 : len] = '\0';
    return true;
}

int32_t raw_version(zhandle_t *handle, const char *path)
{
    struct Stat stat = {0};

    assert_int_equal(zoo_exists(handle, path, 0, &stat), ZOK);
    return stat.version;
}

void raw_set(zhandle_t *handle, const char *path, const char *data, int len)
{
    assert_int_equal(zoo_set(handle, path, data, len, -1), ZOK);
}

void raw_set_access(zhandle_t *handle, const char *path, int32_t perms)
{
    struct ACL entry = {.perms = perms, .id = ZOO_ANYONE_ID_UNSAFE};
    struct ACL_vector acl = {.count = 1, .data = &entry};

    assert_int_equal(zoo_set_acl(handle, path, -1, &acl), ZOK);
}

int raw_count(zhandle_t *handle, const char *path)
{
    struct String_vector names = {0};
    int count = 1;

    if (zoo_get_children(handle, path, 0, &names) != ZOK) {
        return 0;
    }
    for (int i = 0; i < names.count; i++) {
        char child[RAW_PATH_MAX];

        (void) snprintf(child, sizeof(child), "%s/%s", path, names.data[i]);
        count += raw_count(handle, child);
    }
    deallocate_String_vector(&names);
    return count;
}
