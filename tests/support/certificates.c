/* certificates.c - see certificates.h. */
#include "support/certificates.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/buf.h"
#include "base/random.h"

enum { DAY_S = 24 * 60 * 60 };

static void require(bool done, const char *what)
{
    if (!done) {
        fprintf(stderr, "certificates: %s failed\n", what);
        exit(1);
    }
}

const char *certificate_path(const char *folder, const char *file)
{
    static _Thread_local char paths[4][PATH_MAX];
    static _Thread_local unsigned next;
    char *path = paths[next++ % 4];

    (void) snprintf(path, PATH_MAX, "%s/%s", folder, file);
    return path;
}

static FILE *open_path(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);

    require(file != NULL, path);
    return file;
}

static FILE *open_file(const char *folder, const char *name, const char *kind, const char *mode)
{
    char file[64];

    (void) snprintf(file, sizeof(file), "%s.%s", name, kind);
    return open_path(certificate_path(folder, file), mode);
}

static EVP_PKEY *read_key(const char *folder, const char *name)
{
    FILE *file = open_file(folder, name, "key", "re");
    EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, NULL, NULL);

    require(key != NULL, "to read a key");
    (void) fclose(file);
    return key;
}

static X509 *read_path(const char *path)
{
    FILE *file = open_path(path, "re");
    X509 *certificate = PEM_read_X509(file, NULL, NULL, NULL);

    require(certificate != NULL, "to read a certificate");
    (void) fclose(file);
    return certificate;
}

static X509 *read_certificate(const char *folder, const char *name)
{
    char file[64];

    (void) snprintf(file, sizeof(file), "%s.crt", name);
    return read_path(certificate_path(folder, file));
}

static void extend(X509 *made, X509 *by, int kind, const char *value)
{
    X509V3_CTX context;
    X509_EXTENSION *extension;

    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, by, made, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    require(extension != NULL && X509_add_ext(made, extension, -1) == 1, value);
    X509_EXTENSION_free(extension);
}

static void fill(X509 *made, EVP_PKEY *key, const struct certificate *certificate)
{
    const long ends = certificate->ends_in_s, begins = ends < 0 ? ends - DAY_S : -DAY_S;
    X509_NAME *name = X509_get_subject_name(made);

    (void) X509_set_version(made, X509_VERSION_3);
    (void) ASN1_INTEGER_set_int64(X509_get_serialNumber(made), (int64_t) (random_u64() >> 2));
    (void) X509_gmtime_adj(X509_getm_notBefore(made), begins);
    (void) X509_gmtime_adj(X509_getm_notAfter(made), ends);
    (void) X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                      (const unsigned char *) certificate->name, -1, -1, 0);
    require(X509_set_pubkey(made, key) == 1, "to set a key");
}

static void write_files(const char *folder, const char *name, X509 *made, EVP_PKEY *key)
{
    FILE *file = open_file(folder, name, "crt", "we");

    require(PEM_write_X509(file, made) == 1 && fclose(file) == 0, "to write a certificate");
    file = open_file(folder, name, "key", "we");
    require(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1 && fclose(file) == 0,
            "to write a key");
}

void certificate_make(const char *folder, const struct certificate *certificate)
{
    const bool authority = certificate->by == NULL;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    EVP_PKEY *by_key = authority ? key : read_key(folder, certificate->by);
    X509 *made = X509_new();
    X509 *by = authority ? made : read_certificate(folder, certificate->by);

    require(key != NULL && made != NULL, "to make a key");
    fill(made, key, certificate);
    (void) X509_set_issuer_name(made, X509_get_subject_name(by));
    extend(made, by, NID_basic_constraints, authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
    if (certificate->of != NULL) {
        extend(made, by, NID_subject_alt_name, certificate->of);
    }
    require(X509_sign(made, by_key, EVP_sha256()) > 0, "to sign");
    write_files(folder, certificate->name, made, key);
    if (!authority) {
        X509_free(by);
        EVP_PKEY_free(by_key);
    }
    X509_free(made);
    EVP_PKEY_free(key);
}

void certificate_copy(const char *folder, const char *to, const char *from)
{
    const char *made = certificate_path(folder, "copy.new");
    FILE *in = open_path(certificate_path(folder, from), "re"), *out = open_path(made, "we");
    struct buf bytes = {0};

    bytes.len = fread(buf_room(&bytes, 65536), 1, 65536, in);
    require(fwrite(bytes.data, 1, bytes.len, out) == bytes.len && fclose(out) == 0, made);
    require(rename(made, certificate_path(folder, to)) == 0, to);
    (void) fclose(in);
    buf_fini(&bytes);
}

void certificate_rehash(const char *folder, const char *in, const char *file)
{
    X509 *certificate = read_path(certificate_path(folder, file));
    char to[64], link[64];

    require(mkdir(certificate_path(folder, in), 0700) == 0 || errno == EEXIST, in);
    (void) snprintf(to, sizeof(to), "../%s", file);
    (void) snprintf(link, sizeof(link), "%s/%08lx.0", in, X509_subject_name_hash(certificate));
    require(symlink(to, certificate_path(folder, link)) == 0, link);
    X509_free(certificate);
}
