'use strict';
// The table of all bags, its filters, and what they show of the whole fleet.

const NANOSECONDS = 1e9, FIRST_REAL_STAMP = 1e8; // [s]; smaller stamps are a simulation's clock
const GROUPS = [['robot', 'By robot'], ['unit', 'By unit'], ['software', 'By software version']];

const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

const unbroken = (text) => text.replace(/(\d) (?=(mm|ms|m|s|N|Hz|%|°)(?!\w))|(±) (?=\d)/g, '$1$3\u00a0');

const date = (stamp) => {
  const s = stamp / NANOSECONDS;
  return s < FIRST_REAL_STAMP ? '' : new Date(s * 1e3).toISOString().slice(0, 16).replace('T', ' ');
};
const fixed = (value, digits) => value.toFixed(digits).replace('-', '−');
const scaled = (factor, digits) => (value) => fixed(value * factor, digits);

// Column → heading and how a value is shown.
const TEXTS = ['name', 'robot', 'unit', 'software', 'verdict', 'sentences', 'bag'];
const CLASSES = {
  name: 'dt-left wraps', verdict: 'dt-left words', start: 'when', // the longest texts
  excursions: 'wide', pushes: 'wide', gap_mean: 'wide', gated: 'wide', // shown where there is room
};
const COLUMNS = {
  state: ['Verdict'], name: ['Bag'], robot: ['Robot'], unit: ['Unit'], software: ['Software'],
  start: ['Recorded [UTC]', date], duration: ['Duration [s]', scaled(1, 1)],
  margin: ['Margin [mm]', scaled(1e3, 1)], uncertainty: ['± [mm]', scaled(1e3, 1)],
  outside_time: ['Outside [s]', scaled(1, 2)], excursions: ['Excursions'], pushes: ['Pushes'],
  gap_mean: ['Gap to CoP [mm]', scaled(1e3, 1)], gated: ['Samples left out'],
  verdict: ['In words'], sentences: ['Findings', (sentences) => sentences.join(' ')], bag: ['Place'],
};

// The findings of a bag, under its verdict.
function folded(sentences) {
  if (!sentences?.length) return '';
  const list = sentences.map((sentence) => `<li>${unbroken(escaped(sentence))}</li>`).join('');
  return `<details><summary>${sentences.length} finding${sentences.length > 1 ? 's' : ''}</summary><ul>${list}</ul></details>`;
}

function column(fleet, name) {
  const place = fleet.columns.indexOf(name), [title, format = (value) => value] = COLUMNS[name];
  const states = Object.keys(fleet.states), findings = fleet.columns.indexOf('sentences');
  const empty = fleet.rows.length > 0 && fleet.rows.every((row) => row[place] === null);
  return {
    title, name, data: null, visible: !empty && !['sentences', 'bag'].includes(name),
    ...(TEXTS.includes(name) && { type: 'string' }), className: CLASSES[name] ?? (TEXTS.includes(name) ? 'dt-left' : ''),
    render: (_, use, __, { row }) => {
      const value = fleet.rows[row][place];
      if (name === 'state' && use === 'sort') return states.indexOf(value);
      if (value === null) return use === 'sort' ? (typeof format(0) === 'string' ? -Infinity : '') : '';
      if (use === 'sort' || use === 'type') return Array.isArray(value) ? `${value}` : value;
      if (use === 'filter') return escaped(format(value)); // DataTables decodes it as HTML
      if (name === 'state') {
        return `<span class="state ${states.includes(value) ? value : ''}">${escaped(fleet.states[value] ?? value)}</span>`;
      }
      if (name === 'name' && fleet.reports[row]) {
        return `<a href="${escaped(fleet.reports[row])}">${escaped(value)}</a>`;
      }
      return unbroken(escaped(format(value))) + (name === 'verdict' ? folded(fleet.rows[row][findings]) : '');
    },
  };
}

// What the form asks for, as a function of a row.
function wanted(fleet) {
  const at = (name) => fleet.columns.indexOf(name);
  const value = (id) => byId(id).value;
  const shown = new Set([...document.querySelectorAll('#states input:checked')].map((box) => box.name));
  const known = new Set(Object.keys(fleet.states));
  const chosen = ['robot', 'unit', 'software'].filter((id) => value(id) !== '');
  const from = value('from') && Date.parse(value('from')) * 1e6;
  const to = value('to') && (Date.parse(value('to')) + 864e5) * 1e6;
  const below = value('below') === '' ? null : Number(value('below')) / 1e3;
  return (row) => (shown.has(row[at('state')]) || !known.has(row[at('state')]))
    && chosen.every((id) => row[at(id)] === value(id))
    && (!from || (row[at('start')] !== null && row[at('start')] >= from))
    && (!to || (row[at('start')] !== null && row[at('start')] < to))
    && (below === null || (row[at('margin')] !== null && row[at('margin')] < below));
}

function fillChoices(fleet) {
  for (const id of ['robot', 'unit', 'software']) {
    const values = new Set(fleet.rows.map((row) => row[fleet.columns.indexOf(id)]));
    values.delete(null);
    for (const value of [...values].sort()) byId(id).append(new Option(value, value));
    byId(id).parentElement.hidden = values.size === 0;
  }
}

