// SPDX-License-Identifier: BSD-2-Clause
/* See cs_snapshot.h. */
#include "cs_snapshot.h"
#include "cs_ini.h"
#include "cs_tree.h"
#include "util/vector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_DEVICES 1024
#define MAX_DUMPS   65536

#define TRCIDR1_DEFAULT	   0x4100f403 /* ETMv4.0 */
#define TRCDEVARCH_DEFAULT 0x47705a13 /* ETE of version 1.0 */
#define STM_FEAT3R_DEFAULT 0x10000    /* 65536 stimulus ports */
#define STM_DEVID_DEFAULT  0xff	      /* 255 masters */

struct device {
	struct cs_ini ini;
	const char *name, *class, *type;
};

struct reading {
	struct cs_snapshot *ss;
	struct device *devices;
	size_t nr;
	struct auxtap_error *err;
};

bool cs_snapshot_is_directory(const char *dir)
{
	char path[4352];

	snprintf(path, sizeof(path), "%s/snapshot.ini", dir);
	return !access(path, F_OK);
}

static int bad_file(struct reading *r, const char *what, const char *why)
{
	return auxtap_error_set(r->err, -EBADMSG, what, "%s", why);
}

static int no_memory(struct reading *r)
{
	return auxtap_error_set(r->err, -ENOMEM, r->ss->dir, "out of memory");
}

/*
 * Whether no component of the path after its first 'skip' bytes, those of the directory, is a
 * symbolic link, and the last one is a regular file. A missing component is reported by open().
 */
static bool has_no_links(char *path, size_t skip)
{
	struct stat st;
	bool plain = true;

	for (char *at = path + skip; plain && *at; at++) {
		char *end = strchrnul(at, '/'), was = *end;

		*end = '\0';
		plain = lstat(path, &st) || (was ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode));
		*end = was;
		if (!was)
			break;
		at = end;
	}
	return plain;
}

/* The path of a file that an .ini file names; NULL and the error if it is outside the directory. */
static char *path_in(struct reading *r, const char *name)
{
	const char *at = name;
	char *path;

	while (*at) {
		size_t len = strcspn(at, "/\\");

		if ((!len && at == name) || (len == 2 && !memcmp(at, "..", 2))) {
			auxtap_error_set(r->err, -EBADMSG, name,
					 "a snapshot may name only files in its own directory");
			return NULL;
		}
		at += len + (at[len] != '\0');
	}
	if (!*name || asprintf(&path, "%s/%s", r->ss->dir, name) < 0) {
		auxtap_error_set(r->err, *name ? -ENOMEM : -EBADMSG, r->ss->dir, "%s",
				 *name ? "out of memory" : "contains an empty file name");
		return NULL;
	}
	if (!has_no_links(path, strlen(r->ss->dir) + 1)) {
		auxtap_error_set(r->err, -EBADMSG, path,
				 "a snapshot holds regular files only; a link is not followed");
		free(path);
		return NULL;
	}
	return path;
}

static int read_ini(struct reading *r, struct cs_ini *ini, const char *name)
{
	char *path = path_in(r, name);
	int ret = path ? cs_ini_read(ini, path, r->err) : r->err ? r->err->code : -EBADMSG;

	free(path);
	return ret;
}

/* ---- architecture of a core ---- */

