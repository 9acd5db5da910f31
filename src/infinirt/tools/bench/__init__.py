"""`infinirt bench`: what calls, memory, graphs, operators and collectives cost on a device, beside whatever peers are installed."""
