"""The node view: what the graph publishes, in a browser."""

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64
from visualization_msgs.msg import MarkerArray

from izmp_dynamics.base.errors import IzmpError, MissingDependencyError, RobotFileError
from izmp_dynamics.base.rotations import from_rpy, quaternion_of_matrix
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.nodes.browser import require_viser
from izmp_dynamics.nodes.markers import Markers
from izmp_dynamics.nodes.messages import header, quaternion_of
from izmp_dynamics.nodes.qos import EVENTS, RESULT, SENSOR
from izmp_dynamics.nodes.view import View

from .chromium import chromium
from .conftest import REPOSITORY
from .node_processes import wait_until

pytestmark = pytest.mark.usefixtures('ros')

ROBOT = REPOSITORY / 'robots' / 'biped31' / 'robot.yaml'
SOLES = np.array([[-0.1, -0.1, -0.9], [0.1, -0.1, -0.9], [0.1, 0.1, -0.9], [-0.1, 0.1, -0.9]])
LEAN = np.radians(10.0)
EVIL = '<img src=x onerror="window.evil = 1"> **[a](javascript:window.evil=1)**\n# <b>'


class Robot:
    """A node that publishes what a graph does of a robot that leans forward, and its sensors."""

    def __init__(self, biped31):
        self.node = rclpy.create_node('robot')
        self.model = load_model(biped31.read_urdf(), biped31.root)
        self.imu = biped31.imu.frame or self.model.root
        self.messages = {
            self._of(JointState, biped31.joints.topic, SENSOR): JointState(
                name=list(self.model.joint_names), position=[0.1] * self.model.dof
            ),
            self._of(Imu, biped31.imu.topic, SENSOR): Imu(
                header=header(0, self.imu),
                orientation=quaternion_of(
                    np.array(
                        quaternion_of_matrix(
                            from_rpy([0.0, LEAN, 0.7]) @ self.model.mount(self.imu).body_R_frame
                        )
                    )
                ),
            ),
            self._of(Float64, 'margin', RESULT): Float64(data=-0.012),
            self._of(Float64, 'fall_probability', RESULT): Float64(data=0.25),
            self._of(DiagnosticArray, 'events', EVENTS): DiagnosticArray(
                header=header(2 * 10**9, ''),
                status=[DiagnosticStatus(message=f'pushed from behind with 40 N {EVIL}')],
            ),
            self._of(WrenchStamped, 'external_wrench', RESULT): self._force(),
        }
        self.stamp = 0
        self.markers = Markers(self._output(), self.model, self.model.root)

    def _of(self, kind, topic, qos):
        return self.node.create_publisher(kind, topic, qos)

    def _force(self):
        message = WrenchStamped()
        message.wrench.force.x = 40.0
        return message

    def _output(self):
        publisher = self._of(MarkerArray, 'markers', RESULT)
        return lambda make, stamp: publisher.publish(make(stamp))

    def publish(self):
        """Publish all of it, at the next instant."""
        self.stamp += 10**8
        for publisher, message in self.messages.items():
            publisher.publish(message)
        up = np.array([0.0, 0.0, -0.9])
        wrench = np.array([0.0, 0.0, 9.81 * self.model.total_mass, 0.0, 0.0, 0.0])
        joints = np.full(self.model.dof, 0.1)
        self.markers.show(self.stamp, joints, up, None, SOLES, wrench)


@pytest.fixture(scope='module')
def shown(ros, biped31):
    """A view of which all parts are known."""
    view = View(overrides=[Parameter('robot', value=str(ROBOT))])
    robot = Robot(biped31)

    def whole():
        robot.publish()
        view.look()
        picture = view.picture
        parts = (picture.bodies, picture.polygon, picture.arrows.get('external_force'))
        stood = 0 < view._stands_until < view._stamp
        return stood and all(part is not None for part in parts) and len(picture.numbers) == 3

    assert wait_until(whole)
    yield view, robot
    view.destroy_node()


