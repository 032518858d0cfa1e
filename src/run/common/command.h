/* command.h -- what to run: made once, started many times. SPDX-License-Identifier: MIT */
#ifndef CV_COMMAND_H
#define CV_COMMAND_H
#include <cleave/error.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

struct cv_command {
    char *path;         /* owned: the file to run                                  */
    char **argv;        /* owned, ends in NULL; the words are owned too            */
    char **environment; /* owned, ends in NULL; the first `nset` strings are owned */
    size_t nenvironment, nset, capacity;
    const cpu_set_t *cpus; /* borrowed: where it runs; NULL: anywhere               */
    char **script; /* owned: what is run if the file is no program; words are of argv   */
    bool elf; /* it is a program, if not one for this machine: no shell is to read it */
};

/* Words of `prefix` (a worker's own; may be NULL) and `argv`, each ended by NULL. The
 * program is looked for in PATH now; the error names it if it is not there. The
 * environment is that of this process, whose strings must stay as they are. */
enum cleave_status cv_command_init(struct cv_command *command, const char *const *prefix,
                                   const char *const *argv, struct cleave_error *err);
void cv_command_done(struct cv_command *command);
/* Set a variable for processes started from now on. */
enum cleave_status cv_command_set(struct cv_command *command, const char *name,
                                  const char *value, struct cleave_error *err);

/* No program of that name is in PATH: what it may be instead. */
enum cleave_status cv_cannot_find(const char *name, struct cleave_error *err);
/* The file is there, and the kernel has refused it with this error. */
enum cleave_status cv_cannot_start(const char *name, const char *path, int error,
                                   struct cleave_error *err);

#endif
