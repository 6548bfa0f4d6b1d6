"""The columns of the arrays that every kernel runs on, which `RobotModel` holds.

`joints` (B, 3) int64 and `bodies` (B, 24) float64 have one row per body, parents first. A body's
frame has its origin on the axis of the joint that moves it and its z axis along that axis. Body 0
is the root link's; it has no joint, and its frame is the root link's.

A pose takes twelve entries of a row: a rotation matrix, row-major, and a position.
"""

PARENT = 0
"""Column of `joints`: the parent body."""

KIND = 1
"""Column of `joints`: REVOLUTE or PRISMATIC."""

DRIVER = 2
"""Column of `joints`: index into q of the independent joint that drives this one."""

REVOLUTE, PRISMATIC = 0, 1

ROTATION = 0
"""First of nine entries of a pose; in `bodies`, parent_R_joint at q = 0."""

POSITION = 9
"""First of three entries of a pose [m]; in `bodies`, the joint's origin in the parent body."""

POSE = 12
"""Entries of a pose."""

MASS = 12
"""Column of `bodies`: mass [kg]."""

FIRST_MOMENT = 13
"""First of three columns of `bodies`: mass times centre of mass in the body frame [kg·m]."""

INERTIA = 16
"""First of six columns of `bodies`: inertia about the body's origin, xx yy zz xy xz yz [kg·m²]."""

MULTIPLIER = 22
"""Column of `bodies`: factor from q to the joint position (1 unless a mimic joint)."""

OFFSET = 23
"""Column of `bodies`: joint position at q = 0 [rad] or [m] (0 unless a mimic joint)."""

BODY = 24
"""Columns of `bodies`."""
