// SPDX-License-Identifier: BSD-2-Clause
/*
 * The tree of calls, to unfold, and the last branches. A call's row is made when its caller is
 * unfolded: there may be many thousand.
 */
const MOST_INDENTED = 24;
const TRACE_END = 'end of the trace'; /* not of a crash: where it ran last */

const KIND_TIPS = {
	signal: 'A signal handler.',
	tail_call: 'Entered by a jump: it returns to where its caller would.',
	by_return: 'Entered by a return that matches no call; the functions above it may be on another ' +
		'stack, or no longer open.',
	by_jump: 'Entered by a jump that may be no tail call; the functions above it may be on another ' +
		'stack, or no longer open.',
	fallthrough: 'Entered without a call or a jump: the function above it ran on into it, ' +
		'or a return led to its start.',
	repeated: 'The calls below it were made again and again, in this order, each once or several times in a row.',
	mixed: 'Calls of the functions below it, in an order that is not shown.',
};

/* The rows as a tree: the parent and the children of each, by number. */
function callTree(rows) {
	const tree = rows.map(() => ({ parent: -1, children: [] }));
	const path = [];

	tree.roots = [];
	rows.forEach((row, i) => {
		path.length = Math.min(path.length, row.depth);
		tree[i].parent = path.length ? path[path.length - 1] : -1;
		(path.length ? tree[tree[i].parent].children : tree.roots).push(i);
		path.push(i);
	});
	return tree;
}

function tag(text, tip, className = 'tag') {
	return tip ? withTip(node('span', className, text), tip) : node('span', className, text);
}

function callTags(row, end) {
	const kind = row.kind.replace('_', ' ');
	const tags = [];

	if (KIND_TIPS[row.kind] && row.function !== undefined)
		tags.push(tag(kind, KIND_TIPS[row.kind]));
	if (row.recursion_depth)
		tags.push(tag(`depth ${number(row.recursion_depth)}`, row.recursion_period > 1 ?
			`${plural(row.recursion_depth, 'open call')} of ${row.recursion_period} functions that ` +
			'call each other' : `${plural(row.recursion_depth, 'open call')}: it calls itself`));
	if (row.count > 1)
		tags.push(tag(`× ${number(row.count)}`, `${plural(row.count, 'call')} in all`));
	if (row.hidden_calls)
		tags.push(tag(`+ ${plural(row.hidden_calls, 'call')}`,
			`${plural(row.hidden_calls, 'call')} made in it that have no line here`));
	if (row.open_at_gap)
		tags.push(tag('?', 'It was open when a gap began; whether it returned is not known.'));
	if (row.current)
		tags.push(tag(end, 'The function that ran last.', end === TRACE_END ? 'tag' : 'tag dead'));
	return tags;
}

function callRow(row, fold, end) {
	const insns = row.instructions === null ? row.own_instructions : row.instructions;
	const made = node('div', row.current && end !== TRACE_END ? 'call current' : 'call');

	made.style.setProperty('--depth', Math.min(row.depth, MOST_INDENTED));
	if (row.text !== undefined) {
		made.append(node('span', 'insns', ''), node('span', `what ${row.kind === 'exec' ? 'quiet' : 'bad'}`, fold,
			row.kind === 'exec' ? safe(row.text) : safe(`gap: ${row.text}`)));
		return made;
	}
	made.append(withTip(node('span', 'insns', number(insns)), row.returned ?
		`${plural(insns, 'instruction')}, ${number(row.own_instructions)} of them in the function itself` :
		`${plural(insns, 'instruction')} in the function itself; it has not returned`),
		node('span', 'what', fold,
			row.calls_between ? node('span', 'quiet', `(${plural(row.calls_between, 'call')} between) `) :
				null,
			row.function === undefined ? tag(row.kind, KIND_TIPS[row.kind]) : nameText(functionText(row)),
			...callTags(row, end), row.returned ? null : node('span', 'quiet', ' …')),
		placeNode(row) || node('span', 'place', ''));
	return made;
}

