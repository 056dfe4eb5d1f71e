"""Facts of operators that pages show: of the installed runtime, with calls that ran."""
