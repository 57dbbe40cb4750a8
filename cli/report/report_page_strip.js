// SPDX-License-Identifier: BSD-2-Clause
/* The calls of each thread in the time before the crash: a strip for each, on one scale. */
const STRIP_POINTS = 5, STRIP_JUMP = 8; /* an older call that would widen the span so much is not shown */
const STRIP_LANE = 50, CHARACTER = 7; /* pixels */

/* The calls of a thread that have a time, oldest first; calls of one time are one point. */
function callPoints(report, thread) {
	const known = [...(thread.last_calls || []),
		...(thread.died && report.calls ? report.calls.rows : [])]
		.filter(call => call.function && call.time_ns)
		.sort((a, b) => a.time_ns - b.time_ns);
	const points = [];

	for (const call of known) {
		const name = functionText(call), last = points[points.length - 1];

		if (!last || last.time !== call.time_ns)
			points.push({ time: call.time_ns, names: [name] });
		else if (!last.names.includes(name))
			last.names.push(name);
	}
	return points;
}

/* What the strips show, up to the crash; null where no two calls have times that differ. */
function stripSpan(report) {
	const last = report.crash && report.crash.time_ns;
	const ages = last ? report.threads.flatMap(t => t.last_calls || [])
		.filter(call => call.time_ns && call.time_ns < last).map(call => last - call.time_ns)
		.sort((a, b) => a - b) : [];
	const jump = ages.findIndex((age, i) => i >= STRIP_POINTS && age > STRIP_JUMP * ages[i - 1]);

	return ages.length && ages[0] !== ages[ages.length - 1] ? { first: last - (jump < 0 ? ages[ages.length - 1] : ages[jump - 1]), last } : null;
}

function beforeText(time, last) {
	return time === last ? 'at the end' : `${time < last ? '−' : '+'}${shortTime(Math.abs(last - time))}`;
}

/* A name at its point, as much of it as fits before the next one. */
function pointLabel(point, at, space, top) {
	const text = [...safe(point.names.join(', '))];
	const most = Math.floor(space / CHARACTER);

	return most < 3 ? [] : [label(at, top + 46, 'small',
		text.length <= most ? text.join('') : `${text.slice(0, most - 1).join('')}…`)];
}

function stripLane(svg, report, thread, span, x, top, width) {
	const points = callPoints(report, thread);
	const shown = points.filter(p => p.time >= span.first && p.time <= span.last);
	const end = thread.last_time_ns || thread.first_time_ns;

	svg.append(label(12, top + 14, thread.died ? 'verdict small bad' : 'small',
		`${[...safe(thread.name)].slice(0, 20).join('')} ${thread.tid}${thread.died ? ' died' : ''}` +
		(shown.length || !points.length ? '' :
			`: last call ${beforeText(points[points.length - 1].time, span.last)}`)));
	if (end >= span.first)
		svg.append(line(x(Math.max(thread.first_time_ns, span.first)), top + 25,
			x(Math.min(thread.died ? span.last : end, span.last)), top + 25, 'wrap'));
	shown.forEach((point, i) => {
		const at = x(point.time), next = i + 1 < shown.length ? x(shown[i + 1].time) : width;

		svg.append(withTip(rectangle(at - 1.5, top + 18, 3, 14, 'call'),
			`${safe(point.names.join(', '))}: ${beforeText(point.time, span.last)}`),
		...pointLabel(point, at, next - at, top));
	});
	if (thread.died)
		svg.append(element('g', { class: 'violation' }, element('circle',
			{ cx: x(span.last), cy: top + 25, r: 6 })));
}

function drawStrips(report, width) {
	const svg = newPicture('strips', width);
	const span = stripSpan(report);
	const threads = report.threads.filter(t => t.first_time_ns !== null);
	const bottom = 10 + threads.length * STRIP_LANE + 4;
	const x = t => 14 + (t - span.first) / (span.last - span.first) * (width - 34);
	const step = niceStep(span.last - span.first, Math.max(2, Math.floor(width / 130)));

	for (let t = 0; t <= span.last - span.first; t += step) {
		const at = x(span.last - t);

		svg.append(line(at, 8, at, bottom, 'grid'),
			label(Math.min(Math.max(at, 30), width - 24), bottom + 16, 'tick middle',
				t ? beforeText(span.last - t, span.last) : '0'));
	}
	threads.forEach((thread, i) => stripLane(svg, report, thread, span, x, 10 + i * STRIP_LANE, width - 8));
	setHeight(svg, bottom + 26);
	return svg;
}

function stripNodes(report) {
	const place = node('div', 'drawing');

	if (!stripSpan(report))
		return [];
	new ResizeObserver(() => place.replaceChildren(drawStrips(report, place.clientWidth || 600))).observe(place);
	return [node('h3', '', `The last calls before the ${report.kind === 'crash' ? 'death' : 'snapshot'}`), place,
		node('p', 'note', 'Times are those of the newest time stamp in the trace before the call, so a call ' +
			'may have been later. Of the thread that died the calls in its tree are shown, of the others the last ' +
			'ones of the program’s own functions.')];
}
