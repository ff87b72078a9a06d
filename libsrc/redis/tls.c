/* tls.c - see tls.h.
 *
 * Thread: smq:io, except tls_check(). */
#include "redis/tls.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/clock.h"
#include "base/episode.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"

enum { READ_SIZE = 16 * 1024, FILES = 3 };

/* What a file was when it was read; of a folder the sums over its certificates, and when the newest
 * of them changed. */
struct tls_version {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
};

/* What a server gave to make the next connection to it cheaper. */
struct tls_session {
    char server[SERVER_TEXT_MAX];
    SSL_SESSION *session; /* NULL: the server refuses what it gave, and nothing is kept */
    UT_hash_handle hh;
};

/* Invariant: `context` was made of the files as they were at `read`; NULL: not made yet.  The
 * `sessions` were made with it. */
struct tls {
    char *ca, *cert, *key, *name; /* NULL: not given */
    SSL_CTX *context;
    struct tls_version read[FILES];
    struct tls_session *sessions;
    struct events *events;
    bool began;              /* the client has become ready */
    struct episode refusals; /* since then */
};

/* Invariant: `ssl` owns `from` and `to`. */
struct tls_stream {
    struct tls *tls;
    SSL *ssl;
    BIO *from, *to; /* bytes of the socket, and for it */
    bool secure;
    bool heard;    /* a byte of the server has come, so it accepts the client */
    bool offering; /* a session was offered, and no byte shows yet that the server takes it */
    char server[SERVER_TEXT_MAX];
    const char *expected; /* the name that the certificate must have */
};

/* --- settings -------------------------------------------------------------------------------- */

/* The newest reason that OpenSSL gives, and none is left. */
static const char *tls_reason(void)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason =
        ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code);

    ERR_clear_error();
    return reason != NULL ? reason : "OpenSSL gives no reason";
}

static bool tls_is_given(const char *setting)
{
    return setting != NULL && setting[0] != '\0';
}

/* OpenSSL finds a certificate in a folder by the hash of its subject: "1a2b3c4d.0". */
static bool tls_is_found(const char *name)
{
    const size_t digits = strspn(name, "0123456789abcdef");

    return digits == 8 && name[digits] == '.' && name[digits + 1] != '\0' &&
           name[digits + 1 + strspn(name + digits + 1, "0123456789")] == '\0';
}

static void tls_add_version(struct tls_version *version, const struct stat *info)
{
    const struct timespec *changed = &info->st_mtim;

    version->device += info->st_dev;
    version->inode += info->st_ino;
    version->size += info->st_size;
    if (changed->tv_sec > version->changed.tv_sec ||
        (changed->tv_sec == version->changed.tv_sec &&
         changed->tv_nsec > version->changed.tv_nsec)) {
        version->changed = *changed;
    }
}

/* Adds what the certificates in a folder are.  Returns how many OpenSSL finds there. */
static int tls_look_at_folder(const char *path, struct tls_version *version)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    struct stat info;
    int found = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (tls_is_found(entry->d_name) && fstatat(dirfd(folder), entry->d_name, &info, 0) == 0) {
            tls_add_version(version, &info);
            found++;
        }
    }
    if (folder != NULL) {
        (void) closedir(folder);
    }
    return found;
}

static smq_status tls_load_folder(SSL_CTX *context, const char *ca, smq_error *err)
{
    struct tls_version version = {0};

    if (tls_look_at_folder(ca, &version) == 0) {
        return status_set(err, SMQ_INVALID,
                          "tls_ca: OpenSSL finds no certificate in the folder \"%s\", because none "
                          "has a name like 1a2b3c4d.0: run openssl rehash \"%s\", or name a file",
                          ca, ca);
    }
    return SSL_CTX_load_verify_locations(context, NULL, ca) == 1
               ? SMQ_OK
               : status_set(err, SMQ_INVALID, "tls_ca: the folder \"%s\" cannot be used: %s", ca,
                            tls_reason());
}

