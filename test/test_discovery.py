"""Profiles of Fast DDS: who can reach the nodes, and connections that survive a pause."""

import os
import socket
import struct
import xml.etree.ElementTree as ElementTree
from contextlib import suppress
from pathlib import Path

import pytest

from izmp_dynamics.nodes import process
from izmp_dynamics.nodes.process import discover_quickly, stay_on_this_computer

from .node_processes import ROOT, Processes, patched_environment, probe, wait_until

PROFILES = ('fastdds_profiles.xml', 'fastdds_loopback.xml')
RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
LOOPBACK = {'127.0.0.1', '::1'}


def addresses(pid):
    """Local addresses to which the sockets of a process are bound, of UDP and TCP."""
    inodes = set()
    for entry in list(Path(f'/proc/{pid}/fd').iterdir()):
        target = ''
        with suppress(FileNotFoundError):  # closed meanwhile
            target = os.readlink(entry)
        if target.startswith('socket:['):
            inodes.add(target[8:-1])
    found = set()
    for protocol in ('udp', 'udp6', 'tcp', 'tcp6'):
        path = Path(f'/proc/{pid}/net/{protocol}')
        for line in path.read_text().splitlines()[1:] if path.exists() else ():
            columns = line.split()
            if columns[9] in inodes:
                found.add(readable(columns[1].split(':')[0]))
    return found


def readable(address):
    """The kernel writes 32-bit words in the order of this computer's bytes."""
    words = [int(address[k : k + 8], 16) for k in range(0, len(address), 8)]
    family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
    return socket.inet_ntop(family, struct.pack(f'={len(words)}I', *words))


def test_with_localhost_no_socket_listens_beyond_loopback(tmp_path):
    from diagnostic_msgs.msg import DiagnosticArray

    processes, received = Processes(tmp_path), []
    assert processes.environment[RANGE] == 'LOCALHOST'
    with processes, probe(processes) as node:
        processes.start('acd')
        node.create_subscription(DiagnosticArray, '/diagnostics', received.append, 10)
        assert wait_until(lambda: received)
        found = addresses(processes.running['acd'].pid)
    assert '127.0.0.1' in found
    assert found <= LOOPBACK


@pytest.mark.parametrize('name', PROFILES)
def test_a_lease_outlives_pauses_and_nothing_is_left_in_shared_memory(name):
    """The cause of connections that stay dead; docs/nodes.md has the reasons."""
    tree = ElementTree.parse(ROOT / 'config' / name)
    space = '{http://www.eprosima.com}'

    def seconds(element):
        whole, nano = (tree.findtext(f'.//{space}{element}/{space}{part}', '0')
                       for part in ('sec', 'nanosec'))  # fmt: skip
        return int(whole) + 1e-9 * int(nano)

    assert seconds('leaseDuration') >= 20.0
    assert seconds('leaseAnnouncement') <= 0.2
    assert 0.0 < seconds('heartbeatPeriod') <= 0.2
    assert tree.findtext(f'.//{space}useBuiltinTransports') == 'false'
    assert {each.text for each in tree.iterfind(f'.//{space}type')} == {'UDPv4'}


@pytest.mark.parametrize(
    ('given', 'profile', 'left'),
    [
        ({}, 'fastdds_profiles.xml', None),
        ({RANGE: 'SUBNET'}, 'fastdds_profiles.xml', 'SUBNET'),
        ({RANGE: 'LOCALHOST'}, 'fastdds_loopback.xml', 'SYSTEM_DEFAULT'),
        ({RANGE: 'LOCALHOST', 'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'}, 'fastdds_profiles.xml',
         'LOCALHOST'),
        ({RANGE: 'LOCALHOST', 'FASTDDS_DEFAULT_PROFILES_FILE': '/my.xml'}, 'my.xml', 'LOCALHOST'),
    ],
)  # fmt: skip
def test_the_profile_is_that_of_the_user_or_of_the_range(given, profile, left):
    with patched_environment({}):
        for name in (*process._PROFILES, RANGE, 'RMW_IMPLEMENTATION'):
            os.environ.pop(name, None)
        os.environ.update(given)
        discover_quickly()
        assert Path(os.environ['FASTDDS_DEFAULT_PROFILES_FILE']).name == profile
        assert os.environ.get(RANGE) == left


def test_a_demonstration_stays_on_this_computer_unless_the_user_says_otherwise():
    for given in (None, 'SUBNET'):
        with patched_environment({} if given is None else {RANGE: given}):
            if given is None:
                os.environ.pop(RANGE, None)
            stay_on_this_computer()
            assert os.environ[RANGE] == (given or 'LOCALHOST')
