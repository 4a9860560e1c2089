"""Old points whose sources are gone: put together again as acts, files and a manifest."""
