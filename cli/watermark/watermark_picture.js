'use strict';
(() => {
	const svg = document.getElementById('timeline'), tip = document.getElementById('tip');

	/* what the pointer is on, exactly */
	for (const title of document.querySelectorAll('svg title')) {
		title.parentNode.dataset.tip = title.textContent;
		title.remove();
	}
	document.addEventListener('mousemove', e => {
		const on = e.target.closest && e.target.closest('[data-tip]');
		tip.style.display = on ? 'block' : 'none';
		if (!on)
			return;
		tip.textContent = on.dataset.tip;
		tip.style.left = Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px';
		tip.style.top = Math.min(e.clientY + 16, innerHeight - tip.offsetHeight - 8) + 'px';
	});
	if (!svg || !svg.dataset.box)
		return;

	const num = name => Number(svg.dataset[name]);
	const first = { t0: num('t0'), t1: num('t1'), p0: num('p0'), p1: num('p1') };
	const [left, top, right, bottom] = svg.dataset.box.split(',').map(Number);
	const end = num('lanes');
	let view = { ...first };
	const x = (t, v) => left + (t - v.t0) * (right - left) / (v.t1 - v.t0);
	const y = (p, v) => top + (v.p1 - p) * (bottom - top) / (v.p1 - v.p0);

	const el = (name, attrs, text) => {
		const e = document.createElementNS('http://www.w3.org/2000/svg', name);
		for (const a in attrs)
			e.setAttribute(a, attrs[a]);
		if (text !== undefined)
			e.textContent = text;
		return e;
	};
	const step10 = span => {
		let s = 10 ** Math.floor(Math.log10(span / 8));
		if (s * 5 <= span / 8)
			s *= 5;
		else if (s * 2 <= span / 8)
			s *= 2;
		return Math.max(s, 1);
	};
	const size = p => {
		let unit = '';
		for (const u of ['K', 'M', 'G'])
			if (p && p % 1024 === 0) {
				p /= 1024;
				unit = u;
			} else
				break;
		return p + unit;
	};
	function ticks() {
		const xs = document.getElementById('xticks'), ys = document.getElementById('yticks');
		const sx = step10(view.t1 - view.t0);
		const sy = Math.max(1, 2 ** Math.floor(Math.log2((view.p1 - view.p0) / 6)));
		xs.replaceChildren();
		for (let t = Math.ceil(view.t0 / sx) * sx; t <= view.t1; t += sx) {
			const at = x(t, view);
			xs.append(el('line', { class: 'grid', x1: at, x2: at, y1: top, y2: end }),
				el('text', { class: 'tick middle', x: at, y: bottom + 16 }, +(t / 1000).toFixed(4)));
		}
		ys.replaceChildren();
		for (let p = Math.ceil(view.p0 / sy) * sy; p <= view.p1; p += sy) {
			const at = y(p, view);
			ys.append(el('line', { class: 'grid', x1: left, x2: right, y1: at, y2: at }),
				el('text', { class: 'tick end', x: left - 8, y: at + 4 }, size(p)));
		}
	}
	function draw() {
		const kx = (first.t1 - first.t0) / (view.t1 - view.t0);
		const ky = (first.p1 - first.p0) / (view.p1 - view.p0);
		const tx = x(first.t0, view) - left * kx, ty = y(first.p1, view) - top * ky;
		for (const g of svg.querySelectorAll('.scaled'))
			g.setAttribute('transform', `matrix(${kx},0,0,${ky},${tx},${ty})`);
		for (const g of svg.querySelectorAll('.scaled-x'))
			g.setAttribute('transform', `matrix(${kx},0,0,1,${tx},0)`);
		for (const g of svg.querySelectorAll('.pin')) {
			const d = g.dataset;
			let px = x(+d.t, view);
			if (d.t1) { /* words in a bar: where there is room for them */
				const a = Math.max(px, left), b = Math.min(x(+d.t1, view), right);
				g.style.display = b - a > 2 && b - a + 12 > +d.w ? '' : 'none';
				px = (a + b) / 2;
			}
			px += (+d.dx || 0) * kx;
			const py = d.y ? +d.y : y(+d.p, view) + (+d.dy || 0) * ky;
			g.setAttribute('transform', `translate(${px},${py})`);
			const box = g.querySelector('.notebox');
			if (box) { /* words stay inside, as long as their place is */
				const from = px + +box.getAttribute('x'), to = from + +box.getAttribute('width');
				const shift = px < left || px > right ? 0 :
					from < left ? left - from : to > right ? right - to : 0;
				for (const e of [box, box.nextElementSibling])
					e.setAttribute('transform', `translate(${shift},0)`);
			}
		}
		ticks();
		svg.dataset.view = [view.t0, view.t1, view.p0, view.p1].join(',');
	}
	/* the middle of it stays where it is */
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
	const where = e => {
		const r = svg.getBoundingClientRect(), k = svg.viewBox.baseVal.width / r.width;
		return { x: (e.clientX - r.left) * k, y: (e.clientY - r.top) * k };
	};
	svg.addEventListener('wheel', e => {
		const at = where(e);
		if (at.x < left || at.x > right || at.y < top || at.y > end)
			return;
		e.preventDefault();
		const f = Math.exp((e.deltaY || e.deltaX) * 0.0015);
		zoom(e.altKey ? 1 : f, e.shiftKey || e.altKey ? f : 1, at);
	}, { passive: false });
	let drag = null;
	svg.addEventListener('pointerdown', e => {
		drag = where(e);
		svg.setPointerCapture(e.pointerId);
	});
	svg.addEventListener('pointermove', e => {
		if (!drag)
			return;
		const at = where(e), dt = (at.x - drag.x) / (right - left) * (view.t1 - view.t0);
		const dp = (at.y - drag.y) / (bottom - top) * (view.p1 - view.p0);
		view = { t0: view.t0 - dt, t1: view.t1 - dt, p0: view.p0 + dp, p1: view.p1 + dp };
		drag = at;
		draw();
	});
	for (const name of ['pointerup', 'pointercancel'])
		svg.addEventListener(name, () => { drag = null; });
	svg.addEventListener('dblclick', () => {
		view = { ...first };
		draw();
	});
	document.addEventListener('keydown', e => {
		const mid = { x: (left + right) / 2, y: (top + bottom) / 2 };
		const w = (view.t1 - view.t0) / 5;
		if (e.key === '+')
			zoom(0.7, 1, mid);
		else if (e.key === '-')
			zoom(1 / 0.7, 1, mid);
		else if (e.key === 'ArrowLeft' || e.key === 'ArrowRight') {
			const d = e.key === 'ArrowLeft' ? -w : w;
			view = { ...view, t0: view.t0 + d, t1: view.t1 + d };
			draw();
		} else if (e.key === '0') {
			view = { ...first };
			draw();
		}
	});
	/* a link to a place: #zoom=FROM,TO in ns, and two positions where wanted */
	function follow() {
		const m = /^#zoom=([0-9.]+),([0-9.]+)(?:,([0-9.]+),([0-9.]+))?$/.exec(location.hash);
		if (!m || +m[2] <= +m[1])
			return;
		view = { ...view, t0: +m[1], t1: +m[2] };
		if (m[4] && +m[4] > +m[3])
			view = { ...view, p0: +m[3], p1: +m[4] };
		draw();
	}
	addEventListener('hashchange', follow);
	draw();
	follow();
})();