// Sorts the values; undefined without one.
function median(values) {
  const count = values.sort((a, b) => a - b).length;
  return count ? (values[(count - 1) >> 1] + values[count >> 1]) / 2 : undefined;
}

function groupTable(bags, states, name, title) {
  const groups = new Map();
  for (const bag of bags) {
    if (bag[name] === null) continue;
    if (!groups.has(bag[name])) groups.set(bag[name], []);
    groups.get(bag[name]).push(bag);
  }
  if (groups.size === 0) return null;
  const box = document.createElement('div'), table = document.createElement('table');
  box.append(Object.assign(document.createElement('h2'), { textContent: title }), table);
  table.createTHead().insertRow().innerHTML = '<th></th><th>bags</th><th>median</th><th>smallest [mm]</th><th></th>';
  for (const [value, members] of [...groups].sort((a, b) => b[1].length - a[1].length).slice(0, 30)) {
    const row = table.insertRow();
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: value });
    button.addEventListener('click', () => { byId(name).value = value; byId(name).form.dispatchEvent(new Event('input')); });
    row.insertCell().append(button);
    row.insertCell().textContent = members.length;
    const margins = members.map((bag) => bag.margin).filter((margin) => margin !== null);
    const middle = median(margins);
    for (const margin of [middle, margins[0]]) row.insertCell().textContent = margin === undefined ? '' : fixed(margin, 1);
    const bar = Object.assign(document.createElement('div'), { className: 'shares' });
    for (const state of states) {
      const share = members.filter((bag) => bag.state === state).length / members.length;
      const part = Object.assign(document.createElement('i'), { className: state, title: state });
      part.style.width = `${100 * share}%`;
      if (share > 0) bar.append(part);
    }
    row.insertCell().append(bar);
  }
  return box;
}

function bagsOf(fleet) {
  const at = Object.fromEntries(fleet.columns.map((name, place) => [name, place]));
  return fleet.rows.map((row) => {
    const start = row[at.start] === null ? null : row[at.start] / NANOSECONDS;
    return {
      state: row[at.state], robot: row[at.robot], unit: row[at.unit], software: row[at.software],
      margin: row[at.margin] === null ? null : row[at.margin] * 1e3,
      start: start !== null && start >= FIRST_REAL_STAMP ? start : null,
    };
  });
}

async function fleetPage() {
  const text = (id) => inflated(id).then((bytes) => new TextDecoder().decode(bytes));
  const module = new Blob([await inflated('fleet-tables')], { type: 'text/javascript' });
  const [fleet, { jQuery }, uPlot] = await Promise.all([
    text('fleet-data').then(JSON.parse), import(URL.createObjectURL(module)), library('fleet-uplot', 'uPlot'),
  ]);
  const states = Object.keys(fleet.states), bags = bagsOf(fleet), form = byId('filters');
  fillChoices(fleet);
  let keep = wanted(fleet), charts = [];
  jQuery.fn.dataTable.ext.search.push((settings, texts, index) => keep(fleet.rows[index]));
  const table = jQuery('#bags').DataTable({
    data: fleet.rows, columns: fleet.columns.map((name) => column(fleet, name)), order: [],
    deferRender: true, autoWidth: false, pageLength: 25, lengthMenu: [25, 100, 500],
    layout: { topStart: 'pageLength', topEnd: null, bottomStart: 'info', bottomEnd: 'paging' },
  });
  const show = () => {
    const chosen = table.rows({ search: 'applied' }).indexes().toArray().map((row) => bags[row]);
    byId('count').textContent = `${chosen.length} of ${bags.length} bags`;
    for (const chart of charts) chart.destroy();
    const limits = robustLimits(chosen), beyond = chosen.filter((bag) => bag.margin !== null && bag.margin !== within(bag.margin, limits)).length;
    byId('beyond').textContent = beyond ? `${beyond} bag${beyond > 1 ? 's' : ''} beyond these limits: drawn at the edge.` : '';
    byId('trend').parentElement.hidden = chosen.filter((bag) => bag.start !== null && bag.margin !== null).length < 2; // as of simulations
    charts = [distribution(uPlot, byId('distribution'), chosen, states, limits), trend(uPlot, byId('trend'), chosen, states, limits)];
    byId('groups').replaceChildren(...GROUPS.map(([name, title]) => groupTable(chosen, states, name, title)).filter(Boolean));
  };
  const filter = () => { keep = wanted(fleet); table.search(byId('text').value).draw(); show(); };
  form.addEventListener('input', filter);
  form.addEventListener('reset', () => setTimeout(filter));
  form.addEventListener('submit', (event) => event.preventDefault());
  addEventListener('resize', show);
  show();
  document.body.dataset.ready = 'yes';
  return { table, charts, fleet };
}

window.fleet = fleetPage().catch((error) => {
  byId('count').textContent = `This browser cannot show the table: ${error.message}`;
  throw error;
});
