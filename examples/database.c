/* database.c - writes orders into SQLite, up to 500 in one transaction, so that each order is in
 * the database once although it may be delivered twice, and a process that was replaced writes
 * nothing any more.
 *
 * The database has the largest fencing token of each slot.  A transaction under a smaller one is
 * rolled back: another process has owned the slot since.  The id of an order is its primary key.
 *
 * usage: database REDIS ZOOKEEPER FILE */
#include <signal.h>
#include <stdio.h>

#include <sqlite3.h>

#include <slotmq/slotmq.h>

enum { LOCK_TIMEOUT_MS = 10000 /* others read and write this database, too */ };

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS orders(id BLOB PRIMARY KEY, body BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS owners(slot INTEGER PRIMARY KEY, token TEXT NOT NULL)";

static smq_consumer *worker;

static void on_signal(int number)
{
    (void) number;
    smq_consumer_stop(worker); /* async-signal-safe */
}

/* Run one statement with up to two values; false: it failed, or `changes` is true and it changed no
 * row. */
static bool run(sqlite3 *db, const char *sql, smq_bytes first, smq_bytes second, bool changes)
{
    sqlite3_stmt *statement = NULL;
    bool done = sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK;

    if (done && sqlite3_bind_parameter_count(statement) == 2) {
        sqlite3_bind_blob64(statement, 1, first.data, first.len, SQLITE_STATIC);
        sqlite3_bind_blob64(statement, 2, second.data, second.len, SQLITE_STATIC);
    }
    done = done && sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_finalize(statement);
    return done && (!changes || sqlite3_changes(db) > 0);
}

static bool statement(sqlite3 *db, const char *sql)
{
    return run(db, sql, (smq_bytes){0}, (smq_bytes){0}, false);
}

/* Note the token of the slot; false: the database has a larger one. */
static bool is_owner(sqlite3 *db, const smq_message_info *order)
{
    char slot[16];

    snprintf(slot, sizeof(slot), "%d", (int) order->slot);
    return run(db,
               "INSERT INTO owners VALUES(CAST(?1 AS TEXT), CAST(?2 AS TEXT)) "
               "ON CONFLICT(slot) DO UPDATE SET token = excluded.token "
               "WHERE excluded.token >= token",
               smq_text(slot), smq_text(order->token), true);
}

static bool write_orders(sqlite3 *db, smq_delivery *const *deliveries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const smq_message_info *order = smq_delivery_info(deliveries[i]);

        if (!run(db, "INSERT OR IGNORE INTO orders VALUES(?1, ?2)", order->id, order->body,
                 false)) {
            return false;
        }
    }
    return true;
}

/* Thread: smq:work-0.  All deliveries are of one slot. */
static smq_verdict handle(smq_delivery *const *deliveries, size_t count, void *db)
{
    bool begun = statement(db, "BEGIN IMMEDIATE");
    bool owner = begun && is_owner(db, smq_delivery_info(deliveries[0]));

    if (owner && write_orders(db, deliveries, count) && statement(db, "COMMIT")) {
        return SMQ_DONE;
    }
    fprintf(stderr, "database: %s\n",
            begun && !owner ? "another process has owned the slot since" : sqlite3_errmsg(db));
    statement(db, "ROLLBACK");
    return SMQ_RETRY; /* of a replaced owner the answer changes nothing */
}

static void work_off(smq_client *client, sqlite3 *db, smq_error *err)
{
    struct sigaction action = {.sa_handler = on_signal};
    smq_consumer_options work =
        SMQ_CONSUMER_OPTIONS(.topic = "orders", .batch = handle, .user = db, .batch_size = 500,
                             .threads = 1 /* one connection to the database */);

    if (smq_consumer_new(&worker, client, &work, err) == SMQ_OK) {
        sigaction(SIGTERM, &action, NULL);
        if (smq_consumer_start(worker, err) == SMQ_OK) {
            smq_consumer_wait(worker, SMQ_FOREVER, err);
        }
        signal(SIGTERM, SIG_DFL); /* the handler must not see a worker that is gone */
    }
    smq_consumer_free(worker);
}

int main(int argc, char **argv)
{
    sqlite3 *db = NULL;
    smq_client *client = NULL;
    smq_error err = SMQ_ERROR_INIT;

    if (argc != 4 || sqlite3_open(argv[3], &db) != SQLITE_OK ||
        sqlite3_busy_timeout(db, LOCK_TIMEOUT_MS) != SQLITE_OK ||
        sqlite3_exec(db, schema, NULL, NULL, NULL) != SQLITE_OK) {
        fprintf(stderr, "database: %s\n",
                db != NULL ? sqlite3_errmsg(db) : "usage: database REDIS ZOOKEEPER FILE");
        sqlite3_close(db);
        return 64;
    }
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.redis = argv[1], .zookeeper = argv[2][0] != '\0' ? argv[2] : NULL);
    if (smq_client_new(&client, &options, &err) == SMQ_OK) {
        work_off(client, db, &err);
    }
    if (err.status != SMQ_OK) {
        fprintf(stderr, "database: %s\n", err.text);
    }
    smq_client_free(client);
    sqlite3_close(db);
    return err.status == SMQ_OK ? 0 : 1;
}
