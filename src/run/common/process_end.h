/* process_end.h -- a descriptor that tells of the end of a process.
 * SPDX-License-Identifier: MIT
 *
 * That is a pidfd. Where there are none, because the system is too old, or a sandbox or
 * valgrind does not know them, a thread waits for the process and closes a pipe: slower,
 * but it needs no signal that the rest of the program might want. */
#ifndef CV_PROCESS_END_H
#define CV_PROCESS_END_H
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>
#include <cleave/error.h>

struct cv_process_end {
    pthread_t thread;
    bool threaded;
};

/* *fd, owned by the caller, is readable once child `pid` has ended. */
enum cleave_status cv_process_end_open(struct cv_process_end *end, pid_t pid, int *fd,
                                       struct cleave_error *err);
/* After the child has been reaped. */
void cv_process_end_close(struct cv_process_end *end);

#endif
