/* guard.h -- see to it that commands end when this process is killed.
 * SPDX-License-Identifier: MIT
 *
 * A process that gets SIGKILL can end nothing any more. So another one, forked from it, has
 * the groups of its commands in memory that both share, and waits for a pipe to close: then
 * it ends them, politely first. It is in a session of its own, where nothing that is sent
 * to the group of this process reaches it, and holds none of its files. What it takes to
 * start a command does not change: a number is stored.
 *
 * The fork shares the memory of this process and so costs more the more of it there is. */
#ifndef CV_GUARD_H
#define CV_GUARD_H
#include <stddef.h>
#include <sys/types.h>
#include <cleave/error.h>

struct cv_guard;

/* A guard that has not begun: groups can be added already. */
enum cleave_status cv_guard_new(struct cv_guard **out, struct cleave_error *err);
/* Fork it; once. */
enum cleave_status cv_guard_begin(struct cv_guard *guard, struct cleave_error *err);
/* The guard goes; groups that it has are left alone. May be NULL. */
void cv_guard_free(struct cv_guard *guard);

/* End this group if this process is killed. Returns its place; 0: there is none, because
 * `guard` is NULL or has too many. */
size_t cv_guard_add(struct cv_guard *guard, pid_t group);
void cv_guard_remove(struct cv_guard *guard, size_t place);

#endif
