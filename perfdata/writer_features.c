// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes what follows the data: feature sections as stock perf defines them, the attributes if
 * their ids did not fit before the data, and the metadata with its trailer.
 */
#include "writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void append_u32(struct pd_blob *out, uint32_t value)
{
	pd_blob_append(out, &value, sizeof(value));
}

static void append_u64(struct pd_blob *out, uint64_t value)
{
	pd_blob_append(out, &value, sizeof(value));
}

static void append_string(struct pd_blob *out, const char *s)
{
	size_t size = strlen(s) + 1;
	size_t padded = (size + PD_STRING_ALIGN - 1) & ~(size_t)(PD_STRING_ALIGN - 1);

	append_u32(out, (uint32_t)padded);
	pd_blob_append(out, s, size);
	pd_blob_zeros(out, padded - size);
}

/* ---- information about the host ---- */

/* The value of the first line "key<blanks>: value" of a file in /proc; false: there is none. */
static bool proc_value(const char *file, const char *key, char *value, size_t max)
{
	size_t key_size = strlen(key);
	FILE *f = fopen(file, "re");
	char line[512];
	bool found = false;

	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f)) {
		char *p = line + key_size;

		if (strncmp(line, key, key_size))
			continue;
		p += strspn(p, " \t");
		if (*p++ != ':')
			continue;
		p += strspn(p, " \t");
		p[strcspn(p, "\n")] = '\0';
		snprintf(value, max, "%s", p);
		found = true;
	}
	fclose(f);
	return found;
}

static bool read_line(const char *file, char *line, size_t max)
{
	FILE *f = fopen(file, "re");
	bool ok;

	if (!f)
		return false;
	ok = fgets(line, (int)max, f) != NULL;
	fclose(f);
	if (ok)
		line[strcspn(line, "\n")] = '\0';
	return ok;
}

/* The CPU in the format of stock perf: vendor,family,model,stepping on x86, MIDR_EL1 on arm64. */
static bool host_cpuid(char *id, size_t max)
{
	char vendor[64], family[16], model[16], stepping[16];

	if (proc_value("/proc/cpuinfo", "vendor_id", vendor, sizeof(vendor)) &&
	    proc_value("/proc/cpuinfo", "cpu family", family, sizeof(family)) &&
	    proc_value("/proc/cpuinfo", "model", model, sizeof(model)) &&
	    proc_value("/proc/cpuinfo", "stepping", stepping, sizeof(stepping))) {
		snprintf(id, max, "%s,%d,%d,%X", vendor, atoi(family), atoi(model),
			 (unsigned int)atoi(stepping));
		return true;
	}
	return read_line("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", id, max);
}

/* ---- one function for each feature; if it appends nothing, the feature is not written ---- */

