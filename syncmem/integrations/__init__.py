"""Where other libraries' interfaces meet the memory: each module stands alone and needs its own extra."""
