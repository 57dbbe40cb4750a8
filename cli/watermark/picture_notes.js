// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is wrong in a time line: distances between where something is and where it should be, the
 * numbers of the violations, notes that say what it is; and the legend.
 */

/* Two notes that start alike are about the same thing, again. */
function alike(a, b) {
	return a.text.slice(0, 14) === b.text.slice(0, 14);
}

function spans(plot) {
	const long = plot.picture.notes.filter(note => note.span), made = [];

	for (const [i, note] of long.entries()) {
		const className = long.slice(0, i).some(other => alike(other, note)) ?
			'span more' : 'span'; /* the first one has its text beside it */
		const x0 = plot.x(note.t0), x1 = plot.x(note.t1);
		const y0 = plot.y(note.p0), y1 = plot.y(note.p1);
		const y = note.t0 === note.t1 ? y1 : y0;

		made.push(withTip(line(x0, y0, x1, y, className), note.text));
		if (note.t0 !== note.t1 && note.p0 !== note.p1)
			made.push(line(x1, y0, x1, y1, className));
	}
	return made;
}

/* A ring with the number where it starts, a dot where it was noticed. */
function violations(plot) {
	const wrong = plot.picture.shapes.filter(shape => shape.kind === 'violation');

	return wrong.map((shape, i) => {
		if (!shape.number)
			return withTip(plot.pin(shape.t0, shape.p0, 'violation noticed',
				element('circle', { r: 4 })), shape.tip);
		const same = wrong.slice(0, i).filter(o => o.number && o.t0 === shape.t0).length;
		const x = plot.x(shape.t0), y = plot.y(shape.p0);
		const dx = 20 + 24 * same, dy = y + 34 > plot.bottom ? -22 : 22;

		plot.placed.push({ x0: x - 15, x1: x + dx + 12,
			y0: y + (dy < 0 ? -34 : -15), y1: y + (dy < 0 ? 15 : 34) });
		return withTip(plot.pin(shape.t0, shape.p0, 'violation',
			element('circle', { class: 'ring', r: 15 }),
			element('g', { transform: `translate(${dx},${dy})` },
				element('circle', { r: 10 }),
				label(0, 4.5, 'number', `${shape.number}`))), shape.tip);
	});
}

/* ---- notes ---- */

/* Does the line from a to b touch the box? The box's sides cut it off, one after the other. */
function touches(box, ax, ay, bx, by) {
	const moves = [ax - bx, bx - ax, ay - by, by - ay];
	const spaces = [ax - box.x0, box.x1 - ax, ay - box.y0, box.y1 - ay];
	let from = 0, to = 1;

	for (const [i, move] of moves.entries()) {
		const at = spaces[i] / move;

		if (move === 0 && spaces[i] < 0)
			return false;
		if (move < 0)
			from = Math.max(from, at);
		if (move > 0)
			to = Math.min(to, at);
	}
	return from <= to;
}

/* A text there would hide a part of the write pointer's curve. */
function hidesPointer(plot, box) {
	const isHidden = ([t0, p0], [t1, p1]) =>
		touches(box, plot.x(t0), plot.y(p0), plot.x(t1), plot.y(p1));

	return plot.picture.pointer.some(points =>
		points.some((to, i) => i && isHidden(points[i - 1], to)));
}

function isInside(plot, box) {
	return box.x0 >= LEFT && box.x1 <= RIGHT && box.y0 >= plot.top && box.y1 <= plot.bottom;
}

function isFree(plot, box) {
	return isInside(plot, box) && !plot.placed.some(other => box.x0 < other.x1 &&
		box.x1 > other.x0 && box.y0 < other.y1 && box.y1 > other.y0);
}

/* A box of that width near x, y: one that hides nothing of the curve, else any free one. */
function findBox(plot, x, y, width) {
	const ups = [-26, 30, -50, 54, -74, 78, -98, 102, -122, 126, -150, 150, -180, 180,
		-210, 210, -240, 240, -270, 270, -300, 300];
	const boxes = ups.flatMap(up => [12, -width - 12, -width / 2].map(shift => ({ x0: x + shift,
		x1: x + shift + width, y0: y + up - 12, y1: y + up + 10 })));
	const free = boxes.filter(box => isFree(plot, box));
	const found = free.find(box => !hidesPointer(plot, box)) ?? free[0];

	if (found)
		return found;
	const x0 = x + width + 12 > RIGHT ? RIGHT - width : Math.max(x + 12, LEFT);
	const y0 = y - 38 < plot.top ? plot.top + 4 : y - 38;

	return { x0, x1: x0 + width, y0, y1: y0 + 22 };
}

/* The text in its box, with a line from the box to x, y. */
function drawNote(plot, note, x, y) {
	const width = note.text.length * 7.1 + 14, box = findBox(plot, x, y, width);
	const toX = (box.x0 + 8 > x ? box.x0 : box.x1 - 8 < x ? box.x1 : x) - x;
	const toY = (box.y0 > y ? box.y0 : box.y1) - y;
	const frame = rectangle(box.x0 - x, box.y0 - y, width, 22, 'notebox');
	const pin = plot.pin(note.t0, note.p0, 'note', line(0, 0, toX, toY, 'leader'), frame,
		label(box.x0 - x + 7, box.y0 - y + 15, 'notetext', note.text));

	frame.setAttribute('rx', 4);
	pin.dataset.dx = (x - plot.x(note.t0)).toFixed(1);
	pin.dataset.dy = (y - plot.y(note.p0)).toFixed(1);
	pin.setAttribute('transform', `translate(${x.toFixed(2)},${y.toFixed(2)})`);
	plot.placed.push(box);
	return pin;
}

