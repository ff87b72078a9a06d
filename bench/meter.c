#include "meter.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lab.h"
#include "wire.h"

static double client_cpu_s(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double) used.tv_sec + (double) used.tv_nsec / 1e9;
}

/* The number behind "field" in the text of INFO; 0 when it is not there. */
static double field(const char *info, const char *name)
{
    const char *found = strstr(info, name);

    return found != NULL ? strtod(found + strlen(name), NULL) : 0;
}

static bool add_node(struct meter *meter, struct wire *wire)
{
    redisReply *info = wire_ask(wire, "INFO all");

    if (info == NULL || info->str == NULL) {
        freeReplyObject(info);
        return false;
    }
    meter->redis_cpu_s +=
        field(info->str, "\nused_cpu_sys:") + field(info->str, "\nused_cpu_user:");
    meter->commands += (uint64_t) field(info->str, "\ntotal_commands_processed:");
    meter->bytes_in += (uint64_t) field(info->str, "\ntotal_net_input_bytes:");
    meter->bytes_out += (uint64_t) field(info->str, "\ntotal_net_output_bytes:");
    meter->calls += (uint64_t) field(info->str, "\ncmdstat_evalsha:calls=");
    freeReplyObject(info);
    return true;
}

static bool read_redis(struct meter *meter, struct lab *lab)
{
    for (int i = 0; i < lab_masters(lab); i++) {
        if (!add_node(meter, lab_wire(lab, i))) {
            return false;
        }
    }
    return true;
}

void meter_start_here(struct meter *meter)
{
    *meter =
        (struct meter){.client_cpu_s = client_cpu_s(), .seconds = (double) meter_now_ns() / 1e9};
}

void meter_stop_here(struct meter *meter)
{
    meter->seconds = (double) meter_now_ns() / 1e9 - meter->seconds;
    meter->client_cpu_s = client_cpu_s() - meter->client_cpu_s;
}

bool meter_start(struct meter *meter, struct lab *lab)
{
    struct meter redis = {.seconds = 0};

    if (!read_redis(&redis, lab)) {
        return false;
    }
    meter_start_here(meter);
    redis.seconds = meter->seconds;
    redis.client_cpu_s = meter->client_cpu_s;
    *meter = redis;
    return true;
}

bool meter_stop(struct meter *meter, struct lab *lab)
{
    struct meter redis = {.seconds = 0};

    meter_stop_here(meter);
    if (!read_redis(&redis, lab)) {
        return false;
    }
    meter->redis_cpu_s = redis.redis_cpu_s - meter->redis_cpu_s;
    meter->commands = redis.commands - meter->commands;
    meter->calls = redis.calls - meter->calls;
    meter->bytes_in = redis.bytes_in - meter->bytes_in;
    meter->bytes_out = redis.bytes_out - meter->bytes_out;
    return true;
}

bool meter_used_memory(uint64_t *out, struct lab *lab)
{
    *out = 0;
    for (int i = 0; i < lab_masters(lab); i++) {
        redisReply *info = wire_ask(lab_wire(lab, i), "INFO memory");

        if (info == NULL || info->str == NULL) {
            freeReplyObject(info);
            return false;
        }
        *out += (uint64_t) field(info->str, "\nused_memory:");
        freeReplyObject(info);
    }
    return true;
}
