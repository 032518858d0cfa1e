/* byte_ring.h -- bytes from one thread to another, which waits for them by epoll. SPDX-License-Identifier: MIT
 *
 * As a pipe, but that the bytes stay in this process: the kernel neither copies them nor finds pages for them. */
#ifndef CV_BYTE_RING_H
#define CV_BYTE_RING_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <cleave/error.h>

struct cv_byte_ring;

/* With room for so many bytes. Who gets them is not woken for less than `least`, but at the end: more than 1 is for who
 * writes all the time. *out is owned by the caller. */
enum cleave_status cv_byte_ring_new(size_t room, size_t least, struct cv_byte_ring **out,
                                    struct cleave_error *err);
/* Nobody is in a call any more. */
void cv_byte_ring_free(struct cv_byte_ring *ring);

/* By who has them: as soon as there is room. False: nobody wants them any more. */
bool cv_byte_ring_write(struct cv_byte_ring *ring, const void *bytes, size_t length);
/* ... there will be no more. */
void cv_byte_ring_close(struct cv_byte_ring *ring);

/* By who gets them: borrowed; it can be read from when there are bytes, or will be no more, and seldom when there are
 * none. */
int cv_byte_ring_fd(const struct cv_byte_ring *ring);
/* As read(2) that does not wait: 0 at the end, EAGAIN if there are none now. */
ssize_t cv_byte_ring_read(struct cv_byte_ring *ring, void *to, size_t most);
/* No more are wanted. */
void cv_byte_ring_stop(struct cv_byte_ring *ring);

#endif
