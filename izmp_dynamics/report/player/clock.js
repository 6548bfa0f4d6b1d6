'use strict';
// The one time that slider, scene and series share. Whoever wants to know it calls `onChange`.

class Clock {
  constructor(duration) {
    this.duration = duration;
    this.range = [0, duration];
    this.time = 0;
    this.speed = 1;
    this.playing = false;
    this.cursor = null; // time at the mouse, over a plot
    this.whole = true; // whether all plots show everything that they can
    this.listeners = [];
  }

  onChange(listener) { this.listeners.push(listener); }

  notify() { for (const listener of this.listeners) listener(this); }

  seek(time) {
    this.time = Math.min(Math.max(time, 0), this.duration);
    this.notify();
  }

  // The time whose values are read.
  get read() { return this.cursor ?? this.time; }

  point(time) {
    if (time === this.cursor) return;
    this.cursor = time;
    this.notify();
  }

  // The whole recording, in the limits of each plot.
  reset() {
    this.whole = true;
    this.show(0, this.duration);
  }

  // What is shown; playing stays within it.
  show(begin, end) {
    this.range = [Math.max(0, begin), Math.min(this.duration, end)];
    this.whole &&= this.range[0] === 0 && this.range[1] === this.duration;
    this.notify();
  }

  toggle() {
    this.playing = !this.playing;
    const [begin, end] = this.range;
    if (this.playing) {
      if (this.time < begin || this.time >= end) this.time = begin;
      this.last = performance.now();
      requestAnimationFrame((now) => this.tick(now));
    }
    this.notify();
  }

  tick(now) {
    if (!this.playing) return;
    const time = this.time + this.speed * Math.max(0, now - this.last) / 1000;
    this.last = now;
    if (time >= this.range[1]) this.playing = false;
    this.seek(Math.min(time, this.range[1]));
    requestAnimationFrame((next) => this.tick(next));
  }
}

// Index of the last entry of ascending `times` that is not after `time`, at least 0.
function before(times, time) {
  let low = 0, high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= time) low = middle; else high = middle - 1;
  }
  return low;
}
