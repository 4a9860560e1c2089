"""What an operator sees: reports as short tables and sentences. JSON output never comes through here."""
