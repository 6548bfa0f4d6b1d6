"""tf2_msgs: the real one, or made from the wheels of rclpy; the same on the wire."""

import numpy as np

from izmp_dynamics.nodes.make_tf2_msgs import make_tf2_msgs

from .node_processes import free_domain
from .requiring import need

need('rclpy')
need('tf2_msgs')

TYPE_HASH = 'RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087'
"""That of ROS."""


def test_making_it_again_does_nothing(tmp_path):
    assert make_tf2_msgs(tmp_path) == 'tf2_msgs is there already.'
    assert not list(tmp_path.iterdir())


def test_it_has_the_type_hash_of_ros_and_comes_over_dds():
    import rclpy
    from tf2_msgs.msg import TFMessage

    from izmp_dynamics.nodes.messages import transform_stamped, vector

    context = rclpy.Context()
    rclpy.init(context=context, domain_id=free_domain())
    node = rclpy.create_node('tf', context=context)
    received = []
    node.create_subscription(TFMessage, '/tf', received.append, 10)
    publisher = node.create_publisher(TFMessage, '/tf', 10)
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(node)
    while not publisher.get_subscription_count():
        executor.spin_once(0.05)
    (info,) = node.get_publishers_info_by_topic('/tf')
    if hasattr(info, 'topic_type_hash'):  # since Jazzy
        assert str(info.topic_type_hash) == TYPE_HASH
    p = np.array([1.0, 2.0, 3.0])
    publisher.publish(
        TFMessage(transforms=[transform_stamped(5, 'world', 'pelvis', np.eye(3), p)])
    )
    while not received:
        executor.spin_once(0.05)
    (transform,) = received[0].transforms
    assert transform.child_frame_id == 'pelvis'
    np.testing.assert_array_equal(vector(transform.transform.translation), p)
    context.shutdown()
