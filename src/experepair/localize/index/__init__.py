"""What is known of the files of a commit: their definitions and terms, cached by git blob id."""
