"""The commands of `runlore skill`, apart from the group itself."""
