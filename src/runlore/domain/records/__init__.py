"""Records: what they are, which moves they make, what makes them visible."""
