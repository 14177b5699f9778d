"""What must never happen to a user's process: crashes without memory, crashes by damaged files."""
