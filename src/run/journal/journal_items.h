/* journal_items.h -- items in a journal. SPDX-License-Identifier: MIT
 *
 * An item is known by the words of its command, wherever it stands in the list, and by the
 * contents of the files that are its arguments, as they were before it began. Its place in
 * the journal is a number made from the words; of items with the same words, the first has one,
 * the second another. */
#ifndef CV_JOURNAL_ITEMS_H
#define CV_JOURNAL_ITEMS_H
#include "run/journal/journal.h"

struct cleave_items;
struct cv_item_keys;

/* *out is owned by the caller; the items are borrowed. */
enum cleave_status cv_item_keys_new(const struct cleave_items *items,
                                    struct cv_item_keys **out, struct cleave_error *err);
void cv_item_keys_free(struct cv_item_keys *keys);
/* Where it is in a journal. */
uint64_t cv_item_keys_at(const struct cv_item_keys *keys, uint64_t item);
/* What its files hold now. */
enum cleave_status cv_item_keys_content(struct cv_item_keys *keys, uint64_t item,
                                        struct cv_content_hash *out,
                                        struct cleave_error *err);
/* As cv_journal_tell, of all items that were done: their files are as they were, or are
 * there no more. */
enum cleave_status cv_journal_tell_items(struct cv_journal *journal,
                                         struct cv_source *source,
                                         struct cv_item_keys *keys,
                                         struct cleave_error *err);

#endif