/* The names are Arm's; a core not listed here decodes as the newest architecture. */
static void set_core(struct cs_unit *unit, const char *type)
{
	static const char *const v7[] = {"A5", "A7", "A8", "A9", "A12", "A15", "A17", "R4",
					 "R5", "R7", "R8", "M0", "M0+", "M3",  "M4",  "M7"};
	static const char *const v8[] = {"A32", "A35", "A53", "A57", "A72", "A73",
					 "R52", "M23", "M33", "M55", "M85"};
	static const char *const v8r3[] = {"A55", "A65", "A75", "A76", "A77", "A78"};
	unsigned int major = 0, minor = 0;
	const char *name = type + 7, *dash = strrchr(type, '-');
	enum cs_arch arch = CS_ARCH_AA64;
	char letter = 'A';

	if (!strncmp(type, "Cortex-", 7)) {
		letter = *name;
		for (size_t i = 0; i < sizeof(v7) / sizeof(v7[0]); i++)
			if (!strcmp(name, v7[i]))
				arch = CS_ARCH_V7;
		for (size_t i = 0; i < sizeof(v8) / sizeof(v8[0]); i++)
			if (!strcmp(name, v8[i]))
				arch = CS_ARCH_V8;
		for (size_t i = 0; i < sizeof(v8r3) / sizeof(v8r3[0]); i++)
			if (!strcmp(name, v8r3[i]))
				arch = CS_ARCH_V8R3;
	} else if (sscanf(type, "ARMv%1u.%1u", &major, &minor) >= 1) {
		arch = major == 7		? CS_ARCH_V7 :
		       major == 8 && minor < 3	? CS_ARCH_V8 :
		       major == 8 && minor == 3 ? CS_ARCH_V8R3 :
						  CS_ARCH_AA64;
		letter = dash ? dash[1] : 'A';
	} else if (!strncasecmp(type, "ARM-AA64-", 9)) {
		letter = type[9];
	}
	unit->arch = arch;
	unit->profile = letter == 'R' ? CS_PROFILE_R : letter == 'M' ? CS_PROFILE_M : CS_PROFILE_A;
}

/* ---- registers ---- */

/* Whether key is name, alone or with a suffix: "TRCIDR0", "TRCIDR0(size:32)", "TRCIDR0(0x78)". */
static bool is_register(const char *key, const char *name)
{
	size_t len = strcspn(key, "( \t");

	return strlen(name) == len && !strncasecmp(key, name, len);
}

struct register_field {
	const char *name;
	uint32_t *value;
	bool required;
	uint32_t fallback;
};

static int get_registers(struct cs_snapshot_unit *u, const struct device *dev,
			 const struct register_field *fields, size_t nr)
{
	for (size_t w = 0; w < nr; w++) {
		const char *text = NULL;
		uint64_t value = fields[w].fallback;

		for (size_t i = 0; i < dev->ini.nr && !text; i++) {
			const struct cs_ini_entry *e = &dev->ini.entries[i];

			if (e->key && !strcasecmp(e->section, "regs") &&
			    is_register(e->key, fields[w].name))
				text = e->value;
		}
		if (text && !cs_ini_number(text, &value)) {
			snprintf(u->why, sizeof(u->why), "its register %s is not a number",
				 fields[w].name);
			return -1;
		}
		if (!text && fields[w].required) {
			snprintf(u->why, sizeof(u->why), "its register %s is missing",
				 fields[w].name);
			return -1;
		}
		*fields[w].value = (uint32_t)value;
	}
	return 0;
}

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static void read_etmv4(struct cs_snapshot_unit *u, const struct device *dev)
{
	struct cs_regs *c = &u->unit.regs;
	const struct register_field regs[] = {
		{"TRCCONFIGR", &c->configr, true, 0}, {"TRCTRACEIDR", &c->traceidr, true, 0},
		{"TRCIDR0", &c->idr0, true, 0},	      {"TRCIDR1", &c->idr1, false, TRCIDR1_DEFAULT},
		{"TRCIDR2", &c->idr2, true, 0},	      {"TRCIDR8", &c->idr8, false, 0},
		{"TRCIDR9", &c->idr9, false, 0},      {"TRCIDR10", &c->idr10, false, 0},
		{"TRCIDR11", &c->idr11, false, 0},    {"TRCIDR12", &c->idr12, false, 0},
		{"TRCIDR13", &c->idr13, false, 0},
	};

	if (!get_registers(u, dev, regs, NR(regs)))
		u->unit.id = c->traceidr & 0x7f;
}

static void read_ete(struct cs_snapshot_unit *u, const struct device *dev)
{
	struct cs_regs *c = &u->unit.regs;
	const struct register_field regs[] = {
		{"TRCCONFIGR", &c->configr, true, 0},
		{"TRCTRACEIDR", &c->traceidr, true, 0},
		{"TRCIDR0", &c->idr0, true, 0},
		{"TRCIDR1", &c->idr1, false, TRCIDR1_DEFAULT},
		{"TRCIDR2", &c->idr2, true, 0},
		{"TRCIDR8", &c->idr8, false, 0},
		{"TRCDEVARCH", &c->devarch, false, TRCDEVARCH_DEFAULT},
	};

	if (!get_registers(u, dev, regs, NR(regs)))
		u->unit.id = c->traceidr & 0x7f;
}

