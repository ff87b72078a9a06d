/* test_tls.c - a stream against a server that is made here, without a socket: whom it trusts, what
 * it says when it does not, and what the next connection takes from the one before. */
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "base/event.h"
#include "redis/tls.h"
#include "support/certificates.h"
#include "support/group.h"
#include "support/server.h"

enum { YEAR_S = 365 * 24 * 60 * 60, HOUR_S = 3600, WORDS = 100000 };

static char folder[] = "/tmp/slotmq-tls-XXXXXX";
static const struct server_address address = {.host = "127.0.0.1", .port = 6379};

static const char *path_of(const char *file)
{
    return certificate_path(folder, file);
}

static int make_certificates(void **state)
{
    static const struct certificate all[] = {
        {"ca", NULL, NULL, YEAR_S},
        {"other_ca", NULL, NULL, YEAR_S},
        {"server", "ca", "DNS:redis.example,IP:127.0.0.1", YEAR_S},
        {"expired", "ca", "IP:127.0.0.1", -HOUR_S},
        {"elsewhere", "ca", "DNS:other.example", YEAR_S},
        {"wild", "ca", "DNS:*.redis.example", YEAR_S},
        {"partly_wild", "ca", "DNS:node*.redis.example", YEAR_S},
        {"common.example", "ca", NULL, YEAR_S}, /* a common name and nothing else */
        {"client", "ca", NULL, YEAR_S},
        {"stranger", "other_ca", NULL, YEAR_S},
    };

    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        certificate_make(folder, &all[i]);
    }
    certificate_rehash(folder, "trusted", "ca.crt");
    certificate_rehash(folder, "others", "other_ca.crt");
    return 0;
}

static int remove_certificates(void **state)
{
    folder_remove(folder);
    return 0;
}

/* --- the server --- */

struct peer {
    SSL_CTX *context;
    SSL *ssl;
    BIO *from, *to;
    bool secure;
};

static void peer_begin(struct peer *peer)
{
    peer->ssl = SSL_new(peer->context);
    peer->from = BIO_new(BIO_s_mem());
    peer->to = BIO_new(BIO_s_mem());
    peer->secure = false;
    SSL_set_bio(peer->ssl, peer->from, peer->to);
    SSL_set_accept_state(peer->ssl);
}

static void peer_end(struct peer *peer)
{
    SSL_free(peer->ssl);
    peer->ssl = NULL;
}

