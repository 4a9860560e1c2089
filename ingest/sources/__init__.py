"""One reader a format; `detect.read_act` chooses by content. A reader turns bytes into an `Act`, or refuses."""
