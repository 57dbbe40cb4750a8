// SPDX-License-Identifier: BSD-2-Clause
/*
 * Check the AUX transactions of a recording: audit_file FILE prints each finding as
 * "name offset text". Exit status: 0 no violation, 1 violations, 3 failure.
 */
#include <auxtap/audit.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	const struct auxtap_finding *finding;
	struct auxtap_audit *audit = NULL;
	struct auxtap_perfdata *pd = NULL;
	int ret, status = 3;

	if (argc != 2) {
		fprintf(stderr, "usage: audit_file FILE\n");
		return 2;
	}
	ret = auxtap_perfdata_open(&pd, argv[1], &err);
	if (!ret)
		ret = auxtap_audit_perfdata(&audit, pd, NULL, &err);
	if (ret) {
		fprintf(stderr, "audit_file: %s: %s\n", err.what, err.why);
		goto out;
	}
	for (size_t i = 0; (finding = auxtap_audit_get_finding(audit, i)); i++) {
		printf("%s", finding->invariant->name);
		if (finding->file_off != AUXTAP_OFFSET_NONE)
			printf(" 0x%llx", (unsigned long long)finding->file_off);
		printf(" %s\n", finding->text);
	}
	status = auxtap_audit_at_fault(audit) ? 1 : 0;
out:
	auxtap_audit_free(audit);
	auxtap_perfdata_close(pd);
	return status;
}
