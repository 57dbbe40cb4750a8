// SPDX-License-Identifier: BSD-2-Clause
/* The script for zsh: it calls _arguments for each command. */
#include "cli.h"
#include "completion.h"

#include <stdio.h>
#include <string.h>

/* Prints ":VALUE:ACTION" for _arguments. */
static void print_action(const char *value)
{
	switch (completion_kind(value)) {
	case COMPLETE_FILE:
		fputs(":file:_files", stdout);
		break;
	case COMPLETE_DIR:
		fputs(":directory:_files -/", stdout);
		break;
	case COMPLETE_COMMAND:
		fputs(":::command:_normal", stdout);
		break;
	case COMPLETE_WORDS:
		fputs(":value:(", stdout);
		for (; *value; value++)
			putchar(*value == '|' ? ' ' : *value);
		putchar(')');
		break;
	default:
		printf(":%s: ", value);
	}
}

static void print_row(const struct option_row *row)
{
	bool optional = row->value && *row->value == '[';

	/* an optional value must be in the same word as the option */
	if (completion_has_letter(row)) {
		printf(" \\\n\t\t'*-%c%s", row->id, optional ? "-" : row->value ? "+" : "");
		if (row->value)
			print_action(optional ? "size" : row->value);
		putchar('\'');
	}
	if (row->name) {
		printf(" \\\n\t\t'*--%s%s", row->name, optional ? "=-" : row->value ? "=" : "");
		if (row->value)
			print_action(optional ? "size" : row->value);
		putchar('\'');
	}
}

static void print_arguments(const struct cli_command *c)
{
	printf("_arguments -s -S");
	for (const struct option_row *const *t = c->options; t && *t; t++)
		for (const struct option_row *row = *t; row->id; row++)
			print_row(row);
	if (!c->options)
		fputs(" \\\n\t\t'-h' '--help'", stdout);
	if (c->argument) {
		printf(" \\\n\t\t'%s",
		       completion_kind(c->argument) == COMPLETE_COMMAND ? "*" : "1");
		print_action(c->argument);
		putchar('\'');
	}
	puts(" ;;");
}

/* Escapes text inside single quotes; a colon would separate the name from its description. */
static void print_quoted(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else if (*text == ':')
			fputs("\\:", stdout);
		else
			putchar(*text);
	}
}

static void print_list(const struct cli_command *list)
{
	fputs("local -a names=(", stdout);
	for (; list->name; list++) {
		printf(" '%s%s", list->name, list->help ? ":" : "");
		print_quoted(list->help ? list->help : "");
		putchar('\'');
	}
	puts(" )");
}

static void print_function(const char *function, const struct cli_command *list, const char *what)
{
	printf("%s()\n{\n\tlocal curcontext=$curcontext state line\n\t", function);
	print_list(list);
	printf("\t_arguments -C '1: :->name' '*:: :->rest' %s\n",
	       list == cli_commands ? "'-h' '--help' '-V' '--version'" : "'-h' '--help'");
	printf("\tcase $state in\n\tname) _describe '%s' names; return ;;\n\trest) ;;\n"
	       "\t*) return ;;\n\tesac\n\tcase $line[1] in\n",
	       what);
	for (const struct cli_command *c = list; c->name; c++) {
		printf("\t%s) ", c->name);
		if (c->subcommands)
			printf("_auxtap_%s ;;\n", c->name);
		else
			print_arguments(c);
	}
	puts("\tesac\n}");
}

void completion_zsh(void)
{
	char name[64];

	puts("#compdef auxtap\n"
	     "# zsh completion for auxtap " AUXTAP_VERSION ": source <(auxtap completion zsh)");
	for (const struct cli_command *c = cli_commands; c->name; c++)
		if (c->subcommands) {
			snprintf(name, sizeof(name), "_auxtap_%s", c->name);
			print_function(name, c->subcommands, "subcommand");
		}
	print_function("_auxtap", cli_commands, "command");
	/* if the script is a file in fpath, it is the body of the function */
	puts("if [ \"$funcstack[1]\" = _auxtap ]; then\n\t_auxtap \"$@\"\nelse\n"
	     "\tcompdef _auxtap auxtap\nfi");
}
