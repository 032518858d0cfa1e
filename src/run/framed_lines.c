/* framed_lines.c -- lines of an answer, passed on while it is made. SPDX-License-Identifier: MIT */
#include "run/framed_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/write_all.h"
#include "run/common/process.h"
#include "run/common/threads.h"
#include "run/slot/persistent_slot.h"

enum { PART = 64 * 1024 };

/* What comes until the pipe is closed; when nobody takes it any more it is read all the same, so
 * that the run can end. */
static void *pass_on(void *context)
{
    struct cv_framed_lines *lines = context;
    unsigned char part[CV_FRAME + PART];

    for (;;) {
        const ssize_t got = read(lines->from, part + CV_FRAME, PART);

        if (got == 0 || (got < 0 && errno != EINTR))
            return NULL;
        if (got < 0 || lines->wrong != 0)
            continue;
        cv_persistent_length_put(part, (uint64_t)got | CV_STEADY_PART);
        lines->wrong = cv_write_all(lines->out, part, CV_FRAME + (size_t)got);
    }
}

enum cleave_status cv_framed_lines_begin(struct cv_framed_lines *lines, int sink, int out,
                                         struct cleave_error *err)
{
    int ends[2], wrong;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return cv_fail(err, CLEAVE_EENGINE, "--framed: cannot make a pipe: %s",
                       strerror(errno));
    *lines = (struct cv_framed_lines){ .from = ends[0], .sink = sink, .out = out };
    wrong = dup3(ends[1], sink, O_CLOEXEC) < 0
                ? errno
                : cv_nosignal_thread_create(&lines->thread, NULL, pass_on, lines);
    cv_close(&ends[1]);
    lines->on = wrong == 0;
    if (lines->on)
        return CLEAVE_OK;
    cv_close(&lines->from);
    return cv_fail(err, CLEAVE_EENGINE, "--framed: cannot pass on lines: %s",
                   strerror(wrong));
}

int cv_framed_lines_end(struct cv_framed_lines *lines)
{
    if (!lines->on)
        return 0;
    lines->on = false;
    /* The only end that is written to goes, its number stays. */
    (void)dup3(lines->from, lines->sink, O_CLOEXEC);
    pthread_join(lines->thread, NULL);
    cv_close(&lines->from);
    return lines->wrong;
}
