"""qklab: exact theory of single-head attention and the same models trained at finite size."""
