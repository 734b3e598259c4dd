"""The project of a working folder: one id for every spelling of a remote, and no secret in any of them."""

import contextlib
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.project import (
    PROJECT_FILE_CHARS_MAX,
    ProjectFile,
    normalise_remote,
    parse_project_file,
    project_id,
    project_name,
)
from runlore.domain.scope import Scope, ScopeKind


@pytest.mark.req("SCO-5")
@pytest.mark.parametrize(
    "remote",
    [
        "https://github.com/acme/web",
        "https://github.com/acme/web.git",
        "https://github.com/acme/web/",
        "https://github.com/acme/web.git/",
        "https://GitHub.com/Acme/Web.git",
        "https://github.com:443/acme/web",
        "https://github.com//acme//web",
        "https://github.com./acme/web",
        "https://www.github.com/acme/web",
        "http://github.com/acme/web",
        "git://github.com/acme/web.git",
        "git+https://github.com/acme/web",
        "ssh://git@github.com/acme/web.git",
        "ssh://git@github.com:22/acme/web",
        "ssh://git@ssh.github.com:443/acme/web.git",
        "git@github.com:acme/web.git",
        "git@github.com:/acme/web.git",
        "github.com:acme/web",
        "https://user:hunter2@github.com/acme/web",
        "https://ghp_token@github.com/acme/web?private_token=x#y",
        "  git@github.com:acme/web.git\n",
    ],
)
def test_every_spelling_of_a_remote_is_one_project(remote: str) -> None:
    assert normalise_remote(remote) == "github.com/acme/web"


@pytest.mark.req("SCO-5")
@pytest.mark.parametrize(
    ("remote", "expected"),
    [
        ("https://git.acme.example/Team/App", "git.acme.example/Team/App"),
        ("https://git.acme.example:8443/team/app", "git.acme.example:8443/team/app"),
        ("ssh://git@git.acme.example:2222/team/app", "git.acme.example:2222/team/app"),
        ("ssh://git@[2001:DB8::1]:2222/team/app", "[2001:db8::1]:2222/team/app"),
        ("git@[2001:db8::1]:team/app", "[2001:db8::1]/team/app"),
        ("https://dev.azure.com/acme/my%20team/_git/web", "dev.azure.com/acme/my%20team/_git/web"),
        ("git@git.sr.ht:~acme/web", "git.sr.ht/~acme/web"),
        ("https://gitlab.com/group/sub/web.git", "gitlab.com/group/sub/web"),
        ("https://example.org/web.git.git", "example.org/web.git"),
    ],
)
def test_what_tells_repositories_apart_is_kept(remote: str, expected: str) -> None:
    assert normalise_remote(remote) == expected


@pytest.mark.req("SCO-5")
@pytest.mark.parametrize(
    "remote",
    [
        *(
            "",
            "   ",
            "/srv/git/web.git",
            "../web",
            "web",
            "file:///srv/git/web.git",
            "C:\\git\\web",
            "C:/git/web",
        ),
        *("https://", "https:///web", "https://github.com", "https://github.com/", "https://github.com/.git"),
        *("https://github.com:port/acme/web", "https://[::1/acme/web", "ext::sh -c 'rm -rf /'", "a b@host:x"),
        *("https://github.com/../web", "git@host:", "@host:", ":acme/web", "codecommit::eu://profile@web"),
        *("https://user:pa/ss@github.com/acme/web", "u:p@a:b@github.com:acme/web", "https://h/\u202eacme"),
        "https://github.com/" + "x" * 3_000,
    ],
)
def test_what_names_no_repository_on_a_host_is_none(remote: str) -> None:
    assert normalise_remote(remote) is None


secrets = st.text(alphabet=string.ascii_letters + string.digits + ":@/#?%[]+=._-~", max_size=12)


@pytest.mark.req("SCO-5")
@given(secrets, secrets, st.sampled_from(["https", "http", "ssh", "git+ssh"]))
def test_no_part_of_a_password_is_ever_kept(before: str, after: str, scheme: str) -> None:
    secret = f"{before}S3CRETXYZ{after}"
    for remote in (
        f"{scheme}://user:{secret}@git.example/acme/web",
        f"{scheme}://{secret}@git.example/acme/web",
        f"user:{secret}@git.example:acme/web",
        f"{secret}@git.example:acme/web",
    ):
        assert "s3cretxyz" not in (normalise_remote(remote) or "").casefold()


@pytest.mark.req("SCO-5")
@given(st.text(max_size=80) | st.text(alphabet="ab:/@.[]git?#\\~%1 ", max_size=40))
def test_normal_forms_are_stable_and_fit_a_scope(text: str) -> None:
    normal = normalise_remote(text)
    if normal is not None:
        assert normalise_remote(f"https://{normal}") in (normal, None)
        assert "@" not in normal
        identifier = project_id(remote=text, repository_root=None, folder="/x")
        assert Scope(ScopeKind.PROJECT, identifier).id == identifier


@pytest.mark.req("SCO-5")
def test_the_remote_comes_first_then_the_root_then_the_folder() -> None:
    remote, root, folder = "git@github.com:acme/web.git", "/home/a/web", "/home/a/web/src"

    by_remote = project_id(remote=remote, repository_root=root, folder=folder)
    by_root = project_id(remote=None, repository_root=root, folder=folder)
    by_folder = project_id(remote=None, repository_root=None, folder=folder)

    assert by_remote == "github.com/acme/web"
    assert by_root.startswith("repository-")
    assert by_folder.startswith("folder-")
    assert by_root == project_id(remote="/srv/web.git", repository_root=root + "/", folder="/elsewhere")
    assert by_root != project_id(remote=None, repository_root="/home/b/web", folder=folder)
    assert by_folder == project_id(remote="", repository_root="", folder=folder + "/")


