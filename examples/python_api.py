"""The method from Python, on the recording that `make demo` makes; run in the repository root."""

import numpy as np

import izmp_dynamics as izmp

model = izmp.load_model('robots/biped31/biped31.urdf', root='pelvis')
T = 5  # instants at rest: φ = a − g points up, nothing moves
phi, omega, alpha = np.tile([0.0, 0.0, 9.81], (T, 1)), np.zeros((T, 3)), np.zeros((T, 3))
q, qd, qdd = np.zeros((3, T, model.dof))
wrench, com = izmp.MrAd(model).batch(phi, omega, alpha, q, qd, qdd)
normal, ground_point = np.array([0.0, 0.0, 1.0]), model.frame_pose('l_sole', q)[1]
point = izmp.zero_moment_point(wrench, normal, ground_point, minimum_force=20.0)

result = izmp.evaluate_bag('demo/walk', 'robots/biped31/robot.yaml')
walk = result.tracks['mr_ad']  # result.stamps (K,), walk.point (K, 3), walk.valid (K,), …
print('At rest: IZMP', point[0].round(4), 'm, centre of mass', com[0].round(4), 'm')
print('Walking: minimum margin of single instants', np.nanmin(walk.margin).round(4), 'm')
print(result.to_dataframe().filter(like='mr_ad.point').describe())  # needs pandas
