"""Targets of derivatives.yaml: what records calls, and tangents."""
