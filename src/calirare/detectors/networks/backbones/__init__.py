"""The networks themselves: their layers, as torch modules, and one layer at a time on a part of a graph."""
