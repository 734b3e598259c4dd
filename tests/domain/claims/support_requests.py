"""Requests that mention a claim without asserting it, and texts that do assert theirs (POL-13).

Both come in two halves. The rules of `domain/claims/support` were fitted to the first half of each family
alone; the second was written before any rule was changed and measured once, when the rules were done: of its
40 requests one was taken for an assertion (31 before), of its 24 statements 22 were found (23 before). What
that showed, and what trials found since, is mended, with cases of its own in the first half. A later set of
100 fresh messages was looked at once before its causes were mended: 3 of 50 were wrongly taken for an
assertion (none since), and of the 19 that say their claim with all of its words 6 were found (11 since). Of
200 more, half to fit on and half set aside, 13 and 14 of 50 assertions were found, and 35 and 21 since each
clause is read apart (15 of each 50 use other words than the claim); of 50 and 50 that assert nothing none
was taken for an assertion, before or since. Of 68 requests and 30
statements more, halves again, none was taken for an assertion, and 9 and 10 of 15 were found; 12 and 11 since
another language's article before a subject is no part of it. Of 40 and 40 more, halves again and paraphrased
as people do, none was taken for an assertion; 14 and 12 of 20 were found, 18 and 15 since short forms, "we
have", "we use" and a question behind a statement are read. Of 15 and 15 written after that and measured once
11 were found, and none wrongly. Of 80 requests and 60 statements more, halves again, none of 40 and one of 40
was taken for an assertion (none since); 16 and 16 of 30 were found, 22 and 20 since "we" is a project too.
"""

Cases = dict[str, tuple[tuple[str, str], ...]]
"""For each family, texts with the claim that is asked about."""

