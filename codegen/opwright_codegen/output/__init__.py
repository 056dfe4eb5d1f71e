"""Views rendered to text, and text written to files that change no more than they must."""
