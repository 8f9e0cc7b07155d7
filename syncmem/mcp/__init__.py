"""The memory as tools for a model, by the Model Context Protocol (extra ``syncmem[mcp]``)."""
