"""Tie controls to the chunks they quote: controls in and out, candidate index, alignment, tiers, decision, inheritance.

A damaged quotation is read like a read in genome mapping: fold text to a letter skeleton, look its rarest seeds up,
let them vote for places, align there, and decide by similarity *and* margin to the best different citation (DESIGN §7).
"""
