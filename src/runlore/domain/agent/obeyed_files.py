"""Files that other programs execute or obey by themselves (SEC-1): one table for commands and file tools.

Whoever writes such a file has somebody else run a program, or follow an order, outside of everything that
confines an agent. Names are compared as the most forgiving file system would: `.GIT` is `.git` somewhere.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import islice

from runlore.domain.shell.plain_script import plain_commands

GIT = ".git"
# By the program that obeys: names at any depth, a whole folder where it ends with a slash; `*` is any text.
# In the table is what acts when somebody enters or opens the folder, commits, or calls a program for anything
# but to run the project: build files, tests and plugins of linters are the project, and stay out of it.
OBEYED: Mapping[str, str] = {
    "git": """
        .git/ git~1/ .lfsconfig .lazygit.yml .githooks/ .husky/ .pre-commit-config.yaml
        .pre-commit-config.yml lefthook.yml lefthook.yaml
        .lefthook.yml .lefthook.yaml lefthook-local.yml .lefthook/ .overcommit.yml .gitattributes .gitconfig
        .config/git/ .huskyrc .huskyrc.* .lintstagedrc .lintstagedrc.* lint-staged.config.* .commitlintrc
        .commitlintrc.* commitlint.config.* .czrc .simple-git-hooks.* simple-git-hooks.* captainhook.json
        grumphp.yml hk.pkl prek.toml .trunk/
    """,
    "another version control": """
        .hg/hgrc .hgrc .sl/config .jj/ .pijul/ _darcs/prefs/ .bzr/ .fossil-settings/
    """,
    "an interpreter or debugger": """
        .pdbrc .pdbrc.py .irbrc .pryrc .Rprofile .Renviron .ghci .iex.exs .ocamlinit .perldb .gdbinit
        .gdbearlyinit .lldbinit .phpdbginit .byebugrc sitecustomize.py usercustomize.py *.pth .pythonrc
        .pythonrc.py .pythonstartup .ipython/ .jupyter/ jupyter_notebook_config.py jupyter_server_config.py
        jupyter_lab_config.py .psysh.php .erlang .octaverc .juliarc.jl .julia/ .sbclrc .swiplrc .tclshrc
        .noderc startup.m
    """,
    "a program that reads its settings wherever it is called": """
        .curlrc .wgetrc .netrc _netrc .psqlrc .sqliterc .my.cnf .mylogin.cnf .mongorc.js .mongoshrc.js
        .lessfilter .lesskey .mailcap .latexmkrc latexmkrc .tigrc ansible.cfg .ansible.cfg .terraformrc
        terraform.rc .kube/ .kubeconfig kubeconfig .docker/ .aws/ .gnupg/ .chef/ .htaccess .user.ini
    """,
    "the shell": """
        .envrc .envrc.* .shadowenv.d/ .direnv/ .autoenv.zsh mise.toml .mise.toml .mise/ .mise.local.toml
        mise.local.toml .tool-versions .bashrc .bash_profile .bash_login .bash_logout .profile .zshrc
        .zshenv .zprofile .zlogin .inputrc .ssh/ .env .env.* .flaskenv .corepack.env .rbenv-vars .rvmrc
        .powrc .powenv .direnvrc .autoenv .kshrc .cshrc .tcshrc .login .logout .zlogout .xonshrc .tmux.conf
        .screenrc .xinitrc .xprofile .xsession .pam_environment .config/fish/ .config/nushell/
        .config/direnv/ .config/mise/ .config/autostart/ .config/systemd/ Library/LaunchAgents/
    """,
    "an editor": """
        .vscode/ .idea/ .fleet/ .zed/ .devcontainer/ .devcontainer.json .exrc .vimrc .nvimrc .nvim.lua
        .lvimrc .dir-locals.el .dir-locals-2.el .helix/ .nova/ .theia/ .ycm_extra_conf.py .luarc.json
        .externalToolBuilders/ .emacs.desktop .emacs .emacs.d/ .projectile .vim/ .nvim/ .config/nvim/ .kakrc
        .vs/ .settings/ .metals/ .lsp/ .clj-kondo/ .vimspector.json omnisharp.json .clangd .ccls .gitpod.yml
        .replit .idx/ *.code-workspace *.sublime-project
    """,
    "an agent": """
        .claude/ .codex/ .cursor/ .gemini/ .windsurf/ .roo/ .cline/ .clinerules/ .clinerules .continue/
        .opencode/ .kiro/ .amazonq/ .qwen/ .goose/ .agents/ .trae/ .augment/ .factory/ .openhands/ .junie/
        .agent/ .devin/ .crush/ .kilocode/ .kimi/ .amp/ .warp/ .rovodev/ .crush.json crush.json
        opencode.json opencode.jsonc .mcp.json CRUSH.md AGENTS.md AGENT.md AGENTS.override.md WARP.md
        CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md .cursorrules .windsurfrules .roorules .roomodes
        .goosehints .rules .aider.conf.yml .github/copilot-instructions.md .github/instructions/
        .github/prompts/ .github/chatmodes/ .github/agents/ .github/hooks/ .github/skills/ .continuerules
        .augment-guidelines .aider.conf.yaml mcp.json .copilot/ .zencoder/ .firebender/ .codeium/ .tabnine/
        .qoder/ .codebuddy/ .iflow/ .forge/ .pi/ .grok/ .vibe/ .void/ IFLOW.md
    """,
    "a build tool": """
        .cargo/ .yarnrc .yarnrc.yml .yarn/releases/ .yarn/plugins/ .npmrc .pnpmfile.cjs bunfig.toml
        .bundle/config .mvn/ .pnp.cjs .pnp.js .pnp.loader.mjs .bazelrc .bazelversion .bazeliskrc tools/bazel
        .buckconfig .buckconfig.local rust-toolchain rust-toolchain.toml gradle/wrapper/ .gradle/init.d/
        .jvmopts .sbtopts .lein-env .lein/ pip.conf .pypirc .condarc NuGet.config global.json
        .config/dotnet-tools.json
    """,
    "Runlore": """
        .runlore.toml .runlore/ .runlore-worktrees/
    """,
}
# What git obeys in a folder of its own. Behind `modules` and `worktrees` are further such folders.
GIT_OBEYED = frozenset({"config", "config.worktree", "hooks", "info", "commondir", "gitdir"})
GIT_NESTED = ("modules", "worktrees")
# What is left of a rebase is done when somebody goes on with it, programs too.
GIT_REBASE, GIT_TODO = "rebase-merge", "git-rebase-todo"
# A folder with these is a repository to git, whatever its name.
GIT_FOLDERS = (frozenset({"HEAD", "objects", "refs"}), frozenset({"HEAD", "commondir"}))
# Folders of what others wrote, by the thousand, in which nobody looks for orders.
SKIPPED = frozenset({"node_modules", "site-packages", "__pycache__", ".runlore-worktrees"})
# Worktrees of an agent: a folder of projects in a folder of settings.
PROJECTS_IN = (".claude", "worktrees")
_FILTERS = re.compile(rb"\b(?:filter|diff|merge)\s*=")
_TODO_RUNS = re.compile(rb"^\s*(?:x|exec)\s", re.MULTILINE)
_NAMES: Mapping[str, str] = {
    name.casefold(): program for program, names in OBEYED.items() for name in names.split()
}
_STARRED = [(name, program) for name, program in _NAMES.items() if "*" in name]
_PATTERN = re.compile("|".join("({})".format(re.escape(name).replace(r"\*", ".+")) for name, _ in _STARRED))
# What shows people which settings there are is read by nobody else.
_SHOWN = re.compile(r"\.env\.(?:example|sample|template|dist|defaults?)(?:\..*)?")
_SECTION = re.compile(r"\[([a-z0-9.-]+)(?:[ \t]+\"((?:[^\"\\\\]|\\\\.)*)\")?\]", re.IGNORECASE)
_SETTING_LINE = re.compile(r"([a-z][a-z0-9-]*)(?:[ \t]*=[ \t]*(.*))?", re.IGNORECASE)
# What git notes there of branches, remotes and the repository itself. None of it is run.
_ROUTINE_SETTING = re.compile(
    r"branch\..*\.(?:remote|merge|rebase|pushremote|description|vscode-merge-base|gh-merge-base)"
    r"|remote\..*\.(?:url|pushurl|fetch|tagopt|promisor|partialclonefilter|gh-resolved)"
    r"|core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)"
    r"|submodule\..*\.(?:url|active)|submodule\.active|extensions\.(?:worktreeconfig|objectformat|refstorage)",
    re.DOTALL,
)
_INCLUDED = re.compile(r"include(?:if\..*)?\.path", re.DOTALL)
_NAMING = frozenset({"core.hookspath", "core.attributesfile"})
# A path behind an `@`, and any path or name of a script.
_IMPORTED = re.compile(r"(?:^|\s)@([\w./-]+\.(?:mdc?|txt))\b", re.MULTILINE)
_MENTIONED = re.compile(
    r"(?<![\w./@~-])((?:\.?/)?[\w-][\w.-]*(?:/[\w.-]+)+|\./[\w.-]+|[\w.-]+\.(?:sh|py|rb|pl|[cm]?[jt]s|env))\b"
)
_VARIABLE = re.compile(r"\$\{?\w+\}?/")
_NAMED_MAX = 256
_POINTER = re.compile(r"gitdir: [^\n]*/\.git/(?:worktrees|modules)/[^\n]+\n?")
# What of git writes its settings; by the options that make it do so, where it takes one.
_SETTING: Mapping[str, str] = {
    "branch": "-u --set-upstream-to --unset-upstream -t --track -m -M -c -C -d -D --move --copy --delete"
    " --edit-description",
    "checkout": "-b -B -t --track --orphan",
    "switch": "-c -C -t --track --create --force-create --orphan",
    "push": "-u --set-upstream",
    "pull": "--set-upstream",
    "fetch": "--set-upstream",
}
_ALWAYS_SETTING = frozenset(
    {"config", "remote", "submodule", "worktree", "clone", "init", "lfs", "flow", "maintenance"}
    | {"sparse-checkout", "scalar", "hook"}
)
# What of these reads alone; nothing behind it lists what is there.
_READING: Mapping[str, str] = {
    "remote": "|show|get-url",
    "submodule": "|status|summary",
    "worktree": "list",
    "sparse-checkout": "list",
    "lfs": "ls-files|status|env|version|locks",
}


def names_of(path: str) -> list[str]:
    """The names in a path as a file tool is given it, separated as on any system."""
    return [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]


def obeyed_by(parts: Sequence[str]) -> str | None:
    """Which program obeys a file, told by its names from the working folder; None where none does."""
    names = [fold_name(part) for part in parts]
    at = 0
    while at < len(names):
        if tuple(names[at : at + 2]) == PROJECTS_IN and len(names) > at + 2:
            at += 3
            continue
        program = obeyed_name(names[at - 1] if at else "", names[at], is_folder=at < len(names) - 1)
        if program is not None:
            return program
        at += 1
    return None


def obeyed_name(above: str, name: str, *, is_folder: bool | None = None) -> str | None:
    """Which program obeys what has a name, in a folder whose name is `above`; both folded. The last name of a
    path may be a file or a folder."""
    for one in (name, f"{above}/{name}"):
        program = _NAMES.get(f"{one}/") or (None if is_folder else _NAMES.get(one))
        if program is not None:
            return program
    match = None if is_folder or _SHOWN.fullmatch(name) else _PATTERN.fullmatch(name)
    return _STARRED[match.lastindex - 1][1] if match and match.lastindex else None


def is_obeyed_content(name: str, content: bytes) -> bool:
    """Whether a file of the table says anything that is obeyed: most attributes of git name no program, and
    most rebases run none."""
    telling = {".gitattributes": _FILTERS, GIT_TODO: _TODO_RUNS}.get(fold_name(name))
    return telling is None or telling.search(content) is not None


def writes_git_settings(command: str) -> bool:
    """Whether a plain line calls git for what is kept in its settings: `git push -u`, `git remote add`."""
    return any(
        each.program.rpartition("/")[2] == "git" and _is_setting(each.arguments)
        for each in plain_commands(command.strip()) or ()
    )


def is_routine(parts: Sequence[str], before: bytes | None, after: bytes | None) -> bool:
    """Whether a file of git's has changed only as a command does that was allowed to write git's settings:
    a branch that follows another, a remote, a further worktree. Nothing that names a program."""
    name, new = fold_name(parts[-1]), (after or b"").decode(errors="replace")
    if after is None:
        return False
    if name in ("config", "config.worktree"):
        old = _settings((before or b"").decode(errors="replace"))
        differ = set(old) ^ set(_settings(new))
        return all(_ROUTINE_SETTING.fullmatch(key) and "::" not in value for key, value in differ)
    if before is not None or name == GIT:
        return before is None and _POINTER.fullmatch(new) is not None
    is_worktree = GIT_NESTED[1] in parts[-3:-1] and name in ("commondir", "gitdir")
    is_template = name == "exclude" and all(not line or line.startswith("#") for line in new.split("\n"))
    return is_template or (is_worktree and (name == "gitdir" or new.strip() == "../.."))


def named_paths(parts: Sequence[str], content: bytes) -> list[str]:
    """Further places, told from the working folder, that a file has its program obey: files that git's
    settings include, a folder of hooks or of attributes, the repository that a file points to."""
    text, name = content.decode(errors="replace"), fold_name(parts[-1])
    above = "/".join(parts[:-1])
    if name == "commondir" or (name == GIT and text.startswith("gitdir:")):
        folder = _join(above, text.removeprefix("gitdir:").strip())
        return [_join(folder, each) for each in sorted(GIT_OBEYED)]
    if name not in ("config", "config.worktree"):
        return []
    top = "/".join(parts[: next((at for at, part in enumerate(parts) if fold_name(part) == GIT), 0)])
    found = [(key, value.strip('"')) for key, value in _settings(text)]
    return [
        _join(above if key not in _NAMING else top, value)
        for key, value in found
        if value and (key in _NAMING or _INCLUDED.fullmatch(key))
    ]


def named_files(parts: Sequence[str], content: bytes) -> list[str]:
    """Files, told from the working folder, that one of the table hands on to its program: what instructions
    import (`@docs/style.md`), what settings of git and of agents and `.envrc` run or read (`./lint.sh`)."""
    program, name = obeyed_by(parts), fold_name(parts[-1])
    is_of_git = name in ("config", "config.worktree") and program in ("git", None)
    if program != "an agent" and not name.startswith(".envrc") and not is_of_git:
        return []
    naming = _IMPORTED if name.endswith((".md", ".mdc")) else _MENTIONED
    text = content.decode(errors="replace")
    if is_of_git:
        said = (value for key, value in _settings(text) if not _ROUTINE_SETTING.fullmatch(key))
        text = "\n".join(said)
    text = _VARIABLE.sub("", text)
    found = [match[1] for match in islice(naming.finditer(text), _NAMED_MAX)]
    above = ["/".join(parts[:depth]) for depth in range(len(parts))]
    return [_join(folder, path) for path in found for folder in above]


def _join(above: str, path: str) -> str:
    return path if path.startswith("/") or not above else f"{above}/{path}"


def _settings(text: str) -> list[tuple[str, str]]:
    """The settings in a file of git's, each with its section; a line that cannot be read is one by itself."""
    section, found = "", []
    for line in map(str.strip, text.split("\n")):
        if not line or line[0] in "#;":
            continue
        if header := _SECTION.fullmatch(line):
            section = header[1].lower() + ("" if header[2] is None else f".{header[2]}")
        elif (setting := _SETTING_LINE.fullmatch(line)) and not line.endswith("\\"):
            found.append((f"{section}.{setting[1].lower()}", setting[2] or ""))
        else:
            found.append(("?", line))
    return found


