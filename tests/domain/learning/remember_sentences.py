"""Requests that say "remember", and what each of them is to leave: written before the rules were changed, and
only `FITTED` looked at while they were. A row is a request, whose it is, and words of what is kept."""

USERS = "persona"
PROJECTS = "project"
NOBODY = ""

FITTED = (
    ("Remember that in all my projects the commit messages are written in English.", USERS, "in English"),
    ("Everywhere I work, remember that I want tabs, not spaces.", USERS, "tabs, not spaces"),
    ("In all my projects, remember that tests go into a folder named tests.", USERS, "named tests"),
    ("Remember globally that I sign my commits.", USERS, "sign my commits"),
    ("For this task, remember that the fixture is called alpha.", NOBODY, ""),
    ("Write a function that will remember that a user has logged in.", NOBODY, ""),
    ("Don't remember that.", NOBODY, ""),
    ("Don't remember that the port is 8080, it was only a test.", NOBODY, ""),
    ("Please remember everywhere: I prefer short answers.", USERS, "short answers"),
    ("Remember that in this repository the linter is ruff.", PROJECTS, "linter is ruff"),
    ("remember for the rest of this session that the branch is called wip", NOBODY, ""),
    ("Add a cache that can remember that a page was fetched.", NOBODY, ""),
    ("Do not remember this: the token lives in vault.", NOBODY, ""),
    ("Across all repos, please remember that I never squash merges.", USERS, "never squash"),
    ("Remember that our staging database is db-2.", PROJECTS, "db-2"),
    ("Can you remember that I review pull requests on Mondays?", USERS, "on Mondays"),
    ("Implement a class to remember that the window was closed.", NOBODY, ""),
    ("Remember just for now that the build is broken.", NOBODY, ""),
    ("Please don't remember that I was late.", NOBODY, ""),
    ("From now on and in every project remember that I want type hints.", USERS, "type hints"),
    ("Remember for this project that the API is versioned by date.", PROJECTS, "versioned by date"),
    ("Remember that globally I use zsh.", USERS, "use zsh"),
    ("No matter which project, keep in mind that I write docs in British English.", USERS, "British"),
    ("You don't need to remember that the demo runs on port 9000.", NOBODY, ""),
    ("Remember that in our repo the linter is mypy.", PROJECTS, "linter is mypy"),
    ("Remember that in my projects the changelog is called NEWS.", USERS, "called NEWS"),
    ("In the project, remember that the default shell is fish.", PROJECTS, "shell is fish"),
    ("Remember that the port is 8080 for this task.", NOBODY, ""),
)

SET_ASIDE = (
    ("Wherever I work, remember that I like small pull requests.", USERS, "small pull requests"),
    ("Remember in every repo: never push to main directly.", USERS, "never push to main"),
    ("Remember this for all of my projects: dates are written as ISO 8601.", USERS, "ISO 8601"),
    ("Remember this globally: I answer to Kim.", USERS, "answer to Kim"),
    ("Only for this task, keep in mind that the tests are slow.", NOBODY, ""),
    ("Build a component which should remember that the menu is open.", NOBODY, ""),
    ("Never remember that.", NOBODY, ""),
    ("Please do not remember that the password rotates on Fridays.", NOBODY, ""),
    ("In each of my repositories remember that the license is MIT.", USERS, "license is MIT"),
    ("Remember that in this project we use poetry.", PROJECTS, "we use poetry"),
    ("Until we are done here, remember that the server is down.", NOBODY, ""),
    ("The bot must remember that a customer has paid.", NOBODY, ""),
    ("Forget it, don't remember that the host is old.", NOBODY, ""),
    ("Across projects remember that I prefer pathlib over os.path.", USERS, "prefer pathlib"),
    ("Please remember that our CI runs on Jenkins.", PROJECTS, "runs on Jenkins"),
    ("Could you please remember that I am colour-blind?", USERS, "colour-blind"),
    ("Create a hook so that the form will remember that the user agreed.", NOBODY, ""),
    ("Remember for this conversation only that we call the old service Bob.", NOBODY, ""),
    ("I don't want you to remember that I swore.", NOBODY, ""),
    (
        "As a rule in all projects, remember that I want docstrings in English.",
        USERS,
        "docstrings in English",
    ),
    ("Remember, in this repo the default branch is trunk.", PROJECTS, "branch is trunk"),
    ("Remember everywhere that I write code comments in German.", USERS, "comments in German"),
    ("Independent of the project, remember that my editor is Helix.", USERS, "editor is Helix"),
    ("There is no need to remember that the old key was blue.", NOBODY, ""),
)
