'use strict';
// What the page carries: numbers as typed arrays, and the libraries.

const byId = (id) => document.getElementById(id);

async function inflated(id) {
  const text = atob(byId(id).textContent), bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

// Runs a library and returns what it puts under `name` in the window.
async function library(id, name) {
  const element = document.createElement('script');
  element.textContent = new TextDecoder().decode(await inflated(id));
  document.head.append(element);
  element.remove();
  return window[name];
}

// three.js out of K3D's bundle, which wants to be defined as an AMD module and brings styles with
// fonts for a panel of its own.
async function three() {
  const styles = new Set(document.querySelectorAll('style'));
  window.define = (name, needs, make) => { window.k3dBundle = make(); };
  const bundle = await library('player-three', 'k3dBundle');
  delete window.define;
  for (const style of document.querySelectorAll('style')) if (!styles.has(style)) style.remove();
  if (!bundle?.ThreeJsProvider?.THREE) throw new Error('this K3D has no three.js in it');
  return bundle.ThreeJsProvider.THREE;
}

const KINDS = { f4: Float32Array, i2: Int16Array, u4: Uint32Array };

// The arrays of the block, as packing.py stores them: `array(entry)` is flat, its shape is entry.shape.
function unpacker(buffer) {
  return (entry) => {
    const count = entry.shape.reduce((size, n) => size * n, 1), width = count / entry.shape[0];
    const values = new KINDS[entry.kind](count), size = values.BYTES_PER_ELEMENT;
    const bytes = new Uint8Array(buffer, entry.offset, count * size);
    const bits = new (size === 2 ? Uint16Array : Uint32Array)(values.buffer);
    for (let column = 0, k = 0; column < width; column++) {
      for (let at = column, bit = 0; at < count; at += width, k++) {
        for (let b = 0; b < size; b++) bit = (bit + (bytes[b * count + k] << 8 * b)) | 0;
        bits[at] = bit;
      }
    }
    return values;
  };
}

// Lets the browser show what there is so far; one that draws no frames, as for a print, goes on after 0.2 s.
const shown = () => document.hidden || new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); setTimeout(done, 200); });

// A colour of the page's style sheet.
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
