"""Speed and memory, side by side with the plain forms, in one process: `python -m bench [name …]`."""
