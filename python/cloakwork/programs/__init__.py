"""Programs: recording them, what they take and give, running and loading them."""
