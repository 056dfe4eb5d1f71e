"""A plug-in of Opwright: a faster kernel (`fast`), an operator (`polynomial`) and a backend (`lists`)."""
