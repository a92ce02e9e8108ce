"""Who is told when something is wrong or dear, and one page that shows all of it."""
