"""Parsers by tables that Lark made of grammars."""
