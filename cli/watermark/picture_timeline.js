// SPDX-License-Identifier: BSD-2-Clause
/*
 * The time line of a run: positions over time; below it a lane each for the program, interrupts,
 * AUX records and the reader; what is wrong is red. Drawn from run.picture (docs/watermark.md),
 * which the simulator's events became in watermark_picture_scan.c.
 */
const WIDTH = 1280, LEFT = 96, RIGHT = 1256, PLOT_HEIGHT = 400;
const LANE = 34, LANES = ['program', 'interrupts', 'AUX records', 'reader'];
const [PROGRAM, INTERRUPTS, RECORDS, READER] = LANES.keys();

/* Symbols: where an event is, and how it looks. In the plot are those of the interrupts, too. */
const SYMBOLS = {
	due: { lane: INTERRUPTS, path: 'M0,-6L6,0L0,6L-6,0Z' },
	line: { lane: INTERRUPTS, path: 'M0,-6L6,5L-6,5Z' },
	interrupt: { lane: INTERRUPTS, path: 'M-5,0A5,5 0 1 1 5,0A5,5 0 1 1 -5,0Z' },
	wakeup: { lane: READER, path: 'M0,6L6,-5L-6,-5Z' },
	read: { lane: READER, path: 'M-5,-5H5V5H-5Z' },
	enable: { lane: READER, path: 'M-4,-6L6,0L-4,6Z' },
	refused: { lane: PROGRAM, path: 'M-5,-5L5,5M5,-5L-5,5' },
};
const LANE_BARS = {
	record: { lane: RECORDS, className: 'record', thick: 18 },
	'record-lost': { lane: RECORDS, className: 'record', thick: 18 },
	runs: { lane: PROGRAM, className: 'runs', thick: 8 },
	loss: { lane: PROGRAM, className: 'loss', thick: 18 },
	delay: { lane: INTERRUPTS, className: 'delay', thick: 4 },
};

function classes(name, shape) {
	return shape.bad ? `${name} bad` : name;
}

/* Where times and positions are in the first view. */
class Plot {
	constructor(run, top) {
		this.run = run;
		this.picture = run.picture;
		this.view = run.picture.view;
		this.area = run.config.pages * run.config.page_size;
		this.top = top;
		this.bottom = top + PLOT_HEIGHT;
		this.end = this.laneY(LANES.length);
		this.placed = []; /* boxes that no further text may cover */
	}
	x(t) {
		return LEFT + (t - this.view.t0) * (RIGHT - LEFT) / (this.view.t1 - this.view.t0);
	}
	y(p) {
		return this.top + (this.view.p1 - p) * PLOT_HEIGHT / (this.view.p1 - this.view.p0);
	}
	laneY(lane) {
		return this.bottom + 34 + lane * LANE;
	}
	laneMiddle(lane) {
		return this.laneY(lane) + LANE / 2;
	}
	point([t, p]) {
		return `${+this.x(t).toFixed(3)},${+this.y(p).toFixed(3)}`;
	}
	/* Keeps its size when the view changes. */
	pin(t, p, className, ...children) {
		return element('g', { class: `pin ${className}`, 'data-t': t, 'data-p': p,
			transform: `translate(${this.x(t).toFixed(2)},${this.y(p).toFixed(2)})` },
			...children);
	}
	lanePin(t, lane, className, ...children) {
		const y = this.laneMiddle(lane);

		return element('g', { class: `pin ${className}`, 'data-t': t, 'data-y': y,
			transform: `translate(${this.x(t).toFixed(2)},${y})` }, ...children);
	}
}

/* ---- the plot ---- */

function curve(plot, lines, className, lift = 0) {
	const path = lines.map(points => 'M' +
		points.map(([t, p]) => plot.point([t, p + lift])).join('L')).join('');

	return element('path', { class: className, d: path });
}

/* Between the write pointer and the tail: what waits for the reader. */
function unread(plot) {
	const { pointer, tail } = plot.picture;
	const outline = [], read = tail.flat().reverse();

	if (pointer.flat().length < 2 || plot.run.config.snapshot)
		return [];
	for (const points of pointer) {
		if (outline.length) /* while nothing is written the pointer stays where it was */
			outline.push([points[0][0], outline.at(-1)[1]]);
		outline.push(...points);
	}
	outline.push([read[0][0], outline.at(-1)[1]], ...read);
	const d = `M${outline.map(point => plot.point(point)).join('L')}Z`;

	return [withTip(element('path', { class: 'unread', d }),
		'trace that is stored and not yet read')];
}

