"""The commands, a module for each kind: they read the call, open the stores, call one function, print."""
