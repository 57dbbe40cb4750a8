// SPDX-License-Identifier: BSD-2-Clause
/* The page: draws its JSON, which is the list of runs that 'sim --format json' prints. */

/* The sums of a run: eight to a column. */
function sumsTable(run) {
	const sums = Object.entries(run).filter(([, value]) => typeof value === 'number');
	const make = (name, ...children) => {
		const made = document.createElement(name);

		made.append(...children);
		return made;
	};
	const columns = make('div');

	for (let i = 0; i < sums.length; i += 8)
		columns.append(make('table', ...sums.slice(i, i + 8).map(([key, value]) => {
			const cell = make('td', `${value}`);

			cell.dataset.key = key;
			return make('tr', make('th', key), cell);
		})));
	columns.className = 'columns';
	return columns;
}

function start() {
	const get = id => document.getElementById(id);
	const runs = JSON.parse(get('data').textContent);
	const one = runs.length === 1;
	const svg = one ? drawTimeline(runs[0]) : drawHeat(runs);
	const name = `watermark-${one ? 'timeline' : 'heat'}-${runs[0].config.driver}.svg`;

	document.title = svg.querySelector('.title').textContent;
	get('picture').append(svg);
	get('help').hidden = !svg.dataset.box;
	get('save').hidden = false;
	get('save').addEventListener('click', () => save(svg, get('style').textContent, name));
	if (one) {
		get('sums').append(sumsTable(runs[0]));
		get('sums').hidden = false;
	}
	followMouse(get('tip'));
}

start();
