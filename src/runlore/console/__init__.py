"""The browser console for operators: a few files, and the login. What it shows comes from the API."""
