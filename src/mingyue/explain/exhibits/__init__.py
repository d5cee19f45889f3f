"""The exhibits, a file each. Each file ends with its ``EXHIBIT``; ``catalogue`` finds it."""
