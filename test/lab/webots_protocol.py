"""The stand-in for Webots behind the real controller library, over its TCP protocol.

The controller side is libController with its Python package, as webots_ros2_driver brings them;
here is the simulator's side, as far as the plugin needs it. Everything is little-endian. The
controller says `CTR`, a line with the robot's name, and gets CONNECTED. After that it sends
requests,

    size (int32, of all), duration of the step (uint32, 0: no step), then for each device that has
    something to say: tag (uint16), length (int32), and commands (uint8, or uint16 of a motor),

and gets one answer to each: the number of chunks (uint16), their size (int32), and per chunk its
size (int32) and kind (uint8, 0 for data). The data begin with a delay (int32); messages follow,
each with the tag of a device and the number of the message (uint8). Tag 0 is the robot; the first
answer describes it and its devices.
"""

import socket
import struct
import threading

from .webots_stand_in import (
    GPS,
    Accelerometer,
    Gyro,
    InertialUnit,
    Motor,
    PositionSensor,
    SolidNode,
    TouchSensor,
)

ROBOT = 34
KINDS = {
    Accelerometer: (35, 51),
    GPS: (44, 2),
    Gyro: (45, 53),
    InertialUnit: (46, 54),
    PositionSensor: (52, 1),
    Motor: (57, None),
    TouchSensor: (60, 41),
}
"""Class → node type, and number of the message with a measurement."""

CONFIGURE, SET_SAMPLING_PERIOD, QUIT, TIME = 0, 1, 2, 4
EXIT_NOTIFY, SIMULATION_QUIT, ADD_FORCE, GET_FROM_DEF = 38, 54, 71, 84
SET_POSITION = 1
OWN_ID, SOLID_ID = 1, 1000
SOLID_TYPE = 91


class Reader:
    """Takes values out of bytes, one after the other."""

    def __init__(self, data):
        self.data, self.place = data, 0

    def take(self, layout):
        values = struct.unpack_from('<' + layout, self.data, self.place)
        self.place += struct.calcsize('<' + layout)
        return values if len(values) > 1 else values[0]

    def text(self):
        end = self.data.index(b'\0', self.place)
        text, self.place = self.data[self.place : end].decode(), end + 1
        return text

    @property
    def is_over(self):
        return self.place >= len(self.data)


