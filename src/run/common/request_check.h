/* request_check.h -- which members of a request exclude each other. SPDX-License-Identifier: MIT */
#ifndef CV_REQUEST_CHECK_H
#define CV_REQUEST_CHECK_H
#include <cleave/execute.h>

enum cleave_status cv_request_check(const struct cleave_execution *request,
                                    struct cleave_error *err);

/* Whether chunks of `nworkers` workers may stay open. `framed`: a chunk has a header and an end. */
bool cv_request_may_open(const struct cleave_execution *request, uint32_t nworkers,
                         bool framed);

#endif