/* The visible rows; a fold button shows or removes those below its row. */
class CallList {
	constructor(rows, end) {
		this.rows = rows;
		this.end = end;
		this.tree = callTree(rows);
		this.made = [];
		this.box = node('div', 'calls');
		for (const i of this.tree.roots)
			this.box.append(this.make(i));
	}

	make(i) {
		const children = this.tree[i].children.length;
		const fold = node(children ? 'button' : 'span', 'fold', children ? '▸' : '');

		if (children) {
			fold.type = 'button';
			fold.setAttribute('aria-expanded', 'false');
			fold.setAttribute('aria-label', `calls made by ${safe(functionText(this.rows[i]))}`);
			fold.addEventListener('click', () =>
				fold.getAttribute('aria-expanded') === 'true' ? this.close(i) : this.open(i));
		}
		this.made[i] = callRow(this.rows[i], fold, this.end);
		this.made[i].classList.toggle('found', i === this.found);
		return this.made[i];
	}

	mark(i, open) {
		const fold = this.made[i].querySelector('.fold');

		fold.setAttribute('aria-expanded', `${open}`);
		fold.textContent = open ? '▾' : '▸';
	}

	open(i) {
		const { children } = this.tree[i];

		if (!children.length || this.made[children[0]])
			return;
		this.made[i].after(...children.map(child => this.make(child)));
		this.mark(i, true);
	}

	close(i) {
		const end = this.rows.findIndex((row, k) => k > i && row.depth <= this.rows[i].depth);

		for (let k = i + 1; k < (end < 0 ? this.rows.length : end); k++) {
			if (this.made[k])
				this.made[k].remove();
			delete this.made[k];
		}
		this.mark(i, false);
	}

	openAll() {
		this.rows.forEach((row, i) => this.open(i));
	}

	closeAll() {
		for (const i of this.tree.roots)
			if (this.tree[i].children.length)
				this.close(i);
	}

	/* The rows whose function, or location in the source, contains the text. */
	find(text) {
		const want = text.toLowerCase();
		const has = row => [row.text || (row.function !== undefined ? functionText(row) : row.kind),
			placeText(row) || ''].some(words => words.toLowerCase().includes(want));

		return this.rows.flatMap((row, i) => has(row) ? [i] : []);
	}

	/* Marks a row and unfolds its callers; undefined: none is marked. */
	markFound(i) {
		const path = [];

		if (this.made[this.found])
			this.made[this.found].classList.remove('found');
		this.found = i;
		if (i === undefined)
			return;
		for (let up = this.tree[i].parent; up >= 0; up = this.tree[up].parent)
			path.unshift(up);
		for (const up of path)
			this.open(up);
		this.made[i].classList.add('found');
		this.made[i].scrollIntoView({ block: 'nearest' });
	}

	/* So that what ran last is visible; without it the first calls. */
	openCurrent() {
		const at = this.rows.findIndex(row => row.current);
		const path = [];

		for (let i = at; i >= 0; i = this.tree[i].parent)
			path.unshift(i);
		for (const i of path.length ? path : this.tree.roots)
			this.open(i);
	}
}

function button(id, text, act) {
	const made = node('button', 'plain', text);

	made.id = id;
	made.type = 'button';
	made.addEventListener('click', act);
	return made;
}

/* A field that finds calls: Enter goes on to the next one, with Shift to the one before. */
function searchNodes(list, suffix) {
	const field = node('input', 'search');
	const matches = node('span', 'matches');
	let found = [], at = 0;
	const show = () => {
		matches.textContent = !field.value ? '' : found.length ?
			`${number(at + 1)} of ${number(found.length)}` : 'none';
		list.markFound(found[at]);
	};
	const go = step => {
		at = found.length ? (at + step + found.length) % found.length : 0;
		show();
	};

	field.type = 'search';
	field.id = `search${suffix}`;
	field.placeholder = 'Search the calls';
	field.setAttribute('aria-label', 'Search the calls by function or file');
	matches.setAttribute('aria-live', 'polite');
	field.addEventListener('input', () => {
		found = field.value ? list.find(field.value) : [];
		at = 0;
		show();
	});
	field.addEventListener('keydown', event => {
		if (event.key === 'Enter')
			go(event.shiftKey ? -1 : 1);
	});
	const arrows = [button(`before${suffix}`, '↑', () => go(-1)), button(`after${suffix}`, '↓', () => go(1))];

	['the match before', 'the next match'].forEach((text, i) => arrows[i].setAttribute('aria-label', text));
	return [field, ...arrows, matches];
}

