"""From a stamp to a usable sample: clocks, gates, repeats, filters, buffers."""
