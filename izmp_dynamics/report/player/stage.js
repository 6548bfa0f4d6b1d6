'use strict';
// The scene with three.js: robot, ground, soles, support polygon, points and forces at the clock's
// time. Metres, z up, the ground at z = 0.

function makeStage(THREE, data, array, clock, page) {
  const host = byId('scene');
  const renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
  renderer.outputColorSpace = THREE.LinearSRGBColorSpace; // the colours of the style sheet as they are
  renderer.shadowMap.enabled = true;
  renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
  host.replaceChildren(renderer.domElement);
  renderer.domElement.tabIndex = 0;
  const scene = new THREE.Scene(), camera = new THREE.PerspectiveCamera(35, 1, 0.1, 80);
  camera.up.set(0, 0, 1);

  const sky = new THREE.HemisphereLight('#ffffff', '#aab0b8', 1.9);
  sky.position.set(0, 0, 1);
  const sun = new THREE.DirectionalLight('#ffffff', 1.5);
  sun.castShadow = true;
  sun.shadow.mapSize.set(1024, 1024);
  Object.assign(sun.shadow.camera, { left: -1.5, right: 1.5, top: 1.5, bottom: -1.5, near: 0.5, far: 9 });
  scene.add(sky, sun, sun.target);

  // ---- ground ----
  const ground = new THREE.Group();
  const floor = new THREE.Mesh(new THREE.PlaneGeometry(60, 60), new THREE.MeshLambertMaterial());
  floor.receiveShadow = true;
  floor.position.z = -0.005;
  ground.add(floor);
  const grids = (data.view !== 'root') ? [[0.1, 120, 0.13], [1, 60, 0.3]].map(([cell, count, opacity]) => {
    const half = cell * count / 2, ends = [];
    for (let k = 0; k <= count; k++) {
      const at = k * cell - half;
      ends.push(at, -half, -0.003, at, half, -0.003, -half, at, -0.003, half, at, -0.003);
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.Float32BufferAttribute(ends, 3));
    const grid = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ transparent: true, opacity }));
    ground.add(grid);
    return grid;
  }) : [];
  scene.add(ground);

  // ---- robot ----
  const root = new THREE.Group(), bodies = [];
  scene.add(root);
  const painted = [], skins = [];
  for (const shape of data.shapes) {
    bodies[shape.body] ??= root.add(new THREE.Group()).children.at(-1);
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.BufferAttribute(array(shape.vertices), 3));
    geometry.setIndex(new THREE.BufferAttribute(array(shape.faces), 1));
    geometry.computeVertexNormals();
    const material = new THREE.MeshLambertMaterial({ flatShading: !shape.smooth, side: THREE.DoubleSide });
    if (shape.colour) material.color.setRGB(...shape.colour); else painted.push([material, 'robot']);
    const mesh = new THREE.Mesh(geometry, material);
    mesh.castShadow = true;
    skins.push(material);
    bodies[shape.body].add(mesh);
  }

  // ---- what lies on the ground and what points: always in view, over the robot ----
  const over = (material, order) => ({ material: Object.assign(material, { depthTest: false, transparent: true }), order });
  function overlay(geometry, { material, order }, colour) {
    painted.push([material, colour]);
    const mesh = new THREE.Mesh(geometry, material);
    mesh.renderOrder = order;
    mesh.frustumCulled = false;
    scene.add(mesh);
    return mesh;
  }

  // A convex polygon of `count` corners: filled, with an outline.
  function polygon(count, colour, opacity, order) {
    const positions = new THREE.BufferAttribute(new Float32Array(3 * count), 3);
    const fill = new THREE.BufferGeometry(), edge = new THREE.BufferGeometry();
    const fan = [];
    for (let k = 2; k < count; k++) fan.push(0, k - 1, k);
    fill.setAttribute('position', positions).setIndex(fan);
    edge.setAttribute('position', positions);
    const area = overlay(fill, over(new THREE.MeshBasicMaterial({ opacity, side: THREE.DoubleSide }), order), colour);
    const line = new THREE.LineLoop(edge, over(new THREE.LineBasicMaterial(), order + 1).material);
    painted.push([line.material, colour]);
    line.renderOrder = order + 1;
    line.frustumCulled = false;
    scene.add(line);
    return {
      area, line,
      put(corners, row) {
        const there = count > 2 && Number.isFinite(corners[3 * count * row]);
        area.visible = line.visible = there;
        if (there) positions.array.set(corners.subarray(3 * count * row, 3 * count * (row + 1)));
        positions.needsUpdate = true;
      },
    };
  }

  // An arrow from `tail` along `vector`, or with its tip at `tail`.
  function arrow(colour, order, tip = false) {
    const group = new THREE.Group();
    const shaft = new THREE.CylinderGeometry(0.007 * size, 0.007 * size, 1, 12).rotateX(Math.PI / 2).translate(0, 0, 0.5);
    const head = new THREE.ConeGeometry(0.022 * size, 0.055 * size, 16).rotateX(Math.PI / 2).translate(0, 0, -0.0275 * size);
    const [rod, cone] = [shaft, head].map((geometry) => overlay(
      geometry, over(new THREE.MeshBasicMaterial({ opacity: 0.9 }), order), colour));
    group.add(rod, cone);
    scene.add(group);
    return {
      group,
      put(at, vector) {
        const length = vector.length();
        group.visible = Number.isFinite(length) && Number.isFinite(at.x) && length > 1e-3;
        if (!group.visible) return;
        group.position.copy(at);
        if (tip) group.position.sub(vector);
        group.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), vector.clone().normalize());
        rod.scale.z = Math.max(length - 0.05 * size, 1e-3);
        cone.position.z = length;
      },
    };
  }

  const times = array(data.time), roots = array(data.root), poses = array(data.bodies);
  const loaded = array(data.loaded), polygons = array(data.polygon), coms = array(data.com), pushes = array(data.push);
  // Points and arrows are as large as suits a robot whose root is so high; 1: at 0.6 m.
  const high = roots[7 * before(times, page.worst) + 2], size = high > 0.1 ? Math.min(high / 0.6, 3) : 1;
  const corners = data.polygon.shape[1], count = data.bodies.shape[1];
  const support = polygon(corners, 'good', 0.35, 2);
  const soles = data.feet.map((foot) => ({ ...polygon(foot.sole.shape[1], 'sole', 0.12, 4), values: array(foot.sole) }));
  const ball = new THREE.SphereGeometry(0.014 * size, 20, 14);
  const tracks = data.tracks.map((track) => ({
    ...track, values: array(track.points), pull: array(track.forces),
    ball: overlay(ball, over(new THREE.MeshBasicMaterial(), 9), track.colour), arrow: arrow(track.colour, 8),
  }));
  const com = overlay(ball, over(new THREE.MeshBasicMaterial(), 9), 'ink');
  const plumb = new THREE.Line(
    new THREE.BufferGeometry().setAttribute('position', new THREE.BufferAttribute(new Float32Array(6), 3)),
    over(new THREE.LineBasicMaterial({ opacity: 0.6 }), 7).material);
  painted.push([plumb.material, 'ink']);
  plumb.renderOrder = 7;
  plumb.frustumCulled = false;
  scene.add(plumb);
  const push = arrow('outside', 10, true);

  // The judged point and its arrow are in front of the CoP, which is drawn larger around them.
  const judged = tracks.find((track) => track.name === page.judged) ?? tracks[0];
  for (const track of tracks) {
    const parts = [track.ball, ...track.arrow.group.children];
    if (track === judged) for (const part of parts) part.renderOrder += 2;
    else if (track.name === 'cop') {
      track.ball.scale.setScalar(1.5);
      for (const part of track.arrow.group.children) part.scale.set(1.6, 1.6, 1);
    }
  }

  // Its path on the ground.
  const TRAIL = 50; // frames
  const trail = judged && (data.view !== 'root') ? new THREE.Line(
    new THREE.BufferGeometry().setAttribute('position', new THREE.BufferAttribute(new Float32Array(3 * TRAIL), 3)),
    over(new THREE.LineBasicMaterial({ opacity: 0.55 }), 6).material) : null;
  if (trail) {
    painted.push([trail.material, judged.colour]);
    trail.renderOrder = 6;
    trail.frustumCulled = false;
    scene.add(trail);
  }

  // ---- layers ----
  const hidden = new Set(), layers = [];
  const layer = (name, text, colour) => layers.push({ name, text, colour });
  if (data.shapes.length) layer('robot', 'robot', 'muted');
  layer('ground', 'support polygon', 'good');
  for (const track of tracks) layer(track.name, track.label, track.colour);
  layer('force', 'contact forces', 'muted');
  layer('com', 'centre of mass', 'ink');
  if (pushes.some((value) => Number.isFinite(value))) layer('push', 'push', 'outside');
  if ((data.view !== 'root')) layer('follow', 'follow', 'muted');
  for (const { name, text, colour } of layers) {
    const button = document.createElement('button'), dot = document.createElement('i');
    button.type = 'button';
    button.dataset.layer = name;
    button.setAttribute('aria-pressed', 'true');
    dot.style.background = `var(--${colour})`;
    button.append(dot, text);
    button.addEventListener('click', () => {
      if (!hidden.delete(name)) hidden.add(name);
      button.setAttribute('aria-pressed', String(!hidden.has(name)));
      show();
    });
    byId('layers').append(button);
  }

  // ---- the frame at the clock's time ----
  const typical = times.length > 1 ? (times.at(-1) - times[0]) / (times.length - 1) : 1;
  const a = new THREE.Vector3(), b = new THREE.Vector3(), p = new THREE.Quaternion(), q = new THREE.Quaternion();

  // Position and orientation between rows `row` and `row + 1` of poses of `stride` numbers.
  function place(object, values, first, second, share, scale, lost) {
    object.visible = !lost(values[first + 3]);
    if (!object.visible) return;
    a.fromArray(values, first);
    p.fromArray(values, first + 3).normalize();
    if (share > 0 && !lost(values[second + 3])) {
      a.lerp(b.fromArray(values, second), share);
      p.slerp(q.fromArray(values, second + 3).normalize(), share);
    }
    object.position.copy(a).multiplyScalar(scale);
    object.quaternion.copy(p);
  }

  function vector(values, row, share) {
    const found = new THREE.Vector3().fromArray(values, 3 * row);
    if (share > 0) {
      b.fromArray(values, 3 * row + 3);
      if (Number.isFinite(b.x)) found.lerp(b, share);
    }
    return found;
  }

  const tall = 0.5 * size / (page.weight || 1); // metres an arrow has for a newton
  let centre = new THREE.Vector3(0, 0, 0.5), centred = false, reach = 0.5;

  function show() {
    const row = before(times, clock.time), next = Math.min(row + 1, times.length - 1);
    const step = times[next] - times[row];
    const share = step > 0 && step < 3 * typical ? Math.min(1, Math.max(0, (clock.time - times[row]) / step)) : 0;
    place(root, roots, 7 * row, 7 * next, share, 1, Number.isNaN);
    const found = root.visible;
    for (let k = 0; k < count; k++) {
      if (bodies[k]) place(bodies[k], poses, 7 * (count * row + k), 7 * (count * next + k), share, data.reach / 32767, (value) => value === -32768);
    }
    root.visible = found && !hidden.has('robot');
    support.put(polygons, row);
    soles.forEach((sole, k) => {
      sole.put(sole.values, row);
      sole.area.material.opacity = loaded[data.feet.length * row + k] ? 0.3 : 0.05;
    });
    if (hidden.has('ground')) for (const shape of [support, ...soles]) shape.area.visible = shape.line.visible = false;
    for (const track of tracks) {
      const at = vector(track.values, row, share);
      track.ball.visible = Number.isFinite(at.x) && !hidden.has(track.name);
      if (track.ball.visible) track.ball.position.copy(at);
      track.arrow.put(at, vector(track.pull, row, share).multiplyScalar(tall));
      track.arrow.group.visible &&= track.ball.visible && !hidden.has('force') && (track === judged || track.name === 'cop');
    }
    const middle = vector(coms, row, share);
    com.visible = plumb.visible = Number.isFinite(middle.x) && !hidden.has('com');
    if (com.visible) {
      com.position.copy(middle);
      plumb.geometry.attributes.position.array.set([middle.x, middle.y, middle.z, middle.x, middle.y, 0]);
      plumb.geometry.attributes.position.needsUpdate = true;
    }
    const force = new THREE.Vector3().fromArray(pushes, 3 * row);
    push.put(middle, force.multiplyScalar(3 * tall));
    push.group.visible &&= !hidden.has('push');
    if (trail) {
      const line = trail.geometry.attributes.position;
      let size = 0;
      for (let k = Math.max(0, row - TRAIL + 1); k <= row; k++) {
        if (Number.isFinite(judged.values[3 * k])) line.array.set(judged.values.subarray(3 * k, 3 * k + 3), 3 * size++);
      }
      line.needsUpdate = true;
      trail.geometry.setDrawRange(0, size);
      trail.visible = !hidden.has(judged.name);
    }
    if (found && (!hidden.has('follow') || !centred)) {
      if (!centred) lookFrom(new THREE.Box3().setFromObject(root, true));
      centre.set(root.position.x, root.position.y, centre.z);
    }
    ground.position.set(Math.round(centre.x), Math.round(centre.y), 0);
    sun.position.set(centre.x + 1.2, centre.y + 1.6, 4);
    sun.target.position.set(centre.x, centre.y, 0);
    render();
  }

  // Chooses height and distance of the camera by the height and breadth of the robot.
  function lookFrom(box) {
    const breadth = box.isEmpty() ? 0 : Math.max(box.max.x - box.min.x, box.max.y - box.min.y);
    centre.z = 0.48 * Math.min(Math.max(1.3 * root.position.z, box.max.z, 0.2), 5);
    reach = Math.max(centre.z, 0.55 * Math.min(breadth, 5));
    centred = true;
  }

  // ---- camera: drag turns, with shift or the right button moves; the wheel zooms ----
  const eye = { shift: new THREE.Vector3() };
  const pointers = new Map();
  const canvas = renderer.domElement;
  canvas.addEventListener('contextmenu', (event) => event.preventDefault());
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
  });
  for (const name of ['pointerup', 'pointercancel']) canvas.addEventListener(name, (event) => pointers.delete(event.pointerId));
  canvas.addEventListener('pointermove', (event) => {
    const last = pointers.get(event.pointerId);
    if (!last) return;
    const x = event.clientX - last[0], y = event.clientY - last[1];
    if (pointers.size === 2) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
      const gap = Math.hypot(last[0] - other[0], last[1] - other[1]);
      zoom(gap / Math.max(1, Math.hypot(event.clientX - other[0], event.clientY - other[1])));
    } else if (event.shiftKey || event.buttons === 2) {
      const metres = eye.distance * 0.63 / canvas.clientHeight;
      eye.shift.add(new THREE.Vector3(Math.sin(eye.azimuth) * x, -Math.cos(eye.azimuth) * x, y).multiplyScalar(metres));
    } else {
      eye.azimuth -= 0.008 * x;
      eye.elevation = Math.min(1.55, Math.max(-0.1, eye.elevation + 0.008 * y));
    }
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
    render();
  });
  canvas.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && document.activeElement !== canvas) return; // the page scrolls
    event.preventDefault();
    zoom(Math.exp(0.001 * event.deltaY));
    render();
  }, { passive: false });
  // Presets: where the camera looks, in heights of the root, from how far, how steeply, and from
  // where the robot heads to.
  const views = { robot: [1, 4, 0.26, -0.75], feet: [0.12, 2, 0.5, -0.75], above: [0, 2.6, 1.54, Math.PI] };
  function view(name) {
    const [height, far, elevation, azimuth] = views[name], { x, y, z, w } = root.quaternion;
    const heading = Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z));
    eye.shift.set(0, 0, (height - 1) * centre.z);
    // from above the robot hides its feet
    for (const skin of skins) Object.assign(skin, { transparent: name === 'above', opacity: name === 'above' ? 0.25 : 1 });
    Object.assign(eye, { elevation, azimuth: azimuth + heading, distance: far * reach });
    render();
  }
  for (const name of Object.keys(views)) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = name;
    button.dataset.view = name;
    button.addEventListener('click', () => view(name));
    byId('views').append(button);
  }
  canvas.addEventListener('dblclick', () => view('robot'));

  function zoom(factor) { eye.distance = Math.min(60, Math.max(0.2, eye.distance * factor)); }

  let asked = false;
  function render() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      const target = centre.clone().add(eye.shift), flat = Math.cos(eye.elevation);
      camera.position.set(Math.cos(eye.azimuth) * flat, Math.sin(eye.azimuth) * flat, Math.sin(eye.elevation))
        .multiplyScalar(eye.distance).add(target);
      camera.lookAt(target);
      renderer.render(scene, camera);
      host.dataset.frame = times.length ? String(before(times, clock.time)) : '';
    });
  }

  function paint() {
    scene.background = new THREE.Color(css('card'));
    scene.fog = new THREE.Fog(css('card'), 6, 26);
    floor.material.color.set(css('paper'));
    for (const grid of grids) grid.material.color.set(css('muted'));
    for (const [material, colour] of painted) material.color.set(css(colour));
    render();
  }

  function fit() {
    const width = host.clientWidth, height = host.clientHeight;
    if (!width || !height) return;
    renderer.setSize(width, height);
    camera.aspect = width / height;
    camera.updateProjectionMatrix();
    render();
  }
  new ResizeObserver(fit).observe(host);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', paint);
  paint();
  fit();
  clock.onChange(show);
  show();
  view('robot');
  return { root, tracks, times };
}
