"""`--completion SHELL`: what a shell reads to complete the command line, by shtab from the parser itself."""

from __future__ import annotations

from string import Template

from tui_agent.cli_options import COMMAND_HELP, build_parser
from tui_agent.settings_profiles import BUILT_IN, LOCAL
from tui_agent.splash import VALUED

SHELLS = ("bash", "zsh", "fish")

# What stands behind the words before it: each shell's own function asks `$words`, the typed words that are no options.
_BASH = Template(r"""
_repo_agent_tui_dirs() {
  local word skip= typed=
  for word in "$${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [ -n "$$skip" ]; then skip=; continue; fi
    case "$$word" in
      ${valued}) skip=1 ;;
      -*) ;;
      *) typed="$$typed$$word " ;;
    esac
  done
  case "$$typed" in
    "") compgen -W "${commands}" -- "$$1"; compgen -d -- "$$1" ;;
    "runs ") compgen -W "${runs}" -- "$$1" ;;
    "runs show "|"runs delete "*|"runs export "|"runs diff "*|"replay ")
      compgen -W "last $$("$${COMP_WORDS[0]}" runs 2>/dev/null | cut -d ' ' -f 1)" -- "$$1" ;;
    "cache ") compgen -W "clear" -- "$$1" ;;
    "serve ") compgen -W "demo" -- "$$1"; compgen -d -- "$$1" ;;
    "demo "*|"doctor "*|"runs "*|"replay "*|"cache "*) ;;
    *) compgen -d -- "$$1" ;;
  esac
}
_repo_agent_tui_profiles() { compgen -W "${profiles}" -- "$$1"; }
""")
_ZSH = Template(r"""
_repo_agent_tui_repo() {
  local word skip= typed=
  for word in "$${(@)words[2,CURRENT-1]}"; do
    if [[ -n "$$skip" ]]; then skip=; continue; fi
    case "$$word" in
      (${valued}) skip=1 ;;
      (-*) ;;
      (*) typed="$$typed$$word " ;;
    esac
  done
  case "$$typed" in
    ("") compadd -- ${commands}; _files -/ ;;
    ("runs ") compadd -- ${runs} ;;
    ("runs show "|"runs delete "*|"runs export "|"runs diff "*|"replay ")
      compadd -- last $$($$words[1] runs 2>/dev/null | cut -d ' ' -f 1) ;;
    ("cache ") compadd -- clear ;;
    ("serve ") compadd -- demo; _files -/ ;;
    ("demo "*|"doctor "*|"runs "*|"replay "*|"cache "*) ;;
    (*) _files -/ ;;
  esac
}
""")
_FISH = Template(r"""
function _repo_agent_tui_repo
  set -l words (commandline -opc)
  set -l program $$words[1]
  set -l typed
  set -l skip 0
  for word in $$words[2..-1]
    if test $$skip -eq 1
      set skip 0
      continue
    end
    switch "$$word"
      case ${valued_fish}
        set skip 1
      case '-*'
      case '*'
        set -a typed $$word
    end
  end
  switch "$$typed"
    case ''
      printf '%s\n' ${commands}
      __fish_complete_directories (commandline -ct)
    case 'runs'
      printf '%s\n' ${runs}
    case 'runs show' 'runs delete*' 'runs export' 'runs diff*' 'replay'
      echo last
      $$program runs 2>/dev/null | string split -f 1 ' '
    case 'cache'
      echo clear
    case 'serve'
      echo demo
      __fish_complete_directories (commandline -ct)
    case 'demo*' 'doctor*' 'runs *' 'replay *' 'cache *'
    case '*'
      __fish_complete_directories (commandline -ct)
  end
end
""")


def completion(shell: str) -> str:
    """The script, to be read by a shell.

    Args:
        shell: one of `SHELLS`.
    """
    # Nothing else needs it.
    import shtab

    words = {
        "commands": " ".join(COMMAND_HELP),
        "runs": "list show delete export diff",
        "profiles": " ".join([*BUILT_IN, LOCAL]),
        "valued": "|".join(sorted(VALUED)),
        "valued_fish": " ".join(sorted(VALUED)),
    }
    functions = {name: text.substitute(words) for name, text in (("bash", _BASH), ("zsh", _ZSH), ("fish", _FISH))}
    completes = {
        "repo": {
            "bash": "_repo_agent_tui_dirs",
            "zsh": "_repo_agent_tui_repo",
            "fish": "(_repo_agent_tui_repo)",
            "preamble": functions,
        },
        "profile": {
            "bash": "_repo_agent_tui_profiles",
            "zsh": f"({words['profiles']})",
            "fish": words["profiles"],
        },
        "output": shtab.FILE,
        "env_file": shtab.FILE,
    }
    parser = build_parser()
    for action in parser._actions:
        if action.dest in completes:
            action.complete = completes[action.dest]  # type: ignore[attr-defined]
        if action.dest == "repo":
            action.help = "repository or command"
    script = str(shtab.complete(parser, shell))
    if shell == "zsh":
        # shtab lets zsh complete the first of many words only, and adds words of its own where it does not see that.
        script = script.replace('"(*)::repository', '"*:repository').replace(
            "_defaults_added=0\n", "_defaults_added=1\n"
        )
    return script
