"""Child processes of Runahead and how to talk to them: frames of msgpack over a socket pair."""
