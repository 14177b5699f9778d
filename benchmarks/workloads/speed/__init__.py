"""Every kind of work that must be fast, beside the rival that users would take for it: a race each."""
