"""Shell completion: verbs, options, and the names that the memory holds."""

from __future__ import annotations

from typing import Final

import click

from syncmem.cli.session import Session, verb

PROGRAM: Final = "syncmem"
SHELLS: Final = ("bash", "zsh", "fish")


@verb("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, session: Session, shell: str) -> None:
    """Print the completion script of a SHELL.

    \b
      bash   eval "$(syncmem completion bash)"               in ~/.bashrc
      zsh    eval "$(syncmem completion zsh)"                in ~/.zshrc
      fish   syncmem completion fish | source                in ~/.config/fish/config.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source()
    session.show({"shell": shell, "script": script}, lambda: script)
