"""What developers call by several names: data, one group a line, words and phrases separated by commas.

Names of `SAME` mean one thing (`k8s`, `kubernetes`); words of `NEAR` are said for one another and count for
less, under whichever of their names: what is near `set up` is near `setup`. A word may stand in several
groups and then has the company of all of them, but a group's words are no company to another group's of its
table. Words are compared by their stems, phrases word by word.
"""

from collections.abc import Mapping
from functools import cache

SAME = """
    kubernetes, k8s, kube, kubectl
    javascript, js, ecmascript
    typescript, ts
    python, py, python3
    golang, go
    csharp, c#, c sharp
    cpp, c++
    ruby, rb
    rust, rustlang
    postgresql, postgres, psql, pgsql
    mongodb, mongo
    elasticsearch, elastic search
    sqlite, sqlite3
    mssql, sql server
    terraform, tf, hcl
    github actions, gha, github action, github workflow
    gitlab ci, gitlab pipeline
    continuous integration, ci
    continuous delivery, continuous deployment, cd
    amazon web services, aws
    google cloud, gcp, google cloud platform
    microsoft azure, azure
    pull request, pr, merge request, mr
    repository, repo
    database, db
    configuration, config, settings
    environment, env
    environment variable, env var, envvar, dotenv
    dependency, dep
    documentation, docs, doc
    directory, dir, folder
    application, app
    administrator, admin
    authentication, authn, auth
    authorization, authz, authorisation, auth
    specification, spec
    parameter, param
    argument, arg
    function, func
    library, lib
    package, pkg
    message, msg
    command line, cli, command line interface
    user interface, ui
    user experience, ux
    graphical user interface, gui
    machine learning, ml
    artificial intelligence, ai
    large language model, llm, language model
    natural language processing, nlp
    retrieval augmented generation, rag
    reinforcement learning, rl
    infrastructure as code, iac
    test driven development, tdd, test driven
    behaviour driven development, bdd, behavior driven development
    domain driven design, ddd
    search engine optimization, seo, search engine optimisation
    single sign on, sso
    multi factor authentication, mfa, two factor authentication, 2fa, two factor
    virtual machine, vm
    virtual environment, venv, virtualenv
    end to end, e2e
    object relational mapping, orm
    role based access control, rbac
    cross site scripting, xss
    cross origin resource sharing, cors
    content delivery network, cdn
    operating system, os
    regular expression, regex, regexp
    internationalization, i18n, internationalisation, localization, localisation, l10n
    accessibility, a11y
    observability, o11y
    node, nodejs, node.js
    react, reactjs, react.js
    vue, vuejs, vue.js
    next.js, nextjs
    kotlin, kt
    powershell, pwsh
    shell script, bash script
    markdown, md
    yaml, yml
    websocket, web socket
    webhook, web hook
    dockerfile, docker file
    docker compose, compose file
    helm, helm chart
    spreadsheet, excel, xlsx, xls
    powerpoint, pptx, slide deck, slides
    word document, docx
    scikit learn, sklearn
    pytorch, torch
    tensorflow, tf
    visual studio code, vscode, vs code
    standard operating procedure, sop
    proof of concept, poc
    minimum viable product, mvp
    key performance indicator, kpi
    product requirements document, prd
    architecture decision record, adr
    return on investment, roi
    service level objective, slo
    front end, frontend
    back end, backend
    data set, dataset
    file system, filesystem
    code base, codebase
    work flow, workflow
    change log, changelog
    time out, timeout
    log in, login, sign in, signin
    log out, logout, sign out, signout
    sign up, signup
    set up, setup
    clean up, cleanup
    roll back, rollback
    roll out, rollout
    start up, startup
    back up, backup
    debugger, debug
    e-mail, email, mail
    analyze, analyse, analysis
    optimize, optimise, optimization, optimisation
    organize, organise
    normalize, normalise
    serialize, serialise
    visualize, visualise
    summarize, summarise, summary
    customize, customise
    initialize, initialise, init
    synchronize, synchronise, sync
    categorize, categorise
    color, colour
    behavior, behaviour
    license, licence
    catalog, catalogue
    artifact, artefact
    center, centre
    production, prod
    certificate, cert
    credential, cred
    temporary, tmp, temp
    statistics, stats
    performance, perf
    benchmark, bench
    format, fmt
    generate, gen, codegen
    typecheck, type check
    unit test, unittest
    tear down, teardown
    dry run, dryrun
"""