@pytest.mark.req("SCO-5")
def test_one_folder_has_one_id_however_its_accents_are_written() -> None:
    assert project_id(remote=None, repository_root=None, folder="/é") == project_id(
        remote=None, repository_root=None, folder="/e\u0301"
    )


@pytest.mark.req("SCO-5")
@given(
    st.none() | st.text(max_size=300), st.none() | st.text(max_size=300), st.text(min_size=1, max_size=300)
)
def test_every_project_id_is_a_scope_id(remote: str | None, root: str | None, folder: str) -> None:
    if not folder.strip():
        folder = "/"
    identifier = project_id(remote=remote, repository_root=root, folder=folder)
    assert Scope(ScopeKind.PROJECT, identifier).id == identifier


@pytest.mark.req("SCO-5")
def test_a_long_remote_becomes_a_hash_that_fits() -> None:
    remote = "https://git.example/" + "x" * (limits.ID_CHARS_MAX + 1)
    identifier = project_id(remote=remote, repository_root=None, folder="/x")
    assert identifier.startswith("remote-")
    assert identifier != project_id(remote=remote + "y", repository_root=None, folder="/x")


@pytest.mark.req("SCO-5")
def test_a_blank_folder_is_refused() -> None:
    with pytest.raises(Invalid) as refusal:
        project_id(remote=None, repository_root=None, folder=" ")
    assert refusal.value.code == "project.folder"


@pytest.mark.req("SCO-5")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ProjectFile()),
        ('project = "acme web"', ProjectFile(name="acme web")),
        ("capture = false", ProjectFile(capture=False)),
        ('\ufeffproject = "acme"\ncapture = true # yes\n', ProjectFile(name="acme")),
    ],
)
def test_a_project_file_names_the_project_and_can_switch_capture_off(
    text: str, expected: ProjectFile
) -> None:
    assert parse_project_file(text) == expected


@pytest.mark.req("SCO-5")
@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("[capture]\nenabled = false", "project-file.capture", "capture"),
        ('capture = "false"', "project-file.capture", "capture"),
        ("capture = 0", "project-file.capture", "capture"),
        ("project = 5", "project-file.name", "project"),
        ('project = " "', "project-file.name", "project"),
        ('project = "acme "', "project-file.name", "project"),
        ('project = "ac\\nme"', "project-file.name", "project"),
        (f'project = "{"x" * (limits.ID_CHARS_MAX + 1)}"', "project-file.name", "project"),
        ('project = "github.com/acme/web"', "project-file.name", "github.com/acme/web"),
        (f'project = "repository-{"0" * 32}"', "project-file.name", "repository-"),
        ("project = ", "project-file.toml", "TOML"),
        ("x = " + "[" * 5_000, "project-file.toml", "TOML"),
        ("x = " + "9" * 5_000, "project-file.toml", "TOML"),
        ("#" * (PROJECT_FILE_CHARS_MAX + 1), "project-file.size", "characters"),
    ],
)
def test_a_wrong_project_file_is_refused_by_name(text: str, code: str, named: str) -> None:
    with pytest.raises(Invalid, match=named) as refusal:
        parse_project_file(text)
    assert refusal.value.code == code
    assert refusal.value.hint


@pytest.mark.req("SCO-5")
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(Invalid):
        assert isinstance(parse_project_file(text), ProjectFile)


HASHED = project_id(remote=None, repository_root=None, folder="/srv/shop")
HOME = "/home/ann"


@pytest.mark.req("SKL-4")
@pytest.mark.parametrize(
    ("project", "folder", "name"),
    [
        ("github.com/acme/web", "/srv/anything", "github.com/acme/web"),
        ("Shop", "/srv/anything", "Shop"),
        ("", "/srv/shop", ""),
        (HASHED, "/srv/shop", "shop"),
        (HASHED, "/srv/shop/", "shop"),
        (HASHED, "/srv/shop/2", "shop/2"),
        (HASHED, "/2", "2"),
        (HASHED, f"{HOME}/2", "2"),
        (HASHED, f"{HOME}/shop/2", "shop/2"),
        (HASHED, HOME, ""),
        (HASHED, HOME.replace("home", "Users") + "/", ""),
        (HASHED, r"C:\Users\ann", ""),
        (HASHED, r"C:\Users\ann\shop", "shop"),
        (HASHED, "C:\\", ""),
        (HASHED, "/root", ""),
        (HASHED, "/", ""),
        (HASHED, "", ""),
        (HASHED, "/srv/a\x1b[31m\u202eb", "a [31m b"),
        (HASHED, "/srv/ghp_" + "0123456789abcdefABCDEF0123456789abcd", "<redacted:github-token>"),
        (HASHED, "/srv/" + "x" * 500, "x" * 59 + "\N{HORIZONTAL ELLIPSIS}"),
    ],
)
def test_a_project_is_called_by_its_id_or_by_its_folder(project: str, folder: str, name: str) -> None:
    assert project_name(project, folder) == name
