/* certificates.h - makes certificate authorities and certificates, for servers and clients that
 * speak TLS.
 *
 * Thread: any. */
#ifndef SUPPORT_CERTIFICATES_H
#define SUPPORT_CERTIFICATES_H

/* What a certificate says.  Its files are NAME.crt and NAME.key in a folder. */
struct certificate {
    const char *name;
    const char *by; /* name of the authority in the same folder; NULL: it is one itself */
    const char *of; /* "DNS:redis.example,IP:127.0.0.1"; NULL: nothing */
    long ends_in_s; /* seconds from now until it ends; it began a day before that or a day ago */
};

/* Make the files; exits when that cannot be, as all below do. */
void certificate_make(const char *folder, const struct certificate *certificate);

/* Make or replace the file `to` by a copy of `from`, in one step. */
void certificate_copy(const char *folder, const char *to, const char *from);

/* Let OpenSSL find the certificate of `file` in the folder `in`, which is made inside the other
 * one: a link, as openssl rehash makes it. */
void certificate_rehash(const char *folder, const char *in, const char *file);

/* "FOLDER/FILE"; valid until the fourth call after it in this thread. */
const char *certificate_path(const char *folder, const char *file);

#endif
