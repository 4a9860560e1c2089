"""One module a migration; each creates only what is absent and refuses to go back."""
