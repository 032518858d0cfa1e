/* series.h -- one input after the other, with the same workers. SPDX-License-Identifier: MIT
 *
 * Each is a run of its own, whose size is known from its beginning and which has failed or not
 * by itself; but who works, and the links to hosts, stay from one to the next. */
#ifndef CV_SERIES_H
#define CV_SERIES_H
#include <cleave/execute.h>

struct cv_poller;

/* Where inputs come from, and what is done with the outputs, which are all written to the
 * descriptor that was asked for. */
struct cv_series {
    /* Wait for the next input, by the poller, so that hosts are heard meanwhile. *out is its
     * name, of a file, borrowed until the next call; NULL: there is none. A signal that ends
     * the run makes *stopped_by other than 0. */
    enum cleave_status (*next)(void *context, struct cv_poller *poller,
                               const int *stopped_by, const char **out,
                               struct cleave_error *err);
    /* All that the input gave has been written, unless it has failed. */
    enum cleave_status (*over)(void *context, bool failed, struct cleave_error *err);
    void *context;
};

/* `asked` has no input, journal or trace. Fails as cleave_execute; that commands fail is no
 * failure of it. */
enum cleave_status cv_execute_series(const struct cleave_execution *request,
                                     const struct cv_series *series,
                                     struct cleave_error *err);

#endif
