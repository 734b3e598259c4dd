"""What texts claim: their subject, the question that they answer, and what supports them."""
