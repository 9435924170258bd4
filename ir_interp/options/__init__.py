"""What every command and function can be asked for, each option declared once."""
