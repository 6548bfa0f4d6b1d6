"""The equations of the paper against motions that were computed without them."""

from collections.abc import Iterator
from typing import Any

from izmp_dynamics.pages.look import Entry, Look, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.seesaw.study.tasks import Study
from izmp_lab.studies.runs import Load, Run
from izmp_lab.studies.store import Arrays

ACCELERATION = 1e-9
"""Largest error of the angular acceleration of the board [rad/s²]."""

MOMENTUM = 1e-4
"""Largest error of a rate of change of the momentum [N], [N·m]; it is a difference quotient."""

_MARKS: tuple[tuple[str, str, str, str], ...] = (
    ('eq30', 'eq. 30 with Γ⁻¹', 'cop', 'o'),
    ('printed', 'eq. 30 as printed', 'ir-md', 's'),
)


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return (study.equations(),)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    errors = load(study.equations())

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry(label, line(look, colour, marker=marker, linestyle='', markersize=4.5))
            for _, label, colour, marker in _MARKS
        ]
        canvas, (ax,) = panels(width, 1, legend)
        for name, _, colour, marker in _MARKS:
            ax.plot(errors['rate'], errors[name], color=look[colour], marker=marker,
                    linestyle='', markersize=4.5)  # fmt: skip
        ax.set(xlabel='|θ̇| of the board [rad/s]', ylabel='error of θ̈ [rad/s²]', yscale='log')
        return canvas

    return Picture(
        name='equations',
        title='The equations hold while everything moves',
        source='Eqs. 9, 30 and 31',
        draw=draw,
        facts=tuple(_facts(errors)),
        seen='Board, joints and root of {states} drawn states move at random, with random '
        'torques. The motion that follows is that of the KKT plant, which solves Newton and Euler '
        'for robot and board with all constraints and uses none of these equations. Shown is by '
        'how much the angular acceleration of the board is wrong by eq. 30.',
        paper='h̄_s of eq. 30 is printed without Γ⁻¹ in its last term.',
        ours='With Γ⁻¹ the angular acceleration is right within {eq30}; as printed it is off by '
        'up to {printed}. The momenta of the robot (eq. 9) and of robot and board (eq. 31) change '
        'as stated within {eq9} and {eq31}.',
        why='',
        data=Table(
            ('|θ̇| [rad/s]', *(f'{label}: error [rad/s²]' for _, label, _, _ in _MARKS),
             'eq. 9: error [N, N·m]', 'eq. 31: error [N, N·m]'),
            [list(row) for row in zip(
                *(errors[name].tolist() for name in ('rate', 'eq30', 'printed', 'eq9', 'eq31')),
                strict=True,
            )],
        ),
    )  # fmt: skip


def _facts(errors: Arrays) -> Iterator[Fact]:
    yield Fact('states', 'moving states', len(errors['rate']), '', 0)
    for key, what, unit, scale, limit in (
        ('eq30', 'eq. 30, angular acceleration of the board', 'prad/s²', 1e12, ACCELERATION),
        ('eq9', 'eq. 9, rate of the robot’s momentum', 'µN or µN·m', 1e6, MOMENTUM),
        ('eq31', 'eq. 31, rate of the total momentum', 'µN or µN·m', 1e6, MOMENTUM),
    ):
        largest = float(errors[key].max())
        yield Fact(
            key,
            f'{what}: largest error',
            scale * largest,
            unit,
            1,
            wanted=f'≤ {scale * limit:g} {unit}',
            holds=largest <= limit,
        )
    yield Fact(
        'printed', 'eq. 30 as printed: largest error', float(errors['printed'].max()), 'rad/s²', 3
    )
