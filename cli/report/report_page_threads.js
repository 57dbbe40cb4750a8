// SPDX-License-Identifier: BSD-2-Clause
/* The threads over time, and what each did last. */
const LANE = 46;

/* "20 us", not "20.000 us". */
function shortTime(ns) {
	return timeText(ns).replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ');
}

/* The time that the picture spans; null where no thread's times are known. */
function threadSpan(report) {
	const times = report.threads.flatMap(t => [t.first_time_ns, t.last_time_ns])
		.filter(t => t !== null);
	const death = report.kind === 'crash' && report.crash.time_ns;

	if (death && times.length)
		times.push(death);
	const first = Math.min(...times), last = Math.max(...times);

	return times.length && last > first ? { first, last } : null;
}

function niceStep(span, parts) {
	const power = 10 ** Math.floor(Math.log10(span / parts));

	return [1, 2, 5, 10].map(n => n * power).find(step => span / step <= parts);
}

function timeAxis(svg, span, x, width, bottom) {
	const step = niceStep(span.last - span.first, Math.max(2, Math.floor(width / 130)));

	for (let t = 0; t <= span.last - span.first; t += step) {
		const at = x(span.first + t);

		svg.append(line(at, 8, at, bottom, 'grid'),
			label(Math.min(at, width - 30), bottom + 16, t ? 'tick middle' : 'tick',
				t ? `+${shortTime(t)}` : '0'));
	}
}

function threadLane(svg, report, thread, x, top) {
	const begin = thread.first_time_ns, name = safe(thread.name);
	const end = thread.last_time_ns === null ? begin : thread.last_time_ns;
	const short = [...name].slice(0, 20).join('');

	svg.append(label(x(threadSpan(report).first), top + 12, thread.died ? 'verdict small bad' : 'small',
		`${short} ${thread.tid}${thread.died ? ' died' : ''}`));
	if (begin === null)
		return;
	svg.append(withTip(rectangle(x(begin), top + 19, Math.max(x(end) - x(begin), 2), 12, 'runs'),
		`${name} ${thread.tid}: ${plural(thread.instructions, 'instruction')}, from ` +
		`+${timeText(begin - threadSpan(report).first)} to +${timeText(end - threadSpan(report).first)}`));
	for (const call of thread.last_calls || [])
		if (call.time_ns !== null)
			svg.append(withTip(element('circle', { class: 'callpoint', cx: x(call.time_ns),
				cy: top + 25, r: 4 }), `${safe(functionText(call))} called at ` +
				`+${timeText(call.time_ns - threadSpan(report).first)}`));
	if (thread.died && report.crash.time_ns > end) /* it ran on, the trace has no times of that */
		svg.append(line(x(end), top + 25, x(report.crash.time_ns), top + 25, 'wrap'));
	if (thread.died)
		svg.append(withTip(element('g', { class: 'violation' }, element('circle',
			{ cx: x(report.crash.time_ns || end), cy: top + 25, r: 7 })),
		`died of ${report.crash.signal.name || `signal ${report.crash.signal.number}`} at ` +
			`+${timeText((report.crash.time_ns || end) - threadSpan(report).first)}`));
}

/* As wide as its container. */
function drawThreads(report, width) {
	const svg = newPicture('timeline', width);
	const span = threadSpan(report);
	const bottom = 10 + report.threads.length * LANE;
	const x = t => 12 + (t - span.first) / (span.last - span.first) * (width - 32);

	timeAxis(svg, span, x, width, bottom);
	report.threads.forEach((thread, i) => threadLane(svg, report, thread, x, 10 + i * LANE));
	setHeight(svg, bottom + 26);
	return svg;
}

function threadNode(thread) {
	const calls = (thread.last_calls || []).map(call => node('div', 'lastcall', locationNode(call),
		call.count > 1 ? tag(`× ${number(call.count)}`, 'so many times') : null,
		call.returned ? null : node('span', 'quiet', ' …')));
	const did = thread.traced ? plural(thread.instructions, 'instruction') : 'no instructions are known';
	const where = thread.location && node('span', '', thread.traced ? ', last in ' : '; it was in ',
		locationNode(thread.location));
	const summary = node('summary', '', node('span', 'threadname', safe(thread.name)),
		node('span', 'quiet', ` ${thread.tid} `), thread.died ? tag('died', null, 'tag dead') : null, did,
		where, ' ', thread.ended_before ? '; it had ended' : null);
	const source = thread.location && thread.location.source;

	if (!calls.length && !source)
		return node('p', 'frame plain', ...summary.childNodes);
	return node('details', 'frame', summary, node('div', 'body',
		calls.length ? node('p', 'quiet', 'Last calls of the program’s own functions:') : null,
		...calls, source ? sourceNode(source, thread.location.line) : null));
}

function threadsCard(report) {
	const made = card('threads', report.kind === 'overview' ? 'Threads' : 'Threads over time');
	const place = node('div', 'drawing');

	if (threadSpan(report)) {
		const draw = () => place.replaceChildren(drawThreads(report, place.clientWidth || 600));

		made.append(place);
		new ResizeObserver(draw).observe(place);
		made.append(node('p', 'note', 'A bar ends with the last time in the thread’s trace; the thread may ' +
			'have run on.' + (report.threads.some(t => (t.last_calls || []).some(c => c.time_ns !== null)) ?
			' Circles: the last calls of the program’s own functions.' : '')));
	} else if (report.threads.length) {
		made.append(node('p', 'note', 'The trace has no times to draw the threads by.'));
	}
	made.append(...stripNodes(report), ...report.threads.map(threadNode));
	return made;
}
