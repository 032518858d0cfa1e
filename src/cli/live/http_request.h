/* http_request.h -- what a browser asks for. SPDX-License-Identifier: MIT */
#ifndef CV_HTTP_REQUEST_H
#define CV_HTTP_REQUEST_H
#include <stddef.h>
#include <stdint.h>

enum cv_http_wish {
    CV_HTTP_MORE,    /* the request is not whole yet                                  */
    CV_HTTP_PAGE,    /* the page after number `after`                                 */
    CV_HTTP_BAD,     /* no request of HTTP                                            */
    CV_HTTP_FOREIGN, /* for a machine of another name: a page from elsewhere asks     */
    CV_HTTP_ABSENT,  /* for what is not there                                         */
    CV_HTTP_METHOD,  /* to do something else than to get it                           */
};

struct cv_http_request {
    enum cv_http_wish wish;
    uint64_t after; /* UINT64_MAX: whichever is the newest */
};

/* Read a request of which `length` bytes have come. */
struct cv_http_request cv_http_request_read(const char *text, size_t length);

#endif
