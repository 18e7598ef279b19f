"""What people read: tables, charts and sentences as plain data, and their rendering."""

from .content import Chart as Chart
from .content import Line as Line
from .content import Report as Report
from .content import Section as Section
from .content import Sheet as Sheet
