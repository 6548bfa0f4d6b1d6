"""The fall alarm on simulated walks and stances with pushes: lead times and false alarms."""