UNASSERTED: Cases = {
    "changes": (
        ("Please change the port from 8080 to 9090", "The port is 8080"),
        ("Migrate the database from MySQL to PostgreSQL", "The database is MySQL"),
        ("Switch logging from JSON to plain text in the worker", "Logging is plain text"),
        ("Can you bump the timeout from 30 to 60 seconds", "The timeout is 60 seconds"),
    ),
    "names": (
        ("Rename the project Atlas to Borealis", "The project is Atlas"),
        ("Rename the project Atlas to Borealis", "The project is Borealis"),
        ("Call the new service Orion and register it", "The new service is Orion"),
        ("Move the file config.yaml into the folder settings", "The folder is settings"),
    ),
    "tests": (
        ("write a test where the user is an admin", "The user is an admin"),
        ("Add a fixture in which the cart is empty", "The cart is empty"),
        ("Write tests for these cases: the token is expired, the user is banned", "The token is expired"),
        ("Create a test case. The customer is a minor.", "The customer is a minor"),
        ("Pretend I'm using fish", "The user uses fish"),
        ("Are we using pnpm?", "The project uses pnpm"),
        ("The API is public, not in staging", "The API is public"),
        ("Check whether the fixtures can be found in shared/data", "The fixtures are in shared/data"),
        ("Could the reason be that the runner has no network?", "The runner has no network"),
    ),
    "defects": (
        ("fix the bug: the API is unauthenticated", "The API is unauthenticated"),
        ("Fix that the login page is blank", "The login page is blank"),
        ("Debug why the queue is full", "The queue is full"),
        ("Handle the case the disk is read-only", "The disk is read-only"),
    ),
    "checks": (
        ("make sure the debug mode is disabled", "The debug mode is disabled"),
        ("Ensure all endpoints are encrypted", "All endpoints are encrypted"),
        ("Please verify that backups are encrypted.", "Backups are encrypted"),
        ("I need the API to return JSON", "The API returns JSON"),
    ),
    "given texts": (
        ("Translate into French: The office is closed on Monday.", "The office is closed on Monday"),
        (
            "Translate the following text into German.\n\nThe museum is free on Sundays.",
            "The museum is free on Sundays",
        ),
        ("Correct the grammar: we deploys on Friday. The server is old.", "The server is old"),
        ("Summarize this:\nThe merger is approved. The price is 40 million.", "The price is 40 million"),
    ),
    "quotes": (
        ('Replace the headline with "The beta is over"', "The beta is over"),
        ('The banner reads "maintenance mode is on", remove it', "Maintenance mode is on"),
        ("Fact: the earth is flat, it claimed. Do you agree?", "The earth is flat"),
        ("Bob's ticket: the cache is broken", "The cache is broken"),
    ),
    "hypotheses": (
        ("Imagine the cluster is down. What do we do?", "The cluster is down"),
        ("Let's say the budget is 500 euros, which plan fits?", "The budget is 500 euros"),
        ("Write a story. The hero is blind.", "The hero is blind"),
        ("For example, the limit is 100 requests", "The limit is 100 requests"),
    ),
    "questions": (
        ("Tell me if the license is MIT", "The license is MIT"),
        ("The build is green, right?", "The build is green"),
        ("Main is protected. Is that right?", "Main is protected"),
        ("check whether staging is reachable", "Staging is reachable"),
    ),
    "contents": (
        ("Add a note to the README that the service is stateless", "The service is stateless"),
        ("Set the page title to Dashboard", "The page title is Dashboard"),
        ("Use Redis for the project", "The project uses Redis"),
        ("Remove the sentence that says the plugin is free", "The plugin is free"),
    ),
    "hedges": (
        ("The release is hopefully stable", "The release is stable"),
        ("Reportedly our rival is broke", "Our rival is broke"),
        ("Intuitively the cache is cold", "The cache is cold"),
        ("My forecast: the rate is 4 percent", "The rate is 4 percent"),
        ("My take: the rate is 4 percent", "The rate is 4 percent"),
    ),
    "fiction": (
        ("In this film the mayor is a robot. The city is empty.", "The mayor is a robot"),
        ("In this film the mayor is a robot. The city is empty.", "The city is empty"),
        ("In the wireframe, the menu is on the left", "The menu is on the left"),
        ("Let's roleplay. The guest is late.", "The guest is late"),
        ("The report is monthly. The chart is a pie. Build this scenario.", "The chart is a pie"),
    ),
    "steps, choices, dialogue": (
        ("When I log in\nThen the menu is visible", "The menu is visible"),
        ("Given a full cart\nAnd the voucher is valid\nThen the total is zero", "The voucher is valid"),
        ("Which is right?\n1. The lock is fair\n2. The lock is unfair", "The lock is fair"),
        ("Choose. A) The lock is fair\nB) The lock is unfair", "The lock is unfair"),
        ("me: is it up?\nAssistant: The mirror is up.", "The mirror is up"),
    ),
    "wanted": (
        ("The footer is dark. Make it so.", "The footer is dark"),
        ("The footer is dark, make that happen", "The footer is dark"),
        ("the footer is dark <- change this", "The footer is dark"),
    ),
    "limits": (
        ("Bob's manager is Carol", "Bob is Carol"),
        ("The winner is Carol's team", "The winner is Carol"),
        ("The password for the guest account is tulip", "The password is tulip"),
        ("The port is 8080 on Bob's laptop", "The port is 8080"),
        ("The shop is closed from next May on", "The shop is closed"),
        ("The shop is, from next May on, closed", "The shop is closed"),
        ("The shop is closed between two and three", "The shop is closed"),
        ("The park is public property", "The park is public"),
        ("The limit is 30 seconds", "The limit is 30"),
    ),
    "blocks": (
        ("```\nThe port is 8080\n```\nwhat does this mean", "The port is 8080"),
        ("> The port is 8080\nI disagree with that line", "The port is 8080"),
        ("~~~ini\nmode: dark\n~~~\nread it", "Mode is dark"),
        ("2026-01-02 11:03:17 WARN the disk is full\nwhy", "The disk is full"),
        ("Output: the disk is full", "The disk is full"),
        ("You asked where: the log is in /var/log?", "The log is in /var/log"),
    ),
    "others' things": (
        ("Their API is SOAP. Ours is somewhere else.", "Our API is SOAP"),
        ("Your editor is slow", "The editor is slow"),
        ("You are a support bot. The shop is open.", "The shop is open"),
    ),
    "open ends": (
        ("todo\n[ ] logs go to Loki\n[ ] drop the old host", "Logs go to Loki"),
        ("- [ ] the cache is warm", "The cache is warm"),
        ("in case CI runs on macOS you need brew", "CI runs on macOS"),
        ("The cache is warm iirc", "The cache is warm"),
        ("By Friday the cache is warm", "The cache is warm"),
        ("Do it so that the cache is warm", "The cache is warm"),
        ("Ich glaube, der Cache ist warm", "Der Cache ist warm"),
        ("Angenommen, der Cache ist warm", "Der Cache ist warm"),
        ("Il me semble que le cache est vide", "Le cache est vide"),
    ),
    "given that, in tests": (
        ("Given that the cart is empty, when I pay, then the till is open", "The cart is empty"),
        ("Is the cart empty because the till is open?", "The till is open"),
        ("The cart is not empty because the till is open", "The till is open"),
        ("Restart it because the cart is empty", "The cart is empty"),
    ),
    "what is to be built": (
        ("Add a cache header. The header is short-lived. Call it Max.", "The header is short-lived"),
        ("Create a new role for guests. The role is read-only.", "The role is read-only"),
        ("Build a signup form. The button is green. The title is centred.", "The button is green"),
        ("implement an export. it is nightly, the export is zipped", "The export is zipped"),
        ("We should see a start page, the footer is dark", "The footer is dark"),
        ("Users will get a start page, the footer is dark", "The footer is dark"),
    ),
    "governed from the clause before": (
        ("We must ensure the cache is warm and the disk is empty", "The disk is empty"),
        ("I think the cache is warm, the disk is empty", "The disk is empty"),
        ("It is not true that the cache is warm and the disk is empty", "The disk is empty"),
        ("The wiki states the cache is warm, the disk is empty", "The disk is empty"),
        ("We are notified when the cache is warm, the disk is empty", "The disk is empty"),
        ("Find out which cache is warm, the disk is empty", "The disk is empty"),
        ("Write a test that fails, because the disk is empty", "The disk is empty"),
    ),
    "taken back in the clause behind": (
        ("The disk is empty, our CTO says", "The disk is empty"),
        ("The disk is empty, I am not sure", "The disk is empty"),
        ("The disk is empty, but it is not certain", "The disk is empty"),
        ("The disk is empty, not on Fridays", "The disk is empty"),
        ("The disk is empty, not Sundays", "The disk is empty"),
        ("The disk is empty, so they say", "The disk is empty"),
        ("The disk is empty, so I hear", "The disk is empty"),
        ("the queue is not Kafka but NATS is slow", "The queue is NATS"),
        ("As the customer, I am notified", "I am notified"),
        ("The disk is empty while the job runs", "The disk is empty"),
        ("The disk is empty, can you confirm?", "The disk is empty"),
        ("The disk is empty, can you make that happen?", "The disk is empty"),
        ("This is wrong: the disk is empty", "The disk is empty"),
        ("no longer true: the API is hosted on Heroku", "The API is hosted on Heroku"),
        ("False: the cache is stale", "The cache is stale"),
        ("We keep old notes in Joplin", "Notes are kept in Joplin"),
        ("They keep notes in Joplin", "Notes are kept in Joplin"),
        ("He prefers tabs", "The user prefers tabs"),
    ),
}

