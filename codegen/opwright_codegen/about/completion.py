"""The command `completion`: what a shell completes of the command line, from the parser itself."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from typing import Final, TextIO

from opwright_codegen.records import dataclass

__all__ = ["SHELLS", "show_completion"]

SHELLS: Final = ("bash", "zsh", "fish")
_OPTIONS_OF_THE_GATE: Final = """
import argparse, json
from opwright_gate.command import make_parser
shown = [each for each in make_parser()._actions if each.option_strings and each.help != argparse.SUPPRESS]
print(json.dumps([
    (each.option_strings, each.help, "" if each.nargs == 0 else each.metavar or each.dest, list(each.choices or ()))
    for each in shown
]))
"""


@dataclass(frozen=True, slots=True)
class _Option:
    """An option by its names: what it takes ("" for nothing), and which words, if these are known."""

    names: tuple[str, ...]
    help: str
    takes: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Command:
    """A command: its options, the words that may stand behind it, and whether files may."""

    help: str
    options: tuple[_Option, ...]
    words: tuple[str, ...] = ()
    has_files: bool = True


def show_completion(shell: str, parser: argparse.ArgumentParser, out: TextIO) -> int:
    """Print the program of a shell that completes the command line."""
    commands = dict(_commands(parser)) | {"gate": _gate()}
    lines = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands)
    out.writelines(f"{line}\n" for line in lines)
    return 0


def _gate() -> _Command:
    """Return the command whose options the runtime has."""
    from opwright_codegen.commands.runtime_process import run_in_runtime

    found = [
        _Option(tuple(names), _plain(help), takes, tuple(words))
        for names, help, takes, words in json.loads(run_in_runtime(_OPTIONS_OF_THE_GATE, [], plugins=False))
    ]
    return _Command("judge operators by their declarations", tuple(found))


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, _Command]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            said = {each.dest: each.help or "" for each in action._choices_actions}
            for name, sub in action.choices.items():
                yield name, _command(said.get(name, ""), sub)


def _command(help: str, parser: argparse.ArgumentParser) -> _Command:
    """Return what stands behind a command; of one with commands of its own, what stands behind any of these, too."""
    options: dict[tuple[str, ...], _Option] = {}
    words: list[str] = []
    has_files = False
    for action in parser._actions:
        if action.help == argparse.SUPPRESS:
            continue
        choices = tuple(map(str, action.choices or ()))
        if not action.option_strings:
            words += choices
            has_files |= not choices
        else:
            takes = "" if action.nargs == 0 else str(action.metavar or action.dest.upper())
            names = tuple(action.option_strings)
            options[names] = _Option(names, _plain(action.help), takes, choices)
        if isinstance(action, argparse._SubParsersAction):
            below = [_command("", each) for each in action.choices.values()]
            has_files |= any(each.has_files for each in below)
            options = {option.names: option for each in below for option in each.options} | options
    return _Command(_plain(help), tuple(options.values()), tuple(words), has_files)


def _plain(text: str | None) -> str:
    """Return a help without what shells read otherwise."""
    return re.sub(r"[\[\]\"`$\\]", "", text or "").replace("'", "’").replace("%%", "%")  # noqa: RUF001


def _bash(commands: Mapping[str, _Command]) -> Iterator[str]:
    yield from ("# opwright completion bash > ~/.local/share/bash-completion/completions/opwright", "_opwright() {")
    yield '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words="" files=""'
    yield "    COMPREPLY=()"
    yield '    if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'        COMPREPLY=($(compgen -W "{" ".join(commands)} --help --version" -- "$word"))'
    yield "        return"
    yield "    fi"
    yield '    case "${COMP_WORDS[1]} $before" in'
    for name, command in commands.items():
        for option in command.options:
            if option.words:
                patterns = "|".join(f'"{name} {each}"' for each in option.names)
                yield f'        {patterns}) COMPREPLY=($(compgen -W "{" ".join(option.words)}" -- "$word")); return ;;'
            elif option.takes:
                patterns = "|".join(f'"{name} {each}"' for each in option.names)
                yield f'        {patterns}) COMPREPLY=($(compgen -f -- "$word")); return ;;'
    yield "    esac"
    yield '    case "${COMP_WORDS[1]}" in'
    for name, command in commands.items():
        options = " ".join(each for option in command.options for each in option.names)
        files = "" if command.has_files else " files=no"
        yield f'        {name}) words="{" ".join((options, *command.words)).strip()}"{files} ;;'
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield '    case "$files $word" in no*|" -"*) ;; *) COMPREPLY+=($(compgen -f -- "$word")) ;; esac'
    yield from ("}", "complete -o filenames -o bashdefault -F _opwright opwright")


def _zsh(commands: Mapping[str, _Command]) -> Iterator[str]:
    yield from (
        "#compdef opwright",
        "# opwright completion zsh > a file _opwright in a folder of $fpath",
        "_opwright() {",
    )
    yield "    local -a commands"
    yield "    commands=("
    for name, command in commands.items():
        yield f"        '{name}:{command.help}'"
    yield "    )"
    yield "    if (( CURRENT == 2 )); then"
    yield "        if [[ $PREFIX == -* ]]; then compadd -- --help --version; else _describe command commands; fi"
    yield "        return"
    yield "    fi"
    yield "    local command=$words[2]"
    yield "    shift words"
    yield "    (( CURRENT-- ))"
    yield "    case $command in"
    for name, command in commands.items():
        yield f"        {name}) _arguments \\"
        for option in command.options:
            for each in option.names:
                what = f"({' '.join(option.words)})" if option.words else "_files"
                takes = f":{option.takes}:{what}" if option.takes else ""
                yield f"            '{each}[{option.help.replace(':', chr(92) + ':')}]{takes}' \\"
        words = f"({' '.join(command.words)})" if command.words else "_files" if command.has_files else ""
        first = f"'1:word:{words}' " if command.words and command.has_files else ""
        yield f"            {first}'*:word:{'_files' if first else words}' ;;"
    yield from (
        "    esac",
        "}",
        'if [ "$funcstack[1]" = _opwright ]; then _opwright "$@"; else compdef _opwright opwright; fi',
    )


def _fish(commands: Mapping[str, _Command]) -> Iterator[str]:
    yield "# opwright completion fish > ~/.config/fish/completions/opwright.fish"
    for name, command in commands.items():
        yield f"complete -c opwright -n __fish_use_subcommand -f -a {name} -d '{command.help}'"
    for word, help in (("help", "show the commands, and exit"), ("version", "show the version, and exit")):
        yield f"complete -c opwright -n __fish_use_subcommand -f -l {word} -d '{help}'"
    for name, command in commands.items():
        condition = f"-n '__fish_seen_subcommand_from {name}'"
        for option in command.options:
            flags = " ".join(f"-l {each[2:]}" if each.startswith("--") else f"-s {each[1:]}" for each in option.names)
            takes = f" -x -a '{' '.join(option.words)}'" if option.words else " -r" if option.takes else ""
            yield f"complete -c opwright {condition} {flags}{takes} -d '{option.help}'"
        if command.words or not command.has_files:
            files = "" if command.has_files else " -f"
            yield f"complete -c opwright {condition}{files} -a '{' '.join(command.words)}'"
