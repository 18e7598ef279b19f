"""What people read: tables, charts and sentences as plain data, and their rendering."""

from .content import Chart as Chart
from .content import Dots as Dots
from .content import Line as Line
from .content import Marks as Marks
from .content import Matrix as Matrix
from .content import Picture as Picture
from .content import Report as Report
from .content import Section as Section
from .content import Sheet as Sheet
from .content import Trace as Trace


def notebook(content: Report | Section | Sheet | Picture) -> str:
    """The content as a piece of HTML for a notebook, which needs no script and leaves the page around it alone."""
    from .html import fragment

    return fragment(content)