function plotBars(plot) {
	const names = { threshold: 'threshold', stop: 'stop', watermark: 'wakeat' };
	const made = [];

	for (const shape of plot.picture.shapes) {
		const x0 = plot.x(shape.t0), x1 = plot.x(shape.t1);
		const y0 = plot.y(shape.p0), y1 = plot.y(shape.p1);

		if (shape.kind === 'padding')
			made.push(withTip(rectangle(x0, y1, x1 - x0, y0 - y1,
				classes('padding', shape)), shape.tip));
		else if (names[shape.kind])
			made.push(withTip(line(x0, y0, x1, y0, names[shape.kind]), shape.tip));
	}
	return made;
}

/* Where the area starts again. */
function wraps(plot) {
	const { area } = plot, made = [];
	const positions = plot.picture.pointer.flat().map(([, p]) => p);
	const last = Math.max(...positions, plot.view.p1) + 4 * area;
	const first = Math.max(area, Math.floor(plot.view.p0 / area) * area);

	for (let p = first; p <= last; p += area)
		made.push(withTip(line(-100000, plot.y(p), 1000000, plot.y(p), 'wrap'),
			`the area wraps: ${p}`));
	return made;
}

/* In the plot (without a lane: those of interrupts alone) or in their lanes. */
function symbols(plot, inLanes) {
	const last = {}, made = [];

	for (const shape of plot.picture.shapes) {
		const symbol = SYMBOLS[shape.kind];

		if (!symbol || (!inLanes && symbol.lane !== INTERRUPTS))
			continue;
		const className = classes(shape.kind, shape);
		const before = last[shape.kind];
		/* several at one time must be seen as several; a line above the other, for beside
		   it would be another time */
		const nth = before && before.t0 === shape.t0 ? before.nth + 1 : 0;
		const moved = shape.kind === 'line' ? `translate(0,${-9 * nth})` :
			`translate(${13 * nth},0)`;
		const path = element('path', { d: symbol.path });
		const drawn = nth ? element('g', { transform: moved }, path) : path;

		last[shape.kind] = { t0: shape.t0, nth };
		made.push(withTip(inLanes ? plot.lanePin(shape.t0, symbol.lane, className, drawn) :
			plot.pin(shape.t0, shape.p0, className, drawn), shape.tip));
	}
	return made;
}

/* ---- the lanes ---- */

function laneBars(plot) {
	const made = [];

	for (const shape of plot.picture.shapes) {
		const bar = LANE_BARS[shape.kind];

		if (!bar)
			continue;
		const x = plot.x(shape.t0), width = plot.x(shape.t1) - x;
		/* a moment is seen, too; records follow each other without a gap */
		const least = bar.lane === RECORDS ? 0 : 1.5;

		const y = plot.laneMiddle(bar.lane) - bar.thick / 2;
		const drawn = rectangle(x, y, Math.max(width, least), bar.thick,
			classes(bar.className, shape));

		made.push(withTip(drawn, shape.tip));
	}
	return made;
}

/*
 * Of a record: in orange if it says that trace was lost. (COLLISION alone is how a TRBE without a
 * fault says that it was full: J4.)
 */
function barTextClass(shape) {
	if (shape.kind === 'loss')
		return 'small middle losstext';
	return /TRUNCATED|PARTIAL/.test(shape.text) ? 'small middle flagged' : 'small middle';
}

/* Text in the bars that have space for it; the others have their tip. */
function laneTexts(plot) {
	const last = new Map(), made = [];

	for (const shape of plot.picture.shapes) {
		const lane = LANE_BARS[shape.kind]?.lane;

		if (!shape.text || lane === undefined || shape.kind === 'delay')
			continue;
		const width = shape.text.length * 6.4 + 8;
		const from = Math.max(plot.x(shape.t0), LEFT);
		const to = Math.min(plot.x(shape.t1), RIGHT), middle = (from + to) / 2;
		const isSeen = middle >= LEFT && middle <= RIGHT;
		const hasSpace = middle - width / 2 >= (last.get(lane) ?? LEFT);

		if (!isSeen || !hasSpace || width > to - from + 12)
			continue;
		last.set(lane, middle + width / 2);
		const text = label(0, 4, barTextClass(shape), shape.text);
		const pin = plot.lanePin(shape.t0, lane, '', text);

		pin.dataset.t1 = shape.t1;
		pin.dataset.w = Math.round(width);
		made.push(pin);
	}
	return made;
}

function laneFrames(plot) {
	return LANES.flatMap((name, lane) => [
		rectangle(LEFT, plot.laneY(lane) + 1, RIGHT - LEFT, LANE - 2, 'lane'),
		label(LEFT - 8, plot.laneMiddle(lane) + 4, 'tick end', name)]);
}

/* ---- the whole ---- */

function titleText(config) {
	const area = config.pages * config.page_size;
	const watermark = config.watermark ? sizeText(config.watermark) : 'half of it';

	return `${config.driver}, Linux ${config.kernel}: AUX area of ${config.pages} pages of ` +
		`${sizeText(config.page_size)} (${sizeText(area)}), ` +
		(config.snapshot ? 'overwritten' : `watermark ${watermark}`);
}

