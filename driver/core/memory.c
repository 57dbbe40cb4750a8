// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Emulated physical memory: the physical address of each region. Every chunk of pages has its own
 * address range, aligned to its size and never adjacent to another chunk's, so that a driver or a
 * unit that overruns a chunk hits a hole instead of happening to find the right byte.
 */
#include "core/perf_buffer.h"
#include "util/vector.h"
#include <linux/slab.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_PAGE_ORDER 10 /* x86: 4 MiB */

struct page_region {
	char *virt;
	unsigned long nr_pages;
	bool from_alloc_pages; /* alloc_pages(), not an AUX area */
	struct page *pages;
	u64 phys_base;
	unsigned long nr_slots; /* physical pages from phys_base on, holes included */
	u32 *slots;		/* 1 + page index; 0: a hole */
};

/* The header of a block that kmalloc() allocated. */
struct kmalloc_block {
	struct kmalloc_block *next, *prev;
	size_t size;
	size_t unused; /* aligns the memory after the header */
};
static CORE_LOCAL struct kmalloc_block *kmalloc_blocks; /* the newest first */

struct region_entry {
	u64 start;
	struct page_region *region;
};

/* Sorted by start address: the regions by host address, and by emulated address. */
static CORE_LOCAL struct region_entry *by_virt, *by_phys;
static CORE_LOCAL size_t nr_regions, max_by_virt, max_by_phys;
static CORE_LOCAL u64 next_phys =
	0x100000000ull; /* never reused: a stale address resolves to nothing */

void *ring_memory(const char *name, size_t size, int *memfd, int *err)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *at;

	*memfd = -1;
	if (!core_machine.private_rings) {
		flags = MAP_SHARED;
		*memfd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
		/* The reader cannot shrink it while we use it. */
		if (*memfd < 0 || ftruncate(*memfd, (off_t)size) ||
		    fcntl(*memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
			*err = core_host_error(-errno);
			return NULL;
		}
	}
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, *memfd, 0);
	if (at == MAP_FAILED) {
		*err = core_host_error(-errno);
		return NULL;
	}
	return at;
}

