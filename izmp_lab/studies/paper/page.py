"""All pictures of `izmp experiments paper`, and the words of their page."""

from izmp_dynamics.model.settings import flatten
from izmp_dynamics.pages.page import Missing, Page
from izmp_dynamics.pages.picture import Table
from izmp_lab.studies.paper import ideal_sensors, noisy_sensors, slope, uncertainty
from izmp_lab.studies.paper.study import PaperStudy
from izmp_lab.studies.publish import Figure

ABBREVIATIONS = Table(
    ('abbreviation', 'meaning', 'here'),
    [
        ['IZMP', 'imaginary zero-moment point', 'stability/zmp.py'],
        ['EOM', 'equations of motion', 'eqs. 12 and 13, dynamics/mr_ad.py'],
        ['MR-AD', 'moving reference, analytic derivatives', 'dynamics/mr_ad.py'],
        ['IR-MD', 'inertial reference, momentum differenced', 'dynamics/ir_md.py'],
        ['ACD', 'actuator coordinate differentiation', 'sensing/acd.py'],
        ['WF', 'world frame', 'the topic of the pose; IR-MD alone needs it'],
        ['BFF', 'body-fixed frame', 'the frame of a link of the URDF'],
        ['NIF', 'non-inertial frame', 'nif: origin of the root, z along the normal of the ground'],
        ['COM', 'centre of mass', 'model/robot_model.py'],
    ],
)
"""Table 1: the abbreviations that its text uses; the table itself is not in the text at hand."""

_LEVEL, _SLOPE = 'level, 0.3 m/s', '0.15 m/s onto 10°'

LINE_DIAGRAMS = Table(
    ('figure', 'walk', 'ACD/bus [Hz]', 'noise', 'compared with', 'difference from the paper'),
    [
        ['Fig. 6', _LEVEL, '500/500', 'none', 'each other', 'a gait from heel to toe beside it'],
        ['Fig. 7', _LEVEL, '250, 200, 125, 62.5', 'none', 'the same at 500 Hz',
         'physics at 2 kHz, decimated; the exact value as a further reference'],
        ['Fig. 8', _LEVEL, '125/125', 'yes', 'ideal sensors', 'the predicted band beside it'],
        ['Fig. 11', _SLOPE, '500/125', 'of the feet’s IMUs', 'support polygon',
         'the true CoP as a further reference'],
        ['Fig. 12', 'the real robot', '125/125', 'real', 'none', 'izmp experiments real'],
    ],
)  # fmt: skip
"""Table 2: parameters of the line diagrams, from the text and the captions."""

BAR_DIAGRAMS = Table(
    ('setup', 'method', 'ACD/bus [Hz]', 'angular acceleration', 'Δ in the paper [%]'),
    [
        ['A', 'IR-MD', '125/125', '–', '65.22'],
        ['B', 'MR-AD', '125/125', 'accelerometers', '16.05'],
        ['C', 'IR-MD', '500/125', '–', '112.42'],
        ['D', 'MR-AD', '500/125', 'accelerometers', '4.44'],
        ['E', 'MR-AD', '500/125', 'difference of the gyroscope', '18.9'],
    ],
)
"""Table 3: setups of the bar diagrams; all with noise."""

TABLES = {
    'Table 1: abbreviations': ABBREVIATIONS,
    'Table 2: line diagrams': LINE_DIAGRAMS,
    'Table 3: bar diagrams': BAR_DIAGRAMS,
}