static void feat_nrcpus(struct pd_blob *out)
{
	append_u32(out, (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
	append_u32(out, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
}

static void feat_total_mem(struct pd_blob *out)
{
	char value[64];

	if (proc_value("/proc/meminfo", "MemTotal", value, sizeof(value)))
		append_u64(out, strtoull(value, NULL, 10)); /* kB */
}

static void feat_event_desc(struct auxtap_perfdata_writer *w, struct pd_blob *out)
{
	append_u32(out, w->nr_attrs);
	append_u32(out, w->attr_bytes);
	for (unsigned int i = 0; i < w->nr_attrs; i++) {
		struct perf_event_attr attr = w->attrs[i].attr;

		attr.size = w->attr_bytes;
		pd_blob_append(out, &attr, w->attr_bytes);
		append_u32(out, (uint32_t)(w->attrs[i].ids.size / 8));
		append_string(out, w->attrs[i].name);
		pd_blob_append(out, w->attrs[i].ids.data, w->attrs[i].ids.size);
	}
}

/* "intel_pt//u" is of PMU type attr.type, named intel_pt. */
static void feat_pmu_mappings(struct auxtap_perfdata_writer *w, struct pd_blob *out)
{
	uint32_t nr = 0;
	size_t at = out->size;

	append_u32(out, 0);
	for (unsigned int i = 0; i < w->nr_attrs; i++) {
		const char *name = w->attrs[i].name, *slash = strchr(name, '/');
		unsigned int before;
		char pmu[64];

		for (before = 0; before < i; before++)
			if (w->attrs[before].attr.type == w->attrs[i].attr.type)
				break;
		if (!slash || before < i)
			continue;
		snprintf(pmu, sizeof(pmu), "%.*s", (int)(slash - name), name);
		append_u32(out, w->attrs[i].attr.type);
		append_string(out, pmu);
		nr++;
	}
	if (!out->failed)
		memcpy(out->data + at, &nr, sizeof(nr));
	if (!nr)
		out->size = at;
}

static void feat_auxtrace(struct auxtap_perfdata_writer *w, struct pd_blob *out)
{
	append_u64(out, w->auxtraces.size / sizeof(struct pd_auxtrace_entry));
	pd_blob_append(out, w->auxtraces.data, w->auxtraces.size);
}

static void append_feature(struct auxtap_perfdata_writer *w, unsigned int number,
			   const struct utsname *host, struct pd_blob *out)
{
	char text[256];

	switch (number) {
	case PD_FEAT_BUILD_ID:
		pd_blob_append(out, w->build_ids.data, w->build_ids.size);
		break;
	case PD_FEAT_HOSTNAME:
		append_string(out, host->nodename);
		break;
	case PD_FEAT_OSRELEASE:
		append_string(out, host->release);
		break;
	case PD_FEAT_VERSION:
		append_string(out, "auxtap " AUXTAP_VERSION);
		break;
	case PD_FEAT_ARCH:
		append_string(out, host->machine);
		break;
	case PD_FEAT_NRCPUS:
		feat_nrcpus(out);
		break;
	case PD_FEAT_CPUDESC:
		if (proc_value("/proc/cpuinfo", "model name", text, sizeof(text)))
			append_string(out, text);
		break;
	case PD_FEAT_CPUID:
		if (host_cpuid(text, sizeof(text)))
			append_string(out, text);
		break;
	case PD_FEAT_TOTAL_MEM:
		feat_total_mem(out);
		break;
	case PD_FEAT_CMDLINE:
		pd_blob_append(out, w->cmdline.data, w->cmdline.size);
		break;
	case PD_FEAT_EVENT_DESC:
		feat_event_desc(w, out);
		break;
	case PD_FEAT_PMU_MAPPINGS:
		feat_pmu_mappings(w, out);
		break;
	case PD_FEAT_AUXTRACE:
		feat_auxtrace(w, out);
		break;
	case PD_FEAT_SAMPLE_TIME:
		if (w->time_first <= w->time_last) {
			append_u64(out, w->time_first);
			append_u64(out, w->time_last);
		}
		break;
	default:
		break;
	}
}

int auxtap_perfdata_writer_build_id(struct auxtap_perfdata_writer *w,
				    const struct auxtap_build_id *id)
{
	size_t name_size = strlen(id->filename) + 1;
	size_t padded = (name_size + PD_STRING_ALIGN - 1) & ~(size_t)(PD_STRING_ALIGN - 1);
	unsigned char bytes[24] = {0};
	struct perf_event_header header = {.type = AUXTAP_RECORD_BUILD_ID,
					   .misc = id->misc | PD_MISC_BUILD_ID_SIZE};
	int32_t pid = id->pid;

	if (id->size > sizeof(id->id) || !id->size || name_size > 4096)
		return -EINVAL;
	memcpy(bytes, id->id, id->size);
	bytes[20] = id->size;
	header.size = (uint16_t)(sizeof(header) + sizeof(pid) + sizeof(bytes) + padded);
	pd_blob_append(&w->build_ids, &header, sizeof(header));
	pd_blob_append(&w->build_ids, &pid, sizeof(pid));
	pd_blob_append(&w->build_ids, bytes, sizeof(bytes));
	pd_blob_append(&w->build_ids, id->filename, name_size);
	pd_blob_zeros(&w->build_ids, padded - name_size);
	return w->build_ids.failed ? -ENOMEM : 0;
}

int auxtap_perfdata_writer_cmdline(struct auxtap_perfdata_writer *w, int argc, char *const *argv)
{
	w->cmdline.size = 0;
	append_u32(&w->cmdline, (uint32_t)argc);
	for (int i = 0; i < argc; i++)
		append_string(&w->cmdline, argv[i]);
	return w->cmdline.failed ? -ENOMEM : 0;
}

static void append_metadata(struct auxtap_perfdata_writer *w, struct pd_blob *out, uint64_t at)
{
	struct pd_metadata_trailer trailer = {.size = w->metadata.size,
					      .nr = w->nr_metadata,
					      .magic = PD_METADATA_MAGIC};

	if (!w->nr_metadata)
		return;
	pd_blob_zeros(out, pd_align8(at + out->size) - (at + out->size));
	trailer.offset = at + out->size;
	pd_blob_append(out, w->metadata.data, w->metadata.size);
	pd_blob_append(out, &trailer, sizeof(trailer));
}

int pd_writer_tail(struct auxtap_perfdata_writer *w, struct pd_file_header *header,
		   struct auxtap_error *err)
{
	struct pd_section table[64];
	struct pd_blob out = {0};
	unsigned int nr = 0, i = 0, number;
	uint64_t at = w->committed;
	struct utsname host;
	int ret;

	pd_writer_header(w, header);
	if (uname(&host))
		memset(&host, 0, sizeof(host));
	/* The sections follow their table, whose size is known only at the end: move them then. */
	for (number = 1; number < 64; number++) {
		size_t before = out.size;

		append_feature(w, number, &host, &out);
		if (out.size == before)
			continue;
		table[nr].offset = before;
		table[nr++].size = out.size - before;
		header->features[0] |= 1ULL << number;
		pd_blob_zeros(&out, pd_align8(out.size) - out.size);
	}
	for (i = 0; i < nr; i++)
		table[i].offset += at + nr * sizeof(table[0]);
	at += nr * sizeof(table[0]);
	if (!pd_writer_ids_fit(w)) {
		header->attrs.offset = at + out.size;
		pd_writer_attr_section(w, &out, at + out.size);
	} else if (w->ids_dirty) {
		ret = pd_writer_front_attrs(w, err);
		if (ret)
			goto out;
	}
	append_metadata(w, &out, at);
	if (out.failed || w->auxtraces.failed || w->metadata.failed) {
		ret = auxtap_error_set(err, -ENOMEM, w->path, "no memory for the file's features");
		goto out;
	}
	ret = pd_writer_pwrite(w, table, nr * sizeof(table[0]), w->committed, err);
	if (!ret)
		ret = pd_writer_pwrite(w, out.data, out.size, at, err);
out:
	pd_blob_free(&out);
	return ret;
}
