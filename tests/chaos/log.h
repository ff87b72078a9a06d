/* log.h - the append-only log of one process of a chaos run.  README.md lists its lines.
 *
 * Thread: any. */
#ifndef CHAOS_LOG_H
#define CHAOS_LOG_H

/* Open `path` for appending, and write who this process is.  The process ends when the log cannot
 * be opened, and when a line cannot be written whole: a judgement over half a log is worthless. */
void log_open(const char *path, const char *name);

/* Append "WORD NANOSECONDS ..." by one write(2), so that SIGKILL loses one line at most.  The time
 * is CLOCK_MONOTONIC, which all processes of the machine share. */
void log_line(const char *word, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
