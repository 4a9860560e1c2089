"""From a question to sources with a printable Fundstelle: query → pools → fusion → answer lines."""
