/* http.h -- a page for browsers of this machine, the newest there is.
 * SPDX-License-Identifier: MIT
 *
 * A thread of its own speaks with them, so that one that is slow holds nobody up. A browser
 * that asks waits for a page newer than the one it has; none is made while nobody asks. */
#ifndef CV_HTTP_H
#define CV_HTTP_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CV_HTTP_URL_ROOM = 40 };

struct cv_http;

/* Listen as http_listen does. */
enum cleave_status cv_http_open(const char *text, struct cv_http **out,
                                char url[CV_HTTP_URL_ROOM], struct cleave_error *err);
/* Whether somebody waits for a page. */
bool cv_http_wanted(struct cv_http *http);
/* Give the page to who waits and who comes. `bytes` are from malloc and taken over; `last`:
 * there will be no other. */
void cv_http_show(struct cv_http *http, char *bytes, size_t length, bool last);
/* Those who are being given a page get all of it, if they read; NULL is left alone. */
void cv_http_close(struct cv_http *http);

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
