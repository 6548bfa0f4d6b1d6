'use strict';
// Time series with uPlot: one time axis for all, a marker at the clock's time, bands for events.

const BANDS = { excursion: 'outside', push: 'other', fall: 'bad', 'fall alarm': 'bad', slip: 'warn', flight: 'measured', 'sensor fault': 'unsure' };

function makeSeries(uPlot, page, array, clock, place) {
  const plots = [];
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
    if (min === clock.range[0] && max === clock.range[1]) return;
    clock.show(min, max);
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
    const readouts = panel.traces.map((trace) => {
      const sample = document.createElement('i'), text = document.createElement('span');
      sample.style.borderTop = `${Math.max(2, trace.width)}px ${trace.dashes.length ? 'dashed' : 'solid'} var(--${trace.colour})`;
      sample.style.opacity = trace.opacity;
      text.className = 'value';
      const entry = document.createElement('span');
      entry.className = 'entry';
      entry.append(sample, `${trace.label} `, text);
      head.append(entry);
      return text;
    });
    const labelled = last || !plots.length, height = labelled ? 134 : 112;
    if (panel.hidden) {
      const hidden = document.createElement('span');
      hidden.className = 'hidden';
      hidden.textContent = panel.hidden;
      head.append(hidden);
    }
    const plot = new uPlot({
      width: place.clientWidth, height, legend: { show: false },
      padding: [6, 12, 0, 0],
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: true }, sync: { key: 'player' } },
      scales: { x: { time: false }, y: { range: () => panel.limits } },
      axes: [axis({ size: labelled ? 28 : 6, values: (u, ticks) => ticks.map((t) => (labelled ? `${+t.toFixed(4)} s` : '')) }), axis({ values: (u, ticks) => ticks.map((t) => String(+t.toFixed(6)).replace('-', '−')), size: 62, space: 22, label: panel.unit, labelSize: 16, labelFont: '12px system-ui, sans-serif' })],
      series: [{}, ...panel.traces.map((trace, k) => ({
        stroke: stroke(trace), width: trace.width, dash: trace.dashes.map((d) => d * trace.width),
        points: dots(values[k]),
      }))],
      hooks: {
        drawClear: [bands], drawAxes: [(u) => lines(u, panel)], setScale: [(u, key) => key === 'x' && plots.includes(u) && zoomed(u)],
        ready: [(u) => u.over.addEventListener('click', (event) => {
          if (u.select.width > 0) return;
          clock.seek(u.posToVal(event.clientX - u.over.getBoundingClientRect().left, 'x'));
        })],
      },
    }, [nulls(time), ...values.map(nulls)], figure);
    const marker = document.createElement('div');
    marker.className = 'marker';
    plot.over.append(marker);
    plot.readAt = (clock) => {
      const row = before(time, clock.time);
      values.forEach((trace, k) => {
        const value = trace[row];
        readouts[k].textContent = Number.isNaN(value) ? '–' : `${value.toFixed(panel.unit === 'N' ? 0 : 1).replace('-', '−')} ${panel.unit}`;
      });
      const [begin, end] = clock.range, share = (clock.time - begin) / (end - begin);
      marker.style.display = share < 0 || share > 1 ? 'none' : '';
      marker.style.transform = `translateX(${share * plot.over.clientWidth}px)`;
    };
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
    for (const plot of plots) plot.readAt(clock);
  });
  new ResizeObserver(() => {
    for (const plot of plots) {
      if (plot.width !== place.clientWidth) plot.setSize({ width: place.clientWidth, height: plot.height });
      plot.readAt(clock);
    }
  }).observe(place);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plots.forEach((plot) => plot.redraw()));
  return plots;
}
