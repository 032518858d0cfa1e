/* exit_status.h -- what `cleave` answers to the shell. SPDX-License-Identifier: MIT
 *
 * There is one table: the help of every command and its man page print it, and a test
 * compares the documents with it. */
#ifndef CV_EXIT_STATUS_H
#define CV_EXIT_STATUS_H

/* X(name, status, verb, meaning), in the order of the statuses; `verb` is the only one that
 * answers so, or NULL. */
#define CV_EXIT_MAP(X)                                                                  \
    X(DONE, 0, NULL, "done")                                                            \
    X(FAILED, 1, NULL, "the work failed, a check said no, or a result was not written") \
    X(USAGE, 2, NULL, "bad input or usage")                                             \
    X(ENGINE, 3, NULL,                                                                  \
      "what should do the work is missing or failed: an engine, a host")                \
    X(LATER, 75, "run",                                                                 \
      "stopped by SIGUSR1 when the journal had got further: --resume goes on")          \
    X(LACKS, 113, "worker",                                                             \
      "worker --hash: this program is not the one that was asked for")                  \
    X(INTERRUPTED, 130, "run", "stopped by SIGINT; a journal holds what was finished")  \
    X(UNREAD, 141, NULL, "nobody read the output any more (SIGPIPE)")                   \
    X(TERMINATED, 143, "run", "stopped by SIGTERM; a journal holds what was finished")

enum cv_exit {
#define X(name, status, verb, meaning) CV_EXIT_##name = (status),
    CV_EXIT_MAP(X)
#undef X
};

/* A command killed by signal S is reported by shells as 128 + S; so are we. */
enum { CV_EXIT_BY_SIGNAL = 128 };

/* The same for those who print it. Ends with a NULL name; the row before stands for all
 * signals that have none of their own. */
struct cv_fact {
    const char *name, *meaning;
    const char *verb; /* the only one it is true of; NULL: all are */
};
extern const struct cv_fact cv_exit_facts[];

#endif
