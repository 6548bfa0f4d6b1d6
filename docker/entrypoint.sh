#!/bin/bash
# Runs a command in the workspace.
set -e
source /ws/install/setup.bash
exec "$@"
