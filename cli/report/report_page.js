// SPDX-License-Identifier: BSD-2-Clause
/*
 * The page of a report: draws the JSON that docs/report-json.md describes. The head is here; the
 * other parts are in report_page_*.js.
 */

function signalText(signal) {
	return `${signal.name || `signal ${signal.number}`}${signal.text ? `: ${signal.text}` : ''}`;
}

/* ", in age_of at null_deref.c:29, called from main": where it was, and who called it. */
function whereNode(crash) {
	const made = node('p', 'where');
	const add = (words, at) => made.append(made.childNodes.length ? ', ' : '', `${words} `, locationNode(at));

	if (crash.came_from)
		add('from', crash.came_from);
	else if (crash.last_traced)
		add('last traced in', crash.last_traced);
	else if (crash.location)
		add('in', crash.location);
	if (crash.called_from && !crash.came_from && !crash.last_traced)
		add(crash.called_directly ? 'called from' : 'reached from', crash.called_from);
	if (crash.unloaded)
		made.append(tag('unloaded', 'Nothing is mapped there any more.', 'tag bad'));
	return made;
}

function crashNotes(crash) {
	const handled = crash.handled_fault;
	const notes = [];

	if (crash.emulator_limit)
		notes.push('This is a limit of the emulator, not the program’s fault: run it with ' +
			'--source ptrace or on trace hardware.');
	if (crash.memory_limit_bytes !== null)
		notes.push('auxtap ended it: the processes of this session used more than ' +
			`${number(Math.floor(crash.memory_limit_bytes / 1048576))} MiB, the limit that ` +
			'--max-memory sets.');
	if (crash.unknown_instruction)
		notes.push('The emulator does not know these bytes. A real processor may: run it with ' +
			'--source ptrace or on trace hardware.');
	if (crash.emulator_crashed)
		notes.push('The emulator itself crashed. Perhaps the program has overwritten the ' +
			'emulator’s memory. Its registers, and what it executed last, are not known: ' +
			'run it with --source ptrace or on trace hardware.');
	if (crash.memory_unreadable)
		notes.push('The program’s memory could not be read: the snapshot has no code and no stack.');
	if (crash.handler_not_started && crash.signal && crash.signal.name === 'SIGSEGV')
		notes.push(`The program’s own handler for ${crash.handler_not_started.name ||
			`signal ${crash.handler_not_started.number}`} could not be started: the kernel could not ` +
			'write its frame to the stack.');
	const made = notes.map(text => node('p', 'note', text));

	if (handled)
		made.push(node('p', 'note', `Before, a ${handled.signal.name || 'fault'} at `,
			locationNode(handled.location), ' went to the program’s own handler',
			handled.nr_faults > 1 ?
				` (${handled.order === 'other' ? 'one' : `the ${handled.order}`} of ` +
				`${number(handled.nr_faults)} faults that did).` : '.',
			handled.faults_again ?
				` With the registers below that instruction faults again: ${safe(handled.faults_again)}` :
			handled.cause ? ` The frame of that handler says: ${safe(handled.cause)}` : null));
	return made;
}

/* The instruction; its source too, if no frame of the backtrace shows it. */
function instructionNodes(report) {
	const insn = report.crash.instruction;
	const frames = report.backtrace ? report.backtrace.frames : [];

	if (!insn)
		return [];
	const shown = frames.some(frame => frame.functions.some(f => f.source &&
		f.file === insn.location.file && f.line === insn.location.line));
	const text = insn.text ? safe(insn.text) : insn.bytes.length ?
		`(not known to the disassembler: ${insn.bytes.join(' ')})` :
		'(not known to the disassembler, or no code is known at this address)';

	return [node('p', 'instruction', node('span', 'quiet', `${insn.address} `), node('code', '', text)),
		insn.location.source && !shown ? sourceNode(insn.location.source, insn.location.line) : null];
}

/* The C++ exception that the thread handled. */
function exceptionNode({ type, what, uncaught, thrown_by: throwers }) {
	const made = node('p', 'note', uncaught ? 'Its exception: ' : 'The exception being handled: ',
		node('code', '', safe(type)));

	if (what !== null)
		made.append('; what(): ', node('code', '', safe(what)));
	throwers.forEach((thrower, i) =>
		made.append(i ? ', from ' : '. It was thrown by ', locationNode(thrower)));
	return made;
}

/* Where the bad pointer came from. */
function originNode(origin, memory) {
	const { kind, is_code: isCode, value, block, offset, variable, location } = origin;
	const what = isCode ? 'address' : value === '0x0' ? 'null pointer' : 'pointer';

	const made = node('p', 'note', `The ${what} was ${kind} ` +
		(origin.in_call ? 'in a call from ' : 'by '), locationNode(location));

	if (block !== null) {
		const { is_freed: isFreed, bytes } = memory.find(known => known.address === block);

		made.append(`, from byte ${offset} of the ${isFreed ? 'freed block' : 'block'} of ` +
			`${bytes} bytes at ${block}`);
	} else if (variable !== null) {
		const isWhole = offset === 0 && origin.variable_bytes === 8;

		made.append(`, from ${isWhole ? '' : `byte ${offset} of `}the variable `,
			node('code', '', safe(variable)));
	}
	return made;
}

