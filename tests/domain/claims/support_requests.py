"""Requests that mention a claim without asserting it (POL-13).

They come in two halves. The rules of `domain/claims/support` were fitted to the first half of each family
alone; the second was written before any rule was changed and looked at once, by counts. What later sets
showed, halves again, is among the cases of the first half. The last of them had 60 requests in ten families,
and none was taken for an assertion; nor was any of 46 look-alikes of further forms.
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
    "reasons, times and prohibitions": (
        ("The port is 8080, please don't assume so", "The port is 8080"),
        ("Since March the CDN is Fastly, I think", "The CDN is Fastly"),
        ("Nobody logged in since the server was down", "The server is down"),
        ("Write a test where the port is 8080, please don't touch it", "The port is 8080"),
    ),
}

UNASSERTED["stressed, and not stated"] = (
    ("There is a chance that the port is 8080", "The port is 8080"),
    ("There's a rumor that logs go to Loki", "Logs go to Loki"),
    ("There is a comment that says the API is public", "The API is public"),
    ("It's the intern who thinks the tests are slow", "The tests are slow"),
    ("Is it Nora who signs the releases?", "Nora signs the releases"),
    ("If it's Nora who signs the releases, ask her", "Nora signs the releases"),
    ("Write a test where it's the gateway that checks the tokens", "The gateway checks the tokens"),
    ("Make sure there is a task that prunes the cache", "A task prunes the cache"),
    ("We've got to deploy on Fridays", "We deploy on Fridays"),
    ("The API is public, not really", "The API is public"),
    ("Let the previews run on the cluster, not on the laptop", "The previews run on the cluster"),
)
UNASSERTED["with another place in front"] = (
    ("Except in staging we use a fake mail server", "A fake mail server is used in staging"),
    ("Outside of staging we use a fake mail server", "A fake mail server is used in staging"),
    ("In staging we use an old fake mail server", "A mail server is used in staging"),
    ("Make sure that in staging we use a fake mail server", "A fake mail server is used in staging"),
    ("For search, do we use Meilisearch?", "Meilisearch is used for search"),
    ("Besides Meilisearch we use Solr for search", "Meilisearch is used for search"),
    ("Every hour that the importer polls the feed costs us", "The importer polls the feed every hour"),
    ("Every other hour the importer polls the feed", "The importer polls the feed every hour"),
)
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
