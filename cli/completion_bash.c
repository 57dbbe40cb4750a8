// SPDX-License-Identifier: BSD-2-Clause
/* The script for bash: the proposals as 'case' tables, and one function that reads them. */
#include "cli.h"
#include "completion.h"

#include <stdio.h>

/* "a|b" as "a b" */
static void print_words(const char *words)
{
	for (; *words; words++)
		putchar(*words == '|' ? ' ' : *words);
}

static void print_kind(const char *value)
{
	switch (completion_kind(value)) {
	case COMPLETE_FILE:
		fputs("kind=file", stdout);
		break;
	case COMPLETE_DIR:
		fputs("kind=dir", stdout);
		break;
	case COMPLETE_COMMAND:
		fputs("kind=command", stdout);
		break;
	case COMPLETE_WORDS:
		fputs("kind='", stdout);
		print_words(value);
		putchar('\'');
		break;
	default:
		fputs("kind=none", stdout);
	}
}

static void print_option(const struct option_row *row)
{
	if (completion_has_letter(row))
		printf(" -%c", row->id);
	if (row->name)
		printf(" --%s", row->name);
}

/* Prints lines of a 'case' over "COMMAND OPTION", with the kind of the option's value. */
static void print_values(const char *command, const struct cli_command *c)
{
	for (const struct option_row *const *t = c->options; t && *t; t++)
		for (const struct option_row *row = *t; row->id; row++) {
			const char *before = "\t";

			if (!row->value || *row->value == '[')
				continue;
			if (completion_has_letter(row)) {
				printf("%s'%s -%c'", before, command, row->id);
				before = " | ";
			}
			if (row->name)
				printf("%s'%s --%s'", before, command, row->name);
			fputs(") ", stdout);
			print_kind(row->value);
			puts(" ;;");
		}
}

static void each_command(void (*print)(const char *command, const struct cli_command *c))
{
	char name[64];

	for (const struct cli_command *c = cli_commands; c->name; c++) {
		print(c->name, c);
		for (const struct cli_command *s = c->subcommands; s && s->name; s++) {
			snprintf(name, sizeof(name), "%s %s", c->name, s->name);
			print(name, s);
		}
	}
}

static void print_options(const char *command, const struct cli_command *c)
{
	printf("\t'%s') options='", command);
	for (const struct option_row *const *t = c->options; t && *t; t++)
		for (const struct option_row *row = *t; row->id; row++)
			print_option(row);
	if (!c->options)
		fputs(" -h --help", stdout);
	fputs("'; ", stdout);
	if (c->subcommands) {
		fputs("kind='", stdout);
		for (const struct cli_command *s = c->subcommands; s->name; s++)
			printf("%s%s", s == c->subcommands ? "" : " ", s->name);
		puts("' ;;");
		return;
	}
	print_kind(c->argument);
	puts(" ;;");
}

static const char complete_function[] =
	"# What is before the cursor, with --name=value as the two words that it means.\n"
	"_auxtap_words()\n"
	"{\n"
	"\tlocal i word\n"
	"\twords=()\n"
	"\tfor ((i = 1; i <= COMP_CWORD; i++)); do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	"\t\tif [[ $word == '=' && ${words[-1]-} == --* ]]; then\n"
	"\t\t\t((i == COMP_CWORD)) && words+=('')\n"
	"\t\telse\n"
	"\t\t\twords+=(\"$word\")\n"
	"\t\tfi\n"
	"\tdone\n"
	"}\n"
	"_auxtap()\n"
	"{\n"
	"\tlocal words options kind command at nr current value=\n"
	"\t_auxtap_words\n"
	"\tnr=$((${#words[@]} - 1)) current=${words[-1]} at=1\n"
	"\tcommand=${words[0]}\n"
	"\tCOMPREPLY=()\n"
	"\tif ((nr == 0)); then\n"
	"\t\tkind=$_auxtap_commands options='-h --help -V --version'\n"
	"\telse\n"
	"\t\tif [[ \" $_auxtap_with_subcommands \" == *\" $command \"* ]] && ((nr > 1)); then\n"
	"\t\t\tcommand=\"$command ${words[1]}\" at=2\n"
	"\t\tfi\n"
	"\t\toptions= kind=none\n"
	"\t\t_auxtap_options \"$command\"\n"
	"\t\tfor (( ; at < nr; at++)); do\n"
	"\t\t\tvalue=${words[at]}\n"
	"\t\t\tif [[ $value == -- || $value != -* ]] && [[ $kind == command ]]; then\n"
	"\t\t\t\t[[ $value == -- && $((at + 1)) == \"$nr\" ]] || kind=file\n"
	"\t\t\t\toptions= value=\n"
	"\t\t\t\tbreak\n"
	"\t\t\tfi\n"
	"\t\t\tif _auxtap_value \"$command $value\" dry; then\n"
	"\t\t\t\t((at + 1 == nr)) && break\n"
	"\t\t\t\t((at++))\n"
	"\t\t\tfi\n"
	"\t\t\tvalue=\n"
	"\t\tdone\n"
	"\t\t[[ -z $value ]] || { options= && _auxtap_value \"$command $value\"; }\n"
	"\tfi\n"
	"\tif [[ $current == -* && -n $options ]]; then\n"
	"\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tcase $kind in\n"
	"\tnone) ;;\n"
	"\tfile) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$current\") ;;\n"
	"\tdir) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$current\") ;;\n"
	"\tcommand) compopt -o filenames 2>/dev/null\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -c -f -- \"$current\" | sort -u) ;;\n"
	"\t*) COMPREPLY=($(compgen -W \"$kind\" -- \"$current\")) ;;\n"
	"\tesac\n"
	"}\n"
	"complete -F _auxtap auxtap\n";

void completion_bash(void)
{
	puts("# bash completion for auxtap " AUXTAP_VERSION ": source <(auxtap completion bash)");
	fputs("_auxtap_commands='", stdout);
	for (const struct cli_command *c = cli_commands; c->name; c++)
		printf("%s%s", c == cli_commands ? "" : " ", c->name);
	fputs("'\n_auxtap_with_subcommands='", stdout);
	for (const struct cli_command *c = cli_commands; c->name; c++)
		if (c->subcommands)
			printf("%s ", c->name);
	puts("'\n_auxtap_options()\n{\n\tcase $1 in");
	each_command(print_options);
	/* a second argument: return only whether the option has a value */
	puts("\tesac\n}\n_auxtap_value()\n{\n\tlocal before=$kind\n\tcase $1 in");
	each_command(print_values);
	puts("\t*) return 1 ;;\n\tesac\n\t[[ -z ${2-} ]] || kind=$before\n\treturn 0\n}");
	fputs(complete_function, stdout);
}
