"""What people look at: sentences, tables and pictures of a resize."""
