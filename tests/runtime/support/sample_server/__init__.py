"""A server as the generator would emit it, small, with handlers that do what tests need to see."""
