// SPDX-License-Identifier: BSD-2-Clause
/*
 * Several runs as a heat map: the share of the trace that was lost, over watermark and size of the
 * area. Below it, and below a time line, a histogram of the overshoots.
 */

/* ---- overshoot ---- */

/* The simulator's buckets (watermark/overshoot.c): 16 of one byte, then 8 for each doubling. */
function bucketFrom(bucket) {
	return bucket < 16 ? bucket : (8 + bucket % 8) * 2 ** (Math.floor(bucket / 8) - 1);
}

/* How often each bucket occurs, from the first to the last that does. */
function countBuckets(runs) {
	const counts = new Map();

	for (const { from, count } of runs.flatMap(run => run.overshoots))
		counts.set(from, (counts.get(from) ?? 0) + count);
	const largest = Math.max(...counts.keys()), buckets = [];

	for (let i = 0; bucketFrom(i) <= largest; i++)
		buckets.push({ from: bucketFrom(i), to: bucketFrom(i + 1) - 1,
			count: counts.get(bucketFrom(i)) ?? 0 });
	return buckets.slice(buckets.findIndex(bucket => bucket.count));
}

/* Returns where it ends. */
function histogram(svg, runs, y, width) {
	const left = 96, base = y + 116;
	const largest = Math.max(...runs.map(run => run.overshoot_max));
	const total = runs.flatMap(run => run.overshoots).reduce((sum, bucket) => sum + bucket.count, 0);

	svg.append(label(left, y + 14, 'listed',
		'overshoot: bytes of trace from the threshold until the driver handles its ' +
		`interrupt; ${total} interrupts, at most ${largest} bytes`));
	if (!total) {
		svg.append(label(left, y + 36, 'muted', 'no threshold was reached and handled'));
		return y + 66;
	}
	const buckets = countBuckets(runs), most = Math.max(...buckets.map(b => b.count));
	const each = Math.min(60, (width - left - 24) / buckets.length);
	const every = each > 34 ? 1 : 1 + Math.floor(44 / each);
	const bars = element('g', { id: 'overshoots' });

	for (const [i, { from, to, count }] of buckets.entries()) {
		const x = left + each * i, height = count ? 2 + 70 * count / most : 0;
		const top = base - height, thick = each > 3 ? each - 1.5 : each;

		bars.append(withTip(rectangle(x + 0.5, top, thick, height, 'bar'),
			`${from} to ${to} bytes: ${count} interrupts`));
		if (count && each > 34)
			bars.append(label(x + each / 2, top - 4, 'small middle', `${count}`));
		if (i % every === 0)
			bars.append(label(x, base + 15, 'tick', sizeText(from)));
	}
	svg.append(bars, line(left, base, left + each * buckets.length, base, 'frame'));
	return base + 34;
}

/* ---- loss ---- */

function lossShare(run) {
	return run.produced ? run.lost / run.produced : 0;
}

/* From nothing to all: green, then pale to red-brown; readable on light and dark paper. */
function lossColour(share) {
	/* a tenfold loss is a step, from a ten thousandth on; of the last one parts are seen */
	const k = ((4 + Math.log10(Math.max(share, 1e-4))) / 4) ** 2.2;

	if (share <= 0)
		return '#2f9e77';
	return `hsl(${(54 - 46 * k).toFixed(0)},88%,${(82 - 36 * k).toFixed(0)}%)`;
}

function shareText(share, width) {
	const percent = share * 100;

	if (share <= 0)
		return '0';
	if (width <= 56)
		return percent < 1 ? '<1%' : `${percent.toFixed(0)}%`;
	if (share < 0.0001)
		return `${percent.toPrecision(1)}%`;
	return `${percent.toFixed(share < 0.1 ? 2 : 1)}%`;
}

function cellTip(run) {
	const { pages, page_size: page, watermark } = run.config;

	if (run.refusal !== null)
		return `${pages} pages, watermark ${sizeText(watermark)}: refused: ${run.refusal}`;
	return `${pages} pages (${sizeText(pages * page)}), ` +
		`watermark ${watermark ? sizeText(watermark) : 'half'}: ` +
		`${run.lost} of ${run.produced} bytes lost; largest lag ${run.max_lag}; ` +
		(run.violations ? run.first_violations[0].text : 'all invariants hold');
}

function cell(run, x, y, width, height) {
	const refused = run.refusal !== null, share = lossShare(run);
	const state = refused ? 'cell refused' : run.violations ? 'cell fail' : 'cell';
	const box = rectangle(x + 2.5, y + 2.5, width - 5, height - 5, state);
	const made = element('g', { class: 'run' }, box);

	Object.assign(box.dataset, { pages: run.config.pages, watermark: run.config.watermark,
		lost: run.lost, produced: run.produced });
	if (!refused) {
		box.setAttribute('fill', lossColour(share));
		if (width > 30 && height > 15)
			made.append(label(x + width / 2, y + height / 2 + 4, 'small middle dark',
				(run.violations ? '✗ ' : '') + shareText(share, width)));
	}
	return withTip(made, cellTip(run));
}

function heatTitle(config, nrAreas) {
	const page = sizeText(config.page_size), area = sizeText(config.pages * config.page_size);

	return `${config.driver}, Linux ${config.kernel}` + (nrAreas === 1 ?
		`: AUX area of ${config.pages} pages of ${page} (${area})` : `, pages of ${page}`);
}

function verdictOfAll(runs) {
	const bad = runs.filter(run => run.violations).length;
	const lossless = runs.filter(run => run.refusal === null && !run.lost).length;

	return verdictLabel(60, !bad, `${runs.length} machines: ${lossless} lose nothing; ` +
		`${bad} break an invariant${bad ? ' (✗, framed in red)' : ''}`);
}

function drawHeat(runs) {
	const values = key => [...new Set(runs.map(run => run.config[key]))].sort((a, b) => a - b);
	const xs = values('watermark'), ys = values('pages');
	const page = runs[0].config.page_size, left = 130, top = 122;
	const width = Math.min(110, (WIDTH - left - 24) / xs.length);
	const height = ys.length > 24 ? 18 : 34;
	const bottom = top + height * ys.length, every = 1 + Math.floor(44 / width);
	const svg = newPicture('heat', WIDTH);

	svg.append(label(24, 34, 'title', heatTitle(runs[0].config, ys.length)), verdictOfAll(runs),
		label(24, 84, 'muted', 'trace lost, as a share of what the program produced; ' +
			'green: nothing; the redder, the more; ' +
			'hatched: refused by driver or kernel'),
		label(left, bottom + 40, 'tick', 'watermark, bytes'),
		label(left - 8, top - 8, 'tick end', 'AUX area'));
	for (const run of runs)
		svg.append(cell(run, left + width * xs.indexOf(run.config.watermark),
			bottom - height * (1 + ys.indexOf(run.config.pages)), width, height));
	for (const [i, watermark] of xs.entries())
		if (i % every === 0)
			svg.append(label(left + width * (i + 0.5), bottom + 18, 'tick middle',
				watermark ? sizeText(watermark) : 'half'));
	for (const [i, pages] of ys.entries())
		svg.append(label(left - 8, bottom - height * (i + 0.5) + 4, 'tick end',
			`${pages} pages (${sizeText(pages * page)})`));
	setHeight(svg, histogram(svg, runs, bottom + 70, WIDTH));
	return svg;
}