MISSING = (
    Missing(
        'Fig. 9, setups A and C: Δ of 65.22 % and 112.42 %',
        'Not reproduced: every repetition has a larger Δ; the medians are about four times the '
        'paper’s. B, D and E are reproduced, but Δ of single repetitions spans a factor of ten.',
        'A quarter of the noise density, or the paper’s code: '
        'over which time it differences the momentum, and which density it takes.',
    ),
    Missing(
        'The noise density ν',
        'Assumed: the paper refers to the data sheet of the MTi-20 and prints no number; the '
        'numbers here are those of the maker’s MTi 100-series.',
        'The table of the MTi 10-series, or the paper’s number.',
    ),
    Missing(
        'The robot Sweaty and its gait',
        'Not public. biped31 has its mass, height and number of joints; shape, masses of the '
        'links and gait are this package’s.',
        'Its model and its motion.',
    ),
    Missing(
        'The simulator Webots',
        'The walks of this page run in MuJoCo, whose contacts and noise-free sensors are known '
        'exactly; accelerometers are read as Webots computes them.',
        'Webots; docs/webots.md runs the node graph in it.',
    ),
    Missing(
        'Fig. 6: x in the frame of the root rises from −0.08 m to 0.1 m',
        'Reproduced in the frame of the sole only: in that of the root it would need 0.31 m of '
        'travel along a sole of 0.24 m.',
        'The frame of the paper’s figure.',
    ),
    Missing(
        'Fig. 7 with physics at 125 and 62.5 Hz',
        'With steps of 8 ms and more of the physics this robot falls, as its servos are stiff; '
        'the physics run at 2 kHz and are decimated, and at 250 and 200 Hz as well.',
        'A simulator that walks with such steps.',
    ),
    Missing(
        'Fig. 12: the real robot',
        'There is no public recording of Sweaty.',
        'Its recording. izmp experiments real evaluates the recordings that you have.',
    ),
)
"""What is not reproduced."""


FIGURES: dict[str, tuple[Figure, str]] = {
    'exact': (ideal_sensors.exact, 'on the exact motion the IZMP is the CoP, in every walk'),
    'fig6': (ideal_sensors.fig6, 'MR-AD and IR-MD with ideal sensors over one full step'),
    'fig7': (ideal_sensors.fig7, 'convergence of both methods with the time step'),
    'fig8': (noisy_sensors.fig8, 'noisy sensors at 125 Hz, with the predicted band'),
    'fig9': (
        noisy_sensors.fig9,
        'relative errors of the setups A to D, and the table of all setups',
    ),
    'fig10': (
        noisy_sensors.fig10,
        'angular acceleration from accelerometers or gyroscope (B, E, D)',
    ),
    'fig11': (slope.fig11, 'walking onto a slope of 10°, with the IMUs in the feet'),
    'zero_crossing': (uncertainty.zero_crossing, 'the trap in the paper’s relative error'),
    'prediction': (
        uncertainty.prediction,
        'predicted and observed standard deviation of the IZMP',
    ),
}
"""Name → figure, and what it shows."""


_LEAD = (
    'Gießler and Waltersberger (2023) compare MR-AD, which evaluates the equations of motion in'
    ' the robot’s own frame, with IR-MD, which differentiates momentum in the world. Here both '
    'run on simulated walks of {robot}. The paper’s conventions are kept: backward quotients '
    'that bear the newest sample’s stamp, and accelerometers that report the mean over their '
    'sample interval, as those of its simulator do. “Aligned quotients” are this package’s '
    'default: every derivative at the instant that it belongs to.'
)
_METHOD = (
    'Every walk is planned with the defaults of the walking pattern generator and executed in '
    'MuJoCo; all steps but the first and last two are evaluated. A noise density ν gives '
    'σ = ν√f at the sample rate f; the noise of the linear velocity has the number of the '
    'accelerometer’s, as in the paper. Repetition i has the noise of seed i; the setups of '
    'figs. 9 and 10 have five times as many repetitions as the others. ± is the 95 % confidence '
    'interval of the mean. Limits of what must hold are given with their reasons in the modules '
    'of the figures; benchmarks/mutations.py plants errors and shows which claim notices each.'
)


def page(study: PaperStudy) -> Page:
    """Return what `study` shows and says."""
    robot = study.experiment.robot or 'biped31, a stand-in for their robot Sweaty'
    return Page(
        figures=FIGURES,
        title='The paper’s figures, measured',
        heading='The paper’s figures and tables, measured',
        lead=_LEAD.format(robot=robot),
        method=_METHOD,
        settings=flatten(study.experiment),
        missing=MISSING,
        tables=TABLES,
    )