/* The first six that differ, of those that are seen. */
function notes(plot) {
	const all = plot.picture.notes, { t0, t1 } = plot.view;
	const seen = all.filter((note, i) => note.t0 >= t0 && note.t0 <= t1 &&
		!all.slice(0, i).some(other => alike(other, note)));

	return seen.slice(0, 6).map(note => {
		const x = (plot.x(note.t0) + plot.x(Math.min(note.t1, t1))) / 2;
		const y = note.t0 !== note.t1 ? plot.y(note.p0) :
			(plot.y(note.p0) + plot.y(note.p1)) / 2;

		return drawNote(plot, note, x, y);
	});
}

/* ---- legend ---- */

/* Samples of 26 pixels; of a kind: only where that is drawn. */
const LEGEND = [
	{ path: 'M0,4L26,-8', className: 'pointer',
		text: 'write pointer: what the unit has stored' },
	{ path: 'M0,2H12V-8H26', className: 'tail', text: 'tail: what the reader has read' },
	{ box: [0, -10, 26, 14], className: 'unread', text: 'stored, not yet read' },
	{ path: 'M0,-3H26', className: 'full', text: 'area full: beyond lies unread trace' },
	{ path: 'M0,-3H26', className: 'threshold', text: 'threshold: an interrupt is due there' },
	{ path: 'M0,-3H26', className: 'stop', kind: 'stop',
		text: ': the unit must not write beyond' },
	{ path: 'M0,-3H26', className: 'wakeat', kind: 'watermark',
		text: 'watermark: past it the reader is woken' },
	{ box: [0, -10, 26, 14], className: 'padding', kind: 'padding', text: 'padding, skipped' },
	{ symbol: 'due', text: 'interrupt due: threshold reached' },
	{ symbol: 'line', text: 'the interrupt line goes up' },
	{ symbol: 'interrupt', text: 'it reaches the driver' },
	{ symbol: 'wakeup', text: 'wakeup of the reader' },
	{ symbol: 'read', text: 'it has read' },
	{ symbol: 'enable', text: 'it enables the event again' },
	{ symbol: 'refused', text: 'no space: tracing ends until it is read' },
	{ box: [0, -12, 26, 18], className: 'loss', kind: 'loss',
		text: 'trace is lost; a tick: for a moment' },
	{ box: [0, -7, 12, 8], second: [12, -7, 14, 8], className: 'runs', kind: 'runs',
		text: 'the program runs; dark tick: switched' },
	{ box: [0, -5, 26, 4], className: 'delay', kind: 'delay',
		text: 'from the interrupt line to the driver' },
	{ path: 'M0,-3H26', className: 'wrap', text: 'the area wraps' },
	{ box: [0, -12, 26, 18], className: 'recordsample',
		text: 'AUX record: what the reader receives' },
	{ sample: 'TRU…', className: 'small flagged',
		text: 'TRUNCATED: no space, the event is off' },
	{ sample: 'COL…', className: 'small', driver: 'trbe', /* J4: only there */
		text: 'COLLISION: it was full, goes on; no error' },
	{ path: 'M0,-3H26', className: 'grid', text: 'thin and grey: the scales alone' },
	{ path: 'M0,-3H26', className: 'span', wrong: true,
		text: 'distance between is and should be' },
	{ symbol: 'noticed', text: 'what is wrong is noticed' },
];

function isDrawn(plot, item) {
	const kind = item.kind ?? item.symbol;

	if (item.driver && item.driver !== plot.run.config.driver)
		return false;
	if (item.wrong && !plot.run.violations)
		return false;
	if (kind === 'noticed')
		return plot.picture.shapes.some(o => o.kind === 'violation' && !o.number);
	return !kind || plot.picture.shapes.some(shape => shape.kind === kind);
}

function sample(item) {
	if (item.symbol === 'noticed')
		return [element('g', { class: 'violation noticed', transform: 'translate(13,-3)' },
			element('circle', { r: 4 }))];
	if (item.symbol)
		return [element('g', { class: item.symbol, transform: 'translate(13,-3)' },
			element('path', { d: SYMBOLS[item.symbol].path }))];
	if (item.sample)
		return [label(-8, 1, item.className, item.sample)];
	if (item.path)
		return [element('path', { class: item.className, d: item.path })];
	return [item.box, item.second].filter(Boolean)
		.map(box => rectangle(...box, item.className));
}

/* Returns where it ends. */
function legend(svg, plot, y) {
	const items = LEGEND.filter(item => isDrawn(plot, item));
	const limit = plot.run.config.driver === 'intel_pt' ? 'STOP' : 'limit';

	for (const [i, item] of items.entries()) {
		const x = LEFT + i % 4 * 294, at = y + Math.floor(i / 4) * 22;
		const text = item.kind === 'stop' ? limit + item.text : item.text;

		svg.append(element('g', { transform: `translate(${x},${at})` }, ...sample(item),
			label(36, 1, 'small', text)));
	}
	return y + Math.ceil(items.length / 4) * 22;
}
