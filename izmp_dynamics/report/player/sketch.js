'use strict';
// The robot as a flat picture, as the scene will show it first: until three.js is there.

function sketch(data, array, clock) {
  const host = byId('scene'), width = host.clientWidth, height = host.clientHeight;
  const row = before(array(data.time), clock.time), root = array(data.root).subarray(7 * row, 7 * row + 7);
  if (Number.isNaN(root[3])) return;
  // A point of the frame at a pose (x, y, z and the quaternion).
  const placed = ([px, py, pz, x, y, z, w], [a, b, c]) => {
    const d = 2 * (y * c - z * b), e = 2 * (z * a - x * c), f = 2 * (x * b - y * a);
    return [px + a + w * d + y * f - z * e, py + b + w * e + z * d - x * f, pz + c + w * f + x * e - y * d];
  };
  const poses = array(data.bodies), count = data.bodies.shape[1], faces = [];
  let highest = 1.3 * root[2];
  const low = [Infinity, Infinity], high = [-Infinity, -Infinity];
  for (const shape of data.shapes) {
    const first = 7 * (count * row + shape.body), vertices = array(shape.vertices), found = array(shape.faces);
    if (poses[first + 3] === -32768) continue;
    const body = Array.from(poses.subarray(first, first + 7), (value, k) => value * (k < 3 ? data.reach : 1) / 32767);
    const corners = [];
    for (let k = 0; k < vertices.length; k += 3) corners.push(placed(root, placed(body, vertices.subarray(k, k + 3))));
    for (const corner of corners) {
      highest = Math.max(highest, corner[2]);
      for (const k of [0, 1]) [low[k], high[k]] = [Math.min(low[k], corner[k]), Math.max(high[k], corner[k])];
    }
    const colour = shape.colour ? `rgb(${shape.colour.map((part) => 255 * part)})` : css('robot');
    for (let k = 0; k < found.length; k += 3) faces.push({ colour, at: [0, 1, 2].map((n) => corners[found[k + n]]) });
  }
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2], less = (a, b) => a.map((value, k) => value - b[k]);
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const centre = [root[0], root[1], 0.48 * Math.min(Math.max(highest, 0.2), 5)], [, , , x, y, z, w] = root;
  const reach = Math.max(centre[2], 0.55 * Math.min(Math.max(high[0] - low[0], high[1] - low[1]), 5));
  const azimuth = Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)) - 0.75, flat = Math.cos(0.26);
  const back = [Math.cos(azimuth) * flat, Math.sin(azimuth) * flat, Math.sin(0.26)];
  const right = [-Math.sin(azimuth), Math.cos(azimuth), 0], up = cross(back, right);
  for (const face of faces) {
    const normal = cross(less(face.at[1], face.at[0]), less(face.at[2], face.at[0]));
    face.light = 60 + 40 * Math.abs(dot(normal, [0.27, 0.36, 0.89])) / (Math.hypot(...normal) || 1);
    face.at = face.at.map((corner) => {
      const from = less(corner, centre), far = 4 * reach - dot(from, back);
      const zoom = height / 2 / Math.tan(0.305) / far;
      return [width / 2 + zoom * dot(from, right), height / 2 - zoom * dot(from, up), far];
    });
    face.far = face.at[0][2] + face.at[1][2] + face.at[2][2];
  }
  // Drawn by the processor, which is faster where there is no graphics card.
  const canvas = Object.assign(document.createElement('canvas'), { width, height }), ink = canvas.getContext('2d', { willReadFrequently: true });
  ink.lineJoin = 'round';
  for (const { at, light, colour } of faces.sort((a, b) => b.far - a.far)) {
    ink.fillStyle = ink.strokeStyle = `color-mix(in srgb, ${colour} ${Math.round(light)}%, black)`;
    ink.beginPath();
    for (const corner of at) ink.lineTo(corner[0], corner[1]);
    ink.closePath();
    ink.fill();
    ink.stroke();
  }
  host.append(canvas);
}
