/* threads.h -- threads, jobs done in order, and a buffer between two threads.
 * SPDX-License-Identifier: MIT */
#ifndef CV_THREADS_H
#define CV_THREADS_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <cleave/error.h>

/* pthread_create for a thread that has all signals blocked. */
int cv_nosignal_thread_create(pthread_t *thread, void *(*work)(void *context),
                              void *context);

/* A pool of threads that does jobs and returns them in the order of submission. One thread
 * submits and one takes; one thread may do both if it takes whenever `max` jobs are in flight. A
 * job belongs to the submitter, then to the pool, then to the taker, so its contents need no
 * lock. At most `max` jobs and results exist: a job whose result grows too large is returned in
 * parts (*more). */
struct cv_ordered_jobs;

struct cv_ordered_options {
    unsigned threads; /* at least 1 */
    size_t max;       /* jobs submitted and not taken, at least 1 */
    /* Do the job. True: only a part of it. */
    bool (*work)(void *context, void *job);
    void *context;           /* borrowed */
    void (*drop)(void *job); /* frees a job that is never taken */
};

/* *out is owned by the caller. It has fewer threads if not all can be started. */
enum cleave_status cv_ordered_start(const struct cv_ordered_options *options,
                                    struct cv_ordered_jobs **out,
                                    struct cleave_error *err);
/* Submit a job, which the pool owns; waits while `max` are in flight. False: the pool was
 * stopped, and this job was dropped. */
bool cv_ordered_jobs_submit(struct cv_ordered_jobs *pool, void *job);
/* No more jobs are submitted. */
void cv_ordered_close(struct cv_ordered_jobs *pool);
/* Wait for the next job and take it. NULL: no job follows, because the pool was closed or stopped.
 * *more: call cv_ordered_again before the next job is taken. */
void *cv_ordered_jobs_wait(struct cv_ordered_jobs *pool, bool *more);
/* Continue the job that was taken last, which had *more. It is the next one to take. */
void cv_ordered_again(struct cv_ordered_jobs *pool);
/* End all waiting calls and begin no job. May be called by any thread. */
void cv_ordered_stop(struct cv_ordered_jobs *pool);
/* Stop, join the threads and drop jobs that were not taken. No other call is in progress. */
void cv_ordered_free(struct cv_ordered_jobs *pool);

/* A pipe between two threads without a copy: the consumer lends memory, the producer fills it.
 * The consumer waits with epoll. */
struct cv_handoff_buffer;

/* The consumer is woken for at least `min` bytes, at the end, or if the memory is full. *out is
 * owned by the caller. */
enum cleave_status cv_handoff_buffer_new(size_t min, struct cv_handoff_buffer **out,
                                         struct cleave_error *err);
/* No other call is in progress. */
void cv_handoff_buffer_free(struct cv_handoff_buffer *buffer);

/* Producer: wait for room and copy the bytes. False: stopped. */
bool cv_handoff_buffer_write(struct cv_handoff_buffer *buffer, const void *bytes,
                             size_t length);
/* Producer: no more bytes follow. */
void cv_handoff_buffer_close(struct cv_handoff_buffer *buffer);

/* Consumer: a descriptor, borrowed, that is readable when there are bytes, at the end, or when
 * memory must be lent; rarely without cause. */
int cv_handoff_buffer_fd(const struct cv_handoff_buffer *buffer);
/* Consumer: lend [at, at + room) for the bytes that follow the taken ones. A loan does not shrink
 * until cv_handoff_buffer_stop; it moves only if all lent bytes were taken. */
void cv_handoff_buffer_lend(struct cv_handoff_buffer *buffer, void *at, size_t room);
/* Consumer: take the next bytes in place, as a non-blocking read(2): 0 at the end, EAGAIN. */
ssize_t cv_handoff_buffer_take(struct cv_handoff_buffer *buffer, size_t max);
/* Consumer: no more bytes are wanted. */
void cv_handoff_buffer_stop(struct cv_handoff_buffer *buffer);

#endif