function verdictText(run) {
	const n = run.violations;

	if (!n)
		return 'pass: all invariants hold';
	return (run.verdict === 'fail' ? 'FAIL' : 'no progress') +
		`: ${n} violation${n === 1 ? '' : 's'}; ` +
		'what is wrong is red, and numbered where it starts';
}

/* Of the first view it says why it is that one. */
function seenText(run, view) {
	const { events, first_bad_ns: bad, view: first } = run.picture;
	const [t0, t1] = [view.t0, view.t1].map(t => timeText(Math.max(0, Math.round(t))));
	const from = events.before + 1, to = events.before + events.drawn;
	let text = `seen here: ${t0} to ${t1} of ${timeText(run.time_ns)}`;

	if (view.t0 === first.t0 && view.t1 === first.t1)
		text += bad === null ? ', from the start' : ', around the first violation';
	if (events.drawn < events.total)
		text += `; drawn: events ${from} to ${to} of ${events.total}, ` +
			'the others are left out';
	return text;
}

function verdictLabel(y, good, text) {
	return label(24, y, good ? 'verdict good' : 'verdict bad', text);
}

/* Title, verdict, the numbered violations; where it ends, and how it follows the view. */
function headline(svg, run) {
	const { numbered } = run.picture;
	const listed = numbered.map((wrong, i) => label(52, 80 + 22 * i, 'listed', ''));
	const end = 58 + 22 * numbered.length;
	const seen = label(24, end + 24, 'muted', '');

	svg.append(label(24, 34, 'title', titleText(run.config)),
		verdictLabel(58, !run.violations, verdictText(run)), ...listed, seen);
	for (const [i, wrong] of numbered.entries())
		svg.append(element('circle',
			{ class: 'numberdisc', cx: 34, cy: 76 + 22 * i, r: 9 }),
			label(34, 80.5 + 22 * i, 'number', `${wrong.number}`));
	return { end: end + 36, follow(now) {
		for (const [i, { t0, text }] of numbered.entries())
			listed[i].textContent = text +
				(t0 > now.t1 ? ' (later than what is seen here)' : '');
		seen.textContent = seenText(run, now);
	} };
}

/* What is drawn inside a rectangle only. */
function clipped(svg, id, [x, y, width, height], ...children) {
	svg.append(element('clipPath', { id }, element('rect', { x, y, width, height })),
		element('g', { 'clip-path': `url(#${id})` }, ...children));
}

function scaleTitles(plot) {
	const position = plot.run.config.snapshot ? 'position in the area, bytes' :
		'position, bytes since the start';
	const transform = `translate(24,${plot.top + PLOT_HEIGHT / 2}) rotate(-90)`;

	return [label(RIGHT, plot.bottom + 30, 'tick end', 'time, us'),
		element('text', { class: 'tick middle', transform }, position)];
}

function drawPlot(svg, plot) {
	const { pointer, tail } = plot.picture;
	const box = [LEFT, plot.top, RIGHT - LEFT, PLOT_HEIGHT];
	const around = [box[0] - 16, box[1] - 16, box[2] + 32, box[3] + 32];
	const scaled = element('g', { class: 'scaled' }, ...wraps(plot), ...unread(plot),
		...plotBars(plot));

	if (!plot.run.config.snapshot)
		scaled.append(curve(plot, tail, 'full', plot.area), curve(plot, tail, 'tail'));
	scaled.append(curve(plot, pointer, 'pointer'), ...spans(plot));
	clipped(svg, 'clip', box, scaled);
	clipped(svg, 'pinclip', around, ...symbols(plot, false), ...violations(plot),
		...notes(plot));
	clipped(svg, 'laneclip', [LEFT, plot.laneY(0), RIGHT - LEFT, LANES.length * LANE],
		element('g', { class: 'scaled-x' }, ...laneBars(plot)),
		...symbols(plot, true), ...laneTexts(plot));
	svg.append(rectangle(...box, 'frame'));
}

function drawTimeline(run) {
	const svg = newPicture('timeline', WIDTH);

	if (!run.picture) {
		const text = run.refusal === null ? 'nothing happened' : `refused: ${run.refusal}`;

		svg.append(label(24, 34, 'title', titleText(run.config)),
			verdictLabel(64, false, text));
		setHeight(svg, 90);
		return svg;
	}
	const head = headline(svg, run), plot = new Plot(run, head.end + 8);

	svg.append(...laneFrames(plot), element('g', { class: 'scales' }), ...scaleTitles(plot));
	drawPlot(svg, plot);
	setHeight(svg, histogram(svg, [run], legend(svg, plot, plot.end + 28) + 10, WIDTH));
	makeZoomable(svg, { left: LEFT, right: RIGHT, top: plot.top, bottom: plot.bottom,
		end: plot.end }, plot.view, head.follow);
	return svg;
}
