"""The command line: one small file per command; it never computes."""
