# The public names of the package: the one list, read by type checkers and by __init__.py.

from izmp_dynamics.base.errors import BagError as BagError
from izmp_dynamics.base.errors import IzmpError as IzmpError
from izmp_dynamics.base.errors import MissingDependencyError as MissingDependencyError
from izmp_dynamics.base.errors import ModelError as ModelError
from izmp_dynamics.base.errors import ReplayError as ReplayError
from izmp_dynamics.base.errors import RobotFileError as RobotFileError
from izmp_dynamics.base.errors import SensingError as SensingError
from izmp_dynamics.base.errors import ShapeError as ShapeError
from izmp_dynamics.base.errors import UnknownNameError as UnknownNameError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench as ContactWrench
from izmp_dynamics.dynamics.ir_md import IrMd as IrMd
from izmp_dynamics.dynamics.ir_md import Momentum as Momentum
from izmp_dynamics.dynamics.mr_ad import MrAd as MrAd
from izmp_dynamics.evaluate import evaluate_bag as evaluate_bag
from izmp_dynamics.model.robot_file import RobotFile as RobotFile
from izmp_dynamics.model.robot_file import load_robot_file as load_robot_file
from izmp_dynamics.model.robot_model import RobotModel as RobotModel
from izmp_dynamics.model.robot_model import load_model as load_model
from izmp_dynamics.report.writer import ReportError as ReportError
from izmp_dynamics.report.writer import write_report as write_report
from izmp_dynamics.results.evaluation import Evaluation as Evaluation
from izmp_dynamics.results.evaluation import Foot as Foot
from izmp_dynamics.results.evaluation import LinkPoses as LinkPoses
from izmp_dynamics.results.evaluation import SignalHealth as SignalHealth
from izmp_dynamics.results.evaluation import Track as Track
from izmp_dynamics.sensing.accelerometer_array import Accelerometer as Accelerometer
from izmp_dynamics.sensing.accelerometer_array import AccelerometerArray as AccelerometerArray
from izmp_dynamics.sensing.acd import ActuatorDifferentiator as ActuatorDifferentiator
from izmp_dynamics.sensing.gyro_difference import GyroDifference as GyroDifference
from izmp_dynamics.sensing.joint_kinematics import JointKinematics as JointKinematics
from izmp_dynamics.sensing.localizer import Localizer as Localizer
from izmp_dynamics.sensing.localizer import RootPose as RootPose
from izmp_dynamics.sensing.root_state import RootState as RootState
from izmp_dynamics.stability.support_polygon import margin as margin
from izmp_dynamics.stability.support_polygon import margins as margins
from izmp_dynamics.stability.support_polygon import support_polygon as support_polygon
from izmp_dynamics.stability.zmp import zero_moment_point as zero_moment_point

__version__: str