class Simulator(threading.Thread):
    """Serves one controller, then ends.

    Args:
        stand_in: what is simulated.

    Attributes:
        port: where it waits, on this computer only.
        failure: what went wrong, if anything.
        motors: names of the motors that have a commanded position.
    """

    def __init__(self, stand_in):
        super().__init__(daemon=True)
        self.stand_in, self.failure, self.motors = stand_in, None, set()
        self.devices = list(stand_in.devices.values())
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.listener.settimeout(600.0)
        self.port = self.listener.getsockname()[1]
        self.nodes = {}

    def run(self):
        try:
            self.connection, _ = self.listener.accept()
            with self.listener, self.connection:
                self.connection.settimeout(600.0)
                self._greet()
                while self._serve():
                    pass
        except Exception as failure:
            self.failure = failure

    def _greet(self):
        hello = self.connection.recv(1000)
        assert hello == f'CTR\nRobot-Name: {self.stand_in.name}'.encode(), hello
        self.connection.sendall(b'CONNECTED\0')
        self._request()
        self._answer(self._description())

    def _serve(self):
        """Answer one request; False at the end."""
        request = self._request()
        if request is None:
            return False
        duration = request.take('I')
        answers = []
        leaving = False
        while not request.is_over:
            tag, length = request.take('Hi')
            part = Reader(request.data[request.place : request.place + length])
            request.place += length
            while not part.is_over:
                if tag:
                    self._command_device(self.devices[tag - 1], part)
                else:
                    leaving |= self._command_robot(part, answers)
        if leaving:
            return False
        if duration:
            assert duration == self.stand_in.time_step
            answers += self._step()
        self._answer(answers)
        return True

    def _step(self):
        if self.stand_in.step() == -1:
            return [message(0, QUIT)]
        answers = [message(0, TIME, 'd', self.stand_in.robot.getTime())]
        for tag, device in enumerate(self.devices, 1):
            kind = KINDS[type(device)][1]
            if kind is not None and device.period and device.enabled_at is not None:
                values = device.value if isinstance(device.value, float) else (*device.value,)
                values = (values,) if isinstance(values, float) else values
                if isinstance(device, GPS):
                    values = (*values, 0.0, 0.0, 0.0, 0.0)  # speed and its vector
                answers.append(message(tag, kind, f'{len(values)}d', *values))
        return answers

    def _command_device(self, device, part):
        if isinstance(device, Motor):
            command = part.take('H')
            assert command == SET_POSITION, command
            device.setPosition(part.take('d'))
            self.motors.add(device.name)
        else:
            command = part.take('B')
            assert command == SET_SAMPLING_PERIOD, command
            device.enable(part.take('H'))

    def _command_robot(self, part, answers):
        """Do what the supervisor asks for; return whether the controller leaves."""
        command = part.take('B')
        if command == SIMULATION_QUIT:
            self.stand_in.robot.simulationQuit(part.take('i'))
        elif command == GET_FROM_DEF:
            name, _ = part.text(), part.take('i')
            known = name in self.stand_in.links
            number = SOLID_ID + len(self.nodes) if known else 0
            self.nodes[number] = name
            layout = ('IIiIB', number, SOLID_TYPE, -1, OWN_ID, 0)
            answers.append(message(0, GET_FROM_DEF, *layout) + b'Solid\0')
        elif command == ADD_FORCE:
            number, *force, relative = part.take('IdddB')
            body = self.stand_in.plant.body_of(self.nodes[number])
            SolidNode(self.stand_in, body).addForce(force, bool(relative))
        else:
            assert command == EXIT_NOTIFY, command
            return True
        return False

    def _description(self):
        """The content of the first answer: the robot, itself as a node, and the devices."""
        stand_in = self.stand_in
        text = [text_of(stand_in.name), text_of('R2025a')]
        text.append(struct.pack('<BBH', stand_in.supervisor, 1, 1 + len(self.devices)))
        text.append(struct.pack('<Hd', ROBOT, stand_in.robot.getTime()))
        for device in self.devices:
            text.append(struct.pack('<H', KINDS[type(device)][0]))
            text += [text_of(device.name), text_of('')]
        text.append(struct.pack('<d', stand_in.time_step))
        # project, world, model, window, remote control, controller, custom data
        text += [text_of(word) for word in ('', '', '', '', '', '<extern>', '')]
        text.append(struct.pack('<BBi', 0, 0, 2))
        own = (
            message(0, CONFIGURE, 'IIBB', OWN_ID, 0, 1, 0)
            + text_of('Biped31Proto')
            + text_of('ROBOT')
        )
        answers = [message(0, CONFIGURE) + b''.join(text), own]
        for tag, device in enumerate(self.devices, 1):
            answers.append(message(tag, CONFIGURE) + self._configuration(device))
        return answers

    def _configuration(self, device):
        if isinstance(device, Motor):
            numbers = (
                0.0, 0.0, device.max_velocity, -1.0, device.max_torque, device.gain, 0.0, 0.0,
                device.target, device.max_velocity, 1.0,
            )  # fmt: skip
            return struct.pack('<i11di', 0, *numbers, 0)
        if isinstance(device, InertialUnit):
            return struct.pack('<d', 0.0) + text_of('ENU')
        if isinstance(device, TouchSensor):
            return struct.pack('<ii', device.getType(), 0)
        return struct.pack('<i', 0)  # kind of joint, coordinates, or size of the lookup table

    def _request(self):
        size = self._receive(4)
        count = struct.unpack('<i', size)[0] if size else 0
        return Reader(self._receive(count - 4)) if count else None

    def _receive(self, count):
        data = b''
        while len(data) < count:
            more = self.connection.recv(count - len(data))
            if not more:
                return b''
            data += more
        return data

    def _answer(self, messages):
        data = struct.pack('<i', 0) + b''.join(messages)
        self.connection.sendall(struct.pack('<HiiB', 1, len(data), len(data), 0) + data)


def message(tag, kind, layout='', *values):
    """A message to the device of a tag."""
    return struct.pack('<HB' + layout, tag, kind, *values)


def text_of(text):
    return text.encode() + b'\0'
