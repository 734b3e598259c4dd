"""The six stages, one folder each, that meet in the store and never import each other."""
