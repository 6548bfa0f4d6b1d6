"""All pictures of `izmp experiments fall_alarm`, and the words of their page."""

from izmp_dynamics.pages.page import Page
from izmp_dynamics.stability.alarm_rule import HORIZON, threshold
from izmp_dynamics.stability.fall_probability import STEP_ERROR
from izmp_lab.studies.fall_alarm import leads, roc
from izmp_lab.studies.fall_alarm.study import IMPULSES, KINDS, FallStudy
from izmp_lab.studies.fall_alarm.trials import DURATIONS, PAUSES, SPEEDS, TURNS
from izmp_lab.studies.publish import Figure

FIGURES: dict[str, tuple[Figure, str]] = {
    'leads': (leads.leads, 'lead times before the falls'),
    'roc': (roc.roc, 'false alarms per hour against falls seen in time, over the threshold'),
    'reliability': (roc.curve, 'predicted probability against how often the robot fell'),
}
"""Name → figure, and what it shows."""

_LEAD = (
    'biped31 walks or stands in MuJoCo and is pushed again and again, until it falls or the '
    'trial is over. A fall is a trunk that is tilted by 45°. How long before does the alarm come, '
    'and how often is it raised although the robot survives?'
)

_METHOD = (
    'The robot follows its plan by stiff servos; the ankles compensate the tilt of the IMU, but '
    'no step is adapted to a push. Pushes act on the trunk; direction, duration, impulse and the '
    'pauses between them are uniformly distributed. The alarm sees noisy sensors without any '
    'filter, by the same code as the nodes and the replay: IMU and accelerometers with the noise '
    'of a MTi-20, encoders of 16 bits, an orientation that is tilted by 0.3° (1 σ, constant in a '
    'trial), force sensors with 1 N and 0.1 N·m of noise, all at 125 Hz; in half of the trials '
    'messages are late, held up or lost. The alarm is raised when its reason has lasted for three '
    'steps (24 ms), so that the first and the last instant share no sample. It is true if it is '
    'raised at the last instant before the fall, false if there is no fall within 2 s of its '
    'start. The lead counts from the start of the true alarm. Where a push came after that, the '
    'trial is repeated without it: only if the robot falls all the same does the lead count from '
    'the alarm, until the sooner of the two falls; else from the last push. Time counts as '
    'survived from the first push on, until 2 s before a fall or 4 s after the last push. What '
    'the trials lack: another robot, and steps that react to a push. The error of the steps was '
    'chosen with this robot, these gaits and this distribution of pushes, on other seeds.'
)


def page(study: FallStudy) -> Page:
    """Return what `study` shows and says."""
    return Page(
        figures=FIGURES,
        title='The fall alarm, measured',
        heading='The fall alarm, measured',
        lead=_LEAD,
        method=_METHOD,
        settings=settings(study),
    )


def settings(study: FallStudy) -> dict[str, str]:
    """List what is tried, for the page."""
    return {
        **{
            f'trials, {kind}': f'{study.count(kind)}, seeds {study.first_seed} to '
            f'{study.first_seed + study.count(kind) - 1}; impulses up to {IMPULSES[kind]:g} N·s'
            for kind in KINDS
        },
        'speeds': ', '.join(f'{speed:g}' for speed in SPEEDS) + ' m/s',
        'turns': ', '.join(f'{turn:g}' for turn in TURNS) + ' rad/s',
        'pushes': f'{DURATIONS[0]:g} to {DURATIONS[1]:g} s, every {PAUSES[0]:g} to '
        f'{PAUSES[1]:g} s',
        'horizon': f'{HORIZON:g} s',
        'threshold by the costs': f'{threshold(1.0):.3f}',
        'error of the steps': f'{1e3 * STEP_ERROR:g} mm',
    }