static void peer_init(struct peer *peer, const char *certificate, bool asks)
{
    char crt[64], key[64];

    (void) snprintf(crt, sizeof(crt), "%s.crt", certificate);
    (void) snprintf(key, sizeof(key), "%s.key", certificate);
    peer->context = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate_file(peer->context, path_of(crt), SSL_FILETYPE_PEM),
                     1);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(peer->context, path_of(key), SSL_FILETYPE_PEM), 1);
    assert_int_equal(SSL_CTX_set_session_id_context(peer->context, (const unsigned char *) "t", 1),
                     1);
    if (asks) {
        assert_int_equal(SSL_CTX_load_verify_locations(peer->context, path_of("ca.crt"), NULL), 1);
        SSL_CTX_set_verify(peer->context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    peer_begin(peer);
}

static void peer_fini(struct peer *peer)
{
    peer_end(peer);
    SSL_CTX_free(peer->context);
}

/* What the stream has for the server, and then what that has for the stream. */
static smq_status exchange(struct peer *peer, struct tls_stream *stream, struct buf *plain,
                           smq_error *err)
{
    struct buf wire = {0};
    char bytes[4096];
    smq_status status = SMQ_OK;
    int len;

    tls_stream_take(stream, &wire);
    if (wire.len > 0) {
        assert_int_equal(BIO_write(peer->from, wire.data, (int) wire.len), wire.len);
    }
    if (!peer->secure) {
        peer->secure = SSL_do_handshake(peer->ssl) == 1;
    }
    while (status == SMQ_OK && (len = BIO_read(peer->to, bytes, sizeof(bytes))) > 0) {
        status = tls_stream_receive(stream, bytes, (size_t) len, plain, err);
    }
    buf_fini(&wire);
    return status;
}

/* Until the server is secure, too, and its tickets have come. */
static smq_status shake_hands(struct peer *peer, struct tls_stream *stream, smq_error *err)
{
    struct buf plain = {0};
    smq_status status = SMQ_OK;

    err->text[0] = '\0';
    for (int i = 0; i < 8 && status == SMQ_OK; i++) {
        status = exchange(peer, stream, &plain, err);
    }
    assert_int_equal(plain.len, 0);
    buf_fini(&plain);
    return status;
}

/* --- whom it trusts --- */

static void only_the_right_server_is_trusted(void **state)
{
    static const struct {
        const char *server, *ca, *name, *client;
        bool asks;
        smq_status status;
        const char *text;
    } rows[] = {
        {"server", "ca.crt", NULL, NULL, false, SMQ_OK, ""},
        {"server", "ca.crt", "redis.example", NULL, false, SMQ_OK, ""},
        {"server", "ca.crt", NULL, "client", true, SMQ_OK, ""},
        {"elsewhere", "ca.crt", "other.example", NULL, false, SMQ_OK, ""},
        {"server", "other_ca.crt", NULL, NULL, false, SMQ_BAD_SERVER, "cannot be trusted"},
        {"server", NULL, NULL, NULL, false, SMQ_BAD_SERVER, "cannot be trusted"},
        {"expired", "ca.crt", NULL, NULL, false, SMQ_BAD_SERVER, "expired"},
        {"elsewhere", "ca.crt", NULL, NULL, false, SMQ_BAD_SERVER, "not for \"127.0.0.1\""},
        {"server", "ca.crt", "wrong.example", NULL, false, SMQ_BAD_SERVER,
         "not for \"wrong.example\""},
        {"wild", "ca.crt", "node-1.redis.example", NULL, false, SMQ_OK, ""},
        {"wild", "ca.crt", "a.node-1.redis.example", NULL, false, SMQ_BAD_SERVER, "not for"},
        {"partly_wild", "ca.crt", "node-1.redis.example", NULL, false, SMQ_BAD_SERVER,
         "* as a whole label"},
        {"common.example", "ca.crt", "common.example", NULL, false, SMQ_BAD_SERVER,
         "subjectAltName"},
        {"server", "ca.crt", NULL, NULL, true, SMQ_DENIED, "certificate required"},
        {"server", "ca.crt", NULL, "stranger", true, SMQ_DENIED, "unknown ca"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char crt[64] = "", key[64] = "";
        struct redis_tls settings = {.name = rows[i].name};
        struct peer peer = {0};
        smq_error err;

        settings.ca = rows[i].ca != NULL ? path_of(rows[i].ca) : NULL;
        if (rows[i].client != NULL) {
            (void) snprintf(crt, sizeof(crt), "%s.crt", rows[i].client);
            (void) snprintf(key, sizeof(key), "%s.key", rows[i].client);
            settings.cert = path_of(crt);
            settings.key = path_of(key);
        }
        struct tls *tls = tls_new(&settings, NULL);
        peer_init(&peer, rows[i].server, rows[i].asks);
        struct tls_stream *stream = tls_stream_new(tls, &address, &err);
        assert_non_null(stream);
        smq_status status = shake_hands(&peer, stream, &err);
        if (status != rows[i].status || strstr(err.text, rows[i].text) == NULL) {
            fail_msg("row %zu: %d, \"%s\"", i, (int) status, err.text);
        }
        assert_int_equal(tls_stream_is_secure(stream) && status == SMQ_OK,
                         rows[i].status == SMQ_OK);
        tls_stream_free(stream);
        tls_free(tls);
        peer_fini(&peer);
    }
}

/* Connect to the right server. */
static smq_status connect_with(struct tls *tls, smq_error *err)
{
    struct peer peer = {0};
    struct tls_stream *stream = tls_stream_new(tls, &address, err);
    smq_status status;

    peer_init(&peer, "server", false);
    assert_non_null(stream);
    status = shake_hands(&peer, stream, err);
    tls_stream_free(stream);
    peer_fini(&peer);
    return status;
}

static void authorities_are_of_a_folder_or_of_the_system(void **state)
{
    static const struct {
        const char *ca, *variable, *value; /* variable: of the system's authorities */
        smq_status status;
    } rows[] = {
        {"trusted", NULL, NULL, SMQ_OK},
        {"others", NULL, NULL, SMQ_BAD_SERVER},
        {NULL, "SSL_CERT_FILE", "ca.crt", SMQ_OK},
        {NULL, "SSL_CERT_FILE", "other_ca.crt", SMQ_BAD_SERVER},
        {NULL, "SSL_CERT_DIR", "trusted", SMQ_OK},
        {NULL, "SSL_CERT_DIR", "others", SMQ_BAD_SERVER},
        {"others", "SSL_CERT_DIR", "trusted", SMQ_BAD_SERVER},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct redis_tls settings = {.ca = rows[i].ca != NULL ? path_of(rows[i].ca) : NULL};
        smq_error err;

        if (rows[i].variable != NULL) {
            assert_int_equal(setenv(rows[i].variable, path_of(rows[i].value), 1), 0);
        }
        struct tls *tls = tls_new(&settings, NULL);
        smq_status status = connect_with(tls, &err);
        if (status != rows[i].status) {
            fail_msg("row %zu: %d, \"%s\"", i, (int) status, err.text);
        }
        if (rows[i].variable != NULL) {
            assert_int_equal(unsetenv(rows[i].variable), 0);
        }
        tls_free(tls);
    }
}

/* The folder has a link to it, so the folder itself does not change.  An authority of the same name
 * with another key is found, and has not signed the server's certificate. */
static void a_file_of_a_folder_that_is_replaced_is_read_again(void **state)
{
    const struct certificate same_name = {"ca", NULL, NULL, YEAR_S};
    smq_error err;

    assert_int_equal(mkdir(path_of("twin"), 0700), 0);
    certificate_make(path_of("twin"), &same_name);
    certificate_copy(folder, "linked.crt", "twin/ca.crt");
    certificate_rehash(folder, "links", "linked.crt");
    struct tls *tls = tls_new(&(struct redis_tls){.ca = path_of("links")}, NULL);
    assert_int_equal(connect_with(tls, &err), SMQ_BAD_SERVER);
    certificate_copy(folder, "linked.crt", "ca.crt");
    assert_int_equal(connect_with(tls, &err), SMQ_OK);
    tls_free(tls);
}

static struct tls *trusting(void)
{
    return tls_new(&(struct redis_tls){.ca = path_of("ca.crt")}, NULL);
}

static void a_server_without_tls_is_named(void **state)
{
    static const char reply[] = "-ERR unknown command\r\n";
    struct tls *tls = trusting();
    struct buf plain = {0};
    smq_error err;
    struct tls_stream *stream = tls_stream_new(tls, &address, &err);

    assert_int_equal(tls_stream_receive(stream, reply, sizeof(reply) - 1, &plain, &err),
                     SMQ_BAD_SERVER);
    assert_non_null(strstr(err.text, "does not speak TLS"));
    assert_int_equal(plain.len, 0);
    tls_stream_free(stream);
    tls_free(tls);
    buf_fini(&plain);
}

static void old_versions_are_refused(void **state)
{
    struct tls *tls = trusting();
    struct peer peer = {0};
    smq_error err;

    peer_init(&peer, "server", false);
    SSL_set_security_level(peer.ssl, 0);
    assert_int_equal(SSL_set_max_proto_version(peer.ssl, TLS1_1_VERSION), 1);
    struct tls_stream *stream = tls_stream_new(tls, &address, &err);
    assert_int_equal(shake_hands(&peer, stream, &err), SMQ_UNAVAILABLE);
    assert_non_null(strstr(err.text, "protocol version"));
    assert_false(tls_stream_is_secure(stream));
    tls_stream_free(stream);
    tls_free(tls);
    peer_fini(&peer);
}

/* --- what goes through it --- */

static void bytes_of_any_number_arrive_whole(void **state)
{
    static char words[WORDS], back[WORDS];
    struct tls *tls = trusting();
    struct buf plain = {0};
    struct peer peer = {0};
    smq_error err;
    size_t read = 0, got = 0, written;

    for (size_t i = 0; i < WORDS; i++) {
        words[i] = (char) (i * 31 + i / 251);
    }
    peer_init(&peer, "server", false);
    struct tls_stream *stream = tls_stream_new(tls, &address, &err);
    assert_int_equal(shake_hands(&peer, stream, &err), SMQ_OK);
    assert_int_equal(tls_stream_send(stream, words, WORDS, &err), SMQ_OK);
    assert_int_equal(exchange(&peer, stream, &plain, &err), SMQ_OK);
    while (SSL_read_ex(peer.ssl, back + got, WORDS - got, &read) == 1) {
        got += read;
    }
    assert_int_equal(got, WORDS);
    assert_memory_equal(back, words, WORDS);
    assert_int_equal(SSL_write_ex(peer.ssl, words, WORDS, &written), 1);
    assert_int_equal(exchange(&peer, stream, &plain, &err), SMQ_OK);
    assert_int_equal(plain.len, WORDS);
    assert_memory_equal(plain.data, words, WORDS);
    assert_int_equal(SSL_shutdown(peer.ssl), 0);
    assert_int_equal(exchange(&peer, stream, &plain, &err), SMQ_UNAVAILABLE);
    assert_string_equal(err.text, "it closed the connection");
    tls_stream_free(stream);
    tls_free(tls);
    peer_fini(&peer);
    buf_fini(&plain);
}

/* --- the next connection --- */

/* The server says something. */
static void hear(struct peer *peer, struct tls_stream *stream)
{
    struct buf plain = {0};
    smq_error err;
    size_t written;

    assert_int_equal(SSL_write_ex(peer->ssl, "+PONG\r\n", 7, &written), 1);
    assert_int_equal(exchange(peer, stream, &plain, &err), SMQ_OK);
    assert_int_equal(plain.len, 7);
    buf_fini(&plain);
}

static smq_status connect_again(struct tls *tls, struct peer *peer, bool *resumed, smq_error *err)
{
    struct tls_stream *stream = tls_stream_new(tls, &address, err);
    smq_status status;

    if (stream == NULL) {
        return err->status;
    }
    peer_end(peer);
    peer_begin(peer);
    status = shake_hands(peer, stream, err);
    if (status == SMQ_OK) {
        hear(peer, stream);
    }
    *resumed = SSL_session_reused(peer->ssl) == 1;
    tls_stream_free(stream);
    return status;
}

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

static void the_next_connection_resumes_the_session(void **state)
{
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        struct tls *tls = trusting();
        struct peer peer = {0};
        smq_error err;
        bool resumed = false;

        peer_init(&peer, "server", false);
        assert_int_equal(SSL_CTX_set_max_proto_version(peer.context, versions[i]), 1);
        assert_int_equal(connect_again(tls, &peer, &resumed, &err), SMQ_OK);
        assert_false(resumed);
        assert_int_equal(connect_again(tls, &peer, &resumed, &err), SMQ_OK);
        assert_true(resumed);
        assert_int_equal(connect_again(tls, &peer, &resumed, &err), SMQ_OK);
        assert_true(resumed);
        tls_free(tls);
        peer_fini(&peer);
    }
}

/* It gives sessions, and ends every handshake that resumes one. */
static void peer_forgets(struct peer *peer, int version)
{
    peer_init(peer, "server", true);
    assert_int_equal(SSL_CTX_set_max_proto_version(peer->context, version), 1);
    assert_int_equal(SSL_CTX_set_session_id_context(peer->context, (const unsigned char *) "", 0),
                     1);
}

static struct tls *known(void)
{
    return tls_new(&(struct redis_tls){.ca = path_of("ca.crt"),
                                       .cert = path_of("client.crt"),
                                       .key = path_of("client.key")},
                   NULL);
}

static void a_session_that_is_refused_is_not_offered_again(void **state)
{
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        struct tls *tls = known();
        struct peer peer = {0};
        smq_error err;
        bool resumed = false;

        peer_forgets(&peer, versions[i]);
        assert_int_equal(connect_again(tls, &peer, &resumed, &err), SMQ_OK);
        assert_int_equal(connect_again(tls, &peer, &resumed, &err), SMQ_UNAVAILABLE);
        assert_non_null(strstr(err.text, "session"));
        for (int j = 0; j < 3; j++) {
            assert_int_equal(connect_again(tls, &peer, &resumed, &err), SMQ_OK);
            assert_false(resumed);
        }
        tls_free(tls);
        peer_fini(&peer);
    }
}

