"""The bench of operators: time, arithmetic and traffic of calls beside what the machine can do (`opwright bench`)."""
