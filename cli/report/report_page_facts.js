// SPDX-License-Identifier: BSD-2-Clause
/* Registers, what the trace covers, which images were found, which memory the file has. */
const FUNCTIONS = 15; /* those of an overview that are not folded */

function registersCard(report) {
	const registers = Object.entries(report.registers).map(([name, value]) => node('div', 'register',
		node('span', 'quiet', name), node('span', 'value', `0x${value.slice(2).padStart(16, '0')}`)));

	return card('registers', 'Registers', node('div', 'registers', ...registers));
}

function heapCallNode(what, made, dying) {
	return made && node('div', 'call',
		...made.callers.map((caller, i) => node('div', 'lastcall',
			`${i ? 'from' : what} ${!i && made.in_call ? 'in a call from ' : ''}`,
			locationNode(caller), caller.tail_call ? ' (tail call)' : null, i ? null :
				made.tid === null ? ', before the process was forked' :
					made.tid === dying ? null : `, by thread ${made.tid}`)));
}

/* The block that was in its memory before. */
function beforeNode(before, call) {
	return before && node('div', 'block', node('p', '',
		`before it: a block of ${number(before.bytes)} bytes at ${before.address}`),
	call('freed', before.freed), call('allocated', before.allocated));
}

function blockNode(block, dying) {
	const call = (what, made) => heapCallNode(what, made, dying);
	const words = block.is_mapping ? ['unmapped memory', 'mapped memory', 'mapped'] :
		['freed block', 'block', 'allocated'];
	const size = block.bytes === null ? '' : ` of ${number(block.bytes)} bytes`;
	const pointers = block.pointers.map(at => (at.variable ? `${at.is_part ? 'in ' : ''}${safe(at.variable)} of ${safe(at.function)}` :
		at.register || 'the fault’s address') +
		(at.offset && at.offset === block.bytes ? ' (at its end)' :
			at.offset > block.bytes ? ` (${number(at.offset - block.bytes)} bytes past its end)` :
				at.offset ? ` (byte ${number(at.offset)})` : ''));

	return node('div', 'block', node('p', block.is_freed ? 'bad' : '',
		`${block.is_unknown ? 'memory not known to be allocated,' :
			block.is_freed ? words[0] : words[1]}${size} at ${block.address}`,
		pointers.length ? `: ${pointers.join(', ')}` : ''),
	call(block.bad_free_offset ? `invalid free (byte ${number(block.bad_free_offset)})` : 'freed again',
		block.bad_free), call((block.free_state || '').replace('_', ' '), block.freed),
	call(words[2], block.allocated), beforeNode(block.before, call));
}

function blocksCard(report) {
	return card('blocks', 'Memory involved',
		...report.pointed_memory.map(block => blockNode(block, report.crash.tid)));
}

/* The bytes of a word as text, if they are printable: at least four of them, then zeros. */
function wordText(hex) {
	const bytes = hex ? hex.slice(2).padStart(16, '0').match(/../g).reverse().map(byte =>
		parseInt(byte, 16)) : [];
	const length = bytes.findIndex(byte => !byte) < 0 ? bytes.length : bytes.findIndex(byte => !byte);
	const used = bytes.slice(0, length);

	return length >= 4 && bytes.slice(length).every(byte => !byte) &&
		used.every(byte => byte >= 0x20 && byte <= 0x7e) ? String.fromCharCode(...used) : null;
}

function overrunNode(block, dying) {
	const text = wordText(block.after_end), size = at => `block of ${number(at.bytes)} bytes at ${at.address}`;

	return node('div', 'block', node('p', 'bad', `${size(block)}: what malloc keeps right after it was overwritten`,
		block.after_end ? ` with ${block.after_end}` : null, text === null ? null : `, as text "${text}"`),
	heapCallNode('allocated', block.allocated, dying),
	block.next && node('p', '', `${size(block.next)}, the next in memory`),
	block.next && heapCallNode('allocated', block.next.allocated, dying));
}

function overrunsCard(report) {
	return card('overruns', 'Heap corruption',
		...report.heap_overruns.map(block => overrunNode(block, report.crash.tid)));
}

function gapText(gap, ended) {
	const bytes = gap.bytes ? `, ${gap.exact ? '' : 'at least '}${plural(gap.bytes, 'byte')}` : '';

	if (gap.cause === 'overwritten')
		return `${plural(gap.count, 'gap')}: overwritten (the recorder keeps only the newest trace)`;
	return `${plural(gap.count, 'gap')}: ${gap.cause}${bytes}` + (gap.cause !== 'discarded' ? '' :
		` (no trace is kept of the ${ended === null ? '' : `${ended} `}` +
		`${ended === 1 ? 'thread' : 'threads'} that had ended)`);
}

/* Sentences about what is missing, or that nothing is. */
function completeTexts(cover) {
	const texts = cover.gaps.map(gap => gapText(gap, cover.threads_ended));
	const whole = !texts.length && cover.flow_ends_at === null;

	if (cover.flow_ends_at !== null)
		texts.push(`the flow of the dead thread ends at ${cover.flow_ends_at}, but the thread died at ` +
			`${cover.died_at}: what ran between is not known`);
	if (whole && !cover.trace_bytes)
		texts.push('no trace in this file: what ran is not known');
	else if (whole && !cover.instructions)
		texts.push('no instructions in this trace: what ran is not known');
	else if (whole && !(cover.from_start && cover.to_end))
		texts.push(`no gaps within the trace; what ran ${cover.from_start ? 'after it ends' :
			cover.to_end ? 'before it starts' : 'before it starts and after it ends'} is not known`);
	if (cover.threads_without_trace)
		texts.push(`no trace of ${plural(cover.threads_without_trace, 'other thread')}: what ` +
			`${cover.threads_without_trace === 1 ? 'it' : 'they'} ran is not known`);
	return texts;
}

