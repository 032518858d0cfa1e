/* item_plus.h -- places of --plus that are made like the expansions of bash.
 * SPDX-License-Identifier: MIT
 *
 *     {:-TEXT}            TEXT if the item is empty or 0
 *     {:N}, {:N:M}        from byte N on; M of them
 *     {#RE}, {##RE}       without RE at its beginning: the shortest, the longest
 *     {%RE}, {%%RE}       the same at its end
 *     {/RE/TEXT}          TEXT for the first RE; {//RE/TEXT} for all, {/#RE/TEXT} for one at the
 *                         beginning, {/%RE/TEXT} at the end
 *     {^RE}, {^^RE}       capital letters: of RE at the beginning, of all
 *     {,RE}, {,,RE}       small ones
 *
 * As in GNU parallel RE is a regular expression, not a pattern of the shell. A number behind the
 * brace is that of the argument: {2%.txt}. All of them are rules that were written shorter. */
#ifndef CV_ITEM_PLUS_H
#define CV_ITEM_PLUS_H
#include "run/items/item_rule.h"

/* Where such a place ends that `text` begins with; NULL: there is none. */
const char *cv_item_plus_end(const char *text);
/* The rule of the place that `text` begins with. */
enum cleave_status cv_item_plus_init(struct cv_item_rule *out, const char *text,
                                     struct cleave_error *err);
/* Places of --plus that are not known here: refuse one that `text` begins with, and say what to
 * type. */
enum cleave_status cv_item_plus_check(const char *text, struct cleave_error *err);

#endif
