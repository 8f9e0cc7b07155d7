"""The relay: a server that keeps sealed blobs. No code path in it can open what it holds."""
