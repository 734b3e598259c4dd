"""Text: its terms, what is quoted in it, and how it is made safe to store and to show."""
