"""The report as one HTML page that asks nothing of a network: `write_page`."""

from opwright_gate.reports.page.document import write_page

__all__ = ["write_page"]