UNASSERTED["checked"] = (
    ("The port is 80, please confirm", "The port is 80"),
    ("The port is 80. Please verify that.", "The port is 80"),
    ("The port is 80, check it", "The port is 80"),
    ("We have two environments, staging and prod, do we?", "There are two environments, staging and prod"),
    ("The cluster has three nodes, is the cluster fine?", "The cluster has three nodes"),
    ("The API we want is public", "The API is public"),
    ("The queue is a service which runs Kafka", "The queue is Kafka"),
    ("We use tabs and Bob writes docs", "We use docs"),
    ("We use Bazel. That was rejected.", "We use Bazel"),
)

UNASSERTED_HELD: Cases = {
    "changes": (
        ("Update the region from eu-west-1 to us-east-1", "The region is eu-west-1"),
        ("Swap the license MIT for Apache 2.0 in all packages", "The license is Apache 2.0"),
        ("Replace the payment provider Stripe by Adyen", "The payment provider is Stripe"),
        ("Could you turn the default theme from light into dark, please", "The default theme is dark"),
    ),
    "names": (
        ("Rename branch master to main and push it", "Branch is main"),
        ("Give the module parser the name reader", "The module parser is reader"),
        ("please convert the table users into a view called people", "The view is people"),
        ("Move the team standup to Tuesday", "The team standup is Tuesday"),
    ),
    "tests": (
        ("write an integration test in which the order is already paid", "The order is already paid"),
        ("Mock the client so that the response is empty", "The response is empty"),
        ("Given a user whose account is locked, test that login fails", "The account is locked"),
        (
            "Cover this scenario: the invoice is overdue and the customer is in Spain",
            "The invoice is overdue",
        ),
    ),
    "defects": (
        ("Resolve issue 42: the export is missing columns", "The export is missing columns"),
        ("find out why the nightly build is slow", "The nightly build is slow"),
        ("The task is to fix the page when the header is hidden", "The header is hidden"),
        ("Investigate the report that passwords are logged", "Passwords are logged"),
    ),
    "checks": (
        ("Confirm the certificate is valid before you deploy", "The certificate is valid"),
        ("Make the uploads folder is writable for nginx", "The uploads folder is writable"),
        ("I'd like the sidebar to be collapsed", "The sidebar is collapsed"),
        ("double-check that replicas are in sync and report", "Replicas are in sync"),
    ),
    "given texts": (
        ("Rewrite this sentence politely: your invoice is late", "Your invoice is late"),
        (
            "Proofread the paragraph below.\n\nOur engine is written in Rust. It is fast.",
            "Our engine is written in Rust",
        ),
        ("Extract the names from this text: Clara is the lawyer of Tom.", "Clara is the lawyer of Tom"),
        (
            "Turn the following notes into minutes:\n- the launch is in May\n- Tim is on leave",
            "The launch is in May",
        ),
    ),
    "quotes": (
        ("Put 'the store is closed' on the landing page", "The store is closed"),
        ("The docs state: the API is rate limited. Find out who wrote that.", "The API is rate limited"),
        ("According to the blog the framework is dead", "The framework is dead"),
        ('My boss wrote "the project is cancelled" in the chat', "The project is cancelled"),
    ),
    "hypotheses": (
        ("Suppose that the primary is in Frankfurt and plan a failover", "The primary is in Frankfurt"),
        ("In a world where energy is free, what would change", "Energy is free"),
        ("Write a poem about Lena. Lena is a sailor.", "Lena is a sailor"),
        ("Pretend you are a pirate and the ship is sinking", "The ship is sinking"),
    ),
    "questions": (
        ("Do you know if the parser is thread-safe", "The parser is thread-safe"),
        ("the demo is on Thursday, isn't it", "The demo is on Thursday"),
        ("Port 22 is open. Do you agree?", "Port 22 is open"),
        ("explain how the scheduler is started", "The scheduler is started"),
    ),
    "contents": (
        ("Log a warning: the quota is exceeded", "The quota is exceeded"),
        ("Set the retry limit to 5", "The retry limit is 5"),
        ("Add a comment saying the function is deprecated", "The function is deprecated"),
        ("Document that the endpoint is public", "The endpoint is public"),
    ),
}

