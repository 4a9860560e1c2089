"""The proof that the chunks of a source are its text, letter by letter: walks over the sources that know no reader."""
