/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Doubly linked lists: the subset that drivers use. */
#ifndef AUXTAP_SHIM_LINUX_LIST_H
#define AUXTAP_SHIM_LINUX_LIST_H

#include <linux/kernel.h>
#include <linux/types.h>

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list->prev = list;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *list)
{
	entry->prev = list->prev;
	entry->next = list;
	list->prev->next = entry;
	list->prev = entry;
}

#define list_entry(ptr, type, member) container_of(ptr, type, member)
#define list_for_each_entry(pos, head, member)                             \
	for ((pos) = list_entry((head)->next, __typeof__(*(pos)), member); \
	     &(pos)->member != (head);                                     \
	     (pos) = list_entry((pos)->member.next, __typeof__(*(pos)), member))

#endif