static smq_status tls_load_authorities(SSL_CTX *context, const char *ca, smq_error *err)
{
    struct stat info;

    if (!tls_is_given(ca)) {
        return SSL_CTX_set_default_verify_paths(context) == 1
                   ? SMQ_OK
                   : status_set(err, SMQ_INVALID,
                                "the certificate authorities of the system cannot be read: %s",
                                tls_reason());
    }
    if (stat(ca, &info) != 0) {
        return status_set(err, SMQ_INVALID, "tls_ca: \"%s\" cannot be read: %s", ca,
                          strerror(errno));
    }
    if (S_ISDIR(info.st_mode)) {
        return tls_load_folder(context, ca, err);
    }
    return SSL_CTX_load_verify_locations(context, ca, NULL) == 1
               ? SMQ_OK
               : status_set(err, SMQ_INVALID,
                            "tls_ca: \"%s\" is no file of PEM certificates, nor a folder of them: "
                            "%s",
                            ca, tls_reason());
}

static smq_status tls_load_certificate(SSL_CTX *context, const char *cert, const char *key,
                                       smq_error *err)
{
    if (tls_is_given(cert) != tls_is_given(key)) {
        return status_set(err, SMQ_INVALID,
                          "tls_cert and tls_key are given together or not at all");
    }
    if (!tls_is_given(cert)) {
        return SMQ_OK;
    }
    if (SSL_CTX_use_certificate_chain_file(context, cert) != 1) {
        return status_set(err, SMQ_INVALID, "tls_cert: \"%s\" is no file of PEM certificates: %s",
                          cert, tls_reason());
    }
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
        return status_set(err, SMQ_INVALID,
                          "tls_key: \"%s\" is no file with the private key of \"%s\" in PEM "
                          "without a passphrase: %s",
                          key, cert, tls_reason());
    }
    return SMQ_OK;
}

/* A key with a passphrase is refused instead of asking for it on the terminal. */
static int tls_no_passphrase(char *out, int size, int writing, void *user)
{
    (void) out;
    (void) size;
    (void) writing;
    (void) user;
    return -1;
}

static int tls_on_session(SSL *ssl, SSL_SESSION *session);