static size_t first_after(const struct region_entry *table, u64 at)
{
	size_t low = 0, high = nr_regions;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (table[mid].start <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void entry_insert(struct region_entry *table, u64 start, struct page_region *region)
{
	size_t i = first_after(table, start);

	memmove(table + i + 1, table + i, (nr_regions - i) * sizeof(*table));
	table[i] = (struct region_entry){start, region};
}

static void entry_remove(struct region_entry *table, u64 start)
{
	size_t i = first_after(table, start) - 1;

	memmove(table + i, table + i + 1, (nr_regions - i - 1) * sizeof(*table));
}

static bool region_insert(struct page_region *region)
{
	if (vector_grow(by_virt, nr_regions, max_by_virt) ||
	    vector_grow(by_phys, nr_regions, max_by_phys))
		return false;
	entry_insert(by_virt, (u64)(uintptr_t)region->virt, region);
	entry_insert(by_phys, region->phys_base, region);
	nr_regions++;
	return true;
}

static struct page_region *region_of_virt(const void *addr)
{
	size_t i = first_after(by_virt, (u64)(uintptr_t)addr);
	struct page_region *region;

	if (!i)
		return NULL;
	region = by_virt[i - 1].region;
	if ((u64)((const char *)addr - region->virt) >= region->nr_pages << PAGE_SHIFT)
		return NULL;
	return region;
}

/*
 * C5: a chunk has the wanted order, or the highest that the allocator can provide. Returns false on
 * failure.
 */
static bool chunk_order(int wanted, int (*order_of)(void *ctx, int order), void *ctx, int *order)
{
	if (wanted > MAX_PAGE_ORDER)
		wanted = MAX_PAGE_ORDER;
	*order = order_of ? min(order_of(ctx, wanted), wanted) : wanted;
	return *order >= 0;
}

struct page_region *page_region_new(void *virt, unsigned long nr_pages, unsigned int max_order,
				    int (*order_of)(void *ctx, int order), void *ctx)
{
	struct page_region *region = kzalloc(sizeof(*region), GFP_KERNEL);
	unsigned long done = 0, slot = 0, max_slots;

	if (!region)
		return NULL;
	region->virt = virt;
	region->nr_pages = nr_pages;
	/* a hole after each chunk, and alignment before it */
	max_slots = 3 * nr_pages + (2ul << MAX_PAGE_ORDER);
	region->pages = kcalloc(nr_pages, sizeof(*region->pages), GFP_KERNEL);
	/*
	 * The slots of a region never change, so they need not be part of the kernel's state
	 * (core_memory_ranges()) and are allocated by calloc().
	 */
	region->slots = calloc(max_slots, sizeof(*region->slots));
	if (!region->pages || !region->slots)
		goto free_region;
	region->phys_base = ALIGN(next_phys, PAGE_SIZE << MAX_PAGE_ORDER);
	while (done < nr_pages) {
		unsigned long chunk;
		int order;

		if (!chunk_order(min((int)max_order, ilog2(nr_pages - done)), order_of, ctx,
				 &order))
			goto free_region;
		chunk = 1ul << order;
		slot = ALIGN(slot, chunk);
		for (unsigned long i = 0; i < chunk; i++) {
			struct page *page = &region->pages[done + i];

			page->virt = region->virt + ((done + i) << PAGE_SHIFT);
			page->phys = region->phys_base + ((slot + i) << PAGE_SHIFT);
			region->slots[slot + i] = (u32)(done + i + 1);
		}
		if (order > 0) {
			region->pages[done].has_private = true;
			region->pages[done].private = (unsigned long)order;
		}
		done += chunk;
		slot += chunk + 1;
	}
	region->nr_slots = slot;
	if (!region_insert(region))
		goto free_region;
	next_phys = region->phys_base + ((u64)slot << PAGE_SHIFT);
	return region;

free_region:
	free(region->slots);
	kfree(region->pages);
	kfree(region);
	return NULL;
}

void page_region_free(struct page_region *region)
{
	if (!region)
		return;
	entry_remove(by_virt, (u64)(uintptr_t)region->virt);
	entry_remove(by_phys, region->phys_base);
	if (!--nr_regions) { /* a thread that ends must not leak the tables */
		free(by_virt);
		free(by_phys);
		by_virt = by_phys = NULL;
		max_by_virt = max_by_phys = 0;
	}
	free(region->slots);
	kfree(region->pages);
	kfree(region);
}

struct page *page_region_page(struct page_region *region, unsigned long index)
{
	return &region->pages[index];
}

void *core_phys_to_virt(uint64_t phys, uint64_t size)
{
	size_t i = first_after(by_phys, phys);
	struct page_region *region;
	unsigned long first, last;

	if (!i || !size || phys + size - 1 < phys)
		return NULL;
	region = by_phys[i - 1].region;
	first = (phys - region->phys_base) >> PAGE_SHIFT;
	last = (phys + size - 1 - region->phys_base) >> PAGE_SHIFT;
	if (last >= region->nr_slots)
		return NULL;
	for (unsigned long s = first; s <= last; s++)
		if (!region->slots[s])
			return NULL;
	return region->virt + ((u64)(region->slots[first] - 1) << PAGE_SHIFT) + (phys & ~PAGE_MASK);
}

void *phys_to_virt(phys_addr_t phys)
{
	return core_phys_to_virt(phys, 1);
}

struct page *virt_to_page(const void *addr)
{
	struct page_region *region = region_of_virt(addr);

	if (!region)
		return NULL;
	return &region->pages[((const char *)addr - region->virt) >> PAGE_SHIFT];
}

bool core_is_memory(uint64_t addr, uint64_t size)
{
	for (uint64_t at = addr & PAGE_MASK; at < addr + size; at += PAGE_SIZE)
		if (!virt_to_page((const void *)(uintptr_t)at))
			return false;
	return true;
}

phys_addr_t virt_to_phys(const volatile void *addr)
{
	struct page *page = virt_to_page((const void *)(uintptr_t)addr);

	return page ? page->phys + ((uintptr_t)addr & ~PAGE_MASK) : 0;
}

void *core_kmalloc(size_t size, bool zero)
{
	struct kmalloc_block *s = size > SIZE_MAX - sizeof(*s) ? NULL : malloc(sizeof(*s) + size);

	if (!s)
		return NULL;
	s->size = size;
	s->next = kmalloc_blocks;
	s->prev = NULL;
	if (kmalloc_blocks)
		kmalloc_blocks->prev = s;
	kmalloc_blocks = s;
	if (zero)
		memset(s + 1, 0, size);
	return s + 1;
}

void core_kfree(const void *ptr)
{
	struct kmalloc_block *s;

	if (!ptr)
		return;
	s = (struct kmalloc_block *)(uintptr_t)ptr - 1;
	if (s->next)
		s->next->prev = s->prev;
	if (s->prev)
		s->prev->next = s->next;
	else
		kmalloc_blocks = s->next;
	free(s);
}

size_t core_memory_ranges(struct core_range *ranges, size_t max)
{
	size_t n = 0;

	for (struct kmalloc_block *s = kmalloc_blocks; s; s = s->next, n++)
		if (n < max)
			ranges[n] = (struct core_range){s + 1, s->size};
	for (size_t i = 0; i < nr_regions; i++) {
		struct page_region *region = by_virt[i].region;

		if (!region->from_alloc_pages)
			continue; /* an AUX area */
		if (n < max)
			ranges[n] =
				(struct core_range){region->virt, region->nr_pages << PAGE_SHIFT};
		n++;
	}
	return n;
}

struct page *alloc_pages_node(int node, gfp_t gfp, unsigned int order)
{
	size_t size = PAGE_SIZE << order;
	struct page_region *region;
	void *virt;

	(void)node;
	if (order > MAX_PAGE_ORDER)
		return NULL;
	virt = aligned_alloc(PAGE_SIZE, size);
	if (!virt)
		return NULL;
	/* Unzeroed pages have arbitrary content; a recognisable pattern exposes its use. */
	memset(virt, gfp & __GFP_ZERO ? 0 : 0xa5, size);
	region = page_region_new(virt, 1ul << order, order, NULL, NULL);
	if (!region) {
		free(virt);
		return NULL;
	}
	region->from_alloc_pages = true;
	region->pages[0].order = (int)order;
	region->pages[0].has_private = false;
	region->pages[0].private = 0;
	return &region->pages[0];
}

void __free_pages(struct page *page, unsigned int order)
{
	void *virt;

	if (!page || WARN_ON(page->order != (int)order))
		return;
	virt = page->virt;
	page_region_free(region_of_virt(virt));
	free(virt);
}

unsigned long get_zeroed_page(gfp_t gfp)
{
	struct page *page = alloc_page(gfp | __GFP_ZERO);

	return page ? (unsigned long)page->virt : 0;
}

void free_page(unsigned long addr)
{
	if (addr)
		__free_page(virt_to_page((const void *)addr));
}
