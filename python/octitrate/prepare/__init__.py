"""`octitrate prepare`: from a file of the PDB to a folder that `octitrate titrate` runs."""
