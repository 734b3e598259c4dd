-- Whose a token is: the sessions that it makes are bound to this persona.
ALTER TABLE tokens ADD COLUMN persona_id TEXT;
