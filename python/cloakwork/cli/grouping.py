"""Commands as users meet them: help in sections, errors of usage, options that are given twice."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from inspect import cleandoc
from shutil import get_terminal_size
from typing import Any

from typer.core import TyperCommand, TyperGroup

from cloakwork.cli.words import REFUSED, Invocation, print_json

# The commands in the order of work: each stands in one section.
SECTIONS = {
    "Programs": ("run", "check", "inspect", "convert"),
    "Models on encrypted data": ("compile", "keygen", "encrypt", "decrypt", "serve", "query"),
    "Proofs": (
        "fullprove",
        "witness",
        "prove",
        "serve-prover",
        "verify",
        "vkey",
        "setup",
        "export",
    ),
    "Ceremonies": ("ptau", "zkey"),
    "Devices": ("devices", "conform", "diff", "new-device", "specialize"),
    "Demonstrations": ("demo",),
}
# Wider lines are hard to read; narrower terminals break lines anyway.
_WIDEST, _NARROWEST = 100, 40


def _width() -> int:
    """The width of help."""
    return max(min(get_terminal_size().columns, _WIDEST) - 2, _NARROWEST)


class Command(TyperCommand):
    """A command that refuses an option given twice, because one value would be ignored."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; fail for a repeated option."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for number, option in enumerate(given):
            takes_one = not getattr(option, "multiple", False)
            if option.param_type_name == "option" and takes_one and option in given[:number]:
                ctx.fail(f"{max(option.opts, key=len)}: got it twice, expected it once")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, whose `obj` is how it answers."""
        named = {one.name: max(one.opts, key=len) for one in self.params}
        options = {name: word for name, word in named.items() if word.startswith("--")}
        if "--input" in options.values():
            options["inputs"] = "--input"
        as_json, quiet = (bool(ctx.params.get(name)) for name in ("as_json", "quiet"))
        ctx.obj = Invocation(ctx.obj is True, as_json, quiet, options)
        return super().invoke(ctx)


class Group(TyperGroup):
    """Commands in sections; errors of usage as JSON where that is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of the sections."""
        known = [name for names in SECTIONS.values() for name in names if name in self.commands]
        return [*known, *(name for name in self.commands if name not in known)]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each section with all of its summaries."""
        for title, names in SECTIONS.items():
            _write(formatter, title, {name: self.commands[name] for name in names})

    def main(self, *given: Any, **options: Any) -> Any:
        """Run a command line to its exit status."""
        options |= {"standalone_mode": False, "terminal_width": _width()}
        try:
            status = super().main(*given, **options)
        except Exception as error:
            # Errors of usage alone can show themselves; none has a public class.
            show = getattr(error, "show", None)
            if show is None:
                raise
            usage: Any = error
            # The words of the library that converts values.
            usage.message = usage.message.replace("Value error, ", "")
            show()
            if "--json" in options["args"]:
                message = usage.format_message()
                found = {"type": "UsageError", "message": message, "status": REFUSED}
                print_json({"error": found})
            sys.exit(REFUSED)
        sys.exit(status or 0)


class DemoGroup(TyperGroup):
    """Demonstrations with whole summaries."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write all of them."""
        shown = {name: one for name, one in self.commands.items() if not one.hidden}
        _write(formatter, "Commands", shown)


def _write(formatter: Any, title: str, commands: Mapping[str, Any]) -> None:
    """A section of commands, each with the whole first paragraph of its help."""
    paragraphs = {name: cleandoc(one.help or "") for name, one in commands.items()}
    rows = [(name, " ".join(text.split("\n\n")[0].split())) for name, text in paragraphs.items()]
    with formatter.section(title):
        formatter.write_dl(rows)
