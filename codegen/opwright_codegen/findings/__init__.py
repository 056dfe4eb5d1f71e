"""The findings of a command, and what they look like: for people, for programs and for the services that show them."""
