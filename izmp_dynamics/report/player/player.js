'use strict';
// Puts clock, scene and series together: slider, buttons, events and keys.

async function play() {
  const page = JSON.parse(byId('player-document').textContent);
  const array = unpacker(await inflated('player-numbers'));
  const clock = new Clock(page.duration);
  const times = array(page.scene.time);

  const slider = byId('time');
  slider.max = String(page.duration);
  slider.addEventListener('input', () => clock.seek(Number(slider.value)));
  byId('play').addEventListener('click', () => clock.toggle());
  byId('whole').addEventListener('click', () => clock.reset());
  byId('speed').addEventListener('change', () => { clock.speed = Number(byId('speed').value); });
  clock.onChange(() => {
    slider.value = String(clock.time);
    byId('clock').textContent = `${clock.time.toFixed(2)} s`;
    byId('play').textContent = clock.playing ? '⏸' : '▶';
    byId('whole').disabled = clock.whole;
    byId('cursor').textContent = atCursor(page, clock);
  });
  listEvents(page, clock);
  document.addEventListener('keydown', (event) => key(event, page, clock, times));
  document.documentElement.classList.add('playing');
  await shown();
  clock.seek(page.worst);
  sketch(page.scene, array, clock);
  await shown();
  byId('scene').dataset.sketched = '';
  const uPlot = await library('player-uplot', 'uPlot');
  const parts = { clock, plots: makeSeries(uPlot, page, array, clock, byId('panels')) };
  const toHash = () => {
    const time = /^#t=([0-9.]+)$/.exec(location.hash);
    if (time) clock.seek(Number(time[1]));
  };
  toHash();
  await shown();
  addEventListener('hashchange', toHash);
  try {
    parts.stage = makeStage(await three(), page.scene, array, clock, page);
  } catch (error) {
    byId('scene').textContent = `The scene needs WebGL, which this browser does not give (${error.message}).`;
  }
  return parts;
}

// The time at the cursor, else that of the slider, as the recording has it.
function atCursor(page, clock) {
  const stamp = BigInt(page.start) / 1000000n + BigInt(Math.round(1e3 * clock.read)), ms = Number(stamp);
  const date = ms < 1e11 ? '' : ` (${new Date(ms).toISOString().slice(0, 23).replace('T', ' ')} UTC)`;
  return `${clock.cursor === null ? 'Slider' : 'Cursor'} at ${clock.read.toFixed(3)} s · ROS stamp ${(ms / 1e3).toFixed(3)} s${date}`;
}

// Lists all events but touchdowns and lift-offs, which are listed where the reader wants them.
function listEvents(page, clock) {
  const list = byId('events'), steps = byId('steps');
  const write = () => {
    page.listed = page.events.filter((event) => steps.checked || !event.step);
    list.replaceChildren(...page.listed.map((event) => entry(event, clock)));
    if (!page.listed.length) list.textContent = 'No events.';
    mark();
  };
  const mark = () => page.listed.forEach((event, k) => {
    const now = clock.time >= event.begin - 1e-6 && clock.time <= Math.max(event.end, event.begin + 0.02);
    list.children[k].firstChild.setAttribute('aria-current', String(now));
  });
  steps.parentElement.hidden = !page.events.some((event) => event.step);
  steps.addEventListener('change', write);
  write();
  clock.onChange(mark);
}

function entry(event, clock) {
  const item = document.createElement('li'), button = document.createElement('button');
  const time = document.createElement('time'), text = document.createElement('span');
  time.textContent = `${event.begin.toFixed(2)} s`;
  text.textContent = event.sentence;
  button.type = 'button';
  button.className = event.kind.replaceAll(' ', '-');
  button.append(time, text);
  button.addEventListener('click', () => jump(event, clock));
  item.append(button);
  return item;
}

// To the event's begin, within what is shown.
function jump(event, clock) {
  const [begin, end] = clock.range;
  if (event.begin < begin || event.begin > end) {
    const half = (end - begin) / 2;
    const middle = Math.min(Math.max(event.begin, half), clock.duration - half);
    clock.show(middle - half, middle + half);
  }
  clock.seek(event.begin);
}

function key(event, page, clock, times) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (['SELECT', 'TEXTAREA'].includes(event.target.tagName)) return;
  const step = (way) => {
    const row = before(times, clock.time + 1e-6);
    clock.seek(event.shiftKey ? clock.time + way : times[Math.min(Math.max(row + way, 0), times.length - 1)]);
  };
  const next = (way) => {
    const found = page.listed.filter((other) => way * (other.begin - clock.time) > 1e-3);
    if (found.length) jump(found.at(way > 0 ? 0 : -1), clock);
  };
  const speed = (way) => {
    const choice = byId('speed');
    choice.selectedIndex = Math.min(Math.max(choice.selectedIndex + way, 0), choice.options.length - 1);
    clock.speed = Number(choice.value);
  };
  const actions = {
    ' ': () => clock.toggle(), k: () => clock.toggle(),
    ArrowLeft: () => step(-1), ArrowRight: () => step(1),
    Home: () => clock.seek(clock.range[0]), End: () => clock.seek(clock.range[1]),
    n: () => next(1), p: () => next(-1), '+': () => speed(1), '-': () => speed(-1),
    0: () => clock.reset(),
  };
  if (!Object.hasOwn(actions, event.key)) return;
  const presses = event.target.tagName === 'BUTTON' && event.target.id !== 'play';
  if (event.key === ' ' && (presses || event.target.type === 'checkbox')) return;
  event.preventDefault();
  actions[event.key]();
}

window.player = play();
window.player.catch((error) => {
  document.documentElement.classList.remove('playing');
  byId('player').hidden = true;
  console.error(error);
});
