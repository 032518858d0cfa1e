/* connect_stderr.h -- what a command that connects says on standard error. SPDX-License-Identifier: MIT
 *
 * Until its worker begins that is ssh's own, or of login scripts: it is kept, so that one line can
 * quote what matters, and sixty hosts do not say sixty times the same. What cleave says over there, and
 * what ssh -v does, is passed on line by line all the same. From then on it is of the commands that run
 * there, and passed on as it comes, as if they had our standard error; while nobody takes that, they
 * wait, and we do not. Where the worker begins says a mark (connect_stderr.h), which may come behind the
 * frame that says it is ready; of a worker that writes none, that frame does. */
#ifndef CV_CONNECT_STDERR_H
#define CV_CONNECT_STDERR_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "run/common/poller.h"

enum { CV_BEGIN_MARK_ROOM = 48 };

/* Never 0, which asks for no mark. */
uint64_t cv_begin_mark_key(void);
/* The line, with its end. */
void cv_begin_mark(uint64_t key, char out[CV_BEGIN_MARK_ROOM]);

enum {
    CV_ASIDE_ROOM = 8192
}; /* so much is kept, the last of it                        */

/* Zero before the first use. */
struct cv_connect_stderr {
    struct cv_poller *poller; /* borrowed                                              */
    struct cv_watch watch;
    struct cv_timer timer; /* until it is tried again to pass something on              */
    int from;              /* owned while `on`                                          */
    bool on, passes;
    char *kept; /* owned: CV_ASIDE_ROOM bytes; NULL: nothing was                        */
    size_t nkept;
    char mark
        [CV_BEGIN_MARK_ROOM]; /* what its worker begins with; "": it need not           */
    bool marked;              /* that has come                                          */
    size_t
        before; /* of what is kept: up to the mark, or by what came before it was ready    */
    void (*tell)(
        void *context); /* of one that is ready, until it passes; NULL               */
    void *context;
};

/* Hear what comes from `from`, which is taken in any case, instead of what was heard before. */
enum cleave_status cv_connect_stderr_open(struct cv_connect_stderr *login_stderr,
                                          struct cv_poller *poller, int from,
                                          struct cleave_error *err);
/* Its worker will begin with the mark of that key. */
void cv_connect_stderr_expect(struct cv_connect_stderr *login_stderr, uint64_t key);
/* It is ready. When all that was said before it began has come, now or later, `tell` is called, which
 * may look at that; then it is forgotten, and all else is passed on. If no mark comes, what was there by
 * now was said before. */
void cv_connect_stderr_ready(struct cv_connect_stderr *login_stderr, bool marks,
                             void (*tell)(void *context), void *context);
/* Hear no more: who says it has gone. What was kept stays. */
void cv_connect_stderr_end(struct cv_connect_stderr *login_stderr);
/* The same, and nothing stays. */
void cv_connect_stderr_done(struct cv_connect_stderr *login_stderr);

/* --- what was kept (connect_stderr.c) --------------------------------------------------------- */

/* The last two lines, which say why it has failed: false if there are none. What does not show is
 * written as in messages. */
bool cv_connect_stderr_last(const struct cv_connect_stderr *login_stderr, char *out,
                            size_t size);
/* The first line that has words, and how many others there are. */
bool cv_connect_stderr_first(const struct cv_connect_stderr *login_stderr, char *out,
                             size_t size, size_t *others);
/* Whether ssh has seen another key than it knows of that host; `out` is how it forgets the old one, as it
 * says itself, or empty. */
bool cv_connect_stderr_key_changed(const struct cv_connect_stderr *login_stderr,
                                   char *out, size_t size);

#endif
