"""Errors to plant, one at a time: see `mutations.py`.

Each replaces a text that occurs once in a file of the package. The figures and tests are those
that are run; others may notice it as well.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Planted:
    """An error.

    Attributes:
        name: what is wrong.
        file: path in the repository.
        right: text as it is.
        wrong: text with the error.
        figures: of the experiment that are made.
        tests: files below `test` that are run.
        experiment: whose page is made.
    """

    name: str
    file: str
    right: str
    wrong: str
    figures: tuple[str, ...]
    tests: tuple[str, ...]
    experiment: str = 'paper'


DYNAMICS = ('mr_ad', 'ir_md', 'support_polygon')
BENCH = ('studies',)
KERNELS, BENCH_FILES = 'izmp_dynamics/dynamics/kernels.py', 'izmp_lab/studies/paper'

ERRORS = (
    Planted(
        'without ω × Θω', KERNELS,
        'spin = add(_inertia(body, wd_own), cross(w_own, _inertia(body, w_own)))',
        'spin = _inertia(body, wd_own)', ('exact',), DYNAMICS,
    ),
    Planted(
        'without ω × q̇n (eq. 19)', KERNELS,
        'wd = add(wd, add(w_cross_qdn, scale(qdd, n)))', 'wd = add(wd, scale(qdd, n))',
        ('exact',), DYNAMICS,
    ),
    Planted(
        'without the centripetal acceleration of a link', KERNELS,
        'phi = add(phi, add(cross(wd, r), cross(w, cross(w, r))))',
        'phi = add(phi, cross(wd, r))', ('exact',), DYNAMICS,
    ),
    Planted(
        'without s × φ (eq. 13)', KERNELS,
        'moment = add(cross(r, f), add(cross(ms, phi), rotate(own, spin)))',
        'moment = add(cross(r, f), rotate(own, spin))', ('exact',), DYNAMICS,
    ),
    Planted(
        'angular momentum without s × v (eq. 8)', KERNELS,
        'angular = add(cross(r, p), add(cross(ms, velocity), spin))',
        'angular = add(cross(r, p), spin)', ('fig6',), DYNAMICS,
    ),
    Planted(
        'mass of the robot 2 % too large', 'izmp_dynamics/model/robot_model.py',
        'return float(self.bodies[:, MASS].sum())',
        'return 1.02 * float(self.bodies[:, MASS].sum())',
        ('fig6',), ('robot_model', 'ir_md'),
    ),
    Planted(
        'sign of L̇', 'izmp_dynamics/dynamics/ir_md.py',
        'rates[:, 3:] - cross(momentum.com, weight)',
        '-rates[:, 3:] - cross(momentum.com, weight)', ('fig6',), DYNAMICS,
    ),
    Planted(
        'gravity × 1.02 in IR-MD', 'izmp_dynamics/dynamics/ir_md.py',
        'weight = self.model.total_mass * self.gravity',
        'weight = 1.02 * self.model.total_mass * self.gravity', ('fig6',), DYNAMICS,
    ),
    Planted(
        'gravity × 1.02 in the accelerometers', f'{BENCH_FILES}/sensors.py',
        'upward = np.array([0.0, 0.0, self.gravity])',
        'upward = np.array([0.0, 0.0, 1.02 * self.gravity])', ('exact',), BENCH,
    ),
    Planted(
        'a lever arm off by 10 mm', 'izmp_dynamics/sensing/accelerometer_array.py',
        'self._points = np.repeat(np.reshape(points, (-1, 3)), counts, axis=0)',
        'self._points = np.repeat(np.reshape(points, (-1, 3)), counts, axis=0)\n'
        '        self._points[-1] += 0.01', ('exact',), ('accelerometer_array', 'studies'),
    ),
    Planted(
        'accelerometers without the centripetal part',
        'izmp_dynamics/sensing/accelerometer_array.py',
        'return float(u_w * p_w - u_p * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]))',
        'return 0.0 * u_p', ('exact',), ('accelerometer_array',),
    ),
    Planted(
        'joints one sample late', f'{BENCH_FILES}/sensors.py',
        'return JointState(self.q[rows], self.qd[rows], qdd)',
        'return JointState(self.q[rows - 1], self.qd[rows], qdd)', ('fig6',), BENCH,
    ),
    Planted(
        'joints one sample late in recordings', 'izmp_lab/simulation/mujoco/signals.py',
        '        q=samples.qpos[:, plant.q_columns],\n',
        '        q=np.roll(samples.qpos[:, plant.q_columns], 1, axis=0),\n', ('exact',),
        ('studies', 'simulate_walk', 'sway'),
    ),
    Planted(
        'q̈ of the paper not paired with its accelerometers', f'{BENCH_FILES}/sensors.py',
        "        if setup.convention == 'paper':\n            qdd",
        "        if setup.convention == 'never':\n            qdd", ('fig6',), BENCH,
    ),
    Planted(
        'accelerometers that do not average', f'{BENCH_FILES}/sensors.py',
        '        if averaged:\n', '        if False:\n', ('fig6',), BENCH,
    ),
    Planted(
        'second difference half as large', 'izmp_dynamics/signals/differences.py',
        'second[k, j] = 2.0 * (after - before) / (h1 + h2)',
        'second[k, j] = (after - before) / (h1 + h2)', ('fig6',), ('acd',),
    ),
    Planted(
        'noise × 2', 'izmp_dynamics/sensing/noise.py',
        'return density * math.sqrt(rate)', 'return 2.0 * density * math.sqrt(rate)',
        ('fig8',), ('noise_propagation',),
    ),
    Planted(
        'a gyroscope without noise', f'{BENCH_FILES}/sensors.py',
        "density = degrees(noise.gyroscope) if name == 'gyroscope' else",
        "density = 0.0 if name == 'gyroscope' else", ('fig8',), BENCH,
    ),
    Planted(
        'predicted variance half as large', 'izmp_dynamics/pipeline/noise_propagation.py',
        'np.asarray(spread @ spread.T + gyroscope_sigma**2',
        'np.asarray(0.5 * spread @ spread.T + gyroscope_sigma**2',
        ('prediction',), ('noise_propagation',),
    ),
    Planted(
        'slope ignored', 'izmp_dynamics/stability/ground_plane.py',
        'np.ascontiguousarray(poses[:, 2:POSITION:3])',
        'np.tile([0.0, 0.0, 1.0], (len(foot), 1))',
        ('exact',), ('ground_plane',),
    ),
    Planted(
        'slope ignored by the IMUs in the feet', 'izmp_dynamics/stability/ground_plane.py',
        'return GroundPlane(_turned(R[:, :, 2], seen, wanted), point)',
        'return GroundPlane(wanted, point)', ('fig11',), ('foot_imu',),
    ),
    Planted(
        'ground 10 mm off', 'izmp_dynamics/stability/ground_plane.py',
        'poses[:, POSITION:])', 'poses[:, POSITION:] + 0.01 * poses[:, 2:POSITION:3])',
        ('exact',), ('ground_plane',),
    ),
    Planted(
        'ZMP at the height of the origin', 'izmp_dynamics/stability/zmp.py',
        'tilting = add(cross(n, moment), scale(dot(n, p0), force))',
        'tilting = cross(n, moment)', ('exact',), ('support_polygon',),
    ),
    Planted(
        'margins of a polygon that is 10 mm too large',
        'izmp_dynamics/stability/support_polygon.py',
        'margins[p, t] = _signed_distance(hull, point)',
        'margins[p, t] = _signed_distance(hull, point) + 0.01',
        ('fig11',), ('support_polygon',),
    ),
    Planted(
        'a push that nothing counts', 'izmp_lab/simulation/mujoco/signals.py',
        'applied_wrench=pushed.seen_from(root.rotation, root.position).as_array()',
        'applied_wrench=0.0 * pushed.seen_from(root.rotation, root.position).as_array()',
        ('exact',), ('mujoco_model', 'studies'),
    ),
    Planted(
        'positions after the step, accelerations before it',
        'izmp_lab/simulation/mujoco/signals.py',
        '        self.qpos[row], self.qvel[row] = data.qpos, data.qvel\n'
        '        mujoco.mj_step(plant.model, data)\n',
        '        mujoco.mj_step(plant.model, data)\n'
        '        self.qpos[row], self.qvel[row] = data.qpos, data.qvel\n', ('exact',), BENCH,
    ),
    Planted(
        'tolerance of the converging CoG × 10', 'izmp_lab/walking/converging_cog.py',
        'EXACT_TOLERANCE = 1e-9', 'EXACT_TOLERANCE = 1e-8', ('iterations',), ('itu_biped',),
        'itu_biped',
    ),
    Planted(
        'the minus signs of eq. 9 of the ITU Biped put back', 'izmp_lab/walking/itu_biped.py',
        'theta1 = np.arctan2(o[..., 0] * s6 + o[..., 1] * c6, n[..., 0] * s6 + n[..., 1] * c6)',
        'theta1 = np.arctan2(-o[..., 0] * s6 - o[..., 1] * c6, -n[..., 0] * s6 - n[..., 1] * c6)',
        ('exact',), ('itu_biped',), 'itu_biped',
    ),
    Planted(
        'eq. 30 of the seesaw without Γ⁻¹ put back', 'izmp_lab/seesaw/coupled.py',
        'bias = self.ground_on_board @ self.board.J_ground_dot_nu',
        'bias = self.board.J_ground.T @ self.board.J_ground_dot_nu',
        ('equations',), ('kkt_plant', 'seesaw_controller'), 'seesaw',
    ),
)  # fmt: skip