/* NULL: failed. */
static SSL_CTX *tls_make_context(const struct redis_tls *settings, smq_error *err)
{
    SSL_CTX *context;
    smq_status status;

    /* Threads of the library may still run when a program calls exit(). */
    (void) OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
    ERR_clear_error();
    context = SSL_CTX_new(TLS_client_method());
    if (context == NULL) {
        (void) status_set(err, SMQ_INVALID, "OpenSSL cannot be used: %s", tls_reason());
        return NULL;
    }
    (void) SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    (void) SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
    (void) SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_default_passwd_cb(context, tls_no_passphrase);
    (void) SSL_CTX_set_session_cache_mode(context,
                                          SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, tls_on_session);
    status = tls_load_authorities(context, settings->ca, err);
    if (status == SMQ_OK) {
        status = tls_load_certificate(context, settings->cert, settings->key, err);
    }
    if (status != SMQ_OK) {
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

smq_status tls_check(const struct redis_tls *settings, smq_error *err)
{
    SSL_CTX *context = tls_make_context(settings, err);

    if (context == NULL) {
        return SMQ_INVALID;
    }
    SSL_CTX_free(context);
    return SMQ_OK;
}

struct tls *tls_new(const struct redis_tls *settings, struct events *events)
{
    struct tls *tls = memory_new(sizeof(*tls));

    tls->events = events;
    tls->ca = tls_is_given(settings->ca) ? memory_string(settings->ca) : NULL;
    tls->cert = tls_is_given(settings->cert) ? memory_string(settings->cert) : NULL;
    tls->key = tls_is_given(settings->key) ? memory_string(settings->key) : NULL;
    tls->name = tls_is_given(settings->name) ? memory_string(settings->name) : NULL;
    return tls;
}

/* --- sessions -------------------------------------------------------------------------------- */

static void tls_drop_sessions(struct tls *tls)
{
    struct tls_session *session, *next;

    HASH_ITER(hh, tls->sessions, session, next)
    {
        HASH_DEL(tls->sessions, session);
        SSL_SESSION_free(session->session);
        free(session);
    }
}

/* What is known of the stream's server; NULL: nothing, or the files have changed since. */
static struct tls_session *tls_stream_session(const struct tls_stream *stream)
{
    struct tls_session *known = NULL;

    if (SSL_get_SSL_CTX(stream->ssl) == stream->tls->context) {
        HASH_FIND_STR(stream->tls->sessions, stream->server, known);
    }
    return known;
}

/* Returns 1: `session` is kept. */
static int tls_on_session(SSL *ssl, SSL_SESSION *session)
{
    const struct tls_stream *stream = SSL_get_app_data(ssl);
    struct tls *tls = stream->tls;
    struct tls_session *known = tls_stream_session(stream);

    if (SSL_get_SSL_CTX(ssl) != tls->context || (known != NULL && known->session == NULL)) {
        return 0;
    }
    if (known == NULL) {
        known = memory_new(sizeof(*known));
        memcpy(known->server, stream->server, sizeof(known->server));
        HASH_ADD_STR(tls->sessions, server, known);
    } else {
        SSL_SESSION_free(known->session);
    }
    known->session = session;
    return 1;
}

/* The connection ends before a byte has shown that the server takes the session: the next one does
 * without.  If the server said that it refuses it, so do all later ones, else every second one
 * would fail. */
static void tls_stream_forget(struct tls_stream *stream, bool refused)
{
    struct tls_session *known = tls_stream_session(stream);

    stream->offering = false;
    if (known == NULL) {
        return;
    }
    SSL_SESSION_free(known->session);
    known->session = NULL;
    if (!refused) {
        HASH_DEL(stream->tls->sessions, known);
        free(known);
    }
}

void tls_free(struct tls *tls)
{
    if (tls == NULL) {
        return;
    }
    tls_drop_sessions(tls);
    SSL_CTX_free(tls->context);
    free(tls->ca);
    free(tls->cert);
    free(tls->key);
    free(tls->name);
    free(tls);
}

/* --- files that change ----------------------------------------------------------------------- */

static void tls_look_at_files(const struct tls *tls, struct tls_version versions[FILES])
{
    const char *const files[FILES] = {tls->ca, tls->cert, tls->key};

    memset(versions, 0, FILES * sizeof(versions[0]));
    for (size_t i = 0; i < FILES; i++) {
        struct stat info;

        if (files[i] != NULL && stat(files[i], &info) == 0) {
            tls_add_version(&versions[i], &info);
            if (S_ISDIR(info.st_mode)) {
                (void) tls_look_at_folder(files[i], &versions[i]);
            }
        }
    }
}

/* Read the files if that was not done since they changed. */
static smq_status tls_renew(struct tls *tls, smq_error *err)
{
    const struct redis_tls settings = {
        .ca = tls->ca, .cert = tls->cert, .key = tls->key, .name = tls->name};
    struct tls_version now[FILES];
    SSL_CTX *context;

    tls_look_at_files(tls, now);
    if (tls->context != NULL && memcmp(now, tls->read, sizeof(now)) == 0) {
        return SMQ_OK;
    }
    context = tls_make_context(&settings, err);
    if (context == NULL) {
        return SMQ_UNAVAILABLE;
    }
    tls_drop_sessions(tls);
    SSL_CTX_free(tls->context);
    tls->context = context;
    memcpy(tls->read, now, sizeof(now));
    return SMQ_OK;
}

/* --- refusals -------------------------------------------------------------------------------- */

void tls_begin(struct tls *tls)
{
    if (tls != NULL) {
        tls->began = true;
    }
}

/* A connection to this server fails for this reason.  Returns what it ends with: one that may be
 * the midst of a change of certificates is UNAVAILABLE, and an event says so once an episode. */
static smq_status tls_refused(struct tls *tls, const char *server, smq_error *err)
{
    if (!tls->began || err->status == SMQ_UNAVAILABLE) {
        return err->status;
    }
    if (episode_trouble(&tls->refusals, clock_now_ms())) {
        events_log(tls->events, SMQ_LEVEL_ERROR, "%s: %s; it is tried again", server, err->text);
    }
    err->status = SMQ_UNAVAILABLE;
    return err->status;
}

/* --- one connection -------------------------------------------------------------------------- */

/* The certificate must have the name, or the address, of the server in its subjectAltName. */
static void tls_stream_expect(struct tls_stream *stream, const char *host)
{
    X509_VERIFY_PARAM *verify = SSL_get0_param(stream->ssl);

    stream->expected = host;
    if (X509_VERIFY_PARAM_set1_ip_asc(verify, host) == 1) {
        return;
    }
    ERR_clear_error();
    X509_VERIFY_PARAM_set_hostflags(verify, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                                X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    while (SSL_set1_host(stream->ssl, host) != 1 ||
           SSL_set_tlsext_host_name(stream->ssl, host) != 1) {
        memory_lacks(0);
    }
}

/* Do as much as the bytes that have come allow. */
static int tls_stream_handshake(struct tls_stream *stream)
{
    int done;

    ERR_clear_error();
    done = SSL_do_handshake(stream->ssl);
    stream->secure = done == 1;
    return done;
}

struct tls_stream *tls_stream_new(struct tls *tls, const struct server_address *server,
                                  smq_error *err)
{
    struct tls_stream *stream;
    struct tls_session *known;
    char name[SERVER_TEXT_MAX];

    server_address_format(name, server);
    if (tls_renew(tls, err) != SMQ_OK) {
        (void) tls_refused(tls, name, err);
        return NULL;
    }
    stream = memory_new(sizeof(*stream));
    stream->tls = tls;
    memcpy(stream->server, name, sizeof(name));
    while ((stream->ssl = SSL_new(tls->context)) == NULL) {
        memory_lacks(0);
    }
    while ((stream->from = BIO_new(BIO_s_mem())) == NULL) {
        memory_lacks(0);
    }
    while ((stream->to = BIO_new(BIO_s_mem())) == NULL) {
        memory_lacks(0);
    }
    SSL_set_bio(stream->ssl, stream->from, stream->to);
    SSL_set_app_data(stream->ssl, stream);
    tls_stream_expect(stream, tls->name != NULL ? tls->name : server->host);
    known = tls_stream_session(stream);
    if (known != NULL && known->session != NULL) {
        (void) SSL_set_session(stream->ssl, known->session);
        stream->offering = true;
    }
    SSL_set_connect_state(stream->ssl);
    (void) tls_stream_handshake(stream);
    return stream;
}

void tls_stream_free(struct tls_stream *stream)
{
    if (stream != NULL) {
        if (stream->offering) {
            tls_stream_forget(stream, false);
        }
        /* Else OpenSSL would not let the next connection resume the session. */
        SSL_set_shutdown(stream->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        SSL_free(stream->ssl);
        free(stream);
    }
}

bool tls_stream_is_secure(const struct tls_stream *stream)
{
    return stream->secure;
}

/* What is wrong with the certificate, in words. */
static smq_status tls_stream_distrust(const struct tls_stream *stream, long verdict, smq_error *err)
{
    ERR_clear_error();
    if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
        return status_set(err, SMQ_BAD_SERVER,
                          "its certificate is not for \"%s\" (names in its subjectAltName count, "
                          "with * as a whole label); if it is the right server set tls_name",
                          stream->expected);
    }
    return status_set(err, SMQ_BAD_SERVER, "its certificate cannot be trusted: %s",
                      X509_verify_cert_error_string(verdict));
}

/* The server has ended the connection with a word about the certificate of the client. */
static bool tls_is_about_our_certificate(int reason)
{
    switch (reason) {
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        return true;
    default:
        return false;
    }
}

/* Why a call of OpenSSL has failed. */
static smq_status tls_stream_explain(struct tls_stream *stream, int result, smq_error *err)
{
    const int kind = SSL_get_error(stream->ssl, result);
    const int reason = ERR_GET_REASON(ERR_peek_last_error());
    const long verdict = SSL_get_verify_result(stream->ssl);

    if (kind == SSL_ERROR_ZERO_RETURN) {
        return status_set(err, SMQ_UNAVAILABLE, "it closed the connection");
    }
    if (!stream->secure && verdict != X509_V_OK) {
        return tls_stream_distrust(stream, verdict, err);
    }
    if (!stream->secure && reason == SSL_R_WRONG_VERSION_NUMBER) {
        ERR_clear_error();
        return status_set(err, SMQ_BAD_SERVER,
                          "it does not speak TLS on this port; a plaintext server is given by "
                          "redis:// instead of rediss://");
    }
    if (tls_is_about_our_certificate(reason)) {
        return status_set(err, SMQ_DENIED,
                          "it refuses the certificate of this client (tls_cert): %s", tls_reason());
    }
    if (stream->offering) {
        tls_stream_forget(stream, true);
        return status_set(err, SMQ_UNAVAILABLE,
                          "it refuses the TLS session that it gave (%s); the next connections do "
                          "without one",
                          tls_reason());
    }
    return status_set(err, SMQ_UNAVAILABLE, "TLS failed: %s", tls_reason());
}

static smq_status tls_stream_failed(struct tls_stream *stream, int result, smq_error *err)
{
    (void) tls_stream_explain(stream, result, err);
    return tls_refused(stream->tls, stream->server, err);
}

static bool tls_stream_waits(const struct tls_stream *stream, int result)
{
    return SSL_get_error(stream->ssl, result) == SSL_ERROR_WANT_READ;
}

static void tls_stream_hear(struct tls_stream *stream)
{
    stream->heard = true;
    stream->offering = false;
    episode_good(&stream->tls->refusals);
}

smq_status tls_stream_receive(struct tls_stream *stream, const char *bytes, size_t len,
                              struct buf *plain, smq_error *err)
{
    int result = 1;

    while (BIO_write(stream->from, bytes, (int) len) != (int) len) {
        memory_lacks(len);
    }
    if (!stream->secure) {
        result = tls_stream_handshake(stream);
    }
    while (result == 1) {
        size_t count = 0;

        ERR_clear_error();
        result = SSL_read_ex(stream->ssl, buf_room(plain, READ_SIZE), READ_SIZE, &count);
        plain->len += count;
        if (count > 0 && !stream->heard) {
            tls_stream_hear(stream);
        }
    }
    return tls_stream_waits(stream, result) ? SMQ_OK : tls_stream_failed(stream, result, err);
}

smq_status tls_stream_send(struct tls_stream *stream, const char *bytes, size_t len, smq_error *err)
{
    size_t count = 0;
    int result;

    if (len == 0) {
        return SMQ_OK;
    }
    assert(stream->secure);
    ERR_clear_error();
    result = SSL_write_ex(stream->ssl, bytes, len, &count);
    return result == 1 ? SMQ_OK : tls_stream_failed(stream, result, err);
}

void tls_stream_take(struct tls_stream *stream, struct buf *wire)
{
    const size_t waiting = BIO_ctrl_pending(stream->to);
    int taken;

    if (waiting > 0) {
        taken = BIO_read(stream->to, buf_room(wire, waiting), (int) waiting);
        assert(taken == (int) waiting);
        wire->len += (size_t) taken;
    }
}
