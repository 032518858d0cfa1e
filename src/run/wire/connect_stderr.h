/* connect_stderr.h -- standard error of a command that connects to a host.
 * SPDX-License-Identifier: MIT
 *
 * Until the worker starts, the text is that of ssh and of login scripts. It is kept, so that one
 * message can quote the line that matters, and sixty hosts do not print the same sixty times.
 * Lines of cleave itself and of ssh -v are passed on at once. Afterwards the commands of the
 * worker write, and the text is passed on to our standard error; if that is blocked, the commands
 * wait, not the master. A mark, a line with a random key, separates both parts: it may arrive
 * later than the frame READY. For a worker that writes no mark, READY separates them. */
#ifndef CV_CONNECT_STDERR_H
#define CV_CONNECT_STDERR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>
#include "run/common/poller.h"

enum {
    CV_BEGIN_MARK_ROOM = 48,
    CV_ASIDE_ROOM = 8192, /* bytes of text that are kept: the last ones */
};

/* The mark: a line with its newline. The key, not 0, is random, so that no login writes it. */
void cv_begin_mark(uint64_t key, char out[CV_BEGIN_MARK_ROOM]);

/* Zero before the first use. */
struct cv_connect_stderr {
    struct cv_poller *poller; /* borrowed */
    struct cv_watch watch;
    struct cv_timer timer;         /* until our standard error is tried again */
    int from;                      /* owned while `on` */
    bool on, passes;               /* `from` is read; text is passed on */
    char *kept;                    /* owned: CV_ASIDE_ROOM bytes, or NULL */
    size_t nkept, before;          /* before: of them, bytes of the first part */
    char mark[CV_BEGIN_MARK_ROOM]; /* expected; "": none */
    bool marked;                   /* the mark has arrived */
    void (*tell)(void *context);   /* set by cv_connect_stderr_ready */
    void *context;
};

/* Read `from`, which is owned from now on, even on failure. */
enum cleave_status cv_connect_stderr_open(struct cv_connect_stderr *login,
                                          struct cv_poller *poller, int from,
                                          struct cleave_error *err);
/* The worker will write the mark of this key. */
void cv_connect_stderr_expect(struct cv_connect_stderr *login, uint64_t key);
/* The worker is ready. As soon as the first part is complete, `tell` is called, which may look at
 * it; then it is dropped and the rest is passed on. Without a mark the first part ends here. */
void cv_connect_stderr_ready(struct cv_connect_stderr *login, bool marks,
                             void (*tell)(void *context), void *context);
/* Stop reading. The kept text stays. */
void cv_connect_stderr_end(struct cv_connect_stderr *login);
/* Stop reading and drop the text. */
void cv_connect_stderr_done(struct cv_connect_stderr *login);

/* The last two lines that are kept, quoted for a message. False: there are none. */
bool cv_connect_stderr_last(const struct cv_connect_stderr *login, char *out,
                            size_t size);
/* The first line with words, and the number of other lines with words. False: there are none. */
bool cv_connect_stderr_first(const struct cv_connect_stderr *login, char *out,
                             size_t size, size_t *others);
/* ssh reports that the key of the host has changed; `out` is the command that ssh suggests to
 * remove the old key, or "". */
bool cv_connect_stderr_key_changed(const struct cv_connect_stderr *login, char *out,
                                   size_t size);

#endif
