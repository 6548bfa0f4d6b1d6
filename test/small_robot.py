"""A small good URDF, to be corrupted by the tests."""

SMALL_ROBOT = """<?xml version="1.0"?>
<robot name="small">
  <link name="base">
    <inertial>
      <origin xyz="0 0 0.1" rpy="0.1 0 0"/>
      <mass value="2"/>
      <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.04"/>
    </inertial>
    <visual><geometry><mesh filename="package://absent/base.stl"/></geometry></visual>
  </link>
  <link name="thigh">
    <inertial>
      <mass value="1"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/>
    </inertial>
  </link>
  <link name="sole"/>
  <joint name="hip" type="revolute">
    <origin xyz="0 0 -0.1" rpy="0 0 0.2"/>
    <parent link="base"/>
    <child link="thigh"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="5"/>
  </joint>
  <joint name="ankle" type="fixed">
    <parent link="thigh"/>
    <child link="sole"/>
  </joint>
</robot>
"""


def corrupted(*changes: tuple[str, str]) -> str:
    """The small robot with the first occurrence of each old text replaced by the new one."""
    text = SMALL_ROBOT
    for old, new in changes:
        assert old in text, f'{old!r} is not in the URDF'
        text = text.replace(old, new, 1)
    return text


def extended(elements: str) -> str:
    """The small robot with further elements at its end."""
    return corrupted(('</robot>', f'{elements}\n</robot>'))
