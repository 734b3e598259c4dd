"""Skills, suggestions and promoted procedures, and what becomes of them."""