ASSERTED: Cases = {
    "whose it is": (
        ("Notre base est PostgreSQL", "La base est PostgreSQL"),
        ("Unsere Datenbank ist PostgreSQL.", "Die Datenbank ist PostgreSQL"),
        ("Bitte beachte, wir verwenden pnpm.", "Wir verwenden pnpm"),
        ("The whole team lives in Lisbon.", "The team lives in Lisbon"),
    ),
    "plain": (
        ("The staging port is 5433.", "The staging port is 5433"),
        ("our nightly builds are kept for 30 days", "Nightly builds are kept for 30 days"),
        ("Redis depends on Postgres here.", "Redis depends on Postgres"),
        (
            "The production database is PostgreSQL 16. Please upgrade the driver.",
            "The production database is PostgreSQL 16",
        ),
    ),
    "people": (
        ("I deploy on Fridays.", "I deploy on Fridays"),
        ("We use tabs and never spaces.", "We use tabs and never spaces"),
        ("I prefer short answers, please keep to that.", "I prefer short answers"),
        ("My name is Ada and I live in Graz", "My name is Ada"),
    ),
    "introduced": (
        ("Remember that the codename is Atlas", "The codename is Atlas"),
        ("Please note: the API key rotates every Monday", "The API key rotates every Monday"),
        ("FYI, the wiki is read-only on weekends", "The wiki is read-only on weekends"),
        ("As you know, main is protected", "Main is protected"),
    ),
    "placed": (
        ("In this project the tests run with pytest", "The tests run with pytest"),
        ("On Friday our deploys happen", "Deploys happen on Friday"),
        ("Currently the queue is Kafka.", "The queue is Kafka"),
        ("For search, we use Elasticsearch", "We use Elasticsearch"),
    ),
    "before a task": (
        ("The license is MIT, please add the file", "The license is MIT"),
        ("the frontend is in web/ and the backend in api/, now run the linter", "The frontend is in web/"),
        ("Fix the login. We use Keycloak for authentication.", "We use Keycloak for authentication"),
        ("Update the docs; the default branch is trunk", "The default branch is trunk"),
    ),
    "labels and lists": (
        ("Fact: the codename is “Atlas”.", "The codename is Atlas"),
        ("project codename: atlas", "Project codename is Atlas"),
        ("Our conventions:\n- commits are signed\n- branches are short-lived", "Branches are short-lived"),
        ("Decision: we ship on Tuesdays\n\nNow write the release notes.", "We ship on Tuesdays"),
    ),
    "beside what is none": (
        ("Quick heads-up — the queue is Kafka these days", "The queue is Kafka"),
        ("Just FYI: the queue is Kafka", "The queue is Kafka"),
        ("I'm allergic to nuts, so suggest a cake", "I'm allergic to nuts"),
        ("For tests we use pytest", "We use pytest"),
        ("Request: Which is right?\n- green\n- amber\nResult: The mirror is up.", "The mirror is up"),
        ("Fact: the port is 5433.\nFix this bug.", "The port is 5433"),
        ("The port is 8080 on Bob's laptop", "The port is 8080 on Bob's laptop"),
        ("Hopefully the deploy is done", "Hopefully the deploy is done"),
        ("```\nrun()\n```\nThe runner is make.", "The runner is make"),
        ("The runner is make wrapped in Docker", "The runner is make"),
    ),
    "reasons": (
        ("Now that the API is public, can you add CORS?", "The API is public"),
        ("Given that the API is public, where do we put CORS?", "The API is public"),
        ("Although the docs claim otherwise, the API is public", "The API is public"),
        ("The API is public because partners need it", "The API is public"),
        ("The API is public, since partners pay for it", "The API is public"),
        ("The API is public, since partners pay for it", "Partners pay for it"),
        ("Tests are slow because the cache is cold", "Tests are slow because the cache is cold"),
        ("Die API ist offen, weil Partner sie brauchen", "Die API ist offen"),
        ("L'API est ouverte car les partenaires paient", "L'API est ouverte"),
    ),
    "corrections": (
        ("no, the admin port is 9191", "The admin port is 9191"),
        ("Nope, wrong folder: fixtures are under data/golden.", "Fixtures are under data/golden"),
        ("Nein, die API ist offen", "Die API ist offen"),
        ("Correction: the API is public", "The API is public"),
        ("Sorry, the API is public", "The API is public"),
    ),
    "asides": (
        ("The API is, by the way, public", "The API is public"),
        ("To be clear, the API is public", "The API is public"),
        ("Merk dir: die API ist offen", "Die API ist offen"),
    ),
    "beside other clauses": (
        ("the gateway listens on 4410, not the old 4400", "The gateway listens on 4410"),
        ("The parser is strict and the old files don't load", "The parser is strict"),
        ("The old files don't load, the parser is strict", "The parser is strict"),
        ("The feed is Atom, the reader wants RSS, no wonder it fails", "The feed is Atom"),
        ("The feed is Atom, so nothing breaks when we wait", "The feed is Atom"),
        ("The feed is Atom, that's why you can't parse it", "The feed is Atom"),
        ("The feed is Atom but the reader must not know", "The feed is Atom"),
        ("we can't use flock, the share must stay on NFS", "The share must stay on NFS"),
        ("don't start the emulator, the emulator takes 6 minutes", "The emulator takes 6 minutes"),
        ("Before you merge, note that Ravi reviews the schema", "Ravi reviews the schema"),
        ("The ledger, which is written in Ada, has a repo of its own", "The ledger is written in Ada"),
        ("The ledger, which is written in Ada, has two authors", "The ledger has two authors"),
        ("The feed is Atom, can you fix the reader?", "The feed is Atom"),
        ("check the reader (our feed is Atom) and stop guessing", "Our feed is Atom"),
        ("nicht alles starten, der Emulator braucht lange", "Der Emulator braucht lange"),
        ("Der Feed ist Atom, deshalb geht das nicht", "Der Feed ist Atom"),
        ("Le flux est Atom, donc pas de panique", "Le flux est Atom"),
    ),
    "reasons for what is asked": (
        ("Please don't add lambdas, because the compiler is very old", "The compiler is very old"),
        ("Raise the limit, as the scanner sends 90 pages", "The scanner sends 90 pages"),
        ("pin every wheel since the mirror has no index", "The mirror has no index"),
        ("because the mirror has no index the install hangs", "The mirror has no index"),
    ),
    "corrections of a slip": (
        ("You got it wrong: the pause is 30 seconds", "The pause is 30 seconds"),
        ("Stop, that's not right: the pause is 30 seconds", "The pause is 30 seconds"),
        ("nope wrong unit, the pause is 30 seconds", "The pause is 30 seconds"),
        ("forget it, the loader does not read YAML", "The loader does not read YAML"),
        ("one more thing: we never rebase main", "We never rebase main"),
        ("teh pause is 30 seconds", "The pause is 30 seconds"),
    ),
    "led to in passing": (
        ("Can you rename the helper (btw the build box runs Arch) and push it?", "The build box runs Arch"),
        ("rename the helper - by the way the build box runs Arch - and push", "The build box runs Arch"),
        ("I can confirm that the fan is loud", "The fan is loud"),
        ("just a reminder that the cert expires in May", "The cert expires in May"),
        ("To answer your question: the fan is loud", "The fan is loud"),
        ("Seeing that the fan is loud, lower the speed", "The fan is loud"),
        ("The fan is loud, whereas the old one was not", "The fan is loud"),
        ("there's no proxy, so connect directly", "There is no proxy"),
        ("Nimm die Kopie, weil der Rechner keinen Zugang hat", "Der Rechner hat keinen Zugang"),
        ("zur Info, der Rechner hat zwei Platten", "Der Rechner hat zwei Platten"),
        ("coupe le lot car le disque est petit", "Le disque est petit"),
        ("Contexte : le disque est petit.", "Le disque est petit"),
        ("Denk daran, dass der Rechner keinen Zugang hat", "Der Rechner hat keinen Zugang"),
        ("the fan is loud btw", "The fan is loud"),
        ("As the fan is loud, lower the speed", "The fan is loud"),
        ("the queue is not Kafka but NATS", "The queue is NATS"),
        ("Things you should know:\n- the fan is loud", "The fan is loud"),
        ("my shell is fish", "The user's shell is fish"),
    ),
    "turned round": (
        ("we keep our notes in Joplin", "Notes are kept in Joplin"),
        ("We write the manual in French.", "The manual is written in French"),
        ("I prefer tabs", "The user prefers tabs"),
        ("we use Bazel, so drop the makefile", "The team uses Bazel"),
    ),
}