/* As a server that closes the connection, and whose alert is lost or comes too late. */
static void a_session_is_forgotten_if_its_connection_ends_before_a_byte_comes(void **state)
{
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        struct tls *tls = trusting();
        struct peer peer = {0};
        smq_error err;
        bool resumed = false;

        peer_init(&peer, "server", false);
        assert_int_equal(SSL_CTX_set_max_proto_version(peer.context, versions[i]), 1);
        assert_int_equal(connect_again(tls, &peer, &resumed, &err), SMQ_OK);
        tls_stream_free(tls_stream_new(tls, &address, &err));
        assert_int_equal(connect_again(tls, &peer, &resumed, &err), SMQ_OK);
        assert_false(resumed);
        tls_free(tls);
        peer_fini(&peer);
    }
}

static void files_that_have_changed_are_read_again(void **state)
{
    struct peer peer = {0};
    smq_error err;
    bool resumed = false;

    certificate_copy(folder, "now.crt", "ca.crt");
    struct tls *tls = tls_new(&(struct redis_tls){.ca = path_of("now.crt")}, NULL);
    peer_init(&peer, "server", false);
    assert_int_equal(connect_again(tls, &peer, &resumed, &err), SMQ_OK);
    certificate_copy(folder, "now.crt", "other_ca.crt");
    assert_int_equal(connect_again(tls, &peer, &resumed, &err), SMQ_BAD_SERVER);
    assert_int_equal(unlink(path_of("now.crt")), 0);
    assert_int_equal(connect_again(tls, &peer, &resumed, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "now.crt"));
    certificate_copy(folder, "now.crt", "ca.crt");
    assert_int_equal(connect_again(tls, &peer, &resumed, &err), SMQ_OK);
    assert_false(resumed);
    tls_free(tls);
    peer_fini(&peer);
}

