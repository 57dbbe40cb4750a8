// SPDX-License-Identifier: BSD-2-Clause
/*
 * A picture with scales of time and position: wheel, drag and keys change the view. Shapes are
 * drawn once, for the first view. After that a group of class "scaled" gets a transform in both
 * directions, "scaled-x" one in time, and a "pin" (a symbol, a text) keeps its size and gets
 * another position: that of data-t with data-p (a position) or data-y (a lane).
 */

/* Steps of 1, 2 or 5 times a power of ten: at least eight in a span. */
function timeStep(span) {
	let step = 10 ** Math.floor(Math.log10(span / 8));

	if (step * 5 <= span / 8)
		step *= 5;
	else if (step * 2 <= span / 8)
		step *= 2;
	return Math.max(step, 1);
}

function* multiples(step, from, to) {
	for (let at = Math.ceil(from / step) * step; at <= to; at += step)
		yield at;
}

/*
 * frame: left, right, top and bottom of the plot, end: of the lanes below it.
 * first: the first view, {t0, t1, p0, p1}. changed(view) is called for each view.
 */
function makeZoomable(svg, frame, first, changed) {
	const { left, right, top, bottom, end } = frame;
	const xTicks = element('g', { id: 'xticks' }), yTicks = element('g', { id: 'yticks' });
	let view = { ...first }, drag = null;

	const x = t => left + (t - view.t0) * (right - left) / (view.t1 - view.t0);
	const y = p => top + (view.p1 - p) * (bottom - top) / (view.p1 - view.p0);

	function drawTicks() {
		const size = 2 ** Math.floor(Math.log2((view.p1 - view.p0) / 6));

		xTicks.replaceChildren();
		for (const t of multiples(timeStep(view.t1 - view.t0), view.t0, view.t1))
			xTicks.append(line(x(t), top, x(t), end, 'grid'),
				label(x(t), bottom + 16, 'tick middle', +(t / 1000).toFixed(4)));
		yTicks.replaceChildren();
		for (const p of multiples(Math.max(1, size), view.p0, view.p1))
			yTicks.append(line(left, y(p), right, y(p), 'grid'),
				label(left - 8, y(p) + 4, 'tick end', sizeText(p)));
	}

	function movePin(pin, kx, ky) {
		const at = pin.dataset, box = pin.querySelector('.notebox');
		let px = x(+at.t);

		if (at.t1) { /* text in a bar: in the middle of what is seen of it, where it fits */
			const from = Math.max(px, left), to = Math.min(x(+at.t1), right);
			const fits = to - from > 2 && to - from + 12 > +at.w;

			pin.setAttribute('display', fits ? 'inline' : 'none');
			px = (from + to) / 2;
		}
		px += (+at.dx || 0) * kx;
		const py = at.y ? +at.y : y(+at.p) + (+at.dy || 0) * ky;
		pin.setAttribute('transform', `translate(${+px.toFixed(2)},${+py.toFixed(2)})`);
		if (!box)
			return;
		/* a note stays inside as long as what it is about is inside */
		const from = px + +box.getAttribute('x'), to = from + +box.getAttribute('width');
		const shift = px < left || px > right ? 0 :
			from < left ? left - from : to > right ? right - to : 0;

		for (const made of [box, box.nextElementSibling])
			made.setAttribute('transform', `translate(${shift},0)`);
	}

	function draw() {
		const kx = (first.t1 - first.t0) / (view.t1 - view.t0);
		const ky = (first.p1 - first.p0) / (view.p1 - view.p0);
		const dx = x(first.t0) - left * kx, dy = y(first.p1) - top * ky;

		for (const group of svg.querySelectorAll('.scaled'))
			group.setAttribute('transform', `matrix(${kx},0,0,${ky},${dx},${dy})`);
		for (const group of svg.querySelectorAll('.scaled-x'))
			group.setAttribute('transform', `matrix(${kx},0,0,1,${dx},0)`);
		for (const pin of svg.querySelectorAll('.pin'))
			movePin(pin, kx, ky);
		drawTicks();
		changed(view);
		svg.dataset.view = [view.t0, view.t1, view.p0, view.p1].join(',');
	}

	/* By fx in time and fy in positions; what is at the given point stays there. */
	function zoom(fx, fy, at) {
		const t = view.t0 + (at.x - left) / (right - left) * (view.t1 - view.t0);
		const p = view.p1 - (at.y - top) / (bottom - top) * (view.p1 - view.p0);

		if ((view.t1 - view.t0) * fx < 20)
			fx = 1;
		if ((view.p1 - view.p0) * fy < 32)
			fy = 1;
		view = { t0: t - (t - view.t0) * fx, t1: t + (view.t1 - t) * fx,
			p0: p - (p - view.p0) * fy, p1: p + (view.p1 - p) * fy };
		draw();
	}

	function move(dt, dp) {
		view = { t0: view.t0 + dt, t1: view.t1 + dt, p0: view.p0 + dp, p1: view.p1 + dp };
		draw();
	}

	function reset() {
		view = { ...first };
		draw();
	}

	/* A link into the picture: #zoom=FROM,TO in ns, with two positions if wanted. */
	function followLink() {
		const number = '([0-9.]+)';
		const found = new RegExp(`^#zoom=${number},${number}(?:,${number},${number})?$`)
			.exec(location.hash);
		const [, t0, t1, p0, p1] = found ? found.map(Number) : [];

		if (!(t1 > t0))
			return;
		view = p1 > p0 ? { t0, t1, p0, p1 } : { ...view, t0, t1 };
		draw();
	}

	function inPicture(event) {
		const box = svg.getBoundingClientRect(), k = svg.viewBox.baseVal.width / box.width;

		return { x: (event.clientX - box.left) * k, y: (event.clientY - box.top) * k };
	}

	svg.addEventListener('wheel', event => {
		const at = inPicture(event), f = Math.exp((event.deltaY || event.deltaX) * 0.0015);

		if (at.x < left || at.x > right || at.y < top || at.y > end)
			return;
		event.preventDefault();
		zoom(event.altKey ? 1 : f, event.shiftKey || event.altKey ? f : 1, at);
	}, { passive: false });
	svg.addEventListener('pointerdown', event => {
		drag = inPicture(event);
		svg.setPointerCapture(event.pointerId);
	});
	svg.addEventListener('pointermove', event => {
		if (!drag)
			return;
		const at = inPicture(event), from = drag;

		drag = at;
		move((from.x - at.x) / (right - left) * (view.t1 - view.t0),
			(at.y - from.y) / (bottom - top) * (view.p1 - view.p0));
	});
	for (const name of ['pointerup', 'pointercancel'])
		svg.addEventListener(name, () => { drag = null; });
	svg.addEventListener('dblclick', reset);
	document.addEventListener('keydown', event => {
		const middle = { x: (left + right) / 2, y: (top + bottom) / 2 };
		const fifth = (view.t1 - view.t0) / 5;

		if (event.key === '+')
			zoom(0.7, 1, middle);
		else if (event.key === '-')
			zoom(1 / 0.7, 1, middle);
		else if (event.key === 'ArrowLeft')
			move(-fifth, 0);
		else if (event.key === 'ArrowRight')
			move(fifth, 0);
		else if (event.key === '0')
			reset();
	});
	addEventListener('hashchange', followLink);
	svg.dataset.box = [left, top, right, bottom].join(',');
	svg.querySelector('.scales').append(xTicks, yTicks);
	draw();
	followLink();
}
