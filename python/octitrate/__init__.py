"""octitrate from Python: preparing systems, and reading what runs wrote.

The program itself is the binary `octitrate`, which the wheel carries.
"""

__version__ = "0.1.0"
