"""File access: which files are accepted, how files are written, and how much memory they may need.

``kinds`` has the kinds of files and the checks of files to read. ``memory`` has the limit of memory, and arrays that
stay in files. ``writing`` has the checks of paths, locks, and writes that leave nothing behind if they fail.
"""
