/* framed_lines.h -- lines of an answer, passed on while it is made. SPDX-License-Identifier: MIT
 *
 * The run writes into a pipe, and a thread puts what comes before whoever asked, in parts
 * (run/slot/persistent_length.h). The rest of the answer, without bytes, says that it is over. */
#ifndef CV_FRAMED_LINES_H
#define CV_FRAMED_LINES_H
#include <pthread.h>
#include <stdbool.h>
#include <cleave/error.h>

/* All zero: none is under way. */
struct cv_framed_lines {
    bool on;
    pthread_t thread;
    int from;  /* owned: the end of the pipe that is read          */
    int sink;  /* borrowed: what the run writes to                 */
    int out;   /* borrowed: where parts go                         */
    int wrong; /* the thread's: an errno, 0 as long as all is well */
};

/* Let `sink`, a descriptor that is open, be such a pipe until the answer is over. */
enum cleave_status cv_framed_lines_begin(struct cv_framed_lines *lines, int sink, int out,
                                         struct cleave_error *err);
/* All has been written to the sink: wait until it has been passed on. 0 or an errno. */
int cv_framed_lines_end(struct cv_framed_lines *lines);

#endif
