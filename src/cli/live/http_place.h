/* http_place.h -- where a page is served. SPDX-License-Identifier: MIT */
#ifndef CV_HTTP_PLACE_H
#define CV_HTTP_PLACE_H
#include <cleave/error.h>

enum { CV_HTTP_URL_ROOM = 40 };

/* Listen at "PORT", "127.0.0.1:PORT", "localhost:PORT" or "[::1]:PORT", which only programs
 * of this machine reach; 0 is any port that is free. *out is the socket, and `url` says how
 * it is reached. */
enum cleave_status cv_http_listen(const char *text, int *out, char url[CV_HTTP_URL_ROOM],
                                  struct cleave_error *err);

#endif
