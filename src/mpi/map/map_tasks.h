/* map_tasks.h -- callbacks in a thread of their own, one after the other.
 * SPDX-License-Identifier: MIT
 *
 * The thread that made it hands over tasks and fetches those that are done. */
#ifndef CV_MAP_TASKS_H
#define CV_MAP_TASKS_H
#include <stdbool.h>
#include <time.h>
#include <cleave/mpi_map.h>

struct cv_map_tasks;

/* Embedded in what a task is about. */
struct cv_map_task {
    /* Called in the thread. */
    enum cleave_status (*run)(struct cv_map_task *task, struct cleave_error *err);
    /* Called by cv_map_tasks_fetch. `err` is NULL if it went well, or was dropped. */
    void (*done)(struct cv_map_task *task, const struct cleave_error *err);
    double seconds; /* that it took                                                    */
    enum cleave_status status;
    struct cleave_error err;
    struct cv_map_task *next;
};

/* `threaded`: else tasks run when they are handed over. */
enum cleave_status cv_map_tasks_new(bool threaded, struct cv_map_tasks **out,
                                    struct cleave_error *err);
/* Waits for the task that runs; the others must have been fetched or dropped. */
void cv_map_tasks_free(struct cv_map_tasks *tasks);

void cv_map_tasks_add(struct cv_map_tasks *tasks, struct cv_map_task *task);
/* Call `done` for all tasks that are. How many. */
unsigned cv_map_tasks_fetch(struct cv_map_tasks *tasks);
/* Those that have not begun count as done, without a word about them. */
void cv_map_tasks_drop(struct cv_map_tasks *tasks);
/* Whether there is any that has not been fetched. */
bool cv_map_tasks_any(struct cv_map_tasks *tasks);
/* Sleep, but not longer than until a task is done. */
void cv_map_tasks_nap(struct cv_map_tasks *tasks, const struct timespec *time);

#endif
