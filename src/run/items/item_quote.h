/* item_quote.h -- values between the words of a shell's command line.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ITEM_QUOTE_H
#define CV_ITEM_QUOTE_H
#include "base/text.h"
#include "run/items/quote_context.h"

/* Add a value so that a Bourne shell reads exactly it, whatever its bytes: as it is if all
 * of them are letters, digits or one of -_.+/, else in '...', with each ' of it as "'". This
 * is what GNU parallel writes, so that command lines can be compared. */
void cv_item_quote(struct cv_text *out, const char *bytes, size_t length);
/* The same where such quotes are open already, and stay open. */
void cv_item_quote_within(struct cv_text *out, enum cv_item_quotes quotes,
                          const char *bytes, size_t length);

#endif
