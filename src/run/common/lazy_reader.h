/* lazy_reader.h -- bytes that are made as they are asked for. SPDX-License-Identifier: MIT
 *
 * What is decoded from a file, for instance: it can be read like a file, from any offset on,
 * or be given out by somebody else, at the same time as others, into a pipe. */
#ifndef CV_LAZY_READER_H
#define CV_LAZY_READER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

struct cv_writer_thread;
struct cv_writer_thread_into;

struct cv_lazy_reader {
    /* Bytes from `offset` on, at most `most`; 0 of them only at the end. For one thread. */
    enum cleave_status (*read)(struct cv_lazy_reader *well, uint64_t offset, void *out,
                               size_t max, size_t *got, struct cleave_error *err);
    /* Let bytes from `begin` on come out of a pipe (writer_thread.h) until it is stopped: those before
     * `end` are wanted, and if it is `bounded` no others come. If it is `direct` they may go into
     * the pipe of a command instead; else, and if there is none, `into` is NULL. */
    enum cleave_status (*threaded)(struct cv_lazy_reader *well, uint64_t begin,
                                   uint64_t end, const struct cv_writer_thread_into *into,
                                   struct cv_writer_thread **out,
                                   struct cleave_error *err);
    /* Of a flow without a thread (CV_FLOW_HERE), for when there is no room for one: bytes at `at`,
     * which is before its end, borrowed until it is asked again. NULL: there is no such flow. */
    enum cleave_status (*give)(struct cv_writer_thread *threaded, uint64_t at,
                               const char **bytes, size_t *length,
                               struct cleave_error *err);
    void (*stop)(struct cv_writer_thread *threaded);
    bool bounded, direct;
};

#endif