/* PTM has the same registers. */
static void read_etmv3(struct cs_snapshot_unit *u, const struct device *dev)
{
	struct cs_regs *c = &u->unit.regs;
	const struct register_field regs[] = {
		{"ETMIDR", &c->idr, true, 0},
		{"ETMCR", &c->ctrl, true, 0},
		{"ETMCCER", &c->ccer, true, 0},
		{"ETMTRACEIDR", &c->traceidr, true, 0},
	};

	if (!get_registers(u, dev, regs, NR(regs)))
		u->unit.id = c->traceidr & 0x7f;
}

static void read_stm(struct cs_snapshot_unit *u, const struct device *dev)
{
	struct cs_regs *c = &u->unit.regs;
	const struct register_field regs[] = {
		{"STMTCSR", &c->tcr, true, 0},
		{"STMFEAT3R", &c->feat3r, false, STM_FEAT3R_DEFAULT},
		{"STMDEVID", &c->devid, false, STM_DEVID_DEFAULT},
	};

	if (!get_registers(u, dev, regs, NR(regs)))
		u->unit.id = c->tcr >> 16 & 0x7f;
}

static void read_itm(struct cs_snapshot_unit *u, const struct device *dev)
{
	struct cs_regs *c = &u->unit.regs;
	const struct register_field regs[] = {{"ITMTCR", &c->tcr, true, 0}};

	if (!get_registers(u, dev, regs, NR(regs)))
		u->unit.id = c->tcr >> 16 & 0x7f;
}

static void read_unit(struct cs_snapshot_unit *u, const struct device *dev)
{
	static const struct {
		const char *type;
		enum cs_protocol protocol;
		void (*read)(struct cs_snapshot_unit *u, const struct device *dev);
	} types[] = {
		{"ETM4", CS_PROTOCOL_ETMV4, read_etmv4}, {"ETE", CS_PROTOCOL_ETE, read_ete},
		{"ETM3", CS_PROTOCOL_ETMV3, read_etmv3}, {"PTM1", CS_PROTOCOL_PTM, read_etmv3},
		{"PFT1", CS_PROTOCOL_PTM, read_etmv3},	 {"STM", CS_PROTOCOL_STM, read_stm},
		{"ITM", CS_PROTOCOL_ITM, read_itm},
	};
	size_t len = strcspn(dev->type, "."); /* "ETM4.2" */

	u->unit.cpu = -1;
	u->unit.id = CS_ID_NONE;
	u->unit.ts_source = UINT64_MAX;
	snprintf(u->why, sizeof(u->why), "its protocol is not known");
	for (size_t i = 0; i < NR(types); i++) {
		if (strlen(types[i].type) != len || strncasecmp(dev->type, types[i].type, len))
			continue;
		u->why[0] = '\0';
		u->unit.protocol = types[i].protocol;
		if (cs_tree_decodes(types[i].protocol))
			types[i].read(u, dev);
		else
			snprintf(u->why, sizeof(u->why),
				 "this version of OpenCSD does not decode %s", types[i].type);
	}
}

/* ---- devices ---- */

static int read_devices(struct reading *r, const struct cs_ini *top)
{
	size_t nr = 0;

	for (size_t i = 0; i < top->nr; i++)
		nr += top->entries[i].key && !strcasecmp(top->entries[i].section, "device_list");
	if (nr > MAX_DEVICES)
		return bad_file(r, r->ss->dir, "lists too many devices");
	r->devices = calloc(nr ? nr : 1, sizeof(*r->devices));
	if (!r->devices)
		return no_memory(r);
	for (size_t i = 0; i < top->nr; i++) {
		const struct cs_ini_entry *e = &top->entries[i];
		struct device *dev = &r->devices[r->nr];
		int ret;

		if (!e->key || strcasecmp(e->section, "device_list"))
			continue;
		ret = read_ini(r, &dev->ini, e->value);
		if (ret)
			return ret;
		r->nr++;
		dev->name = cs_ini_get(&dev->ini, "device", "name");
		dev->class = cs_ini_get(&dev->ini, "device", "class");
		dev->type = cs_ini_get(&dev->ini, "device", "type");
		if (!dev->name || !dev->class || !dev->type)
			return bad_file(r, e->value, "[device] lacks name, class or type");
	}
	return 0;
}

