/* test_http_request.c -- requests of a browser. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "cli/live/live.h"

static const struct {
    const char *text;
    enum cv_http_wish wish;
    uint64_t after;
} cases[] = {
    { "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", CV_HTTP_PAGE, UINT64_MAX },
    { "GET / HTTP/1.0\nhOST:127.0.0.1:80\n\n", CV_HTTP_PAGE, UINT64_MAX },
    { "GET /next?after=17 HTTP/1.1\r\nA: b\r\nHost: [::1]:9\r\nC: d\r\n\r\n",
      CV_HTTP_PAGE, 17 },
    { "GET /next?after=0 HTTP/1.1\r\nHost: [::1]\r\n\r\n", CV_HTTP_PAGE, 0 },
    { "GET /next?after= HTTP/1.1\r\nHost: localhost\r\n\r\n", CV_HTTP_ABSENT, 0 },
    { "GET /next?after=1x HTTP/1.1\r\nHost: localhost\r\n\r\n", CV_HTTP_ABSENT, 0 },
    { "GET /next?after=9999999999999999999 HTTP/1.1\r\nHost: localhost\r\n\r\n",
      CV_HTTP_ABSENT, 0 },
    { "GET /= HTTP/1.1\r\nHost: localhost\r\n\r\n", CV_HTTP_PAGE, UINT64_MAX },
    { "GET /=1 HTTP/1.1\r\nHost: localhost\r\n\r\n", CV_HTTP_ABSENT, 0 },
    { "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n", CV_HTTP_ABSENT, 0 },
    { "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n", CV_HTTP_METHOD, 0 },
    { "GET / HTTP/1.1\r\n\r\n", CV_HTTP_FOREIGN, 0 },
    { "GET / HTTP/1.1\r\nHost: localhost.example\r\n\r\n", CV_HTTP_FOREIGN, 0 },
    { "GET / HTTP/1.1\r\nHost: 127.0.0.1.example:80\r\n\r\n", CV_HTTP_FOREIGN, 0 },
    { "GET / HTTP/1.1\r\nHost: localhost\r\nHost: a.example\r\n\r\n", CV_HTTP_FOREIGN,
      0 },
    { "GET / HTTP/1.1\r\nHost: a.example\r\nHost: localhost\r\n\r\n", CV_HTTP_FOREIGN,
      0 },
    { "GET /\r\nHost: localhost\r\n\r\n", CV_HTTP_BAD, 0 },
    { "\r\n\r\n", CV_HTTP_BAD, 0 },
    { "GET / FTP/1.1\r\nHost: localhost\r\n\r\n", CV_HTTP_BAD, 0 },
    { "GET / HTTP/1.1\r\nHost: localhost\r\n", CV_HTTP_MORE, 0 },
    { "GET / HT", CV_HTTP_MORE, 0 },
    { "", CV_HTTP_MORE, 0 },
};

static void requests_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cv_http_request request =
            cv_http_request_read(cases[i].text, strlen(cases[i].text), "");

        if (request.wish != cases[i].wish)
            fail_msg("%s: %d", cases[i].text, (int)request.wish);
        if (request.wish == CV_HTTP_PAGE)
            assert_true(request.after == cases[i].after);
    }
}

/* For all splits, nothing is decided before it is complete. */
static void pieces_wait_for_the_rest(void **state)
{
    const char *text = cases[2].text;
    const size_t length = strlen(text);

    (void)state;
    for (size_t i = 0; i < length; i++)
        assert_int_equal(cv_http_request_read(text, i, "").wish, CV_HTTP_MORE);
    assert_int_equal(cv_http_request_read(text, length, "").wish, CV_HTTP_PAGE);
}

static void pages_need_the_key(void **state)
{
    static const struct {
        const char *target;
        enum cv_http_wish wish;
    } targets[] = {
        { "/0a1b/", CV_HTTP_PAGE },    { "/0a1b/next?after=3", CV_HTTP_PAGE },
        { "/", CV_HTTP_ABSENT },       { "/next?after=3", CV_HTTP_ABSENT },
        { "/0a1b", CV_HTTP_ABSENT },   { "/0a1c/", CV_HTTP_ABSENT },
        { "/0a1bb/", CV_HTTP_ABSENT }, { "/0A1B/", CV_HTTP_ABSENT },
        { "/0a1", CV_HTTP_ABSENT },    { "", CV_HTTP_ABSENT },
    };

    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char text[80];
        const int length =
            snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     targets[i].target);

        assert_int_equal(cv_http_request_read(text, (size_t)length, "/0a1b").wish,
                         targets[i].wish);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_read),
        cmocka_unit_test(pieces_wait_for_the_rest),
        cmocka_unit_test(pages_need_the_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
