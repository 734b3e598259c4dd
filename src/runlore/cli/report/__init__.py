"""The report of `runlore learn`: one HTML page that needs nothing but itself."""