/* --- a client that has begun --- */

struct heard {
    atomic_int errors;
    char last[1024];
};

static void on_event(const smq_event *event, void *user)
{
    struct heard *heard = user;

    (void) snprintf(heard->last, sizeof(heard->last), "%s", event->text);
    atomic_fetch_add(&heard->errors, 1);
}

static void what_is_refused_later_is_unavailable_and_said_once(void **state)
{
    struct heard heard = {0};
    struct loop *call = NULL;
    struct peer peer = {0};
    smq_error err;
    bool resumed = false;

    assert_int_equal(loop_new(&call, "smq:call", &err), SMQ_OK);
    struct events *events = events_new(call, on_event, SMQ_LEVEL_ERROR, &heard);
    certificate_copy(folder, "now.crt", "other_ca.crt");
    struct tls *tls = tls_new(&(struct redis_tls){.ca = path_of("now.crt")}, events);
    peer_init(&peer, "server", false);
    assert_int_equal(connect_again(tls, &peer, &resumed, &err), SMQ_BAD_SERVER);
    tls_begin(tls);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(connect_again(tls, &peer, &resumed, &err), SMQ_UNAVAILABLE);
        assert_non_null(strstr(err.text, "cannot be trusted"));
    }
    assert_int_equal(unlink(path_of("now.crt")), 0);
    assert_int_equal(connect_again(tls, &peer, &resumed, &err), SMQ_UNAVAILABLE);
    assert_non_null(strstr(err.text, "now.crt"));
    certificate_copy(folder, "now.crt", "ca.crt");
    assert_int_equal(connect_again(tls, &peer, &resumed, &err), SMQ_OK);
    loop_free(call);
    events_free(events);
    assert_int_equal(atomic_load(&heard.errors), 1);
    assert_non_null(strstr(heard.last, "127.0.0.1:6379: its certificate cannot be trusted"));
    assert_non_null(strstr(heard.last, "it is tried again"));
    tls_free(tls);
    peer_fini(&peer);
}