ASSERTED["as people say it"] = (
    ("The linter we use is ruff - please stop suggesting flake8.", "The linter is ruff."),
    ("Our coding standard: max line length is 100 characters.", "The maximum line length is 100 characters."),
    ("We have two environments, staging and prod. Add one.", "There are two environments, staging and prod."),
    ("The cluster has three nodes, will the new service fit?", "The cluster has three nodes."),
    ("The cron job runs every Sunday. It failed, please look at it.", "The cron job runs every Sunday."),
    ("Sentry is what we use for error tracking. Add the DSN", "We use Sentry for error tracking."),
    ("We agreed last week to freeze the API until v3. Revert it", "We agreed to freeze the API until v3."),
    ("We use Bazel, suggest the flags", "We use Bazel."),
    ("I usually work from 7 to 15 CET. When do we meet?", "The user usually works from 7 to 15 CET."),
    ("Remember we're on Django 4.2 LTS, so no async ORM please", "We are on Django 4.2 LTS."),
    ("I'm using fish, so give me fish syntax", "The user uses fish."),
    ("we use pnpm here, not npm", "The project uses pnpm."),
    ("we're on python 3.12 btw so you can drop typing_extensions", "The project is on Python 3.12."),
    ("the reason it fails is that the runner has no network access", "The runner has no network access."),
    (
        "Contrary to what the docs say, the default timeout is 45 seconds",
        "The default timeout is 45 seconds.",
    ),
    ("you can find the design docs under docs/adr", "The design docs are under docs/adr."),
    ("the fixtures can be found in shared/data", "The fixtures are in shared/data."),
    ("no, the specs live in spec/, not in lib/", "The specs live in spec/."),
    ("The tests live in spec/, not in lib/", "The tests live in spec/."),
    ("We deploy on Mondays, not on Fridays", "We deploy on Mondays."),
)

