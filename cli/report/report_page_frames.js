// SPDX-License-Identifier: BSD-2-Clause
/* The backtrace: each frame unfolds to its arguments, local variables and source. */
const FRAMES_OPEN = 2; /* of those that have a source or variables */
const FRAMES_FIRST = 10, FRAMES_LAST = 6; /* those between are folded, if they are as many */

function variableRows(title, variables, leftOut) {
	if (!variables)
		return [];
	const row = (i, name, value, className) => [node('span', 'quiet', i ? '' : title),
		node('span', 'name', safe(name)), node('span', className, safe(value))];

	return variables.flatMap((v, i) =>
		row(i, v.name, v.value, /^<[^>]*>$/.test(v.value) ? 'value quiet' : 'value'))
		.concat(leftOut ? row(1, '', `${number(leftOut)} more`, 'quiet') : []);
}

/* One of the functions of a frame, unfolded. */
function functionBody(at) {
	const rows = [...variableRows('arguments', at.arguments, at.arguments_left_out),
		...variableRows('locals', at.locals, at.locals_left_out)];

	return node('div', 'body',
		at.function && [...at.function].length > LONGEST_NAME ?
			node('p', 'whole', safe(at.function)) : null,
		rows.length ? node('div', 'variables', ...rows) : null,
		at.source ? sourceNode(at.source, at.line) : null,
		at.file ? node('p', 'path', safe(`${at.file}${at.line ? `:${at.line}` : ''}`)) : null);
}

/* A row that unfolds; frame: the one that the function is of, or a tail frame. */
function functionNode(level, at, frame, tail) {
	const summary = node('summary', '', node('span', 'level', level),
		nameText(at.function || `${frame.image ? baseName(frame.image) : frame.address}` +
			(frame.image && frame.image_offset ? `+${frame.image_offset}` : '')),
		' ', at.inlined ? node('span', 'tag', 'inlined') : null,
		tail ? withTip(node('span', 'tag', 'tail call'),
			'It left the stack: its last act was a jump to the function above. The trace has the jump.') :
			null,
		frame.unloaded ? node('span', 'tag bad', 'unloaded') : null,
		frame.entered_within ? withTip(node('span', 'tag bad', 'entered in its middle'),
			'A wrong address led into the middle of this function. Its variables are not known.') : null, ' ',
		placeNode({ ...at, image: frame.image }));

	return node('details', 'frame', summary, functionBody(at),
		node('p', 'path', safe(`${frame.address}${frame.image ? ` in ${frame.image}` : ''}`)));
}

function frameNodes(frame) {
	const level = `#${frame.level}`;
	const nodes = frame.functions.map((at, i) => functionNode(i ? '' : level, at, frame, false));

	if (frame.signal_handler)
		return [node('p', 'frame plain', node('span', 'level', level), 'signal handler called')];
	if (!nodes.length)
		nodes.push(node('p', 'frame plain', node('span', 'level', level), safe(frame.address)));
	for (const tail of frame.tail_frames || [])
		for (const at of tail.functions)
			nodes.push(functionNode('', at, tail, !at.inlined));
	return nodes;
}

function endText(backtrace) {
	const unknown = ': further frames are not known.';

	return {
		outermost: null,
		too_many: 'There are further frames.',
		not_called: `No call returns to where this function begins${unknown}`,
		no_code: `The next return address is ${backtrace.end_address}, where no code is${unknown}`,
		not_in_snapshot: `The snapshot does not contain the stack at ${backtrace.end_address}${unknown}`,
		no_file: `No file with the unwind information of that code could be read${unknown}`,
		no_unwind_information: `No unwind information describes that code${unknown}`,
		overwritten: `What says where the next frame is was overwritten, too${unknown}`,
		contradicted: 'The return address of this call is not where it should be: a frame or stack pointer is wrong, ' +
			'or the unwind information, or it was overwritten. Variables and further frames are not known.',
		entered_within: 'A wrong address led into the middle of this function, without the frame that its code ' +
			'expects. Variables and further frames are not known.',
		'32_bit_code': 'This is 32-bit code, of which the stack is not read. Variables and further frames are not known.',
		senseless: 'The stack makes no sense from here on; the calls below do not depend on it.',
	}[backtrace.end];
}

/* Calls farther out than the frames, known from the trace. */
function fromTraceNodes(known) {
	const row = at => node('p', 'frame plain', node('span', 'level', ''), nameText(functionText(at)),
		at.recursion_depth ? tag(`depth ${number(at.recursion_depth)}`,
			`${plural(at.recursion_depth, 'open call')}: it calls itself, or is called by what it called`) : null,
		at.tail_call ? tag('tail call') : null, ' ', placeNode(at));
	const made = [node('p', 'note',
		'Known from the trace, not from the stack (calls that have not returned):')];

	for (const at of known.rows) {
		if (at.rows_left_out_before)
			made.push(node('p', 'note', `… ${number(at.rows_left_out_before)} more`));
		made.push(row(at));
	}
	if (known.calls_not_kept)
		made.push(node('p', 'note', `And ${known.calls_not_kept_are === 'at_most' ? 'at most ' : ''}` +
			`${number(known.calls_not_kept)} further ones, too many to be kept.`));
	if (known.perhaps_more)
		made.push(node('p', 'note', 'Perhaps further ones, from before what the trace contains.'));
	return made;
}

function backtraceCard(report) {
	const { backtrace } = report;
	const made = card('backtrace', 'Backtrace');
	const from = backtrace.by_frame_pointers_from;

	let into = made;

	for (const [i, frame] of backtrace.frames.entries()) {
		const left = backtrace.frames.length - FRAMES_LAST - i;

		if (i === FRAMES_FIRST && left >= FRAMES_FIRST) {
			into = node('details', 'frame some', node('summary', '', `${left} more frames`));
			made.append(into);
		} else if (!left) {
			into = made;
		}
		if (from !== null && frame.level === from)
			into.append(node('p', 'note', 'No unwind information describes that code; the next ' +
				'frames are found by frame pointers, calls may be missing before them.'));
		into.append(...frameNodes(frame));
	}
	const worthSeeing = [...made.querySelectorAll('details:not(.some)')]
		.filter(d => d.querySelector('.source, .variables'));

	for (const frame of worthSeeing.slice(0, FRAMES_OPEN))
		frame.open = true;
	if (endText(backtrace))
		made.append(node('p', 'note', endText(backtrace)));
	if (backtrace.from_trace)
		made.append(node('div', 'fromtrace', ...fromTraceNodes(backtrace.from_trace)));
	if (report.memory.redacted)
		made.append(node('p', 'note',
			'Arguments and local variables are left out: the recording is redacted.'));
	return made;
}
