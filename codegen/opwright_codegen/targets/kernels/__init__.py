"""Targets of what keys of dispatch have: kernel shims, rules, fakes, composites."""
