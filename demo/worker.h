/* worker.h - one worker process of the demo. */
#ifndef DEMO_WORKER_H
#define DEMO_WORKER_H

enum { WORKER_SESSION_MS = 4000 };

/* Handle the three topics until SIGTERM; every handler writes its start and end into the file
 * `path`.  With an empty `zookeeper` the fleet agrees in Redis.  Returns the exit status of the
 * process. */
int worker_main(const char *redis, const char *zookeeper, const char *name, const char *path);

#endif
