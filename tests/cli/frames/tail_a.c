// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *next;
	int value;
	char name[12];
};

int walk(struct node *n, int sum);
int last(struct node *n, int (*fn)(struct node *, int));

static struct node *push(struct node *head, int value)
{
	struct node *n = malloc(sizeof(*n));

	if (!n)
		abort();
	n->next = head;
	n->value = value;
	snprintf(n->name, sizeof(n->name), "n%d", value);
	return n;
}

int main(int argc, char **argv)
{
	struct node *head = NULL;
	int sum = 0;

	(void)argv;
	for (int i = 0; i < 5 + argc; i++)
		head = push(head, i);
	sum = walk(head, 0);
	head->next->next = (struct node *)(0x5555aaaa0000ul + (unsigned long)sum);
	sum += last(head, walk);
	printf("%d\n", sum);
	return 0;
}
