"""Small good URDFs, to be corrupted by the tests."""

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

ODD_ROBOT = """
<robot name="odd">
  <link name="base"><inertial><origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/><mass value="3"/>
    <inertia ixx="0.3" ixy="0.01" ixz="-0.02" iyy="0.4" iyz="0.03" izz="0.5"/></inertial></link>
  <link name="slider"><inertial><origin xyz="0 0.1 0" rpy="1 0.2 -0.7"/><mass value="1.5"/>
    <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial></link>
  <link name="plate"><inertial><origin xyz="0.2 0 -0.1" rpy="-0.3 0.9 0"/><mass value="0.7"/>
    <inertia ixx="0.01" ixy="0" ixz="0.002" iyy="0.012" iyz="0" izz="0.015"/></inertial></link>
  <link name="tip"><inertial><mass value="0.4"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.0012"/></inertial></link>
  <link name="wheel"><inertial><origin xyz="0 0 0.05" rpy="0.1 0.1 0.1"/><mass value="0.9"/>
    <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.006"/></inertial></link>
  <link name="sensor"/>
  <joint name="slide" type="prismatic"><origin xyz="0.1 0.2 0.3" rpy="0.2 -0.1 0.5"/>
    <parent link="base"/><child link="slider"/><axis xyz="1 2 -1"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/></joint>
  <joint name="glue" type="fixed"><origin xyz="0 0 0.4" rpy="0.5 0.4 0.3"/>
    <parent link="slider"/><child link="plate"/></joint>
  <joint name="hinge" type="revolute"><origin xyz="0.3 0 0.1" rpy="-0.4 0.2 0"/>
    <parent link="plate"/><child link="tip"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="5" velocity="3"/>
    <mimic joint="roll" multiplier="-0.5" offset="0.2"/></joint>
  <joint name="roll" type="continuous"><origin xyz="-0.1 0.1 0" rpy="0 0 1"/>
    <parent link="base"/><child link="wheel"/><axis xyz="0 0 -2"/></joint>
  <joint name="mount" type="fixed"><origin xyz="0.01 0.02 0.03" rpy="0.1 0.2 0.3"/>
    <parent link="tip"/><child link="sensor"/></joint>
</robot>
"""
"""Turned frames, a prismatic joint, a mimic, and an axis that is not of length one."""


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