def fold_name(name: str) -> str:
    """A name as file systems compare it that know no case, ignore hidden characters, or drop what is at
    its end: `.GIT`, `.gi\\u200ct` and `.git.` are one folder somewhere."""
    if not name.isascii():
        visible = "".join(one for one in name if unicodedata.category(one) != "Cf")
        name = unicodedata.normalize("NFKC", visible)
    return name.casefold().rstrip(". ").partition(":")[0]


def _is_setting(arguments: Sequence[str]) -> bool:
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        rest = rest[2 if rest[0] in ("-C", "-c", "--git-dir", "--work-tree") else 1 :]
    if not rest:
        return False
    options = _SETTING.get(rest[0], "").split()
    given = {word.partition("=")[0] for word in rest[1:]}
    if rest[0] in _ALWAYS_SETTING:
        return not _only_reads(rest[0], rest[1:])
    return not given.isdisjoint(options)


def _only_reads(name: str, arguments: Sequence[str]) -> bool:
    """Whether a call reads settings, as far as its words show; the kernel closes them to it all the same."""
    plain = [word for word in arguments if not word.startswith("-")]
    if name == "config":
        options = [word for word in arguments if word.startswith("-")]
        is_changing = any(word.startswith(("--unset", "--re", "--e", "-e", "--add")) for word in options)
        has_reading = any(word.startswith("--get") or word in ("-l", "--list") for word in options)
        return not is_changing and (has_reading or len(plain) == 1 or plain[:1] in (["get"], ["list"]))
    return (plain[0] if plain else "") in _READING.get(name, "").split("|")
