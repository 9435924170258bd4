"""Files as this program reads and writes them: which are taken, how they are written, what memory they may need."""
