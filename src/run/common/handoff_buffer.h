/* handoff_buffer.h -- bytes from one thread to another, which lends the memory and waits by epoll. SPDX-License-Identifier: MIT
 *
 * As a pipe, but that the bytes are made where they stay: who gets them lends memory for those that come next, and
 * more of it as it takes them. */
#ifndef CV_HANDOFF_BUFFER_H
#define CV_HANDOFF_BUFFER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <cleave/error.h>

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