function coverageCard(report) {
	const { coverage: cover } = report;
	const texts = completeTexts(cover);
	const made = card('coverage', 'What the trace covers', node('p', '',
		`${plural(cover.instructions, 'instruction')}, ${number(cover.branches)} branches in ` +
		`${plural(cover.threads, 'thread')}, from ${plural(cover.trace_bytes, 'byte')} of trace` +
		(cover.decoder && cover.trace_bytes ? `, decoded by ${cover.decoder}` : '')));

	if (cover.branches_only && cover.trace_bytes)
		made.append(node('p', '', 'Intel BTS: taken branches, without the instructions between them'));
	if (cover.duration_ns !== null)
		made.append(node('p', '', `${(cover.duration_ns / 1e9).toFixed(6)} s of ${cover.time_is_emulated ?
			'emulated time (one instruction is one ns)' : 'time'}`));
	for (const text of texts)
		made.append(node('p', 'bad', text));
	if (!texts.length)
		made.append(node('p', 'good', 'no gaps: complete from the first instruction'));
	if (report.memory)
		made.append(node('p', '', `Memory in this file: ${report.memory.text}`));
	return made;
}

function functionRow(at, total) {
	const share = count => `${(count / total * 100).toFixed(1)} %`;

	return node('tr', '', node('td', 'count', number(at.own_instructions)),
		node('td', 'count quiet', share(at.own_instructions)), node('td', 'count', number(at.instructions)),
		node('td', 'count quiet', share(at.instructions)), node('td', 'count', number(at.calls)),
		node('td', '', at.entry ? nameText(functionText(at)) : 'all functions beyond a limit', ' ', placeNode(at)));
}

/* For a recording without a crash. */
function functionsCard(report) {
	const { rows, total, cut } = report.hot_functions;
	const { instructions } = report.coverage;
	const table = at => node('table', 'functions', node('tr', 'head', ...['own instructions', '', 'with callees', '',
		'calls', 'function'].map((text, i) => node('th', i === 5 ? '' : 'count', text))),
	...at.map(row => functionRow(row, instructions)));
	const made = card('functions', 'Hottest functions', table(rows.slice(0, FUNCTIONS)));

	if (rows.length > FUNCTIONS)
		made.append(node('details', 'frame some', node('summary', '',
			`${number(rows.length - FUNCTIONS)} more functions`), table(rows.slice(FUNCTIONS))));
	if (total > rows.length)
		made.append(node('p', 'note', `${number(total - rows.length)} further ones executed less.`));
	if (cut)
		made.append(node('p', 'bad', 'More calls were open at once, or more functions called, than are ' +
			'followed: some counts with callees and of calls are too low.'));
	return made;
}

const NEXT_TEXTS = {
	crash: 'Again, perhaps with what wrote the wrong value:',
	gdb: 'In gdb, back and forth through what was executed:',
	decode: 'What was executed last:',
	script: 'The branches, by perf:',
};

/* A word, quoted for the shell. */
function quoted(word) {
	return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function nextCard(commands) {
	return card('next', 'Next', ...commands.flatMap(words => [
		node('p', 'note', NEXT_TEXTS[words[1]]),
		node('p', 'command', node('code', '', safe(words.map(quoted).join(' '))))]));
}

function isMissing(image) {
	const noFile = /^(\[|\/\/|\/memfd:|\/SYSV)/.test(image.name);

	return image.state !== 'found' && image.name !== '//anon' && (!noFile || image.gaps);
}

function imageNode(image) {
	const id = image.build_id ? `build-id ${image.build_id}` : 'build-id unknown';
	const why = image.changed ?
		', the file there is another one or was written after the recording' :
		image.state === 'different' && image.path ?
			`, ${image.path === image.name ? 'the file there' : image.path} has ` +
				`${image.found_build_id || 'none'}` :
			image.state === 'denied' ? ', the recording’s owner may not read it' : '';
	const gaps = image.gaps ? `, ${plural(image.gaps, 'gap')} without it` : '';

	return node('p', 'image', isMissing(image) ? node('span', 'bad', `${image.state}: `) : null,
		safe(image.name), node('span', 'quiet', safe(` (${id})${why}${gaps}`)));
}

function imagesCard(report) {
	const found = report.images.filter(image => image.state === 'found');
	const missing = report.images.filter(isMissing);
	const generated = report.images.filter(image => image.name === '//anon')
		.reduce((sum, image) => sum + image.gaps, 0);
	const made = card('images', 'Images', node('details', 'frame', node('summary', '',
		`${number(found.length)} found${missing.length ? '' : ', none missing'}`),
	node('div', 'body', ...found.map(imageNode))), ...missing.map(imageNode));

	if (generated) {
		const bytes = report.memory ? report.memory.generated_code_bytes : 0;

		made.append(node('p', 'bad', 'anonymous memory: code written at run time, ' +
			`${plural(generated, 'gap')} without it` +
			(bytes ? `; the snapshot holds ${plural(bytes, 'byte')} of it` : '')));
	}
	if (missing.length)
		made.append(node('p', 'note', 'Give auxtap report a directory with them: --sysroot DIR'));
	return made;
}
