"""Work in the background: jobs, maintenance, and the threads that do them."""