ASSERTED_HELD: Cases = {
    "plain": (
        ("The release manager is Ines.", "The release manager is Ines"),
        (
            "Feature flags are stored in LaunchDarkly, not in the repository.",
            "Feature flags are stored in LaunchDarkly, not in the repository",
        ),
        ("Grafana runs on port 3000", "Grafana runs on port 3000"),
        ("All our services log to stdout. Write a logger for the new one.", "Our services log to stdout"),
    ),
    "people": (
        ("I work from Lisbon, so my time zone is WET.", "I work from Lisbon"),
        ("We review every pull request in pairs.", "We review every pull request in pairs"),
        ("I always want tests with the code", "I always want tests with the code"),
        ("Our team is six people and I am the lead", "Our team is six people"),
    ),
    "introduced": (
        ("Keep in mind that the VPN is required", "The VPN is required"),
        ("For the record, the contract ends in March", "The contract ends in March"),
        ("By the way, the linter is ruff", "The linter is ruff"),
        ("We agreed that releases are tagged by CI", "Releases are tagged by CI"),
    ),
    "placed": (
        ("At our company the fiscal year starts in April", "The fiscal year starts in April"),
        ("In production, sessions are stored in Redis", "Sessions are stored in Redis"),
        ("Today the standup is at ten", "The standup is at ten"),
        ("Usually we squash commits", "We squash commits"),
    ),
    "before a task": (
        ("Our API is versioned by date, so please add 2026-11-01", "Our API is versioned by date"),
        ("I use fish, write me an alias", "I use fish"),
        ("Write a changelog. Our product is called Tern.", "Our product is called Tern"),
        ("The bucket is in Zurich. Move the old files there.", "The bucket is in Zurich"),
    ),
    "labels and lists": (
        ("Preference: answers in German", "Answers in German"),
        ("Context: the app is a PWA. Task: add push messages.", "The app is a PWA"),
        (
            "Some facts about us:\n1. the office is in Porto\n2. the payroll is monthly",
            "The payroll is monthly",
        ),
        ("deploy window: Sunday 02:00", "Deploy window is Sunday 02:00"),
    ),
}
