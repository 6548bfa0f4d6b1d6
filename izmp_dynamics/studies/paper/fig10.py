"""Fig. 10: where the angular acceleration comes from (setups B, E, D)."""

from typing import Any

from izmp_dynamics.studies.look import Look
from izmp_dynamics.studies.paper.bars import PAPER_PERCENT, draw_bars, score_facts, score_table
from izmp_dynamics.studies.paper.campaign import Campaign, Score
from izmp_dynamics.studies.paper.setups import SETUP_B, SETUP_D, SETUP_E, SETUP_E_FAST
from izmp_dynamics.studies.picture import Picture
from izmp_dynamics.studies.runs import Load, Run

SHOWN = (SETUP_B, SETUP_E, SETUP_D, SETUP_E_FAST)


def runs(campaign: Campaign) -> tuple[Run, ...]:
    """What the figure needs."""
    shown = (*SHOWN, SETUP_E.aligned())
    return tuple(run for setup in shown for run in campaign.repetitions(setup))


def picture(campaign: Campaign, load: Load) -> Picture:
    """Draw the figure."""
    everything = (*SHOWN, SETUP_E.aligned())
    scores = {s.name: Score.of(campaign.repetitions(s), load) for s in everything}

    def draw(look: Look, width: float) -> Any:
        return draw_bars(look, width, SHOWN, scores)

    table = score_table(everything, scores)
    return Picture(
        name='fig10',
        title='Angular acceleration: accelerometers or gyroscope',
        source='Fig. 10 and Table 3',
        draw=draw,
        facts=tuple(
            fact
            for setup in everything
            for fact in score_facts(
                setup,
                scores[setup.name],
                PAPER_PERCENT['E'] if setup is SETUP_E else None,
            )
        ),
        seen='MR-AD with the angular acceleration of the root from four accelerometers (B, D) or '
        'as the difference quotient of the gyroscope (E); relative error of y as in fig. 9.',
        paper='B 16.05 %, E 18.9 %, D 4.44 %.',
        ours='B {B}, E {E} when the gyroscope is differenced over the bus step of 8 ms, D {D}; '
        'by the paper’s Δ: B {B_paper}, E {E_paper}, D {D_paper}. Differenced over the 2 ms of '
        'the actuators, E is {E__2_ms}. With aligned quotients (over 16 ms) it is {E_aligned}.',
        why='The paper leaves open over which interval the gyroscope is differenced; both are '
        'shown. 8 ms fit its value, 2 ms do not.',
        data=table,
        table=table,
    )
