/* threads.h -- jobs done by several threads, taken in the order in which they were given.
 * SPDX-License-Identifier: MIT
 *
 * One thread gives jobs and one takes them; both may be the same if it takes whenever `most` are
 * in flight. A job belongs to who has it: the giver, then the pool, then the taker; so what
 * it holds needs no lock. What a job and its results take, times `most`, is the memory needed: a job whose
 * result grows too large says that there is more, is taken as it is, and given again. */
#ifndef CV_THREADS_H
#define CV_THREADS_H
#include <cleave/error.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/* As pthread_create, whose number of an error it returns; all signals that the process gets are
 * for other threads. */
int cv_nosignal_thread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*work)(void *context), void *context);

struct cv_handoff_buffer;

/* Who gets the bytes is not woken for less than `least`, but at the end, or if no more fit: more than 1 is for who
 * writes all the time. *out is owned by the caller. */
enum cleave_status cv_handoff_buffer_new(size_t min, struct cv_handoff_buffer **out,
                                         struct cleave_error *err);
/* Nobody is in a call any more. */
void cv_handoff_buffer_free(struct cv_handoff_buffer *buffer);

/* By who makes them: where the next bytes go, as soon as there is room, and how many fit. NULL: nobody wants them any
 * more. */
uint8_t *cv_handoff_buffer_room(struct cv_handoff_buffer *buffer, size_t *room);
/* ... so many of them are there. */
void cv_handoff_buffer_put(struct cv_handoff_buffer *buffer, size_t length);
/* Both, for bytes that are elsewhere, or in their place already. False: nobody wants them any more. */
bool cv_handoff_buffer_write(struct cv_handoff_buffer *buffer, const void *bytes,
                             size_t length);
/* Where `length` bytes will go that come behind the next `behind`: it is theirs until they have come. NULL: that is not
 * lent, or not yet. */
uint8_t *cv_handoff_buffer_place(struct cv_handoff_buffer *buffer, uint64_t behind,
                                 size_t length);
/* There will be no more. */
void cv_handoff_buffer_close(struct cv_handoff_buffer *buffer);

/* By who gets them: borrowed; it can be read from when there are bytes, or will be no more, or more is to be lent, and
 * seldom else. */
int cv_handoff_buffer_fd(const struct cv_handoff_buffer *buffer);
/* Lend memory, from the place of the byte on that is taken next: until it is stopped, and as far at least as before. The
 * place is behind what was taken last, and may be any other when all that was lent has been taken. */
void cv_handoff_buffer_lend(struct cv_handoff_buffer *buffer, void *at, size_t room);
/* Take the next bytes where they are, as read(2) that does not wait: 0 at the end, EAGAIN if there are none now. */
ssize_t cv_handoff_buffer_take(struct cv_handoff_buffer *buffer, size_t max);
/* No more are wanted. */
void cv_handoff_buffer_stop(struct cv_handoff_buffer *buffer);

#endif
