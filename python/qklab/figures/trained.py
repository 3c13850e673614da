"""How figures name what was measured on models."""

__all__ = ["trained"]


def trained(field):
    """ "trained, d = 60, 8 seeds", from the entries `by`, `dimension` and `seeds`, each if given."""
    words = [field.words("by") or "trained"]
    if dimension := field.get("dimension"):
        words.append(f"$d = {dimension.count()}$")
    if seeds := field.get("seeds"):
        words.append(f"{seeds.count()} seeds" if seeds.count() > 1 else "1 seed")
    return ", ".join(words)
