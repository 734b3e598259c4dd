"""Working folders of Runlore's own agents: files, commands, and the copies that child agents work in."""
