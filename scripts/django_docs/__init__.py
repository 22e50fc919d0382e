"""The documentation of seven Django releases as a corpus of seven shards, with questions whose answers code checks."""
