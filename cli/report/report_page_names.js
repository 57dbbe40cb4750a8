// SPDX-License-Identifier: BSD-2-Clause
/*
 * What all parts of the report's page use: elements, names, locations in the source, numbers. Names
 * are input: they become text nodes, and what would hide or reorder text is written as \u{…}.
 */
const LONGEST_NAME = 120;

function node(name, className, ...children) {
	const made = document.createElement(name);

	if (className)
		made.className = className;
	made.append(...children.filter(child => child !== null && child !== undefined));
	return made;
}

/* Control characters, and those that change the direction of text or have no width. */
function safe(text) {
	return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
		c => `\\u{${c.charCodeAt(0).toString(16)}}`);
}

function baseName(path) {
	return path.slice(path.lastIndexOf('/') + 1);
}

/* A name that may be long: shortened; the tooltip has all of it. */
function nameText(text, className = 'name') {
	const whole = safe(text);
	const short = [...whole];

	if (short.length <= LONGEST_NAME)
		return node('span', className, whole);
	return withTip(node('span', className, short.slice(0, LONGEST_NAME - 1).join('') + '…'), whole);
}

/* "age_of", "libc.so.6+0x1234" where no symbol names it, or the address. */
function functionText(at) {
	if (at.replaced)
		return `${at.address}, where other code was mapped, too`;
	if (at.function)
		return at.function;
	if (at.image === '[generated code]') // its offsets are addresses
		return `${at.image_offset} ${at.image}`;
	return at.image ? `${baseName(at.image)}+${at.image_offset}` : at.address || at.entry || 'unknown';
}

/* "null_deref.c:29", or the image; null where nothing more is known. */
function placeText(at) {
	if (at.file)
		return baseName(at.file) + (at.line ? `:${at.line}` : '');
	if (at.near)
		return `near ${baseName(at.near.file)}:${at.near.line}`;
	return at.function && at.image ? baseName(at.image) : null;
}

function placeNode(at) {
	const text = placeText(at);

	return text && withTip(node('span', 'place', safe(text)),
		safe(at.file ? at.file + (at.line ? `:${at.line}` : '') : at.image));
}

/* Function and location, as one part of a line. */
function locationNode(at) {
	const place = placeNode(at);

	return node('span', 'location', nameText(functionText(at)),
		at.inlined ? node('span', 'quiet', ' (inlined)') : null, place && ' ', place);
}

/* Lines of the source with the one at 'line' marked. */
function sourceNode(source, line) {
	const lines = source.lines.map((text, i) => {
		const nr = source.first_line + i;

		return node('div', nr === line ? 'line at' : 'line', node('span', 'nr', `${nr}`),
			node('code', '', safe(text)));
	});
	const box = node('div', 'source', node('div', 'lines', ...lines));

	if (!source.newer_than_program)
		return box;
	return node('div', '', box, node('p', 'bad',
		'The source file is newer than the program: these lines may be others.'));
}

function number(count) {
	return count.toLocaleString('en');
}

function plural(count, what) {
	return `${number(count)} ${what}${count === 1 ? '' : 's'}`;
}

function card(id, title, ...children) {
	const made = node('section', 'card', title ? node('h2', '', title) : null, ...children);

	made.id = id;
	return made;
}
