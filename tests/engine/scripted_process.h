/* scripted_process.h -- the processes of a scripted world: there are none, and none says anything.
 * SPDX-License-Identifier: MIT */
#ifndef SCRIPTED_PROCESS_H
#define SCRIPTED_PROCESS_H
#include <unistd.h>

#include "base/fail.h"
#include "run/common/process.h"

void cv_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

enum cleave_status cv_pipe_open(struct cv_pipe *out, struct cleave_error *err)
{
    (void)err;
    *out = (struct cv_pipe){ -1, -1 };
    return CLEAVE_OK;
}

void cv_pipe_close(struct cv_pipe *pipe)
{
    *pipe = (struct cv_pipe){ -1, -1 };
}

enum cleave_status cv_pipe_fail(int error, struct cleave_error *err)
{
    (void)error;
    (void)err;
    return CLEAVE_EENGINE;
}

enum cleave_status cv_pipe_look(int fd, bool *readable, bool *end,
                                struct cleave_error *err)
{
    (void)fd;
    (void)err;
    *readable = *end = false;
    return CLEAVE_OK;
}

void cv_pipe_widen(int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
}

bool cv_never_wait(int fd)
{
    (void)fd;
    return true;
}

enum cleave_status cv_command_init(struct cv_command *command, const char *const *prefix,
                                   const char *const *argv, struct cleave_error *err)
{
    (void)prefix;
    (void)argv;
    (void)err;
    *command = (struct cv_command){ .path = NULL };
    return CLEAVE_OK;
}

void cv_command_done(struct cv_command *command)
{
    (void)command;
}

enum cleave_status cv_command_set(struct cv_command *command, const char *name,
                                  const char *value, struct cleave_error *err)
{
    (void)command;
    (void)name;
    (void)value;
    (void)err;
    return CLEAVE_OK;
}

enum cleave_status cv_process_start(struct cv_process *process,
                                    const struct cv_command *command,
                                    const struct cv_process_files *files,
                                    const sigset_t *mask, struct cleave_error *err)
{
    (void)command;
    (void)files;
    (void)mask;
    (void)err;
    *process = (struct cv_process){ .pid = 0, .pidfd = -1 };
    return CLEAVE_OK;
}

enum cleave_status cv_command_fail_start(const struct cv_command *command, int error,
                                         struct cleave_error *err)
{
    (void)command;
    (void)error;
    (void)err;
    return CLEAVE_EINPUT;
}

void cv_process_signal(const struct cv_process *process, int signal)
{
    (void)process;
    (void)signal;
}

enum cleave_status cv_process_listen(struct cv_process *process, struct cleave_error *err)
{
    (void)process;
    (void)err;
    return CLEAVE_OK;
}

bool cv_process_is_over(struct cv_process *process)
{
    (void)process;
    return true;
}

bool cv_process_failed(struct cv_process *process, const struct cleave_statuses *ok)
{
    (void)process;
    (void)ok;
    return false;
}

bool cv_process_reap(struct cv_process *process)
{
    (void)process;
    return true;
}

void cv_process_kill(struct cv_process *process)
{
    process->pid = 0;
}

#endif