static size_t find_device(const struct reading *r, const char *name)
{
	for (size_t i = 0; i < r->nr; i++)
		if (!strcmp(r->devices[i].name, name))
			return i;
	return SIZE_MAX;
}

/* ---- memory ---- */

static bool space_of(const char *text, uint32_t *space)
{
	static const struct {
		const char *name;
		uint32_t space;
	} names[] = {
		{"EL1S", CS_SPACE_EL1S}, {"EL1N", CS_SPACE_EL1N}, {"EL1NS", CS_SPACE_EL1N},
		{"EL2", CS_SPACE_EL2},	 {"EL2N", CS_SPACE_EL2},  {"EL2S", CS_SPACE_EL2S},
		{"EL3", CS_SPACE_EL3},	 {"S", CS_SPACE_S},	  {"N", CS_SPACE_N},
		{"NS", CS_SPACE_N},	 {"H", CS_SPACE_EL2},	  {"P", CS_SPACE_ANY},
		{"ANY", CS_SPACE_ANY},
	};

	for (size_t i = 0; i < NR(names); i++)
		if (!strcasecmp(text, names[i].name)) {
			*space = names[i].space;
			return true;
		}
	return false;
}

static int add_dump(struct reading *r, size_t core, const struct cs_ini *ini, const char *section)
{
	const char *file = cs_ini_get(ini, section, "file"), *text;
	struct cs_snapshot *ss = r->ss;
	struct cs_snapshot_dump dump = {.core = core, .len = UINT64_MAX, .space = CS_SPACE_ANY};

	text = cs_ini_get(ini, section, "address");
	if (!file || !text || !cs_ini_number(text, &dump.addr))
		return bad_file(r, section, "a dump of memory lacks its file or its address");
	text = cs_ini_get(ini, section, "offset");
	if (text && !cs_ini_number(text, &dump.off))
		return bad_file(r, section, "its offset is not a number");
	text = cs_ini_get(ini, section, "length");
	if (text && !cs_ini_number(text, &dump.len))
		return bad_file(r, section, "its length is not a number");
	text = cs_ini_get(ini, section, "space");
	if (text && !space_of(text, &dump.space))
		return bad_file(r, section, "its memory space is not known");
	if (ss->nr_dumps == MAX_DUMPS)
		return bad_file(r, section, "there are too many dumps of memory");
	if (vector_grow(ss->dumps, ss->nr_dumps, ss->max_dumps))
		return no_memory(r);
	dump.path = path_in(r, file);
	if (!dump.path)
		return -EBADMSG;
	ss->dumps[ss->nr_dumps++] = dump;
	return 0;
}

static int read_dumps(struct reading *r, size_t core)
{
	const struct cs_ini *ini = &r->devices[core].ini;
	int ret = 0;

	for (size_t i = 0; !ret && i < ini->nr; i++)
		if (!ini->entries[i].key && !strncasecmp(ini->entries[i].section, "dump", 4))
			ret = add_dump(r, core, ini, ini->entries[i].section);
	return ret;
}

/* ---- the trace ---- */

static bool format_of(const char *text, enum cs_format *format)
{
	static const char *const names[] = {[CS_FORMAT_SOURCE] = "source_data",
					    [CS_FORMAT_FRAMES] = "coresight",
					    [CS_FORMAT_DSTREAM] = "dstream_coresight",
					    [CS_FORMAT_FSYNC] = "tpiu",
					    [CS_FORMAT_HSYNC] = "tpiu_hsync"};

	for (size_t i = 0; i < NR(names); i++)
		if (!strcasecmp(text, names[i])) {
			*format = (enum cs_format)i;
			return true;
		}
	return false;
}

static int add_buffer(struct reading *r, const struct cs_ini *ini, const char *section)
{
	const char *name = cs_ini_get(ini, section, "name"),
		   *file = cs_ini_get(ini, section, "file");
	const char *format = cs_ini_get(ini, section, "format");
	struct cs_snapshot_buffer buffer = {.format = CS_FORMAT_FRAMES};

	if (!name || !file)
		return bad_file(r, section, "a trace buffer lacks its name or its file");
	if (format && !format_of(format, &buffer.format))
		return bad_file(
			r, section,
			"unsupported format of a trace buffer; supported: coresight, source_data, "
			"dstream_coresight, tpiu, tpiu_hsync");
	if (r->ss->nr_buffers == MAX_DEVICES)
		return bad_file(r, section, "there are too many trace buffers");
	if (vector_grow(r->ss->buffers, r->ss->nr_buffers, r->ss->max_buffers))
		return no_memory(r);
	buffer.path = path_in(r, file);
	if (!buffer.path)
		return -EBADMSG;
	buffer.name = strdup(name);
	if (!buffer.name) {
		free(buffer.path);
		return no_memory(r);
	}
	r->ss->buffers[r->ss->nr_buffers++] = buffer;
	return 0;
}

