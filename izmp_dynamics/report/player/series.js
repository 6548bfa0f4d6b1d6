'use strict';
// Time series with uPlot: one time axis for all, a marker at the clock's time, bands for events.

const BANDS = { excursion: 'outside', push: 'other', fall: 'bad', 'fall alarm': 'bad', slip: 'warn', flight: 'measured', 'sensor fault': 'unsure' };

function makeSeries(uPlot, page, array, clock, place) {
  const plots = [];
  let pressed = [0, 0];
  const beside = matchMedia('(min-width: 1300px)'); // the scene beside the plots: these fill the window
  const height = () => (beside.matches ? Math.min(240, Math.max(100, (innerHeight - 150) / page.panels.length - 24)) : 112);
  const nulls = (values) => Array.from(values, (value) => (Number.isNaN(value) ? null : value));

  function axis(extra) {
    return {
      stroke: () => css('muted'), grid: { stroke: () => css('grid'), width: 1 },
      ticks: { stroke: () => css('line'), width: 1, size: 4 }, font: '12px system-ui, sans-serif',
      ...extra,
    };
  }

  function bands(u) {
    const context = u.ctx, { left, top, width, height } = u.bbox;
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    for (const event of page.events) {
      if (event.end <= event.begin || event.end - event.begin > page.duration / 2) continue;
      const from = u.valToPos(event.begin, 'x', true), to = u.valToPos(event.end, 'x', true);
      context.fillStyle = css(BANDS[event.kind] || 'line') + '33';
      context.fillRect(from, top, Math.max(to - from, 1.5), height);
    }
    context.restore();
  }

  function lines(u, panel) {
    const context = u.ctx, { left, width } = u.bbox;
    context.save();
    context.strokeStyle = css('ink');
    context.lineWidth = devicePixelRatio;
    if (panel.name !== 'margin') context.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const value of panel.lines) {
      const y = u.valToPos(value, 'y', true);
      context.beginPath();
      context.moveTo(left, y);
      context.lineTo(left + width, y);
      context.stroke();
    }
    context.restore();
  }

  function stroke(trace) {
    return () => css(trace.colour) + Math.round(255 * trace.opacity).toString(16).padStart(2, '0');
  }

  // A few values without a neighbour are dots: no line leads to them.
  function dots(values) {
    const alone = [];
    values.forEach((value, k) => {
      if (!Number.isNaN(value) && !(values[k - 1] <= Infinity || values[k + 1] <= Infinity)) alone.push(k);
    });
    const few = alone.length > 0 && alone.length <= 20;
    return few ? { show: true, size: 5, filter: () => alone } : { show: false };
  }

  function zoomed(u) {
    const { min, max } = u.scales.x;
    if (min !== clock.range[0] || max !== clock.range[1]) clock.show(min, max);
  }

  function addPanel(panel, last) {
    const figure = document.createElement('figure');
    figure.className = 'panel';
    const head = document.createElement('figcaption');
    const title = document.createElement('b');
    title.textContent = panel.title;
    head.append(title);
    figure.append(head);
    place.append(figure);
    const time = array(panel.time), values = panel.traces.map((trace) => array(trace.values));
    const readouts = panel.traces.map((trace, k) => {
      const sample = document.createElement('i'), text = document.createElement('span');
      sample.style.borderTop = `${Math.max(2, trace.width)}px ${trace.dashes.length ? 'dashed' : 'solid'} var(--${trace.colour})`;
      sample.style.opacity = trace.opacity;
      text.className = 'value';
      const entry = document.createElement('button');
      entry.type = 'button';
      entry.className = 'entry';
      entry.title = 'Show or hide';
      entry.setAttribute('aria-pressed', 'true');
      entry.addEventListener('click', () => {
        const show = !plot.series[k + 1].show;
        entry.setAttribute('aria-pressed', String(show));
        plot.setSeries(k + 1, { show });
      });
      entry.append(sample, `${trace.label} `, text);
      head.append(entry);
      return text;
    });
    const labelled = last || !plots.length, tall = () => height() + (labelled ? 22 : 0);
    const look = (view) => { // limits of y; null: those of the panel
      plot.view = view;
      clock.whole &&= !view;
      const [min, max] = view ?? panel.limits;
      plot.setScale('y', { min, max });
    };
    if (panel.hidden) {
      const hidden = document.createElement('button');
      hidden.type = 'button';
      hidden.className = 'hidden';
      hidden.textContent = panel.hidden;
      hidden.title = 'Show all values';
      hidden.addEventListener('click', () => {
        const all = values.flatMap((trace) => Array.from(trace)).filter(Number.isFinite).concat(panel.limits);
        look(plot.view ? null : all.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], panel.limits));
        clock.notify();
      });
      head.append(hidden);
    }
    const plot = new uPlot({
      width: place.clientWidth, height: tall(), legend: { show: false },
      padding: [6, 12, 0, 0],
      cursor: { y: false, points: { show: false }, drag: { x: true, y: true, uni: 24, setScale: false }, sync: { key: 'player', filters: { pub: (type) => type.startsWith('mousemove') || type.startsWith('mouseleave') } } },
      scales: { x: { time: false }, y: { range: (u) => u.view ?? panel.limits } },
      axes: [axis({ size: labelled ? 28 : 6, values: (u, ticks) => ticks.map((t) => (labelled ? `${+t.toFixed(4)} s` : '')) }), axis({ values: (u, ticks) => ticks.map((t) => String(+t.toFixed(6)).replace('-', '−')), size: 62, space: 22, label: panel.unit, labelSize: 16, labelFont: '12px system-ui, sans-serif' })],
      series: [{}, ...panel.traces.map((trace, k) => ({
        stroke: stroke(trace), width: trace.width, dash: trace.dashes.map((d) => d * trace.width),
        points: dots(values[k]),
      }))],
      hooks: {
        drawClear: [bands], drawAxes: [(u) => lines(u, panel)], setScale: [(u, key) => key === 'x' && plots.includes(u) && zoomed(u)],
        setCursor: [(u) => clock.point(u.cursor.left >= 0 ? u.posToVal(u.cursor.left, 'x') : null)],
        setSelect: [(u) => {
          const { left, top, width, height } = u.select;
          if (height > 0 && height < u.over.clientHeight) look([u.posToVal(top + height, 'y'), u.posToVal(top, 'y')]);
          if (width > 0 && width < u.over.clientWidth) clock.show(u.posToVal(left, 'x'), u.posToVal(left + width, 'x'));
          else clock.notify();
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
        ready: [(u) => u.over.addEventListener('mousedown', (event) => { pressed = [event.clientX, event.clientY]; }), (u) => u.over.addEventListener('click', (event) => {
          if (Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 3) return;
          clock.seek(u.posToVal(event.clientX - u.over.getBoundingClientRect().left, 'x'));
        })],
      },
    }, [nulls(time), ...values.map(nulls)], figure);
    const marker = document.createElement('div');
    marker.className = 'marker';
    plot.over.append(marker);
    plot.readAt = (clock) => {
      const row = before(time, clock.read + 2e-4); // of times in single precision
      values.forEach((trace, k) => {
        const value = trace[row];
        const digits = panel.unit === 'N' ? 0 : 1, number = (Number(value.toFixed(digits)) || 0).toFixed(digits); // no negative zero
        readouts[k].textContent = Number.isNaN(value) ? '–' : `${number.replace('-', '−')}${panel.unit === '°' ? '' : ' '}${panel.unit}`;
      });
      const [begin, end] = clock.range, share = (clock.time - begin) / (end - begin);
      marker.style.display = share < 0 || share > 1 ? 'none' : '';
      marker.style.transform = `translateX(${share * plot.over.clientWidth}px)`;
    };
    Object.assign(plot, { look, tall });
    plots.push(plot);
  }

  page.panels.forEach((panel, k) => addPanel(panel, k === page.panels.length - 1));
  let shown = [];
  clock.onChange(() => {
    const [begin, end] = clock.range;
    if (shown[0] !== begin || shown[1] !== end) {
      shown = [begin, end];
      for (const plot of plots) plot.setScale('x', { min: begin, max: end });
    }
    for (const plot of plots) {
      if (clock.whole && plot.view) plot.look(null);
      plot.readAt(clock);
    }
  });
  new ResizeObserver(() => {
    for (const plot of plots) {
      if (plot.width !== place.clientWidth) plot.setSize({ width: place.clientWidth, height: plot.tall() });
      plot.readAt(clock);
    }
  }).observe(place);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plots.forEach((plot) => plot.redraw()));
  return plots;
}