def test_the_picture_is_that_of_the_messages(shown):
    view, robot = shown
    picture = view.picture
    wanted = {'margin': -12.0, 'tilt': 0.0, 'fall': 25.0}  # it stands leaning
    assert picture.numbers == pytest.approx(wanted, abs=1e-4)
    R, _ = robot.model.body_poses(np.full(robot.model.dof, 0.1))
    np.testing.assert_allclose(picture.bodies[0], R)
    np.testing.assert_allclose(picture.polygon, SOLES)
    begin, end = picture.arrows['contact_force']
    np.testing.assert_allclose(begin, picture.points['izmp'])
    np.testing.assert_allclose(end - begin, [0.0, 0.0, 0.5])
    assert 'cop' not in picture.points
    force = np.diff(picture.arrows['external_force'], axis=0)[0]
    np.testing.assert_allclose(force, [0.5 * 40.0 / (9.81 * robot.model.total_mass), 0.0, 0.0])


def test_the_robot_stands_upright_as_it_is_on_the_ground(shown):
    """Its heading does not matter; the lowest corner of its soles is at z = 0."""
    picture = shown[0].picture
    np.testing.assert_allclose(picture.level_R_root, from_rpy([0.0, LEAN, 0.0]), atol=1e-9)
    z = SOLES @ picture.level_R_root[2] + picture.height
    assert z.min() == pytest.approx(0.0)


def test_without_an_orientation_the_support_polygon_is_level(shown):
    view, _ = shown
    view._is_level = False
    tilted = SOLES @ from_rpy([0.2, 0.0, 0.0]).T
    view._take_polygon(tilted)
    np.testing.assert_allclose(view.picture.level_R_root[2], from_rpy([0.2, 0.0, 0.0])[:, 2])
    np.testing.assert_allclose(tilted @ view.picture.level_R_root[2], -view.picture.height)


def test_what_others_publish_is_text(shown):
    view, _ = shown
    view.browser.write('', [EVIL])
    content = view.browser._events.content
    assert '<' not in content
    assert '\\*\\*\\[a\\]\\(javascript\\:window' in content
    assert len(content.splitlines()) == 3


def test_it_is_seen_in_a_browser(shown):
    view, robot = shown
    with chromium() as tab:
        tab.open(view.browser.url)
        wanted = ('margin -12 mm', 'pushed from behind', 'tilt from standing [°]')

        def is_there():
            robot.publish()
            view.look()
            text = tab.run('document.body.innerText').replace('\u00a0', ' ')
            return all(words in text for words in wanted)

        assert wait_until(is_there)
        assert '<img src=x onerror' in tab.run('document.body.innerText')
        assert '**[a](javascript:window.evil=1)** # <b>' in tab.run('document.body.innerText')
        assert tab.run('window.evil') is None
        assert tab.run('document.querySelectorAll("canvas").length') >= 4
        errors = [text for text in tab.messages if '"exception' in text or 'error:' in text]
        assert errors == []
        outside = [url for url in tab.requests if not url.startswith(view.browser.url)]
        assert [url for url in outside if not url.startswith(('blob:', 'data:'))] == []


def test_nothing_leaves_this_computer_unless_an_address_is_given(shown):
    view, _ = shown
    assert view.browser.url.startswith('http://127.0.0.1:')
    assert view.browser._server.request_share_url() is None


def test_bad_settings_are_refused_in_a_sentence(monkeypatch):
    with pytest.raises(RobotFileError, match='needs the parameter robot'):
        View()
    given = {'robot': str(ROBOT), 'address': '203.0.113.7'}
    with pytest.raises(IzmpError, match=r"No page can be served at '203\.0\.113\.7'"):
        View(overrides=[Parameter(name, value=value) for name, value in given.items()])
    monkeypatch.setattr('izmp_dynamics.nodes.browser.find_spec', lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"pip install '\.\[view\]'"):
        require_viser()