static int read_buffers(struct reading *r, const struct cs_ini *ini)
{
	const char *list = cs_ini_get(ini, "trace_buffers", "buffers");
	char *names, *at, *name;
	int ret = 0;

	if (!list)
		return bad_file(r, r->ss->dir, "its trace has no list of buffers");
	names = at = strdup(list);
	if (!names)
		return no_memory(r);
	while (!ret && (name = strsep(&at, ", \t")))
		if (*name)
			ret = add_buffer(r, ini, name);
	free(names);
	return ret;
}

static size_t find_buffer(const struct cs_snapshot *ss, const char *name)
{
	for (size_t i = 0; i < ss->nr_buffers; i++)
		if (!strcmp(ss->buffers[i].name, name))
			return i;
	return SIZE_MAX;
}

/* The core that the unit traces; [core_trace_sources] maps cores to units. */
static size_t core_of(const struct reading *r, const struct cs_ini *ini, const char *unit)
{
	for (size_t i = 0; i < ini->nr; i++) {
		const struct cs_ini_entry *e = &ini->entries[i];

		if (e->key && !strcasecmp(e->section, "core_trace_sources") &&
		    !strcmp(e->value, unit))
			return find_device(r, e->key);
	}
	return SIZE_MAX;
}

/* "cpu_3" and "Cortex-A57_3" are CPU 3. */
static int cpu_number(const char *name)
{
	const char *tail = strrchr(name, '_');
	uint64_t cpu;

	return tail && cs_ini_number(tail + 1, &cpu) && cpu < 65536 ? (int)cpu : -1;
}

static int read_units(struct reading *r, const struct cs_ini *ini)
{
	struct cs_snapshot *ss = r->ss;

	ss->units = calloc(r->nr ? r->nr : 1, sizeof(*ss->units));
	if (!ss->units)
		return no_memory(r);
	for (size_t i = 0; i < r->nr; i++) {
		const struct device *dev = &r->devices[i];
		struct cs_snapshot_unit *u = &ss->units[ss->nr_units];
		const char *buffer;

		if (strcasecmp(dev->class, "trace_source"))
			continue;
		read_unit(u, dev);
		buffer = cs_ini_get(ini, "source_buffers", dev->name);
		u->buffer = buffer ? find_buffer(ss, buffer) : SIZE_MAX;
		u->core = core_of(r, ini, dev->name);
		u->name = strdup(dev->name);
		if (!u->name)
			return no_memory(r);
		ss->nr_units++;
		if (u->core != SIZE_MAX) {
			set_core(&u->unit, r->devices[u->core].type);
			u->unit.cpu = cpu_number(r->devices[u->core].name);
		} else if (!u->why[0] && u->unit.protocol != CS_PROTOCOL_STM &&
			   u->unit.protocol != CS_PROTOCOL_ITM) {
			snprintf(u->why, sizeof(u->why), "the snapshot does not name its core");
		}
	}
	return 0;
}

static int read_trace(struct reading *r, const struct cs_ini *top)
{
	const char *name = cs_ini_get(top, "trace", "metadata");
	struct cs_ini ini;
	int ret;

	if (!name)
		return bad_file(r, r->ss->dir, "its snapshot.ini names no trace");
	ret = read_ini(r, &ini, name);
	if (ret)
		return ret;
	ret = read_buffers(r, &ini);
	if (!ret)
		ret = read_units(r, &ini);
	cs_ini_free(&ini);
	return ret;
}

