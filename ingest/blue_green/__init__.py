"""Blue/green: a new collection beside the served one, verified, and an alias that is switched from one to the other."""
