"""The command `izmp`: one subcommand per file beside this one.

A subcommand imports what it needs when it runs, so that no other one waits for it. Other packages
add theirs by entry points of the group izmp_dynamics.commands: modules with `add_parser`.
"""

import argparse
import atexit
import difflib
import functools
import gc
import logging
import os
import re
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import izmp_dynamics
from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.cli import (
    bodies,
    calibrate,
    check,
    compare,
    compare_runs,
    compile_kernels,
    draft,
    fleet,
    live,
    model,
    replay,
)
from izmp_dynamics.cli.process import keep_freed_memory, use_one_blas_thread
from izmp_dynamics.cli.terminal import accept_any_encoding, printable
from izmp_dynamics.files.libraries import library
from izmp_dynamics.nodes.start_up import interrupt

_OWN = (
    replay,
    fleet,
    live,
    draft,
    bodies,
    check,
    calibrate,
    model,
    compare,
    compare_runs,
    compile_kernels,
)

_GC_THRESHOLD = 50_000
"""Allocations between garbage collections; Python's 700 take a sixth of a short replay."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `izmp` with command-line arguments; return the exit status.

    0: done. 1: it could not be done, a sentence on standard error says why. 2: wrong usage.
    130: interrupted.
    """
    accept_any_encoding()
    given = sys.argv[1:] if arguments is None else list(arguments)
    if '--ros-args' in given:  # `ros2 run izmp_dynamics izmp`: the node of the same name
        from izmp_dynamics.nodes.main import run

        return run('izmp', given)
    options = _parser().parse_args(given)
    use_one_blas_thread()
    keep_freed_memory()
    thresholds = gc.get_threshold()
    gc.set_threshold(_GC_THRESHOLD)
    atexit.register(gc.freeze)  # no garbage collection at exit
    logging.basicConfig(format='izmp: %(message)s', level=logging.INFO, handlers=[_ToStderr()])
    interrupts: list[int] = []

    def note(number: int, frame: FrameType | None) -> NoReturn:
        interrupts.append(number)
        interrupt(number, frame)

    handlers = {signal.SIGTERM: signal.signal(signal.SIGTERM, note)}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        handlers[signal.SIGINT] = signal.signal(signal.SIGINT, note)
    try:
        status: int = options.run(options)
        print(end='', flush=True)
    except IzmpError as error:
        print(printable(f'izmp: error: {error}'), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:  # the reader of our output, e.g. `head`, has seen enough
        _discard_output()
        return 1
    except (OSError, MemoryError) as error:
        print(printable(f'izmp: error: {_of_the_system(error)}.'), file=sys.stderr)
        _discard_output()
        return 1
    except Exception:
        if interrupts:  # a library, e.g. one bound by pybind11, made another exception of it
            return _interrupted()
        raise
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        gc.set_threshold(*thresholds)
    return status


def _interrupted() -> int:
    print('izmp: interrupted; nothing was left half-written.', file=sys.stderr)
    exec('')  # else `python -m` ends by SIGINT if it came inside an exec of a text
    return 130


def _of_the_system(error: OSError | MemoryError) -> str:
    """What went wrong where, for errors that no subcommand handles."""
    if isinstance(error, MemoryError):
        return 'the memory does not suffice'
    where = f"'{error.filename}': " if error.filename else ''
    return f'{where}{error.strerror or error}'


def _discard_output() -> None:
    """Keep the interpreter from writing at its end what cannot be written."""
    try:
        print(end='', flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _ToStderr(logging.Handler):
    """Writes to what standard error is at that moment: a progress bar puts itself in between."""

    def emit(self, record: logging.LogRecord) -> None:
        print(printable(self.format(record)), file=sys.stderr)


def commands() -> tuple[Any, ...]:
    """Return the modules of all subcommands, this package's own first."""
    return (*_OWN, *(found.load() for found in entry_points(group='izmp_dynamics.commands')))


class _Parser(argparse.ArgumentParser):
    """Names the nearest choice or option where one is misspelt; helps where nothing is given."""

    _given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._given = sys.argv[1:] if args is None else list(args)
        found, unknown = super().parse_known_args(self._given, namespace)
        if unknown:  # here, as the parser of the command does not know the options of this one
            self.error(f'unrecognized arguments: {" ".join(unknown)}')
        return found, unknown

    def error(self, message: str) -> NoReturn:
        if not self._given:
            self.print_help(sys.stderr)
            self.exit(2, f'\n{self.prog}: error: {message}\n')
        wrong, _, choices = message.partition(' (choose from ')
        given = re.search(r"invalid choice: '(.*)'$", wrong)
        if given is not None:
            near = difflib.get_close_matches(
                given[1], re.findall(r'[\w-]+', choices), n=1, cutoff=0.7
            )
            message = f"{wrong}; did you mean '{near[0]}'?" if near else message
        if 'required: --robot' in message:
            message += "; 'izmp draft BAG --urdf URDF -o ROBOT.yaml' writes a first robot file"
        known = tuple(self._option_string_actions)
        for option in (text.partition('=')[0] for text in self._given if text[:2] == '--'):
            close = difflib.get_close_matches(option, known, n=1)
            if close and not any(name.startswith(option) for name in known):
                message += f"; did you mean '{close[0]}' in place of '{option}'?"
        super().error(message)


class _PrintCompletion(argparse.Action):
    """Prints what a shell completes the command with."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        try:
            shtab = library('shtab', 'Shell completion')
        except IzmpError as error:
            parser.error(str(error))
        _complete_files(parser, shtab.FILE)
        print(shtab.complete(parser, values))
        parser.exit()


def _complete_files(parser: argparse.ArgumentParser, files: Any) -> None:
    for action in parser._actions:
        if action.type is Path:
            action.complete = files  # type: ignore[attr-defined]
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command, files)


@functools.cache
def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog='izmp',
        description='Dynamics and imaginary zero-moment point of legged robots.',
    )
    parser.add_argument(
        '--version', action='version', version=f'izmp_dynamics {izmp_dynamics.__version__}'
    )
    parser.add_argument(
        '--print-completion', choices=('bash', 'zsh', 'tcsh'), action=_PrintCompletion,
        help='print completion for a shell, to be evaluated by it',
    )  # fmt: skip
    subparsers = parser.add_subparsers(metavar='COMMAND', required=True)
    for command in commands():
        command.add_parser(subparsers)
    return parser


if __name__ == '__main__':
    sys.exit(main())