int cs_snapshot_read(struct cs_snapshot *ss, const char *dir, struct auxtap_error *err)
{
	struct auxtap_error own = AUXTAP_ERROR_INIT;
	struct reading r = {.ss = ss, .err = err ? err : &own};
	struct cs_ini top = {0};
	int ret;

	memset(ss, 0, sizeof(*ss));
	ss->dir = strdup(dir);
	if (!ss->dir)
		return auxtap_error_set(err, -ENOMEM, dir, "out of memory");
	ret = read_ini(&r, &top, "snapshot.ini");
	if (!ret)
		ret = read_devices(&r, &top);
	if (!ret)
		ret = read_trace(&r, &top);
	for (size_t i = 0; !ret && i < r.nr; i++)
		ret = read_dumps(&r, i);
	for (size_t i = 0; i < r.nr; i++)
		cs_ini_free(&r.devices[i].ini);
	free(r.devices);
	cs_ini_free(&top);
	if (ret)
		cs_snapshot_free(ss);
	return ret;
}

static int add_raw_unit(struct cs_snapshot *ss, const char *path, struct auxtap_error *err)
{
	struct cs_snapshot_unit *u = &ss->units[ss->nr_units];
	struct device dev = {0};
	const char *core;
	int ret = cs_ini_read(&dev.ini, path, err);

	if (ret)
		return ret;
	dev.name = cs_ini_get(&dev.ini, "device", "name");
	dev.type = cs_ini_get(&dev.ini, "device", "type");
	core = cs_ini_get(&dev.ini, "device", "core");
	if (!dev.type) {
		auxtap_error_set(err, -EINVAL, path, "names no type of trace unit");
		auxtap_error_hint(err, "write 'type=ETE' or ETM4, ETM3, PTM1 below [device]");
		ret = -EINVAL;
		goto out;
	}
	u->name = strdup(dev.name ? dev.name : dev.type);
	if (!u->name) {
		ret = auxtap_error_set(err, -ENOMEM, path, "out of memory");
		goto out;
	}
	read_unit(u, &dev);
	u->core = SIZE_MAX;
	ss->nr_units++;
	if (u->why[0]) {
		ret = auxtap_error_set(err, -EINVAL, path, "%s", u->why);
		goto out;
	}
	set_core(&u->unit, core ? core : "ARM-AA64");
	u->unit.cpu = cpu_number(u->name);
out:
	cs_ini_free(&dev.ini);
	return ret;
}

int cs_snapshot_from_raw(struct cs_snapshot *ss, const char *path, const char *format,
			 const char *const *configs, unsigned int nr, struct auxtap_error *err)
{
	struct stat st;
	int ret = 0;

	memset(ss, 0, sizeof(*ss));
	if (stat(path, &st))
		return auxtap_error_set(err, -errno, path, "cannot open: %s", strerror(errno));
	if (S_ISREG(st.st_mode) && !st.st_size)
		return auxtap_error_set(err, -EBADMSG, path, "the trace is empty");
	ss->dir = strdup(path);
	ss->buffers = calloc(1, sizeof(*ss->buffers));
	ss->units = calloc(nr ? nr : 1, sizeof(*ss->units));
	ss->nr_buffers = ss->buffers != NULL;
	ss->nr_units = ss->nr_dumps = 0;
	if (!ss->dir || !ss->buffers || !ss->units)
		goto no_memory;
	ss->buffers[0].name = strdup(path);
	ss->buffers[0].path = strdup(path);
	if (!ss->buffers[0].name || !ss->buffers[0].path)
		goto no_memory;
	if (format && !format_of(format, &ss->buffers[0].format))
		ret = auxtap_error_set(err, -EINVAL, format, "is not a trace format");
	for (unsigned int i = 0; !ret && i < nr; i++)
		ret = add_raw_unit(ss, configs[i], err);
	if (ret)
		cs_snapshot_free(ss);
	return ret;
no_memory:
	cs_snapshot_free(ss);
	return auxtap_error_set(err, -ENOMEM, path, "out of memory");
}

void cs_snapshot_free(struct cs_snapshot *ss)
{
	for (size_t i = 0; i < ss->nr_buffers; i++) {
		free(ss->buffers[i].name);
		free(ss->buffers[i].path);
	}
	for (size_t i = 0; i < ss->nr_units; i++)
		free(ss->units[i].name);
	for (size_t i = 0; i < ss->nr_dumps; i++)
		free(ss->dumps[i].path);
	free(ss->buffers);
	free(ss->units);
	free(ss->dumps);
	free(ss->dir);
	memset(ss, 0, sizeof(*ss));
}
