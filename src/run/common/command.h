/* command.h -- a command: prepared once, started many times. SPDX-License-Identifier: MIT */
#ifndef CV_COMMAND_H
#define CV_COMMAND_H
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <cleave/execute.h>

struct cv_command {
    char *path;         /* owned: the file to run */
    char **argv;        /* owned, ends with NULL; so are the words */
    size_t nprefix;     /* words of the prefix */
    char **environment; /* owned, ends with NULL; so are the strings */
    size_t nenvironment, capacity;
    const cpu_set_t *cpus; /* borrowed: where it runs; NULL: anywhere */
    char **script; /* owned: arguments of the shell for a text file; words are argv's */
    bool elf;      /* the file is an ELF file, perhaps for another machine: no script */
};

/* The words are `prefix` (of a worker; may be NULL) and `argv`, each ended by NULL. Searches PATH
 * for the program. The environment is a copy. */
enum cleave_status cv_command_init(struct cv_command *command, const char *const *prefix,
                                   const char *const *argv, struct cleave_error *err);
void cv_command_done(struct cv_command *command);
/* Set a variable of processes that are started later. */
enum cleave_status cv_command_set(struct cv_command *command, const char *name,
                                  const char *value, struct cleave_error *err);

/* Fail because PATH has no program of this name, with advice. */
enum cleave_status cv_cannot_find(const char *name, struct cleave_error *err);
/* Fail because the kernel refused the program with an errno, with advice: CLEAVE_EINPUT, or
 * CLEAVE_ERESOURCES if the cause passes. */
enum cleave_status cv_command_fail_start(const struct cv_command *command, int error,
                                         struct cleave_error *err);
/* Whether an exit status is 0 or one of `ok` (or NULL). */
static inline bool cv_status_is_ok(int status, const struct cleave_statuses *ok)
{
    return status == 0 || (ok != NULL && status > 0 && status < 256 &&
                           (ok->bits[status / 64] >> (status % 64) & 1) != 0);
}

/* Limits that pass when another process ends, and a program that is being written. */
bool cv_is_scarce(int error);

#endif
