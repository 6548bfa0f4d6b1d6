"""The ROS 2 nodes: wiring around the stages, one file per node; docs/nodes.md has the contract."""
