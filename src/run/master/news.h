/* news.h -- what the driver is to be told. SPDX-License-Identifier: MIT
 *
 * Whoever notices something adds it here, and the driver asks for it one by one: nobody
 * calls up. */
#ifndef CV_NEWS_H
#define CV_NEWS_H
#include <stdbool.h>
#include <stddef.h>
#include <cleave/policy.h>

struct cv_news {
    struct cleave_event *events; /* owned: those from `first` on are to be told        */
    size_t first, count, room;
    double began_s; /* of the clock of the poller: time 0 of events                    */
    bool broken;
    struct cleave_error err; /* when broken                                            */
};

void cv_news_done(struct cv_news *news);

/* The time is set here, and so is the start where there is none. */
void cv_news_tell(struct cv_news *news, struct cleave_event event);
/* What was told last is not so, and the driver has not heard it yet. */
void cv_news_untell(struct cv_news *news);
/* Something that makes it impossible to go on; the first one counts. */
void cv_news_broke(struct cv_news *news, const struct cleave_error *err);
/* The next one; false: there is none. */
bool cv_news_next(struct cv_news *news, struct cleave_event *out);
/* Fails once something broke. */
enum cleave_status cv_news_status(const struct cv_news *news, struct cleave_error *err);

#endif