/* A tree with its search field and buttons; suffix: of their identifiers. */
function treeNodes(calls, end, suffix = '') {
	const list = new CallList(calls.rows, end);
	const made = [];

	list.openCurrent();
	made.push(node('div', 'buttons', button(`unfold${suffix}`, 'Unfold all', () => list.openAll()),
		button(`refold${suffix}`, 'Fold', () => { list.closeAll(); list.openCurrent(); }),
		...searchNodes(list, suffix)));
	if (calls.gap_before)
		made.push(node('p', 'bad', safe(`gap: ${calls.gap_before}`)));
	if (calls.outer_calls)
		made.push(node('p', 'note', {
			exact: '', at_least: 'At least ', at_most: 'At most ' }[calls.outer_calls_are] +
			`${plural(calls.outer_calls, 'call')} farther out${calls.gap_before ? ', since the last gap' : ''}.`));
	if (calls.out_of_memory)
		made.push(node('p', 'bad', 'The end is missing: there was no memory for it.'));
	made.push(node('div', 'call head', node('span', 'insns', 'instructions'),
		node('span', 'what', 'function (…: not returned yet, its callees not counted)')), list.box);
	return made;
}

function callsCard(report, end) {
	const { calls } = report;
	const made = card('calls', 'The calls that led there');

	if (!calls || !calls.rows.length)
		made.append(node('p', 'note', calls === undefined ?
			`Thread ${report.crash.tid} left no trace in this file.` :
			calls ? 'No calls were traced.' : 'There was no memory for the tree of calls.'));
	else
		made.append(...treeNodes(calls, end));
	return made;
}

/* Without a crash: the calls of each thread that executed most instructions. */
function treesCard(trees) {
	const made = card('trees', 'The calls in which most was executed');
	const most = tree => Math.max(0, ...tree.rows.map(row => row.instructions || row.own_instructions || 0));
	const busiest = Math.max(...trees.map(most));

	for (const tree of trees) {
		const box = node('details', 'frame', node('summary', '', node('span', 'threadname', safe(tree.name)),
			node('span', 'quiet', ` ${tree.tid}`)), node('div', 'body',
			...treeNodes(tree, TRACE_END, `-${tree.pid}-${tree.tid}`)));

		box.open = most(tree) === busiest;
		made.append(box);
	}
	return made;
}

function branchNode(branch, signal) {
	const to = branch.to ? locationNode(branch.to) :
		branch.kind === 'syscall' || branch.kind === 'interrupt' ?
			node('span', 'quiet', 'the kernel') : node('span', 'quiet', 'unknown');
	const dead = signal && branch.kind === 'interrupt';

	return node('div', dead ? 'branch dead' : 'branch', node('span', 'kind', dead ? signal : branch.kind),
		branch.from ? locationNode(branch.from) : node('span', 'quiet', 'unknown'),
		dead ? node('span', '', '') : node('span', 'to', node('span', 'arrow', '→ '), to,
			branch.count > 1 ? tag(`× ${number(branch.count)}`, 'so many times in a row') : null));
}

/* signal: the name of the signal that ended the branches; null: none. */
function branchesCard(report, signal) {
	const made = card('branches', `Last branches${report.branches_before ?
		` before ${report.branches_before}` : ''} (newest last)`);
	const gap = cause => node('p', 'bad', `gap: ${cause}`);

	report.branches.forEach((branch, i) => {
		if (branch.gap_before)
			made.append(gap(branch.gap_before));
		made.append(branchNode(branch, i + 1 === report.branches.length && !report.branches_before ?
			signal : null));
		if (branch.uncounted_after)
			made.append(gap('uncounted'));
	});
	if (report.gap_after_branches)
		made.append(gap(report.gap_after_branches));
	return made;
}
