// SPDX-License-Identifier: BSD-2-Clause
/*
 * What every picture is made of: SVG elements, text, sizes and times as people read them, exact
 * numbers at the mouse pointer, and the button that saves a picture. A page's script is one module
 * that consists of this file and its neighbours picture_*.js, in the order of cli/CMakeLists.txt.
 * Text from a recording becomes a text node or an attribute, never markup.
 */
const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';

/* Children are elements, or text. */
function element(name, attributes = {}, ...children) {
	const made = document.createElementNS(SVG_NAMESPACE, name);

	for (const [key, value] of Object.entries(attributes))
		made.setAttribute(key, typeof value === 'number' ? +value.toFixed(3) : value);
	made.append(...children);
	return made;
}

function label(x, y, className, text) {
	return element('text', { x, y, class: className }, text);
}

/* Shown where the mouse pointer is on the element; in a saved picture it is the <title>. */
function withTip(made, tip) {
	made.dataset.tip = tip;
	return made;
}

function line(x0, y0, x1, y1, className) {
	return element('line', { class: className, x1: x0, x2: x1, y1: y0, y2: y1 });
}

function rectangle(x, y, width, height, className) {
	return element('rect', { class: className, x, y, width: Math.max(width, 0), height });
}

/* "64K", "12288": as short as it is exact. */
function sizeText(bytes) {
	let unit = '';

	for (const next of 'KMG') {
		if (!bytes || bytes % 1024)
			break;
		bytes /= 1024;
		unit = next;
	}
	return bytes + unit;
}

function timeText(ns) {
	for (const [unit, least] of [['s', 1e9], ['ms', 1e6], ['us', 1e3]])
		if (ns >= least)
			return `${(ns / least).toFixed(3)} ${unit}`;
	return `${ns} ns`;
}

/* An empty picture: its paper, and the patterns that the style sheet names. */
function newPicture(id, width) {
	const svg = element('svg', { id, class: 'picture', role: 'img', width });
	const hatch = name => element('pattern', { id: name, width: 7, height: 7,
		patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
		rectangle(0, 0, 3, 7, name));

	svg.append(element('defs', {}, hatch('hatch'), hatch('badhatch')),
		rectangle(0, 0, width, 0, 'paper'));
	return svg;
}

/* How high it is, once all is drawn. */
function setHeight(svg, height) {
	svg.setAttribute('height', height);
	svg.setAttribute('viewBox', `0 0 ${svg.getAttribute('width')} ${height}`);
	svg.querySelector('.paper').setAttribute('height', height);
}

function followMouse(tip) {
	document.addEventListener('mousemove', event => {
		const on = event.target.closest && event.target.closest('[data-tip]');

		tip.style.display = on ? 'block' : 'none';
		if (!on)
			return;
		tip.textContent = on.dataset.tip;
		const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
		const y = Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8);
		tip.style.left = `${x}px`;
		tip.style.top = `${y}px`;
	});
}

/* As it is seen now, with the styles that it needs: a file that stands alone. */
function svgFile(svg, style) {
	const copy = svg.cloneNode(true);

	for (const made of copy.querySelectorAll('[data-tip]')) {
		made.prepend(element('title', {}, made.dataset.tip));
		made.removeAttribute('data-tip');
	}
	copy.prepend(element('style', {}, style));
	return '<?xml version="1.0" encoding="UTF-8"?>\n' +
		new XMLSerializer().serializeToString(copy) + '\n';
}

function save(svg, style, name) {
	const file = new Blob([svgFile(svg, style)], { type: 'image/svg+xml' });
	const link = document.createElement('a');

	link.href = URL.createObjectURL(file);
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
