"""The runs that this process works itself: their threads, what is heard of them, what they wait for."""
