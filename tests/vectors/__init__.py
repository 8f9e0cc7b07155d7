"""The test vectors of the protocol: made anew, answered by this implementation, complete."""