NEAR = """
    build, compile, bundle, package, rebuild, assemble
    build, create, make, construct, develop
    create, generate, scaffold, produce
    write, draft, author, compose
    implement, develop, code, program
    deploy, release, ship, publish, rollout, launch, go live
    test, verify, check, validate
    test, unit test, rspec, pytest, jest, coverage
    test, e2e, integration test
    seed, fixture, populate, sample data
    plan, dry run, preview
    debug, fix, troubleshoot, diagnose, repair
    debug, bug, defect, breakpoint
    fix, solve, resolve, patch, repair
    error, failure, exception, crash, bug
    delete, remove, purge, drop, erase, uninstall
    clean, cleanup, tidy, prune
    remove, clean, clear, destroy, tear down
    set up, install, configure, bootstrap, provision
    create, initialize, bootstrap
    start, launch, run, boot
    run, serve, spin up
    restart, reload, reboot
    run, execute, invoke
    stop, kill, terminate, shut down, halt, tear down
    update, upgrade, bump, refresh
    migrate, migration, port, move
    convert, transform, translate
    optimize, speed up, tune, performance, faster, slow
    performance, profile, profiling, benchmark, latency, bottleneck
    improve, enhance, optimize
    refactor, restructure, clean code, rewrite, simplify
    review, audit, critique, inspect
    scan, audit, vulnerability
    monitor, observe, observability, alert, metrics
    log, logging, trace, tracing
    search, find, lookup, query, locate
    fetch, download, retrieve, pull
    upload, push, send
    scrape, crawl, scraping, crawler
    analyze, investigate, examine, study
    explain, describe, document
    summarize, condense, digest, recap
    plan, design, architect
    architecture, design, structure
    document, documentation, readme, guide, manual
    format, lint, style, prettier
    lint, check, static analysis, typecheck
    typecheck, mypy, pyright, tsc
    secure, harden, protect, security
    security, vulnerability, exploit, pentest, penetration test
    secret, credential, password, api key, token
    login, authentication, sign in, oauth
    permission, authorization, access control
    encrypt, cipher, cryptography, tls, ssl, https, certificate
    backup, restore, recover, snapshot
    undo, revert, rollback, reset
    merge, combine, join, unite
    split, divide, separate, extract
    compare, diff, difference
    copy, clone, duplicate
    rename, move
    schedule, cron, timer, recurring
    automate, automation, script
    connect, integrate, integration, link
    scale, scaling, autoscale, load balancing
    cache, caching, memoize, redis
    queue, broker, kafka, rabbitmq
    container, docker, podman
    pipeline, workflow, ci
    continuous integration, continuous delivery, pipeline
    version control, git, commit
    commit, check in
    branch, worktree, checkout, switch
    merge, rebase, cherry pick
    release, tag, version
    issue, ticket, bug report
    api, endpoint, rest
    schema, data model, table
    database, sql, postgresql, mysql
    model, train, finetune, fine tune
    prompt, instruction
    agent, assistant, subagent
    chart, plot, graph, diagram, visualize
    dashboard, report
    picture, image, photo
    video, clip, movie
    audio, sound, speech, voice
    presentation, slides, talk
    spreadsheet, csv, table
    paper, article, publication, manuscript, literature
    page, website, site, webpage
    layout, responsive, css
    mobile, ios, android
    backend, server
    cost, billing, spend, price
    payment, checkout, stripe
    customer, client, buyer
    marketing, campaign, advertising, promotion
    email, newsletter
    hire, recruit, interview
    contract, agreement, legal
    outage, incident, downtime, postmortem
    notify, notification, alert
    thread, concurrency, parallel, async
    mock, stub, fake
    dependency, package, library, module
    company, business, enterprise
    experiment, ab test, trial
    forecast, predict, prediction
    classify, categorize, label
    cluster, group, segment
    protein, peptide
    gene, genome, genomic
    drug, molecule, compound
    chemistry, chemical
"""


def groups_of(table: str) -> list[tuple[str, ...]]:
    return [
        tuple(name.strip() for name in line.split(",")) for line in table.strip().splitlines() if line.strip()
    ]


@cache
def company(table: str) -> Mapping[str, tuple[str, ...]]:
    """Every name of a table with all it shares a group with, in the order of the table."""
    found: dict[str, dict[str, None]] = {}
    for group in groups_of(table):
        for name in group:
            others = found.setdefault(name, {})
            others.update(dict.fromkeys(other for other in group if other != name))
    return {name: tuple(others) for name, others in found.items()}