static void files_that_cannot_be_used_are_named(void **state)
{
    static const struct {
        const char *ca, *cert, *key, *text;
    } rows[] = {
        {"missing.crt", NULL, NULL, "tls_ca"},
        {".", NULL, NULL, "openssl rehash"},
        {"client.key", NULL, NULL, "tls_ca"},
        {"ca.crt", "client.crt", NULL, "tls_cert and tls_key are given together"},
        {"ca.crt", NULL, "client.key", "tls_cert and tls_key are given together"},
        {"ca.crt", "missing.crt", "client.key", "tls_cert"},
        {"ca.crt", "client.crt", "missing.key", "tls_key"},
        {"ca.crt", "client.crt", "server.key", "tls_key"},
    };
    struct redis_tls settings = {.ca = path_of("ca.crt")};
    smq_error err;

    assert_int_equal(tls_check(&settings, &err), SMQ_OK);
    settings = (struct redis_tls){.ca = path_of("trusted"), .cert = "", .key = ""};
    assert_int_equal(tls_check(&settings, &err), SMQ_OK);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        settings.ca = path_of(rows[i].ca);
        settings.cert = rows[i].cert != NULL ? path_of(rows[i].cert) : NULL;
        settings.key = rows[i].key != NULL ? path_of(rows[i].key) : NULL;
        assert_int_equal(tls_check(&settings, &err), SMQ_INVALID);
        if (strstr(err.text, rows[i].text) == NULL) {
            fail_msg("row %zu: \"%s\"", i, err.text);
        }
    }
}

TEST_GROUP(tls)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_right_server_is_trusted),
        cmocka_unit_test(authorities_are_of_a_folder_or_of_the_system),
        cmocka_unit_test(a_file_of_a_folder_that_is_replaced_is_read_again),
        cmocka_unit_test(a_server_without_tls_is_named),
        cmocka_unit_test(old_versions_are_refused),
        cmocka_unit_test(bytes_of_any_number_arrive_whole),
        cmocka_unit_test(the_next_connection_resumes_the_session),
        cmocka_unit_test(a_session_that_is_refused_is_not_offered_again),
        cmocka_unit_test(a_session_is_forgotten_if_its_connection_ends_before_a_byte_comes),
        cmocka_unit_test(files_that_have_changed_are_read_again),
        cmocka_unit_test(what_is_refused_later_is_unavailable_and_said_once),
        cmocka_unit_test(files_that_cannot_be_used_are_named),
    };

    return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
