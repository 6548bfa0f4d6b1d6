"""One figure of the page: drawings for wide and narrow screens, legend and caption."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from izmp_dynamics.verdict.formatting import percent
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.statistics import label_of


@dataclass(frozen=True)
class Figure:
    """A figure ready for the page.

    Attributes:
        name: short name, unique in the page.
        title: heading.
        svgs: one SVG for every width, or a wide one and a narrow one.
        legend: (SVG sample, text) of each thing that is drawn.
        caption: what is shown; plain text.
        height: of the first drawing [inch].
        out_of_view: track name → share of its values beyond the axes' limits.
    """

    name: str
    title: str
    svgs: tuple[str, ...]
    legend: tuple[tuple[str, str], ...]
    caption: str
    height: float
    out_of_view: Mapping[str, float] = field(default_factory=dict)

    @property
    def notes(self) -> str:
        """The caption, and what the limits hide."""
        hidden = [
            f'{label_of(name)} {percent(share)}'
            for name, share in self.out_of_view.items()
            if share > 0
        ]
        if not hidden:
            return self.caption
        return f'{self.caption} Outside the view: {", ".join(hidden)} of the values.'


def legend_of(scene: Scene, samples: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the legend entries of tracks, in the order of the evaluation.

    Args:
        scene: what is shown.
        samples: track name → SVG sample of how it is drawn.
    """
    return tuple((samples[name], label_of(name)) for name in scene.names if name in samples)
