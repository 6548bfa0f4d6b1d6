'use strict';
// The distribution and the trend of the margins of some bags: [{ state, margin [mm], start [s] }].

const BINS = 40, PERIODS = 30, ENOUGH = 5, FEW = 10; // bags of which a median is drawn; of which all are in view
const LEAST_WIDTH = 120, DAY = 86400; // [px], in less uPlot fails; [s]

const numeral = new Intl.NumberFormat('en', { maximumFractionDigits: 6 });
const numbers = { values: (plot, values) => values.map((value) => numeral.format(value).replace('-', '−')) };
const counted = { incrs: [1, 2, 5].flatMap((k) => [0, 1, 2, 3, 4, 5].map((n) => k * 10 ** n)).sort((a, b) => a - b) };

const dates = { space: 90, values: (plot, times, axis, space, step) => times.map((time) => {
  const text = new Date(1e3 * time).toISOString().replace('T', ' ');
  return step < 86400 ? text.slice(5, 16) : text.slice(0, 10);
}) };

// Two axes, each with options of its own.
const axes = (...options) => options.map((one) => ({
  stroke: css('muted'), grid: { stroke: css('grid') }, ticks: { stroke: css('grid') }, ...one,
}));

// Limits [mm] of margins that a few bags far away do not stretch: the quartiles and three times their
// distance on each side; all of a few bags.
function robustLimits(bags) {
  const sorted = bags.map((bag) => bag.margin).filter((margin) => margin !== null).sort((a, b) => a - b);
  const [first, lower, upper, last] = [0, 0.25, 0.75, 1].map((q) => sorted[Math.round(q * (sorted.length - 1))] ?? 0);
  if (sorted.length < FEW) return [first, last];
  const reach = 3 * Math.max(upper - lower, 1);
  return [Math.max(first, lower - reach), Math.min(last, upper + reach)];
}

const within = (margin, [low, high]) => Math.min(Math.max(margin, low), high);

// Bags per interval of the margin, stacked by state, the worst at the bottom.
function distribution(uPlot, element, bags, states, limits) {
  const known = bags.filter((bag) => bag.margin !== null);
  const [low, high] = limits;
  const width = Math.max((high - low) / BINS, 1e-3);
  const counts = states.map(() => new Array(BINS).fill(0));
  for (const bag of known) {
    const bin = Math.min(Math.max(Math.floor((bag.margin - low) / width), 0), BINS - 1);
    const from = states.indexOf(bag.state);
    for (let k = from; k < states.length; k += 1) counts[k][bin] += 1;
  }
  const middle = counts[0].map((_, bin) => low + (bin + 0.5) * width);
  const series = states.map((state, k) => ({
    label: state, fill: css(state), width: 0, points: { show: false },
    paths: uPlot.paths.bars({ size: [0.92] }), heights: counts[k],
  })).reverse(); // the tallest is drawn first
  return new uPlot({
    width: Math.max(element.clientWidth, LEAST_WIDTH), height: 240, legend: { show: false }, cursor: { show: false },
    scales: { x: { time: false, range: [low - width / 2, low + (BINS + 0.5) * width] },
      y: { range: (plot, min, max) => [0, Math.max(max, 1) * 1.05] } },
    axes: axes(numbers, { ...numbers, ...counted }), series: [{}, ...series],
  }, [middle, ...series.map((one) => one.heights)], element);
}

// Margin over the time of recording, a point per bag; of one robot also the median of equal parts
// of the time, where that has enough bags.
function trend(uPlot, element, bags, states, limits) {
  const dated = bags.filter((bag) => bag.start !== null && bag.margin !== null)
    .sort((a, b) => a.start - b.start);
  const times = dated.map((bag) => bag.start);
  const points = states.map((state) => dated.map((bag) => bag.state === state ? within(bag.margin, limits) : null));
  const medians = new Array(dated.length).fill(null);
  const alike = new Set(dated.map((bag) => bag.robot)).size === 1;
  const first = times[0] ?? 0, step = ((times.at(-1) ?? 1) - first) / PERIODS || 1;
  for (let begin = 0, end; alike && begin < dated.length; begin = end) {
    const period = Math.floor((times[begin] - first) / step);
    end = begin + 1;
    while (end < dated.length && Math.floor((times[end] - first) / step) === period) end += 1;
    const middle = median(dated.slice(begin, end).map((bag) => bag.margin));
    if (end - begin >= ENOUGH) medians[begin + ((end - begin) >> 1)] = middle;
  }
  return new uPlot({
    width: Math.max(element.clientWidth, LEAST_WIDTH), height: 240, legend: { show: false },
    cursor: { show: false }, axes: axes(dates, numbers), tzDate: (time) => uPlot.tzDate(new Date(1e3 * time), 'UTC'),
    scales: { x: { range: (plot, min, max) => min === max && min !== null ? [min - DAY, max + DAY] : [min, max] }, y: { range: [limits[0] - 2, limits[1] + 2] } },
    series: [{}, ...states.map((state) => ({
      label: state, stroke: css(state), paths: () => null,
      points: { show: true, size: 5, fill: css(state), width: 0 },
    })), { label: 'median', stroke: css('ink'), width: 2, spanGaps: true, points: { show: false } }],
  }, [times, ...points, medians], element);
}
