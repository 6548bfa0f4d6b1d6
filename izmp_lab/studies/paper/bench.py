"""The test bench: derives noisy samples from a trial and evaluates them as a setup says.

The stages are those of the package (ACD, accelerometer array, gyroscope difference, Localizer,
MR-AD, IR-MD, ZMP); the bench only decides which samples they see. The ground plane is that of the
sole which carries most, and points are given in nif, the non-inertial frame of sect. 4.2, as in
the paper.

Here are also first-order covariances of the setups that the product lacks: gyroscope difference,
and IR-MD.
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array, Indices, skew
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.ir_md import IrMd
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.pipeline.noise_propagation import (
    array_covariance,
    imu_covariance,
    mr_ad_covariance,
    zmp_covariance,
)
from izmp_dynamics.pipeline.rig import Rig, make_rig
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.stability.ground_plane import GroundPlane, Sole, Soles, plane_under
from izmp_dynamics.stability.support_polygon import plane_axes
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.studies.paper.sensors import (
    Densities,
    JointState,
    RootSensors,
    Rows,
    SampledRows,
    gyro_state,
    gyro_weights,
    joint_state,
    root_velocity,
    white_noise,
)
from izmp_lab.studies.paper.trial import Setup, WalkTruth


def gyro_covariance(
    p_imu_in_root: Array,
    angular_velocity: Array,
    weights: tuple[float, float, float],
    accelerometer_sigma: float,
    gyroscope_sigma: float,
) -> Array:
    """Covariance of φ, ω and ω̇ when ω̇ is a difference quotient of the gyroscope.

    Args:
        p_imu_in_root: (3,) where the IMU sits [m].
        angular_velocity: (K, 3) ω in root axes [rad/s].
        weights: of the samples before, at and after the instant in the quotient [1/s].
        accelerometer_sigma: σ of every axis of the IMU's accelerometer [m/s²].
        gyroscope_sigma: σ of every axis [rad/s].

    Returns:
        (K, 9, 9), in the order φ, ω, ω̇.
    """
    force, gyro = accelerometer_sigma**2 * np.eye(3), gyroscope_sigma**2 * np.eye(3)
    squares = np.array([[1.0, weights[1]], [weights[1], float(np.square(weights).sum())]])
    return imu_covariance(p_imu_in_root, angular_velocity, force, gyro, squares)


def ir_md_covariance(
    mass: float,
    com_in_world: tuple[Array, Array],
    world_R_root: Array,
    p_root_in_world: Array,
    duration: float,
    velocity_sigma: float,
) -> Array:
    """Covariance (K, 6, 6) of IR-MD's contact wrench about the root origin, in root axes.

    Noise δv of the root's velocity moves P by m δv and L by r_COM × m δv (eq. 8).

    Args:
        mass: of the robot [kg].
        com_in_world: (K, 3) centre of mass at the two samples that are differenced [m].
        world_R_root: (K, 3, 3) orientation of the root at the instant of the result.
        p_root_in_world: (K, 3) root origin at that instant [m].
        duration: time between the two samples [s].
        velocity_sigma: σ of every axis of the linear velocity [m/s].
    """
    root_R_world = np.swapaxes(world_R_root, 1, 2)
    covariance = np.zeros((len(world_R_root), 6, 6))
    for com in com_in_world:
        by_velocity = np.empty((len(com), 6, 3))
        by_velocity[:, :3] = root_R_world
        by_velocity[:, 3:] = root_R_world @ skew(com - p_root_in_world)
        squared = by_velocity @ np.swapaxes(by_velocity, 1, 2)
        covariance += (mass * velocity_sigma / duration) ** 2 * squared
    return covariance


@dataclass(frozen=True)
class Ground:
    """The ground under a trial at all its instants.

    Attributes:
        plane: n·(x − p0) = 0 in the root frame.
        nif_R_root: (T, 3, 3) root axes to nif axes.
        soles: of the feet, in the root frame.
    """

    plane: GroundPlane
    nif_R_root: Array
    soles: tuple[Sole, ...]

    @classmethod
    def on(cls, plane: GroundPlane, soles: tuple[Sole, ...]) -> 'Ground':
        """Take a plane as the ground."""
        axes = plane_axes(plane.normal)
        nif_R_root = np.concatenate([axes, plane.normal[:, None]], axis=1)
        return cls(plane, nif_R_root, soles)

    def in_nif(self, points: Array, rows: Rows | slice = slice(None)) -> Array:
        """Express points (K, 3) of the root frame at the instants `rows` in nif [m]."""
        rotated: Array = np.einsum('tij,tj->ti', self.nif_R_root[rows], points)
        return rotated


def carries_most(trial: WalkTruth) -> Indices:
    """(T,) the foot that carries most."""
    return np.asarray(np.argmax(trial.normal_forces, axis=1), dtype=np.int64)


class Bench:
    """Evaluates trials of one robot.

    Args:
        file: the robot file.

    Raises:
        IzmpError: if the robot cannot be used.
    """

    def __init__(self, file: RobotFile) -> None:
        self.file = file
        self.rig: Rig = make_rig(file)
        self.model = self.rig.model
        self.mr_ad = MrAd(self.model)
        self.sensors = RootSensors.of(self.rig)

    def soles(self, trial: WalkTruth) -> tuple[Sole, ...]:
        """Place the soles; the load on them is the true one."""
        poses = [self.model.frame_pose(foot.sole, trial.q) for foot in self.rig.feet]
        return tuple(
            Sole.from_polygon(R, p, foot.polygon, trial.normal_forces[:, k])
            for k, (foot, (R, p)) in enumerate(zip(self.rig.feet, poses, strict=True))
        )

    def ground(self, trial: WalkTruth) -> Ground:
        """Take the plane of the sole that carries most, as the package does by default."""
        soles = self.soles(trial)
        return Ground.on(plane_under(Soles.of(soles, len(trial)), carries_most(trial)), soles)

    def in_foot(self, trial: WalkTruth, ground: Ground, points: Array, rows: Rows) -> Array:
        """Express points (K, 3) of nif, at the instants `rows`, in the sole that carries [m]."""
        foot = carries_most(trial)[rows]
        place = np.arange(len(rows))
        R = np.stack([sole.R[rows] for sole in ground.soles])[foot, place]
        p = np.stack([sole.p[rows] for sole in ground.soles])[foot, place]
        in_root = np.einsum('tji,tj->ti', ground.nif_R_root[rows], points)
        in_sole: Array = np.einsum('tji,tj->ti', R, in_root - p)
        return in_sole

    def exact_wrench(self, trial: WalkTruth) -> ContactWrench:
        """MR-AD at every instant from the true q̇, q̈, ω, ω̇ and φ."""
        wrench, _ = self.mr_ad.batch(
            self.sensors.proper_acceleration(trial),
            trial.angular_velocity,
            trial.angular_acceleration,
            trial.q,
            trial.qd,
            trial.qdd,
        )
        return wrench

    def array_error(self, trial: WalkTruth) -> Array:
        """(2,) largest error of φ [m/s²] and ω̇ [rad/s²] by the array with ideal sensors."""
        sensors, everything = self.sensors, np.arange(len(trial))
        readings = {
            sensor.name: sensors.readings(trial, sensor, everything)
            for sensor in sensors.accelerometers
        }
        found = sensors.array.batch(trial.stamps, trial.angular_velocity, readings)
        phi = found.proper_acceleration - sensors.proper_acceleration(trial)
        alpha = found.angular_acceleration - trial.angular_acceleration
        return np.array([np.abs(phi).max(), np.abs(alpha).max()])

    def point(self, wrench: ContactWrench, ground: Ground, rows: Rows | slice) -> Array:
        """(K, 3) IZMP in nif [m]."""
        plane = ground.plane
        point = zero_moment_point(
            wrench, plane.normal[rows], plane.point[rows], self.rig.minimum_force
        )
        return ground.in_nif(point, rows)

    def izmp(
        self,
        trial: WalkTruth,
        ground: Ground,
        setup: Setup,
        noise: Densities | None = None,
        seed: int = 0,
        phase: int = 0,
    ) -> tuple[Rows, Array]:
        """Evaluate a trial.

        Args:
            trial: the trial.
            ground: under it.
            setup: rates, method, conventions.
            noise: of the sensors; ideal sensors if None.
            seed: of the noise.
            phase: index of a row of the trial that reaches the bus.

        Returns:
            (K,) rows of the trial, (K, 3) IZMP in nif [m]; NaN where there is none.
        """
        sampled = Sampled(self, trial, setup, SampledRows.of(trial, setup, phase))
        rows = sampled.rows.rows
        return rows, self.point(sampled.wrench(noise, seed), ground, rows)

    def izmp_covariance(
        self, trial: WalkTruth, ground: Ground, setup: Setup, noise: Densities
    ) -> Array:
        """Predict the covariance (K, 3, 3) of the IZMP in nif [m²] from the noise densities."""
        sampled = Sampled(self, trial, setup, SampledRows.of(trial, setup))
        rows, plane = sampled.rows.rows, ground.plane
        in_root = zmp_covariance(
            sampled.wrench(), sampled.covariance(noise), plane.normal[rows], plane.point[rows]
        )
        R = ground.nif_R_root[rows]
        return R @ in_root @ np.swapaxes(R, 1, 2)


@dataclass(frozen=True)
class Sampled:
    """A trial as a setup samples it.

    Attributes:
        bench: evaluates it.
        trial: the trial.
        setup: rates, method, conventions.
        rows: which samples it sees.
    """

    bench: Bench
    trial: WalkTruth
    setup: Setup
    rows: SampledRows

    def wrench(self, noise: Densities | None = None, seed: int = 0) -> ContactWrench:
        """Contact wrench on the bus, about the root origin in root axes."""
        if self.setup.method == 'ir_md':
            return self._ir_md_wrench(noise, seed)
        root, joints = self.root_state(noise, seed), self.joints()
        wrench, _ = self.bench.mr_ad.batch(
            root.proper_acceleration,
            root.angular_velocity,
            root.angular_acceleration,
            joints.q,
            joints.qd,
            joints.qdd,
        )
        return wrench

    def covariance(self, noise: Densities) -> Array:
        """Predicted covariance (K, 6, 6) of that wrench."""
        force = noise.accelerometer_sigma(self.setup.actuator)
        if self.setup.method == 'ir_md':
            return self._ir_md_covariance(force)
        root, joints, sensors = self.root_state(), self.joints(), self.bench.sensors
        gyro = noise.gyroscope_sigma(self.setup.actuator)
        omega = root.angular_velocity
        if self.setup.angular_acceleration == 'accelerometers':
            spread = array_covariance(sensors.array, omega, force, gyro)
        else:
            arm = sensors.imu.p_sensor_in_root
            spread = gyro_covariance(arm, omega, gyro_weights(self.setup), force, gyro)
        phi, alpha = root.proper_acceleration, root.angular_acceleration
        states = np.hstack([phi, omega, alpha, joints.q, joints.qd, joints.qdd])
        return mr_ad_covariance(self.bench.mr_ad, states, spread)

    def _ir_md_covariance(self, velocity_sigma: float) -> Array:
        trial, rows, model = self.trial, self.rows.rows, self.bench.model
        stride = trial.stride(1.0 / self.setup.sample_step)
        aligned = self.setup.convention == 'aligned'
        before = np.maximum(rows - stride, 0)
        after = np.minimum(rows + stride, len(trial) - 1) if aligned else rows
        com = [
            trial.position[r] + np.einsum('tij,tj->ti', trial.rotation[r], model.com(trial.q[r]))
            for r in (before, after)
        ]
        return ir_md_covariance(
            model.total_mass,
            (com[0], com[1]),
            trial.rotation[rows],
            trial.position[rows],
            self.setup.differenced_over,
            velocity_sigma,
        )

    def joints(self) -> JointState:
        """ACD at the actuator rate; the bus sees every n-th result."""
        rows = self.rows.actuator
        found = joint_state(self.setup, self.trial.stamps[rows], self.trial.q[rows])
        return found.paired(self.setup, self.rows.bus)

    def root_state(self, noise: Densities | None = None, seed: int = 0) -> RootState:
        """ω, ω̇ and φ on the bus, from the array or from the gyroscope."""
        trial, setup, sensors, bus = self.trial, self.setup, self.bench.sensors, self.rows.bus
        actuator, rate = self.rows.actuator, setup.actuator
        omega = trial.angular_velocity[actuator]
        omega = omega + white_noise(noise, 'gyroscope', seed, rate, len(omega))
        averaged = setup.convention == 'paper'
        readings = {
            sensor.name: sensors.readings(trial, sensor, actuator, averaged)
            + white_noise(noise, sensor.name, seed, rate, len(omega), len(sensor.axes))
            for sensor in sensors.used(setup)
        }
        stamps = trial.stamps[actuator]
        if setup.angular_acceleration == 'accelerometers':
            on_bus = {name: values[bus] for name, values in readings.items()}
            return sensors.array.batch(stamps[bus], omega[bus], on_bus)
        used = self.rows.differenced(setup)
        imu, force = sensors.imu, next(iter(readings.values()))
        state = gyro_state(
            setup,
            imu.p_sensor_in_root,
            stamps[used],
            omega[used],
            force[used] @ imu.root_R_sensor.T,
        )
        return state if setup.step == 'bus' else state.select(bus)

    def _ir_md_wrench(self, noise: Densities | None, seed: int) -> ContactWrench:
        """IR-MD: the linear velocity is the quotient of the position, and bears the noise.

        It is taken at the actuator rate, as the paper's Localizer does; position, orientation and
        gyroscope are ideal.
        """
        trial, setup, bench, rows = self.trial, self.setup, self.bench, self.rows.actuator
        stamps, q, position = trial.stamps[rows], trial.q[rows], trial.position[rows]
        R = trial.rotation[rows]
        qd = joint_state(setup, stamps, q).qd
        velocity = root_velocity(setup, stamps, position, R)
        velocity = velocity + white_noise(noise, 'velocity', seed, setup.actuator, len(rows))
        used = self.rows.differenced(setup)
        R, p = R[used], position[used]
        method = IrMd(bench.model, bench.file.gravity, setup.quotient)
        momentum = method.momentum(
            R, p, velocity[used], trial.angular_velocity[rows[used]], q[used], qd[used]
        )
        in_world = method.batch(stamps[used], momentum, max_gap=1.0)
        in_root = in_world.seen_from(R, p)
        on_bus = slice(None) if setup.step == 'bus' else self.rows.bus
        return ContactWrench(in_root.force[on_bus], in_root.moment[on_bus])
