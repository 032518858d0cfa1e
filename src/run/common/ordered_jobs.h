/* ordered_jobs.h -- jobs done by several threads, taken in the order in which they were given.
 * SPDX-License-Identifier: MIT
 *
 * One thread gives jobs and one takes them; both may be the same if it takes whenever `most` are
 * in flight. A job belongs to who has it: the giver, then the pool, then the taker; so what
 * it holds needs no lock. What a job and its results take, times `most`, is the memory needed: a job whose
 * result grows too large says that there is more, is taken as it is, and given again. */
#ifndef CV_ORDERED_JOBS_H
#define CV_ORDERED_JOBS_H
#include <stdbool.h>
#include <stddef.h>
#include <cleave/error.h>

struct cv_ordered_jobs;

struct cv_ordered_options {
    unsigned threads; /* at least 1                                                    */
    size_t max;       /* jobs that are given and not taken, at least 1                 */
    /* Called by thread 0, 1, ... of `threads`: do the job, or some of it, with *more = true, which is
     * false before. A failure is handed out in its place; jobs behind it are not begun any more. */
    enum cleave_status (*work)(void *context, unsigned thread, void *job, bool *more,
                               struct cleave_error *err);
    void *context;           /* borrowed                                              */
    void (*drop)(void *job); /* frees one that is never taken                         */
    const char *what;        /* the threads do, for messages: "decodes"               */
};

/* *out is owned by the caller. If not all threads can be had, fewer do it. */
enum cleave_status cv_ordered_start(const struct cv_ordered_options *options,
                                    struct cv_ordered_jobs **out,
                                    struct cleave_error *err);
/* Give a job, which is the pool's from now on; waits while `most` are in flight. False: no more are
 * wanted, as one has failed or it was stopped; the job was dropped. */
bool cv_ordered_jobs_submit(struct cv_ordered_jobs *pool, void *job);
/* There will be no more jobs. */
void cv_ordered_close(struct cv_ordered_jobs *pool);
/* Whether `take` would not have to wait. */
bool cv_ordered_ready(struct cv_ordered_jobs *pool);
/* Wait for the first job that was not taken and take it, with the status of its work. NULL: there are no
 * more, as all were taken and it was closed, or one failed, or it was stopped. *more: it is to be
 * given by `again` before anything else is taken. */
enum cleave_status cv_ordered_jobs_wait(struct cv_ordered_jobs *pool, void **job,
                                        bool *more, struct cleave_error *err);
/* Let the job that was taken last, with *more, be worked on again: it is taken next. */
void cv_ordered_again(struct cv_ordered_jobs *pool);
/* Let nobody wait any more, and no job begin. By any thread. */
void cv_ordered_stop(struct cv_ordered_jobs *pool);
/* ... wait for the threads, and drop what was not taken. Nobody is in a call any more. */
void cv_ordered_free(struct cv_ordered_jobs *pool);

#endif
