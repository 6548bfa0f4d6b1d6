"""Samples of a robot that stands, fed to the pipeline by hand; run in the repository root."""

from pathlib import Path

from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.pipeline.standstill import standstill

rig = make_rig(load_robot_file(Path('robots/biped31/robot.yaml')))
evaluator = Evaluator(rig)
signals = standstill(rig)  # {'joints': Samples(stamps, values), 'imu': ..., 'feet[l_foot]': ...}
for results in evaluator.push(signals) + evaluator.flush():
    print(len(results.stamps), 'instants; margin', results.margins['mr_ad'][-1].round(4), 'm')
print(evaluator.faults)  # signal → fault → number
