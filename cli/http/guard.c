/* guard.c - who may do what at a port. */
#include "cli/http/guard.h"

#include <string.h>
#include <strings.h>

#include "cli/http/address.h"

/* The token of "Bearer TOKEN"; NULL: it has none.  A proxy may add credentials of other kinds. */
static const char *guard_bearer(const char *authorization)
{
    static const char scheme[] = "Bearer ";

    if (!authorization || strncasecmp(authorization, scheme, sizeof(scheme) - 1) != 0) {
        return NULL;
    }
    return authorization + sizeof(scheme) - 1;
}

static bool guard_is_token(const char *given, const char *token)
{
    const size_t size = strlen(given);
    const size_t wanted = strlen(token);
    volatile unsigned char differs = size != wanted;

    for (size_t i = 0; i < size; i++) {
        differs = differs | (unsigned char) (given[i] ^ token[i % wanted]);
    }
    return differs == 0;
}

/* Browsers say where a request comes from: "none" is a person who typed an address. */
static bool guard_is_own_site(const struct guard_facts *facts)
{
    if (facts->origin && !address_is_origin(facts->origin, facts->host)) {
        return false;
    }
    return !facts->fetch_site || strcmp(facts->fetch_site, "same-origin") == 0 ||
           strcmp(facts->fetch_site, "none") == 0;
}

enum guard_verdict guard_check(struct guard_caller *out, const struct guard *guard,
                               const struct guard_facts *facts)
{
    const char *given = guard_bearer(facts->authorization);

    *out = (struct guard_caller){.read = false};
    if (!address_is_host(facts->host, guard->names)) {
        return GUARD_BAD_HOST;
    }
    if (!guard_is_own_site(facts)) {
        return GUARD_BAD_SITE;
    }
    if (given && (!guard->token || !guard_is_token(given, guard->token))) {
        return GUARD_BAD_TOKEN;
    }
    out->read = guard->open || given;
    out->personal = given || (out->read && guard->show_bodies);
    out->write = given && guard->write;
    return GUARD_KNOWN;
}