/* What a step is about; null: what the line before is about. */
function sliceSubject(what, { is_shifted: isShifted, is_summed: isSummed }) {
	const added = isSummed ? 'variable' : isShifted ? 'constant' : null;

	if (!added)
		return what || 'Before, it';
	return what ? `${what}, before a ${added} was added,` : `Before a ${added} was added, it`;
}

/* A bad pointer, index or return address: what read and wrote it, the newest step first. */
function sliceNodes({ of, value, steps }, origin) {
	const overwritten = ['return_address', 'after_block', 'stack_protector'].includes(of);
	const subjects = {
		pointer: origin ? null : value === '0x0' ? 'The null pointer' : 'The pointer',
		index: 'The index', return_address: 'The return address', after_block: 'What follows the block',
		stack_protector: "The stack protector's value", divisor: 'The divisor',
	};

	return steps.map((step, i) => {
		const { kind, is_part: isPart, location, callers } = step;
		const subject = sliceSubject(i ? null : subjects[of], step);
		const inCall = location.address !== callers[0].address;

		if (kind === 'never_set')
			return node('p', 'note', !subjects[of] && !i && origin.location.address === location.address ?
				'That was a local variable that was never set, read by ' :
				`${subject} was read from a local variable that was never set, by `,
			locationNode(callers[0]));

		const made = node('p', 'note', `${subject} was ` +
			`${isPart ? 'partly ' : ''}${overwritten ? 'overwritten' : kind} ` +
			(inCall ? 'in a call from ' : 'by '));

		callers.forEach((caller, k) => made.append(k ? ', from ' : '', locationNode(caller)));
		return made;
	});
}

function crashHead(report) {
	const { crash } = report;
	const who = `pid ${crash.pid}${crash.tid === crash.pid ? '' : `, thread ${crash.tid}`}`;
	const made = card('head', null, node('h1', '', nameText(crash.name, ''), ' ',
		node('span', 'who', `(${who})`), ' died of ', node('span', 'bad', crash.signal ?
			signalText(crash.signal) : 'an unknown signal')), whereNode(crash));

	if (crash.cause)
		made.append(node('p', 'cause', safe(crash.cause)));
	if (crash.pointer_origin)
		made.append(originNode(crash.pointer_origin, report.pointed_memory));
	if (crash.slice)
		made.append(...sliceNodes(crash.slice, crash.pointer_origin));
	if (crash.slice_lacks_order)
		made.append(node('p', 'note', 'What wrote it is not known: the process had other threads, ' +
			'and the order of all their writes is not recorded.'));
	if (crash.message)
		made.append(node('p', 'note', 'Its message: ', node('code', '', safe(crash.message))));
	if (crash.exception)
		made.append(exceptionNode(crash.exception));
	made.append(...crashNotes(crash), ...instructionNodes(report).filter(Boolean));
	return made;
}

function headCard(report) {
	if (report.kind === 'crash')
		return crashHead(report);
	if (report.kind === 'interrupted')
		return card('head', null, node('h1', '', nameText(report.crash.name, ''), ' ',
			node('span', 'who', `(pid ${report.crash.pid})`), ' was interrupted'),
		node('p', 'note', 'A snapshot was asked for; it did not die.'));
	return card('head', null, node('h1', '', 'No crash in this file'),
		node('p', 'path', safe(report.file)));
}

/* What the row of the function that ran last, and the last branch, are marked with. */
function endMark(report) {
	const signal = report.crash && report.crash.signal;

	return report.kind === 'interrupted' ? 'interrupted here' :
		report.crash && report.crash.emulator_crashed ? 'last traced here' :
		signal ? `${signal.name || 'died'} here` : 'died here';
}

function start() {
	const main = document.getElementById('report');
	const report = JSON.parse(document.getElementById('data').textContent);
	const signal = report.kind === 'crash' && report.crash.signal;

	main.replaceChildren(headCard(report));
	if (report.heap_overruns && report.heap_overruns.length)
		main.append(overrunsCard(report));
	if (report.pointed_memory && report.pointed_memory.length)
		main.append(blocksCard(report));
	if (report.backtrace)
		main.append(backtraceCard(report));
	if (report.crash)
		main.append(callsCard(report, endMark(report)));
	if (report.branches && report.branches.length)
		main.append(branchesCard(report, signal ? signal.name || 'signal' : null));
	if (report.hot_functions && report.hot_functions.rows.length)
		main.append(functionsCard(report));
	if (report.call_trees && report.call_trees.length)
		main.append(treesCard(report.call_trees));
	main.append(threadsCard(report));
	if (report.registers)
		main.append(registersCard(report));
	main.append(coverageCard(report), imagesCard(report));
	if (report.next.length)
		main.append(nextCard(report.next));
	main.append(node('p', 'file', `${safe(report.file)}, auxtap report`));
	document.title = document.querySelector('h1').textContent;
	followMouse(document.getElementById('tip'));
}

start();
